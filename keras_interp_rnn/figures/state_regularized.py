"""Figures 3 and 5 and table 9 of "State-Regularized Recurrent Neural Networks" (Wang and others, 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._checks import annotated
from keras_interp_rnn._results import FOR, visible
from keras_interp_rnn.figures._figure import MAGNITUDE, Figure
from keras_interp_rnn.figures._names import escaped, plain


@annotated
def transition_map(alpha: ArrayLike, tokens: Sequence[str]) -> Figure:
    r"""Figure 3, for any number of tokens: one column per token, one row per centroid.

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
    values = _rows(alpha, len(tokens))
    steps, k = values.shape
    figure = Figure(figsize=(max(3.0, 0.32 * steps + 1.8), max(1.6, 0.26 * k + 1.1)), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(values.T, cmap=MAGNITUDE, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    names = [plain(token) for token in tokens]
    axis.set_xticks(range(steps), names, rotation=90 if max(map(len, names)) > 2 else 0)
    axis.set_yticks(range(0, k, max(1, k // 20)))
    axis.set_ylabel("centroid")
    figure.colorbar(image, ax=axis, label="probability", shrink=0.9)
    return figure


@annotated
def temperatures(alphas: Mapping[float, ArrayLike], tokens: Sequence[str]) -> Figure:
    r"""Figure 3: probabilities of all centroids after each token of one sequence, one row per temperature.

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
        raise ValueError("`alphas` must have at least one temperature. Received: none.")
    values = {temperature: _rows(alpha, len(tokens)) for temperature, alpha in alphas.items()}
    k = next(iter(values.values())).shape[1]
    figure = Figure(figsize=(0.9 + 1.9 * len(tokens), 0.8 + 0.75 * len(values)), layout="constrained")
    axes = figure.subplots(len(values), len(tokens), sharex=True, sharey=True, squeeze=False)
    for row, (temperature, alpha) in zip(axes, values.items(), strict=True):
        for axis, probabilities in zip(row, alpha, strict=True):
            axis.bar(range(k), probabilities, color=FOR, width=0.8)
            axis.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
            axis.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(f"τ = {temperature:g}")
    for axis, token in zip(axes[0], tokens, strict=True):
        axis.set_title("after " + escaped(token), fontsize=10)
    axes[0][0].set_xticks(range(0, k, max(1, k // 5)))
    figure.supxlabel("centroid", fontsize=10)
    figure.supylabel("probability", fontsize=10)
    return figure


@annotated
def token_map(texts: Sequence[Sequence[str]], weights: Sequence[ArrayLike], *, titles: Sequence[str]) -> Figure:
    """Table 9: texts with tokens shaded by their weight.

    Args:
        texts: tokens of each text.
        weights: (T,) in [0, 1] for each text, as `Explanation.weights`.
        titles: one line above each text.

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
                drawn.set_backgroundcolor((FOR, 0.45 * value))
            x += len(token) + 1
    return figure


@annotated
def state_paths(states: Mapping[str, ArrayLike], tokens: Sequence[str]) -> Figure:
    """Figure 5: entries of states along a sequence, one panel per name.

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
        raise ValueError("`states` must have at least one kind of state. Received: states={}.")
    figure = Figure(figsize=(max(6.0, 0.12 * len(tokens) + 1), 1.9 * len(states) + 0.4), layout="constrained")
    axes = figure.subplots(len(states), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (name, values) in zip(axes, states.items(), strict=True):
        axis.plot(_rows(values, len(tokens)), linewidth=1)
        axis.set_ylabel(name)
        axis.grid(alpha=0.3, linewidth=0.5)
    if len(tokens) <= 80:
        names = [plain(token) for token in tokens]
        axes[-1].set_xticks(range(len(names)), names, fontsize=8, rotation=90 if max(map(len, names)) > 2 else 0)
    axes[-1].set_xlabel("token read")
    return figure


def _rows(values: ArrayLike, tokens: int) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) != tokens:
        raise ValueError(f"Values must have one row for each of {tokens} tokens. Received: shape {array.shape}.")
    return array
