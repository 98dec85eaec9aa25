"""Figures 3 and 4 of Foerster et al., ICML 2017, "Input Switched Affine Networks for Recurrent Neural Networks"."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from keras_interp_rnn._checks import annotated, invalid
from keras_interp_rnn._results import AGAINST, FOR, GREY, LINES, output_name, text_of
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials
from keras_interp_rnn.figures._figure import SIGNED, Figure
from keras_interp_rnn.figures._names import beyond, escaped, name_ticks, plain

Separator = int | Collection[int] | None


@annotated
def contribution_column(contributions: Contributions, target: int = -1, *, separator: Separator = None) -> Figure:
    """Figure 3: one prediction in detail.

    Left: all contributions. Middle: contributions to the logits of the winner and the runner-up. Right: the same,
        summed over words.

    Args:
        contributions: those of a short text.
        target: index of a target, by default the last one.
        separator: as `Contributions.by_word`.

    Returns:
        `Figure`.

    Raises:
        ValueError: if there is no such target.

    Example:

    >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> figure = figures.contribution_column(analysis.contributions(model, [0, 2, 1], alphabet="ab d"))
        >>> [axis.get_title() for axis in figure.axes[1:3]]
        ['by symbol', 'by word']
    """
    number = len(contributions.targets)
    if not number:
        raise ValueError("`contributions` must have a target. Received: an empty text, or no targets.")
    if not -number <= target < number:
        raise invalid("target", f"an index into {number} targets", target)
    first, second = contributions.winner(target)
    step = int(contributions.targets[target])
    values = contributions.values[: step + 1, target]
    names = ["$h_0$", *(plain(contributions.name(int(symbol))) for symbol in contributions.symbols[:step])]
    more = beyond(4.0, values.shape[1], 8)
    figure = Figure(figsize=(13 + more, 0.26 * (step + 1) + 1.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[5.6 + more, 3.7, 3.7])
    image = _signed(left, values)
    left.set_yticks(range(step + 1), names)
    num_outputs = values.shape[1]
    outputs = [
        plain(output_name(contributions.output_names or contributions.alphabet, i, num_outputs, again=True))
        for i in range(num_outputs)
    ]
    name_ticks(left, range(len(outputs)), outputs, 8)
    left.set(ylabel="source", xlabel="output")
    figure.colorbar(image, ax=left, label="nats")
    winner, runner = outputs[first], outputs[second]
    _pairs(middle, values[:, [first, second]], names, (winner, runner))
    words = contributions.by_word(separator)
    sums = np.concatenate([words.values[:, target], contributions.bias[None]])[:, [first, second]]
    used = [i for i, start in enumerate(words.starts) if start <= step] + [len(words.names)]
    ends = [*words.starts[1:], step + 1]
    spans = [range(start, min(end, step + 1)) for start, end in zip(words.starts[1:], ends[1:], strict=True)]
    read = [escaped(text_of(contributions.alphabet, contributions.symbols[[s - 1 for s in span]])) for span in spans]
    labels = ["$h_0$", *read, "bias"]
    _pairs(right, sums[used], [labels[i] for i in used], (winner, runner))
    middle.set_title("by symbol", fontsize=10)
    right.set_title("by word", fontsize=10)
    return figure


@annotated
def timescales(timescales: Timescales, fit: TwoExponentials | None = None) -> Figure:
    """Figure 4: decay of contributions, effect of the last separator, and the history that predictions need.

    Args:
        timescales: as `analysis.timescales`.
        fit: as `Timescales.fit`.

    Returns:
        `Figure`.

    Example:

    >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> len(figures.timescales(analysis.timescales(model, [0, 2, 1, 0, 3, 1], max_age=2)).axes)
        3
    """
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    decay, position, history = figure.subplots(1, 3)
    decay.semilogy(timescales.ages, timescales.decay, color="black", label="mean norm")
    if fit is not None:
        scales = " and ".join(f"{scale:.1f}" for scale in fit.scales)
        decay.semilogy(
            timescales.ages, fit(timescales.ages), "--", color=AGAINST, label=f"two exponentials, {scales} symbols"
        )
    decay.set(xlabel="age t - s of the source, symbols", ylabel="norm of the contribution, nats")
    decay.legend(frameon=False)
    often = timescales.counts >= 50
    for bits, color, label in (
        (timescales.median_all, AGAINST, "all contributions"),
        (timescales.median_without, FOR, "all but the last space"),
        (timescales.median_only, LINES[2], "the last space alone"),
    ):
        position.plot(timescales.positions[often], bits[often], "o-", color=color, label=label, markersize=4)
    position.set(xlabel="position in the word", ylabel="median cross-entropy, bits", ylim=(0, None))
    position.legend(frameon=False)
    history.plot(np.arange(len(timescales.history)), timescales.history, color="black")
    history.axhline(timescales.whole, color=GREY, linestyle=":", label=f"all of it: {timescales.whole:.3f} bits")
    history.set(xlabel="symbols of history", ylabel="cross-entropy, bits per symbol", xscale="symlog", xlim=(0, None))
    history.legend(frameon=False)
    for axis, letter in zip((decay, position, history), "abc", strict=True):
        axis.set_title(letter, loc="left", fontweight="bold")
    return _grid(figure)


def _signed(axis: Axes, values: NDArray[np.float64]) -> AxesImage:
    limit = float(np.abs(values).max()) or 1.0
    return axis.imshow(values, cmap=SIGNED, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")


def _pairs(axis: Axes, values: NDArray[np.float64], names: Sequence[str], outputs: tuple[str, str]) -> None:
    places = np.arange(len(names))
    for column, color in ((0, FOR), (1, AGAINST)):
        axis.barh(places + 0.4 * column - 0.2, values[:, column], 0.4, color=color, label=f"logit of {outputs[column]}")
    axis.set_yticks(places, names)
    axis.invert_yaxis()
    axis.axvline(0, color="black", linewidth=0.6)
    axis.set_xlabel("nats")
    axis.legend(frameon=False, fontsize=8)


def _grid(figure: Figure) -> Figure:
    for axis in figure.axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure
