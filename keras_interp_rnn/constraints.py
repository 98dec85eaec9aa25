r"""Constraints on recurrent matrices, which bound their products during training.

An input-switched affine network has no nonlinearity that would bound its state: reading the symbol a for m steps
multiplies the state by $W_a^m$. If the spectral radius of $W_a$ is above 1, the state grows by that factor at every
step of a run such as `-----`, and so do the loss and its gradient. Runs of a rare symbol are too infrequent in training
to limit its matrix, while Adam changes every entry by a full step. With a radius c below 1

$$\|W_a^m\| \to 0 \text{ like } c^m, \qquad h_m \to b_a (I - W_a)^{-1},$$

and a run takes the state to a fixed point. The same holds for two symbols that alternate, `=-=-=-`, and the radius of
$W_a W_b$.

`MaxSpectralRadius` holds both radii near a bound, at no cost in bits. It does not bound longer products: a run with a
longer period, such as `AX>'AX>'AX>'`, can still make the state explode early in training. Only a bound on the norms,
such as `MaxSpectralNorm`, bounds every product. It costs an ISAN on character text some hundredths of a bit per symbol.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn._checks import integer, invalid, is_number, positive
from keras_interp_rnn._types import Array, Tensor

__all__ = ["Interval", "MaxSpectralNorm", "MaxSpectralRadius", "Zero"]


GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))

ALONE = 4
"""States that read a single symbol."""

PAIRS = 65 * 32
"""Pairs that are read by default: all pairs of 65 symbols."""

PHASES = 32
"""Least number of units times states of a pair: one state may not show the growth of a small rotating matrix."""

TURNING = 16
"""Radians by which the initial states turn if an entry changes by the largest one divided by the root of n."""

SMALLEST = 1e-30


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MaxSpectralRadius(keras.constraints.Constraint):
    r"""Holds spectral radii near a bound: $\rho(W_a) \le c$ for every matrix, and $\rho(W_a W_b) \le c^2$ for pairs.

    It uses power iteration, $h \leftarrow h W / \|h W\|$ with states as rows: four states read a symbol a repeatedly,
    others read a and a partner b alternately. Let $\hat\rho_a$ and $\hat\rho_{ab}$ be the largest growth per step, over
    two steps of the second half, of the states that read a, or a and b. First every matrix is scaled as a whole,

    $$W_a \leftarrow \min(1, c / \hat\rho_a) W_a.$$

    Scaling changes no direction, so the measured growth is then at most c. If a pair still exceeds the bound by a
    factor $e^{\epsilon_i}$ per step, its matrices shrink the states $h_i$ that they read last, and map their orthogonal
    complement as before:

    $$W_a \leftarrow W_a - \sum_i \beta_i h_i^\top h_i W_a, \qquad
    \beta_i = \frac{\epsilon_i \left(1 - e^{-\epsilon_i}\right)}{\sum_j \epsilon_j (h_i h_j^\top)^2},$$

    so that several pairs with the same direction shrink it only once. Matrices whose states grow by at most c per step
    are unchanged.

    The result is continuous in the weights: nothing is drawn at random, and growth and excess enter only through maxima
    and sums. Two training runs that differ by rounding stay as close with the constraint as without it. The initial
    states turn slowly as the weights change, so that a later call finds what an earlier one missed.

    Growth over a few steps is an estimate, not a bound. In training with Adam, radii of matrices stay within a tenth of
    the bound; a pair is scaled down over several calls.

    Args:
        max_value: float > 0, the bound $c$ on the growth per step.
        steps: int >= 4, even, number of steps of the power iteration.
        words: int >= 0 or None, number of pairs of each symbol a, with the symbols a + 1 to a + `words`, cyclically.
            For up to 2 `words` + 1 symbols these are all pairs. None allows 2,080 pairs in total: all pairs of up to 65
            symbols, 21 for each of 96 symbols, 8 for each of 256, and 0 above 2,080 symbols.

    Call arguments:
        w: (K, n, n), a matrix for each symbol; or (n, n).

    Returns: as `w`.
    Cost: `steps` passes over the weights, with 4 + `words` states for each symbol, and more in matrices below 32 units.
    Raises: ValueError, if an argument is out of range or the matrices are not square.
    Example:

    >>> w = np.diag([0.4, 2.0, 0.6])
    >>> w = keras.ops.convert_to_numpy(MaxSpectralRadius(0.9)(w))
    >>> w.diagonal().round(2).tolist()
    [0.18, 0.9, 0.27]

    Reference: Golub and Van Loan, "Matrix Computations", 4th edition, section 7.3.1, the power method.
    """

    def __init__(self, max_value: float = 0.95, steps: int = 12, words: int | None = None) -> None:
        self.steps = integer("steps", steps, 4)
        if self.steps % 2:
            raise invalid("steps", "even, as pairs take turns", steps)
        self.words = None if words is None else integer("words", words, 0)
        self.max_value = positive("max_value", max_value)

    def __call__(self, w: Tensor) -> Tensor:
        """The matrices, scaled down where they exceed the bound, and in the directions in which pairs exceed it."""
        _check_square(w)
        shape = tuple(w.shape)
        w = ops.convert_to_tensor(w)
        kernel = ops.cast(w if len(shape) == 3 else w[None], _dtype(w))
        constrained = self._constrained(kernel)
        return ops.cast(constrained if len(shape) == 3 else constrained[0], w.dtype)

    def _constrained(self, kernel: Tensor) -> Tensor:
        distances = self._distances(*kernel.shape[:2])
        there, back = _places(distances, ops.shape(kernel)[0])
        scale = ops.maximum(ops.max(ops.abs(kernel), axis=(1, 2), keepdims=True), SMALLEST)
        unit = kernel / scale  # powers of large matrices overflow
        phases = GOLDEN_ANGLE * np.arange(len(distances) * kernel.shape[-1], dtype=np.float64) ** 2
        phases = ops.cast(phases.reshape(len(distances), -1) % (2 * np.pi), kernel.dtype)
        h, growths = ops.cos(TURNING * math.sqrt(kernel.shape[-1]) * unit[:, :1] + phases), []
        for turn in range(self.steps // 2):
            before = h
            image = ops.matmul(before, unit)
            visiting = _placed(image, there)
            moved = ops.matmul(visiting, unit)
            h, growth = _normalized(_placed(moved, back))
            if 2 * turn >= self.steps // 2:
                growths.append(growth)

        def mean(of_symbols: Tensor) -> Tensor:
            """The mean over each symbol and its partner."""
            return (of_symbols + _placed(of_symbols + ops.zeros_like(growth), back)) / 2

        excess = ops.log(functools.reduce(ops.maximum, growths)) / 2 + mean(ops.log(scale)) - math.log(self.max_value)
        cut = ops.maximum(ops.max(excess[:, :ALONE], axis=1, keepdims=True), 0.0)
        shrinkage = ops.exp(-cut)
        if len(distances) == ALONE:
            return shrinkage * kernel
        left = ops.maximum(excess - mean(cut), 0.0)
        visitors, length = _normalized(visiting)
        states, images, excesses = (
            ops.concatenate([of_own[:, ALONE:], of_visitors[:, ALONE:]], axis=1)
            for of_own, of_visitors in ((before, visitors), (image, moved / length), (left, _placed(left, there)))
        )
        overlaps = ops.square(ops.matmul(states, ops.transpose(states, (0, 2, 1))))
        shares = excesses / ops.maximum(ops.matmul(overlaps, excesses), SMALLEST)
        lost = scale * shares * (1 - ops.exp(-excesses))
        return shrinkage * (kernel - ops.matmul(ops.transpose(lost * states, (0, 2, 1)), images))

    def _distances(self, symbols: int | None, units: int) -> Array:
        """Distance of each state's partner from its symbol: 0 for single symbols, then 1 to `words`."""
        words = PAIRS // (symbols or 65) if self.words is None else self.words
        if symbols:
            words = min(words, symbols // 2)
        return np.concatenate([np.zeros(ALONE, int), np.tile(np.arange(1, words + 1), -(-PHASES // units))])

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"max_value": self.max_value, "steps": self.steps, "words": self.words}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MaxSpectralNorm(keras.constraints.Constraint):
    r"""Bounds every product of matrices by limiting the singular values of each matrix to $c$.

    With $W_a = U \Sigma V^\top$,

    $$W_a \leftarrow U \min(\Sigma, c) V^\top,$$

    the nearest matrix whose spectral norm is at most c. Then $\|h W_{x_1} \cdots W_{x_m}\| \le c^m \|h\|$ for every
    word, and with c < 1 no state of an ISAN has a norm above $\|h_0\| + \max_a \|b_a\| / (1 - c)$, whatever it reads.

    Args:
        max_value: float > 0, the bound $c$.

    Call arguments:
        w: (K, n, n), a matrix for each symbol; (n, n); or blocks (K, n / m, m, m).

    Returns: as `w`.
    Cost: K singular value decompositions, O(K n^3), at every training step.
    Raises: ValueError, if the bound is not a positive number or the matrices are not square.
    Exactness: to the rounding of the decomposition, in the dtype of the weights.
    Example:

    >>> w = np.diag([0.5, -2.0, 0.7])
    >>> keras.ops.convert_to_numpy(MaxSpectralNorm(0.9)(w)).diagonal().round(3).tolist()
    [0.5, -0.9, 0.7]

    Reference: Golub and Van Loan, "Matrix Computations", 4th edition, section 2.4.
    """

    def __init__(self, max_value: float = 1.0) -> None:
        self.max_value = positive("max_value", max_value)

    def __call__(self, w: Tensor) -> Tensor:
        """The matrices with their singular values clipped at the bound."""
        _check_square(ops.reshape(w, (-1, *w.shape[-2:])))
        w = ops.convert_to_tensor(w)
        left, values, right = ops.svd(ops.cast(w, _dtype(w)), full_matrices=False)
        return ops.cast(ops.matmul(left * ops.minimum(values, self.max_value)[..., None, :], right), w.dtype)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"max_value": self.max_value}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Interval(keras.constraints.Constraint):
    r"""Keeps every weight between two bounds, $w \leftarrow \min(\max(w, a), b)$.

    If the decays of a `DiagonalISAN` lie between 0 and 1, each unit is a leaky sum of its inputs: its past neither
    grows nor changes its sign from step to step. `fitting.fit_lbfgs` searches within the interval.

    Args:
        min_value, max_value: the bounds $a \le b$; infinite for no bound.

    Call arguments:
        w: a weight of any shape.

    Returns: as `w`.
    Raises: ValueError, if the bounds are not numbers in ascending order.
    Example:

    >>> keras.ops.convert_to_numpy(Interval(0, 1)(np.array([-0.5, 0.7, 2.0]))).tolist()
    [0.0, 0.7, 1.0]
    """

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0) -> None:
        if not (is_number(min_value) and is_number(max_value) and min_value <= max_value):
            raise invalid("min_value", "a number up to max_value", min_value, f"Here max_value={max_value!r}.")
        self.min_value, self.max_value = float(min_value), float(max_value)

    def __call__(self, w: Tensor) -> Tensor:
        return ops.clip(w, self.min_value, self.max_value)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"min_value": self.min_value, "max_value": self.max_value}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Zero(keras.constraints.Constraint):
    r"""Keeps a weight at zero, so that the network is trained without it.

    An `ISAN` whose biases are zero is linear in its initial state, $h_T = h_0 W_{x_1} \cdots W_{x_T}$, so the
    loss shows how much the biases help. Initialize the weight with "zeros" too: the constraint applies only after the
    first training step.

    Call arguments:
        w: a weight of any shape.

    Returns: zeros like `w`.
    Example:

    >>> layer = keras.layers.Dense(2, bias_initializer="zeros", bias_constraint=Zero())
    >>> keras.ops.convert_to_numpy(Zero()(np.ones(2))).tolist()
    [0.0, 0.0]
    """

    def __call__(self, w: Tensor) -> Tensor:
        return ops.zeros_like(w)


def _dtype(w: Tensor) -> str:
    return "float64" if keras.backend.standardize_dtype(w.dtype) == "float64" else "float32"


def _check_square(w: Tensor) -> None:
    shape = tuple(w.shape)
    if len(shape) not in (2, 3) or shape[-2] != shape[-1]:
        raise ValueError(
            f"`w` must be square matrices, (K, n, n) or (n, n). Received: shape {shape}. Constrain the recurrent "
            "kernel of an ISAN, or another square matrix."
        )


def _places(distances: Array, symbols: object) -> tuple[Tensor, Tensor]:
    """Places from which states are gathered for the partner of their symbol, and on the way back."""
    states = len(distances)
    of_symbol, of_state = ops.arange(symbols)[:, None], ops.arange(states)
    away = ops.cast(distances, of_symbol.dtype)
    there, back = (ops.reshape((of_symbol + x) % symbols * states + of_state, (-1,)) for x in (-away, away))
    return there, back


def _placed(states: Tensor, places: Tensor) -> Tensor:
    """States (K, words, n) with the first two axes in another order."""
    *words, units = states.shape
    return ops.reshape(ops.take(ops.reshape(states, (-1, units)), places, axis=0), (-1, words[1], units))


def _normalized(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of length 1, and their lengths (..., 1)."""
    length = ops.maximum(ops.sqrt(ops.sum(ops.square(rows), axis=-1, keepdims=True)), SMALLEST)
    return rows / length, length
