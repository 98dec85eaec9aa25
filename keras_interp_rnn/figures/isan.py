"""Figures 1 to 8 of Foerster et al., ICML 2017, "Input Switched Affine Networks for Recurrent Neural Networks"."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._results import BLUE, GREEN, GREY, ORANGE, RED, text_of
from keras_interp_rnn.analysis import correlation
from keras_interp_rnn.analysis.isan.biases import BiasParts
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.ngram_agreement import NgramAgreement
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials
from keras_interp_rnn.figures._arguments import checked
from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures._names import beyond, escaped, name_ticks, plain

Separator = int | Collection[int] | None


@checked
def state_spectra(spectra: Mapping[str, ArrayLike]) -> Figure:
    """Figure 1: the fraction of the variance of states that each principal direction explains.

    Args:
        spectra: name of a network -> (n,), as `analysis.state_spectrum`.

    Returns:
        `Figure`.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.state_spectra({"ISAN": [0.6, 0.4], "GRU": [0.9, 0.1]}).axes[0].get_yscale()
        'log'
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for name, spectrum in spectra.items():
        values = np.asarray(spectrum)
        # Matplotlib leaves labels with a leading underscore out of the legend.
        axis.plot(np.arange(1, len(values) + 1), np.maximum(values, 1e-12), label=plain(name).replace("_", " _", 1))
    axis.set(xlabel="principal direction", ylabel="fraction of variance", yscale="log", ylim=(1e-8, 1))
    axis.legend(frameon=False)
    return _grid(figure)


@checked
def prediction_stack(contributions: Contributions) -> Figure:
    """Figure 2: every contribution of every symbol to every prediction of a short text.

    A column for each output of each step; a row for each source, then the readout's bias, then the logits, which are
    the sum of all rows above; below, the probabilities, with the winner's name.

    Args:
        contributions: to all targets of a text of up to about thirty symbols.

    Returns:
        `Figure`.

    Raises:
        ValueError: if there is no target.

    Example:

        >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> figure = figures.prediction_stack(analysis.contributions(model, [0, 2, 1], alphabet="abcd"))
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['$h_0$', 'a', 'c', 'b', 'bias', 'logits']
    """
    _check_targets(contributions)
    steps, outputs = contributions.logits.shape
    rows = np.concatenate(
        [contributions.values, np.broadcast_to(contributions.bias, (1, steps, outputs)), contributions.logits[None]]
    )
    labels = ["$h_0$", *(_name(contributions, int(symbol)) for symbol in contributions.symbols), "bias", "logits"]
    # At 100 dots an inch every output has a dot.
    figure = Figure(
        figsize=(max(5.0, max(0.5, 0.01 * outputs) * steps + 1.6), 0.24 * len(rows) + 2.2), layout="constrained"
    )
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[len(rows), 5])
    image = _signed(upper, rows.reshape(len(rows), steps * outputs))
    upper.set_yticks(range(len(rows)), labels)
    upper.set_ylabel("source")
    probabilities = softmax(contributions.logits, axis=-1)
    lower.bar(np.arange(steps * outputs), probabilities.ravel(), width=1.0, color=BLUE)
    for t, winner in enumerate(probabilities.argmax(axis=1)):
        name = plain(contributions.output_name(int(winner)))
        lift = 0.12 if name in ("_", "␣") else 0.04  # both hang below the line
        lower.text(t * outputs + winner, probabilities[t, winner] + lift, name, ha="center")
    for axis in (upper, lower):
        for t in range(1, steps):
            axis.axvline(t * outputs - 0.5, color=GREY, linewidth=0.4)
    lower.set(ylim=(0, 1.25), yticks=[0, 1], ylabel="probability", xlabel="after reading (each column: all outputs)")
    name_ticks(
        lower,
        (np.arange(steps) + 0.5) * outputs - 0.5,
        [_name(contributions, int(contributions.symbols[t - 1])) for t in contributions.targets],
    )
    figure.colorbar(image, ax=upper, label="nats", shrink=0.8)
    return figure


