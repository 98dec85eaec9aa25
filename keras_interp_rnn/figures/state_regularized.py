"""Figures 3, 5 and 7 to 9 and table 9 of "State-Regularized Recurrent Neural Networks" (Wang and others, 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import ticker
from numpy.typing import ArrayLike

from keras_interp_rnn._results import BLUE, LIGHT_RED, visible
from keras_interp_rnn.figures._arguments import checked
from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures._names import escaped, plain


@checked
def transition_map(alpha: ArrayLike, tokens: Sequence[str]) -> Figure:
    r"""Figure 3, for any number of tokens: a column for each token read, a row for each centroid.

    Args:
        alpha: (time, k), transition probabilities of one sequence.
        tokens: names of the T tokens.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one token per step.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.transition_map([[1.0, 0.0], [0.2, 0.8]], "ab").axes[0].get_ylabel()
        'centroid'
    """
    values = _checked(alpha, len(tokens))
    steps, k = values.shape
    figure = Figure(figsize=(max(3.0, 0.32 * steps + 1.8), max(1.6, 0.26 * k + 1.1)), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(values.T, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    names = [plain(token) for token in tokens]
    axis.set_xticks(range(steps), names, rotation=90 if max(map(len, names)) > 2 else 0)
    axis.set_yticks(range(0, k, max(1, k // 20)))
    axis.set_ylabel("centroid")
    figure.colorbar(image, ax=axis, label="probability", shrink=0.9)
    return figure


@checked
def temperatures(alphas: Mapping[float, ArrayLike], tokens: Sequence[str]) -> Figure:
    r"""Figure 3: probabilities of all centroids after each token of one sequence, a row for each temperature.

    Args:
        alphas: temperature -> (time, k), transition probabilities of the sequence.
        tokens: names of the T tokens.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one token per step.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.temperatures({1.0: [[0.6, 0.4]], 0.1: [[1.0, 0.0]]}, ["a"])
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['τ = 1', 'τ = 0.1']
    """
    if not alphas:
        raise ValueError("A figure shows at least one temperature. Received: none.")
    values = {temperature: _checked(alpha, len(tokens)) for temperature, alpha in alphas.items()}
    k = next(iter(values.values())).shape[1]
    figure = Figure(figsize=(0.9 + 1.9 * len(tokens), 0.8 + 0.75 * len(values)), layout="constrained")
    axes = figure.subplots(len(values), len(tokens), sharex=True, sharey=True, squeeze=False)
    for row, (temperature, alpha) in zip(axes, values.items(), strict=True):
        for axis, probabilities in zip(row, alpha, strict=True):
            axis.bar(range(k), probabilities, color=BLUE, width=0.8)
            axis.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
            axis.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(f"τ = {temperature:g}")
    for axis, token in zip(axes[0], tokens, strict=True):
        axis.set_title("after " + escaped(token), fontsize=10)
    axes[0][0].set_xticks(range(0, k, max(1, k // 5)))
    figure.supxlabel("centroid", fontsize=10)
    figure.supylabel("probability", fontsize=10)
    return figure


@checked
def token_map(texts: Sequence[Sequence[str]], weights: Sequence[ArrayLike], *, titles: Sequence[str]) -> Figure:
    """Table 9: texts whose tokens are shaded by their weight.

    Args:
        texts: tokens of each text.
        weights: (T,) in [0, 1] for each text, as `analysis.Explanation.weights`.
        titles: a line above each text.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one weight per token.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.token_map([["very", "good"]], [[0.1, 0.9]], titles=["positive"])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['positive', 'very', 'good']
    """
    width = 96
    lines: list[list[tuple[str, float | None]]] = []
    for text, weight, title in zip(texts, weights, titles, strict=True):
        lines.append([(title, None)])
        line: list[tuple[str, float | None]] = []
        used = 0
        for token, value in zip(map(visible, text), np.asarray(weight, float).tolist(), strict=True):
            if used + len(token) + 1 > width and line:
                lines.append(line)
                line, used = [], 0
            line.append((token, value))
            used += len(token) + 1
        lines += [line, []]
    figure = Figure(figsize=(10, 0.26 * len(lines) + 0.2))
    axis = figure.add_axes((0.01, 0, 0.98, 1))
    axis.set(xlim=(0, width + 2), ylim=(len(lines), -0.5))
    axis.axis("off")
    for y, line in enumerate(lines):
        x = 0
        for token, value in line:
            drawn = axis.text(x, y, escaped(token), fontsize=9, va="center")
            if value is not None:
                drawn.set_fontfamily("monospace")
                drawn.set_backgroundcolor((LIGHT_RED, 0.75 * value))
            x += len(token) + 1
    return figure


@checked
def state_paths(states: Mapping[str, ArrayLike], tokens: Sequence[str]) -> Figure:
    """Figure 5: the entries of states along a sequence, a panel for each name.

    Args:
        states: name, such as "h" -> (time, n), of one sequence.
        tokens: names of the T tokens; shown for up to 80 of them.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one token per step.

    Example:

        >>> from keras_interp_rnn import figures
        >>> [axis.get_ylabel() for axis in figures.state_paths({"h": np.ones((2, 3))}, "ab").axes]
        ['h']
    """
    if not states:
        raise ValueError("There are paths of one kind of state or more. Received: states={}.")
    figure = Figure(figsize=(max(6.0, 0.12 * len(tokens) + 1), 1.9 * len(states) + 0.4), layout="constrained")
    axes = figure.subplots(len(states), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (name, values) in zip(axes, states.items(), strict=True):
        axis.plot(_checked(values, len(tokens)), linewidth=1)
        axis.set_ylabel(name)
        axis.grid(alpha=0.3, linewidth=0.5)
    if len(tokens) <= 80:
        names = [plain(token) for token in tokens]
        axes[-1].set_xticks(range(len(names)), names, fontsize=8, rotation=90 if max(map(len, names)) > 2 else 0)
    axes[-1].set_xlabel("token read")
    return figure


@checked
def error_curves(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], label: str = "validation error") -> Figure:
    """Figure 6: an error through training, thin, and its minimum so far, of several networks.

    Args:
        curves: name -> steps and errors, in [0, 1], of equal length.
        label: of the axis of errors.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless a network has one error per step.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.error_curves({"SR-LSTM": ([0, 10], [0.5, 0.1])}).axes[0].get_ylabel()
        'validation error [%]'
    """
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axis = figure.subplots()
    for name, (steps, errors) in curves.items():
        x, y = np.asarray(steps, float), 100 * np.asarray(errors, float)
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(f"There must be an error for each step. Received: {name!r}, {x.shape} and {y.shape}.")
        [line] = axis.plot(x, np.minimum.accumulate(y), label=name)
        axis.plot(x, y, color=line.get_color(), alpha=0.3, linewidth=0.8)
    axis.set_xlabel("training steps")
    axis.set_ylabel(f"{label} [%]")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


@checked
def counts_read(curves: Mapping[str, ArrayLike], label: str = "open brackets") -> Figure:
    """The count that is read off a state, by the true one, of several networks.

    Args:
        curves: name -> what is read at a true count of 0, 1, 2, ...; (counts,).
        label: what is counted.

    Returns:
        `Figure`. On the dashed line a reading is right.

    Raises:
        ValueError: unless the readings of each network are a vector.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.counts_read({"LSTM": [0.1, 1.0, 1.7, 2.1]}).axes[0].get_ylabel()
        'open brackets, as read'
    """
    if not curves:
        raise ValueError("There are readings of one network or more. Received: curves={}.")
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axis = figure.subplots()
    most = 0
    for name, values in curves.items():
        read = np.asarray(values, float)
        if read.ndim != 1:
            raise ValueError(f"The readings of a network are a vector. Received: {name!r}, of shape {read.shape}.")
        axis.plot(read, label=plain(name), marker=".")
        most = max(most, len(read) - 1)
    axis.plot([0, most], [0, most], color="grey", linestyle="--", linewidth=1)
    for numbers in (axis.xaxis, axis.yaxis):
        numbers.set_major_locator(ticker.MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axis.set_xlabel(f"{label}, true")
    axis.set_ylabel(f"{label}, as read")
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


@checked
def pixel_maps(
    values: ArrayLike,
    rows: Sequence[str],
    *,
    columns: Sequence[str],
    label: str = "probability",
    max_value: float = 1.0,
) -> Figure:
    """Figures 7 and 8: a grid of images whose pixels are numbers from 0 up, such as transition probabilities.

    Args:
        values: (rows, columns, height, width).
        rows, columns: their names.
        label: of the colour bar.
        max_value: the number that is black.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one name per image.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.pixel_maps(np.ones((1, 2, 3, 3)), ["7"], columns=["pixels", "centroid 0"])
        >>> [axis.get_title() for axis in figure.axes[:2]]
        ['pixels', 'centroid 0']
    """
    array = np.asarray(values, float)
    if array.ndim != 4 or array.shape[:2] != (len(rows), len(columns)):
        raise ValueError(
            f"There must be an image in each of {len(rows)} rows and {len(columns)} columns. Received: {array.shape}."
        )
    figure = Figure(figsize=(0.72 * len(columns) + 1.9, 0.72 * len(rows) + 0.7))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            axis = axes[y, x]
            image = axis.imshow(array[y, x], cmap="Greys", vmin=0, vmax=max_value, interpolation="nearest")
            axis.set(xticks=[], yticks=[])
            if y == 0:
                axis.set_title(column, fontsize=9)
            if x == 0:
                axis.set_ylabel(row, fontsize=9, rotation=0, ha="right", va="center")
    figure.colorbar(image, ax=axes, label=label, shrink=min(1.0, 3 / len(rows)))
    return figure


@checked
def feature_map(points: ArrayLike, labels: Sequence[str]) -> Figure:
    """Figure 9: points in the plane, such as a t-SNE of transition probabilities, coloured by their label.

    Args:
        points: (samples, 2).
        labels: of each sample.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one label per point.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.feature_map([[0.0, 1.0], [1.0, 0.0]], ["seven", "one"])
        >>> [text.get_text() for text in figure.axes[0].get_legend().texts]
        ['seven', 'one']
    """
    array, names = np.asarray(points, float), np.asarray(labels)
    if array.shape != (len(names), 2):
        raise ValueError(
            f"There must be a point in the plane for each of {len(names)} labels. Received: {array.shape}."
        )
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axis = figure.subplots()
    for name in dict.fromkeys(names.tolist()):
        x, y = array[names == name].T
        axis.scatter(x, y, s=6, alpha=0.7, label=name)
    axis.set(xticks=[], yticks=[])
    axis.legend(markerscale=2, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _checked(values: ArrayLike, tokens: int) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) != tokens:
        raise ValueError(f"There must be a row for each of {tokens} tokens. Received: shape {array.shape}.")
    return array
