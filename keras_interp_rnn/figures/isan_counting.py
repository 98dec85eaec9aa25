"""Figure 9 of Foerster et al., ICML 2017, arXiv:1611.09434: a counting network before and after a change of basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn.figures._arguments import checked
from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures._names import escaped, plain


@checked
def change_of_basis(
    matrices: tuple[ArrayLike, ArrayLike],
    states: tuple[ArrayLike, ArrayLike],
    *,
    symbol: str,
    tokens: Sequence[str],
    parts: Sequence[tuple[str, int]] = (),
) -> Figure:
    r"""Figure 9: the matrix of a symbol and states over time, in the original basis and in another.

    As in the paper, states are columns: a matrix leads from its columns to its rows, the last of them the constant 1.

    Args:
        matrices: $W'_x$ of `analysis.homogeneous_matrices`, (n + 1, n + 1) and (m + 1, m + 1), original first, states
            as rows.
        states: (T, n) and (T, m), as rows, along one text.
        symbol: name of the symbol of the matrix.
        tokens: names of the T symbols that are read.
        parts: (name, dimensions) of the other basis, in order, such as readout and computation.

    Returns:
        `Figure`.

    Raises:
        ValueError: if the shapes do not match.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figure = figures.change_of_basis(
        ...     (np.eye(3), np.eye(4)), (np.ones((2, 2)), np.ones((2, 3))), symbol="a", tokens="ab"
        ... )
        >>> figure.axes[0].get_title("left")
        "a) matrix of 'a'"
    """
    maps = [np.asarray(matrix, float) for matrix in matrices]
    paths = [np.asarray(path, float) for path in states]
    for matrix, path in zip(maps, paths, strict=True):
        size = path.shape[-1] + 1
        if path.ndim != 2 or len(path) != len(tokens) or matrix.shape != (size, size):
            raise ValueError(
                f"States (T, n) belong to {len(tokens)} tokens and to a matrix (n + 1, n + 1). Received: states "
                f"{path.shape}, matrix {matrix.shape}. Pass homogeneous_matrices(network)[symbol]."
            )
    if sum(size for _, size in parts) > paths[1].shape[1]:
        raise ValueError(
            f"The parts lie within {paths[1].shape[1]} dimensions. Received: {list(parts)}. Leave some out."
        )
    figure = Figure(figsize=(11, 9.6), layout="constrained")
    axes = figure.subplots(2, 2)
    titles = [
        (f"a) matrix of '{escaped(symbol)}'", "b) states"),
        (f"c) matrix of '{escaped(symbol)}', new basis", "d) states, new basis"),
    ]
    for row, matrix, path, names in zip(axes, maps, paths, titles, strict=True):
        homogeneous = np.concatenate([path, np.ones((len(path), 1))], axis=1)
        for axis, values, name in zip(row, (matrix.T, homogeneous.T), names, strict=True):
            largest = float(np.abs(values).max(initial=0.0)) or 1.0
            image = axis.imshow(
                values, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
            )
            axis.set_title(name, fontsize=11, loc="left", pad=22)
            axis.set_ylabel("dimension", fontsize=9)
            axis.tick_params(labelsize=8)
            figure.colorbar(image, ax=axis, shrink=0.9).ax.tick_params(labelsize=8)
        row[0].set(xlabel="from dimension (the last one: 1)", ylabel="to dimension (the last one: 1)")
        row[1].set_xlabel("symbol read")
        shown = [plain(token) for token in tokens]
        rotated = 90 if max(map(len, shown)) > 2 else 0
        row[1].set_xticks(range(len(shown)), shown, fontsize=8, rotation=rotated)
    if parts:
        _marked(axes[1, 0], parts, columns=True)
        _marked(axes[1, 1], parts, columns=False)
    return figure


def _marked(axis: Any, parts: Sequence[tuple[str, int]], columns: bool) -> None:
    """Lines where one part ends and the next begins, and their names above a matrix or beside the states."""
    ends = np.cumsum([size for _, size in parts])
    for (name, size), end in zip(parts, ends, strict=True):
        axis.axhline(end - 0.5, color="black", linewidth=0.6)
        middle = float(end - size / 2 - 0.5)
        if columns:
            axis.axvline(end - 0.5, color="black", linewidth=0.6)
            axis.text(middle, 1.01, name, transform=axis.get_xaxis_transform(), ha="center", va="bottom", fontsize=8)
        else:
            right = axis.get_yaxis_transform()
            axis.text(1.01, middle, name, transform=right, ha="left", va="center", fontsize=8, rotation=270)
