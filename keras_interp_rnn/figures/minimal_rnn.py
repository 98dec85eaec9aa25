"""Figures 4 and 5 of Chen, "MinimalRNN", 2017, arXiv:1711.06788."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import annotated, fraction
from keras_interp_rnn._results import AGAINST, FOR
from keras_interp_rnn.analysis.jacobians import PERCENTILES
from keras_interp_rnn.figures._figure import Figure

SMALLEST = 1e-12
"""Smaller singular values, which are due to rounding, are drawn here."""


@annotated
def jacobian_histogram(
    singular_values: Mapping[str, ArrayLike], lags: Sequence[int], *, num_bins: int = 48, rounding: float = 0.0
) -> Figure:
    r"""Figure 4: singular values of $\partial h_T / \partial x_{T-k}$, one row per architecture, one column per lag k.

    Args:
        singular_values: architecture -> (lags, ..., values of one Jacobian), as `analysis.jacobian_singular_values`
            returns them.
        lags: k of each column.
        num_bins: of the common logarithmic axis.
        rounding: in [0, 1). Values below this fraction of the largest value of their Jacobian count as rounding errors:
            they are omitted, and the panel gives their number. Use `np.finfo("float32").eps` for layers that the
            backend differentiates in float32, whose Jacobians may have a rank below their size.

    Returns:
        `Figure`.

    Raises:
        ValueError: if there is no architecture, or one without values for each lag; if `rounding` is out of range.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.jacobian_histogram({"LSTM": [[1.0, 0.5], [0.1, 0.01]]}, [0, 10])
        >>> [axis.get_title() for axis in figure.axes]
        ['k = 0', 'k = 10']
    """
    rounding = fraction("rounding", rounding)
    values = {name: _of_lags(name, array, lags) for name, array in singular_values.items()}
    if not values:
        raise ValueError("`singular_values` must have at least one architecture. Received: none.")
    real = {name: _above(rounding, array, len(lags)) for name, array in singular_values.items()}
    everything = np.concatenate([array[real[name]] for name, array in values.items()])
    low, high = np.floor(np.log10(everything.min())), np.ceil(np.log10(everything.max()))
    edges = np.logspace(low, max(high, low + 1), num_bins + 1)
    figure = Figure(figsize=(2.3 * len(lags) + 1, 1.5 * len(values) + 0.9), layout="constrained")
    axes = figure.subplots(len(values), len(lags), sharex=True, sharey=True, squeeze=False)
    for axis, lag in zip(axes[0], lags, strict=True):
        axis.set_title(f"k = {lag}")
    for row, (name, array) in zip(axes, values.items(), strict=True):
        for axis, of_lag, real_part in zip(row, array, real[name], strict=True):
            drawn = of_lag[real_part]
            axis.hist(drawn, edges, weights=np.full(drawn.size, 1 / of_lag.size), color=FOR)
            axis.axvline(1, color="black", linewidth=0.8, linestyle=":")
            axis.axvline(np.median(drawn), color=AGAINST, linewidth=1)
            if drawn.size < of_lag.size:
                note = f"{of_lag.size - drawn.size:,} of {of_lag.size:,}\nbelow rounding"
                axis.text(0.03, 0.95, note, transform=axis.transAxes, fontsize=7, va="top")
            axis.set_xscale("log")
        row[0].set_ylabel(name)
    figure.supxlabel("singular value of $\\partial h_T / \\partial x_{T-k}$ (dotted: 1; red: median)", fontsize=10)
    figure.supylabel("fraction", fontsize=10)
    return figure


@annotated
def jacobian_percentiles(
    steps: Mapping[str, Sequence[float]], singular_values: Mapping[str, ArrayLike], *, lags: Sequence[int]
) -> Figure:
    r"""Figure 5: distribution of the singular values during training, one row per lag, one column per architecture.

    Args:
        steps: architecture -> training steps (points,).
        singular_values: architecture -> (points, lags, ...).
        lags: k of each row.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless every step has singular values.

    Example:

        >>> from keras_interp_rnn import figures
        >>> values = np.random.default_rng(0).uniform(0.1, 1, (3, 2, 5))
        >>> figure = figures.jacobian_percentiles({"CFN": [0, 10, 20]}, {"CFN": values}, lags=[0, 10])
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['k = 0', 'k = 10']
    """
    if not steps or not len(lags) or set(steps) != set(singular_values):
        raise ValueError(
            "Every network must have steps and singular values, at one lag or more. Received: steps of "
            f"{[*steps]}, values of {[*singular_values]}, and {len(lags)} lags."
        )
    figure = Figure(figsize=(3.2 * len(steps) + 0.6, 2.2 * len(lags) + 0.8), layout="constrained")
    axes = figure.subplots(len(lags), len(steps), sharex=False, sharey="row", squeeze=False)
    for column, (name, at) in zip(axes.T, steps.items(), strict=True):
        points = np.asarray(singular_values[name], float)
        if len(points) != len(at):
            raise ValueError(
                f"Every step must have singular values. Received: {len(at)} steps and {len(points)} values of {name}."
            )
        by_lag = np.stack([_of_lags(name, point, lags) for point in points], axis=1)
        for axis, of_lag in zip(column, by_lag, strict=True):
            lines = np.percentile(of_lag, PERCENTILES[::-1], axis=1)
            for upper, lower, shade in zip(lines[:4], lines[:-5:-1], (0.15, 0.3, 0.45, 0.6), strict=True):
                axis.fill_between(at, lower, upper, color=FOR, alpha=shade, linewidth=0)
            axis.plot(at, lines[4], color="black", linewidth=1.2)
            axis.axhline(1, color="black", linewidth=0.8, linestyle=":")
            axis.set_yscale("log")
        column[0].set_title(name)
        column[-1].set_xlabel("training steps")
    for axis, lag in zip(axes[:, 0], lags, strict=True):
        axis.set_ylabel(f"k = {lag}")
    figure.suptitle(
        "singular values of $\\partial h_T / \\partial x_{T-k}$: median, and 7 to 93 % and all", fontsize=10
    )
    return figure


def _of_lags(name: str, values: ArrayLike, lags: Sequence[int]) -> NDArray[np.float64]:
    """Values (lags, values), at least `SMALLEST`."""
    array = np.asarray(values, float)
    if len(array) != len(lags) or not array.size:
        raise ValueError(f"Values must have {len(lags)} rows, one per lag. Received: shape {array.shape} for {name}.")
    raised: NDArray[np.float64] = np.maximum(array.reshape(len(lags), -1), SMALLEST)
    return raised


def _above(rounding: float, values: ArrayLike, lags: int) -> NDArray[np.bool_]:
    """Mask (lags, values) of values of at least this fraction of the largest one of their Jacobian, the last axis."""
    array = np.asarray(values, float)
    above: NDArray[np.bool_] = array >= rounding * array.max(axis=-1, keepdims=True)
    return above.reshape(lags, -1)