@checked
def contribution_column(contributions: Contributions, target: int = -1, *, separator: Separator = None) -> Figure:
    """Figure 3: one prediction in detail.

    Left: all contributions to it. Middle: those to the winner's and the runner-up's logit. Right: the same two logits,
    summed word by word.

    Args:
        contributions: of a short text.
        target: index into its targets, by default the last one.
        separator: as `Contributions.by_word`.

    Returns:
        `Figure`.

    Raises:
        ValueError: if there is no target, or not this one.

    Example:

        >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> figure = figures.contribution_column(analysis.contributions(model, [0, 2, 1], alphabet="ab d"))
        >>> [axis.get_title() for axis in figure.axes[1:3]]
        ['by symbol', 'by word']
    """
    _check_targets(contributions)
    number = len(contributions.targets)
    if not -number <= target < number:
        raise ValueError(f"target is an index into {number} targets. Received: target={target}.")
    first, second = contributions.winner(target)
    step = int(contributions.targets[target])
    values = contributions.values[: step + 1, target]
    names = ["$h_0$", *(_name(contributions, int(symbol)) for symbol in contributions.symbols[:step])]
    more = beyond(4.0, values.shape[1], 8)
    figure = Figure(figsize=(13 + more, 0.26 * (step + 1) + 1.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[5.6 + more, 3.7, 3.7])
    image = _signed(left, values)
    left.set_yticks(range(step + 1), names)
    outputs = [plain(contributions.output_name(i)) for i in range(values.shape[1])]
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


@checked
def timescales(timescales: Timescales, fit: TwoExponentials | None = None) -> Figure:
    """Figure 4: how contributions decay, how much the last separator helps, how much history predictions need.

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
            timescales.ages, fit(timescales.ages), "--", color=RED, label=f"two exponentials, {scales} symbols"
        )
    decay.set(xlabel="age t - s of the source, symbols", ylabel="norm of the contribution, nats")
    decay.legend(frameon=False)
    often = timescales.counts >= 50
    for bits, color, label in (
        (timescales.median_all, RED, "all contributions"),
        (timescales.median_without, BLUE, "all but the last space"),
        (timescales.median_only, GREEN, "the last space alone"),
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


@checked
def bits_by_units(
    units: ArrayLike, curves: Mapping[str, ArrayLike], *, before: tuple[int, float] | None = None
) -> Figure:
    """Bits per symbol of smaller networks by their number of units, beside the network that they were made from.

    Args:
        units: (sizes,), state sizes.
        curves: name -> (sizes,), bits per symbol.
        before: units and bits of the network before it was made smaller.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless a curve has a number for each size.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.bits_by_units([8, 4], {"truncated": [1.5, 2.0]}, before=(16, 1.4)).axes[0].get_xlabel()
        'units'
    """
    sizes = np.asarray(units, float)
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axis = figure.subplots()
    if before is not None:
        axis.axhline(before[1], color=GREY, linestyle=":", label=f"before: {before[0]} units, {before[1]:.3f} bits")
    for (name, bits), color, marker in zip(curves.items(), itertools.cycle((RED, BLUE, GREEN)), itertools.cycle("osD")):
        y = np.asarray(bits, float)
        if sizes.ndim != 1 or y.shape != sizes.shape:
            raise ValueError(f"There must be a number for each size. Received: {name!r}, {y.shape} for {sizes.shape}.")
        axis.plot(sizes, y, marker=marker, color=color, label=name)
    axis.set(xlabel="units", ylabel="bits per symbol", xticks=sizes)
    axis.legend(frameon=False)
    return figure


@checked
def word_contributions(contributions: Contributions, separator: Separator = None, *, min_words: int = 1) -> Figure:
    """Figure 5: how much each earlier word moves each prediction, and what is lost without the more distant words.

    Args:
        contributions: to all targets of a text of a few words.
        separator: as `Contributions.by_word`.
        min_words: number of words behind the faintest line below, the current one included.

    Returns:
        `Figure`.

    Raises:
        ValueError: if there is no target, or a next symbol has no output.

    Example:

        >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> figure = figures.word_contributions(analysis.contributions(model, [0, 2, 1], alphabet="ab d"))
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['a', '␣b']
    """
    _check_targets(contributions)
    words = contributions.by_word(separator)
    steps = len(contributions.targets)
    norms = words.norms()[1:]
    norms = np.where(words.starts[1:, None] <= contributions.targets, norms, np.nan)
    figure = Figure(figsize=(max(6.0, 0.3 * steps + 1.8), 0.3 * len(norms) + 3.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=[len(norms), 8], sharex=True)
    image = upper.imshow(norms, cmap="viridis", aspect="auto", interpolation="nearest")
    upper.set_yticks(range(len(norms)), [escaped(name) for name in words.names[1:]])
    upper.set_ylabel("contribution of")
    figure.colorbar(image, ax=upper, label="norm, nats")
    # The next symbol of the text; nothing is known after its end.
    ends = contributions.targets[-1] == len(contributions.symbols)
    wanted = contributions.symbols[contributions.targets[:-1] if ends else contributions.targets]
    if wanted.size and wanted.max() >= contributions.logits.shape[1]:
        raise ValueError(
            "The lower panel shows the probability of the next symbol, so every symbol has an output. Received: symbol "
            f"{wanted.max()}, and {contributions.logits.shape[1]} outputs."
        )
    of_word = np.searchsorted(words.starts, contributions.targets, side="right") - 1
    whole = len(norms)
    kept = [count for count in (whole, 3, 2, 1) if min_words <= count <= whole]
    for count in dict.fromkeys(kept):
        logits = np.array(
            [
                contributions.bias + words.values[max(1, word - count + 1) : word + 1, t].sum(axis=0)
                for t, word in enumerate(of_word)
            ]
        )
        probabilities = softmax(logits, axis=-1)[np.arange(len(wanted)), wanted]
        label = "all words" if count == whole else f"the last {count}" if count > 1 else "this word alone"
        shade = 0.2 + 0.8 * count / max(kept) if count != whole else 1.0
        lower.plot(range(len(wanted)), probabilities, "o-", color=BLUE, alpha=shade, label=label, markersize=3)
    lower.set(ylim=(-0.02, 1.05), ylabel="probability of\nwhat comes next", xlabel="after reading")
    name_ticks(
        lower, range(steps), [_name(contributions, int(contributions.symbols[t - 1])) for t in contributions.targets]
    )
    figure.legend(*lower.get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower right", ncols=4)
    return figure


@checked
def bias_norms(norms: BiasParts, log_probability: ArrayLike, *, names: Sequence[str]) -> Figure:
    """Figure 6: norms of the biases and of their parts against the frequency of the symbols.

    Args:
        norms: as `analysis.bias_norms`.
        log_probability: (K,), of the symbols.
        names: of the symbols.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless every symbol has a norm, a log probability and a name.

    Example:

        >>> from keras_interp_rnn import figures
        >>> norms = BiasParts(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([0.0, 1.7]))
        >>> figures.bias_norms(norms, [-1.0, -0.5], names="ab").axes[1].get_title()
        'readout subspace: correlation none'
    """
    x = np.asarray(log_probability)
    if x.shape != np.shape(norms[0]) or len(names) != x.size or not x.size:
        raise ValueError(
            f"There are a norm, a log probability and a name for each symbol. Received: {np.size(norms[0])}, {x.size} "
            f"and {len(names)}."
        )
    grown = max(1.0, np.sqrt(len(x) / 27))
    figure = Figure(figsize=(13 * grown, 3.8 * grown), layout="constrained")
    titles = ("whole bias", "readout subspace", "computational subspace")
    for axis, y, title in zip(figure.subplots(1, 3), norms, titles, strict=True):
        axis.scatter(x, y, s=0)
        for name, at, height in zip(names, x, y, strict=True):
            axis.text(at, height, plain(name), ha="center", va="center", color=BLUE)
        axis.set(xlabel="log probability, nats", ylabel="norm")
        r = correlation(x, y)
        axis.set_title(f"{title}: correlation {'none' if np.isnan(r) else f'{r:+.2f}'}", fontsize=10)
        axis.margins(0.08)
    return _grid(figure)


@checked
def bias_cosines(cosines: BiasParts, names: Sequence[str], *, first: str = " aeiou") -> Figure:
    """Figure 7: cosine distances, 0 to 2, between the biases of symbols, and between their parts.

    Args:
        cosines: as `analysis.bias_cosines`.
        names: of the symbols.
        first: the symbols that come first: by default the space and the vowels.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless every symbol has a name of its own.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.bias_cosines(BiasParts(*[np.eye(3)] * 3), "bca")
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['a', 'b', 'c']
    """
    names = list(names)
    if len({*names}) != len(cosines[0]) or len(names) != len(cosines[0]):
        raise ValueError(
            f"Every symbol has a name of its own. Received: {len(cosines[0])} symbols and {len(names)} names, of which "
            f"{len({*names})} differ."
        )
    order = [names.index(name) for name in first if name in names]
    cut = len(order)
    order += [i for i in range(len(names)) if i not in order]
    labels = [plain(names[i]) for i in order]
    more = beyond(3.5, len(labels), 7)
    figure = Figure(figsize=(14 + 3 * more, 4.6 + more), layout="constrained")
    axes = figure.subplots(1, 3)
    for axis, cosine, title in zip(
        axes, cosines, ("whole bias", "readout subspace", "computational subspace"), strict=True
    ):
        image = axis.imshow(1 - cosine[np.ix_(order, order)], cmap="gray_r", vmin=0, vmax=2, interpolation="nearest")
        for draw in (axis.axvline, axis.axhline):
            draw(cut - 0.5, color=ORANGE, linewidth=1)
        name_ticks(axis, range(len(labels)), labels, 7)
        axis.set_yticks(range(len(labels)), labels, fontsize=7)
        axis.set_title(title, fontsize=10)
    # The room that is kept for the bar would grow with the figure.
    figure.colorbar(image, ax=axes, label="cosine distance", shrink=0.85, fraction=0.15 * 14 / (14 + 3 * more))
    return figure


@checked
def ngram_agreement(agreement: NgramAgreement, names: Sequence[str], *, symbol: int = 0) -> Figure:
    """Figure 8: unigrams and bigrams of the network beside those counted in a text.

    Args:
        agreement: as `analysis.ngram_agreement`.
        names: of the symbols.
        symbol: whose bigrams the middle panel shows.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless every symbol has a name, and `symbol` is one.

    Example:

        >>> from keras_interp_rnn import analysis, figures, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> figure = figures.ngram_agreement(analysis.ngram_agreement(model, [0, 2, 1, 0, 3, 0, 2]), "abcd")
        >>> figure.axes[2].get_xlabel()
        'correlation of unigrams with bigrams'
    """
    size = len(agreement.unigram)
    if len(names) != size or not 0 <= symbol < size:
        raise ValueError(f"The {size} symbols have a name each. Received: {len(names)} names, and symbol={symbol}.")
    names = [plain(name) for name in names]
    more = beyond(3.4, len(names), 8)
    if more < 1:
        figure = Figure(figsize=(13 + 3 * more, 3.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
    else:  # one below the other
        figure = Figure(figsize=(12.4 + more, 7.6), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=[4.7 + more, 7.7])
        left, middle, right = (figure.add_subplot(grid[place]) for place in ((0, 0), (1, 0), (slice(None), 1)))
    places = np.arange(len(names))
    for axis, ours, counted, title in (
        (
            left,
            agreement.unigram,
            agreement.counted_unigram,
            f"unigrams: correlation {agreement.unigram_correlation:.2f}",
        ),
        (
            *(middle, agreement.bigram[symbol], agreement.counted_bigram[symbol]),
            f"after {names[symbol]}: correlation {agreement.bigram_correlations[symbol]:.2f}",
        ),
    ):
        axis.bar(places - 0.2, ours, width=0.4, color=BLUE, label="network")
        axis.bar(places + 0.2, counted, width=0.4, color=ORANGE, label="counted")
        name_ticks(axis, places, names, 8)
        axis.margins(x=0.01)
        axis.set_ylabel("probability")
        axis.set_title(title, fontsize=10)
        axis.legend(frameon=False)
    right.plot([-1, 1], [-1, 1], ":", color=GREY)
    for name, x, y in zip(names, agreement.unigram_baseline, agreement.bigram_correlations, strict=True):
        if not np.isnan(x + y):
            right.text(x, y, name, ha="center", va="center", color=BLUE)
    known = np.concatenate([agreement.unigram_baseline, agreement.bigram_correlations])
    low = min(known[~np.isnan(known)], default=0.0) - 0.08
    right.set(xlim=(low, 1.05), ylim=(low, 1.05))
    right.set(xlabel="correlation of unigrams with bigrams", ylabel="correlation of the network with bigrams")
    return figure


def _check_targets(contributions: Contributions) -> None:
    if not len(contributions.targets):
        raise ValueError("A figure shows at least one target. Received: an empty text, or no targets.")


def _signed(axis: Axes, values: NDArray[np.float64]) -> AxesImage:
    limit = float(np.abs(values).max()) or 1.0
    return axis.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")


def _pairs(axis: Axes, values: NDArray[np.float64], names: Sequence[str], outputs: tuple[str, str]) -> None:
    places = np.arange(len(names))
    for column, color in ((0, ORANGE), (1, RED)):
        axis.barh(places + 0.4 * column - 0.2, values[:, column], 0.4, color=color, label=f"logit of {outputs[column]}")
    axis.set_yticks(places, names)
    axis.invert_yaxis()
    axis.axvline(0, color="black", linewidth=0.6)
    axis.set_xlabel("nats")
    axis.legend(frameon=False, fontsize=8)


def _name(contributions: Contributions, symbol: int) -> str:
    return plain(contributions.name(symbol))


def _grid(figure: Figure) -> Figure:
    for axis in figure.axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure
