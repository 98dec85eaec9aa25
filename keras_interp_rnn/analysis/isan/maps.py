r"""The affine map of the state of an input-switched affine network by a symbol or a word.

It is $h \mapsto h W_x + b_x$ for a symbol, and for a word the composition of the maps of its symbols (Foerster et al.,
ICML 2017, sections 4 and 5.1). At the fixed point of a symbol's map, reading the symbol leaves the state unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_symbols, check_range
from keras_interp_rnn._network import AffineReading, read_text
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap


def affine_map(network: object, symbols: ArrayLike | str) -> AffineMap:
    r"""The affine map $h \mapsto h A + b$ by which a word changes the state.

    $A = W_{x_1} \cdots W_{x_T}$ and $b = \sum_s b_{x_s} W_{x_{s+1}} \cdots W_{x_T}$.

    Args:
        network: an ISAN, its cell, or a model with one.
        symbols: int (time,), the word, or a text if the model carries the names of its ids; empty for the identity.

    Returns:
        `AffineMap`, float64; `apply` it to states (..., n), or compose it with another by `then`.

    Raises:
        ValueError: if a symbol is outside the vocabulary, or the map overflows.

    Exactness: equal to reading the symbols one by one, to float64 rounding.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> word, first, second = (analysis.affine_map(model, symbols) for symbols in ([0, 2], [0], [2]))
        >>> np.allclose(word.apply(np.ones(3)), second.apply(first.apply(np.ones(3))))
        True

    Reference: Foerster et al., ICML 2017, section 5.1.
    """
    reading = AffineReading(network).forwards()
    weights = reading.weights()
    word = as_symbols(read_text("symbols", symbols, reading.names), len(weights.kernel))
    maps = [AffineMap(weights.kernel[s], weights.bias[s]) for s in word]
    with np.errstate(over="ignore", invalid="ignore"):
        composed = AffineMap.compose(maps, weights.bias.shape[1])
    check_range("The map of a text", composed)
    return composed


def homogeneous_matrices(network: object) -> Array:
    r"""The affine maps of all symbols as matrices, $[h, 1] W'_x = [h W_x + b_x, 1]$.

    Args:
        network: an ISAN, its cell, or a model with one.

    Returns:
        (K, n + 1, n + 1), $W'_x = [[W_x, 0], [b_x, 1]]$: the transpose of the paper's.

    Raises:
        ValueError: if there is no ISAN.

    Exactness: equal to the weights, in float64.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> analysis.homogeneous_matrices(model).shape
        (4, 4, 4)

    Reference: Foerster et al., ICML 2017, section 4 and eq. 7.
    """
    kernel, bias, _ = AffineReading(network).weights()
    symbols, n = bias.shape
    matrices = np.zeros((symbols, n + 1, n + 1))
    matrices[:, :n, :n], matrices[:, n, :n], matrices[:, n, n] = kernel, bias, 1
    return matrices


@dataclass(frozen=True, eq=False, repr=False)
class FixedPoints(Result):
    r"""The fixed point of each symbol's map.

    Attributes:
        states: (K, n), row k with $h^* = h^* W_k + b_k$; NaN if 1 is an eigenvalue of $W_k$.
        spectral_radius: (K,), largest |eigenvalue| of $W_k$.
        attracts: (K,) bool, whether repeating the symbol leads to the fixed point from every state: radius below 1.
        residual: largest |h* W + b - h*|; rounding.

    Example: see `fixed_points`.
    """

    states: NDArray[np.float64]
    spectral_radius: NDArray[np.float64]
    attracts: NDArray[np.bool_]
    residual: float


def fixed_points(network: object) -> FixedPoints:
    r"""The fixed point of each symbol's map, $h^* = b_k (1 - W_k)^{-1}$, in closed form: see `analysis.fixed_points`.

    A map with an eigenvalue 1 to float64 rounding has no fixed point or many: NaN.
    """
    weights = AffineReading(network).weights()
    symbols, units = weights.bias.shape
    states = np.full((symbols, units), np.nan)
    radius = np.empty(symbols)
    residual = 0.0
    for k in range(symbols):
        matrix, offset = weights.kernel[k], weights.bias[k]
        radius[k] = np.abs(np.linalg.eigvals(matrix)).max()
        difference = np.eye(units) - matrix
        singular = np.linalg.svd(difference, compute_uv=False)
        if singular[-1] > units * np.finfo(np.float64).eps * max(singular[0], 1.0):
            states[k] = np.linalg.solve(difference.T, offset)
            residual = max(residual, float(np.abs(states[k] @ matrix + offset - states[k]).max()))
    return FixedPoints(states, radius, (radius < 1) & np.isfinite(states[:, 0]), residual)
