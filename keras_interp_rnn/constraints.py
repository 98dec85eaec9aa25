r"""Constraints on recurrent matrices, which keep products of them in bounds while they are trained.

An input-switched affine network has no nonlinearity that would bound its state: reading the symbol a for m steps
multiplies the state by $W_a^m$. If the spectral radius of $W_a$ is above 1, the state grows by that factor at every
step of a run such as `-----`, and so do the loss and its gradient. Training seldom sees the runs of a rare symbol, and
so does not hold its matrix back, while Adam moves every entry of it by a full step. With a radius c below 1

$$\|W_a^m\| \to 0 \text{ like } c^m, \qquad h_m \to b_a (I - W_a)^{-1},$$

and a run takes the state to a fixed point. The same holds for a pair of symbols in turn, `=-=-=-`, and the radius of
$W_a W_b$.

`MaxSpectralRadius` holds both near a bound, and costs no bits that could be measured. It does not bound longer
products: a run with a longer period, such as `AX>'AX>'AX>'`, can still blow up the state early in training. Only a
bound on the norms bounds every product. `MaxSpectralNorm` is one, and costs an ISAN on character text some hundredths
of a bit.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn._numbers import at_least
from keras_interp_rnn._types import Tensor

__all__ = ["MaxSpectralNorm", "MaxSpectralRadius", "Zero"]


SCATTER = 1e4
"""Scale at which the digits of a weight look random: its change in one training step turns the cosine many times."""

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))

ALONE = 2
"""States that follow a symbol by itself; the others follow pairs."""

RELAXATION = 4
"""Power of bound over growth: few steps underestimate both the growth and how much of it is along the state found."""

SMALLEST = 1e-30


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MaxSpectralRadius(keras.constraints.Constraint):
    r"""Holds spectral radii near a bound: $\rho(W_a) \le c$ of every matrix, and $\rho(W_a W_b) \le c^2$ of pairs.

    Power iteration, with states as rows: for every symbol a some states read a, or a and a partner b in turn,
    $h \leftarrow h W / \|h W\|$. Let $\hat\rho$ be the geometric mean of the growth over the last third of the steps,
    and h the state that grew most, before its last step. Where $\hat\rho > c$, the map of this one direction shrinks,
    and that of its orthogonal complement stays as it is:

    $$W_a \leftarrow W_a - \left(1 - (c / \hat\rho)^4\right) h^\top h W_a.$$

    Matrices whose states grow by at most c per step stay as they are.

    The states to start from and the partners come from the low digits of the weights: others in every training step, so
    that what one call misses a later one finds, yet without a state and the same for the same weights (under XLA, which
    rounds otherwise, others). A single call lowers a radius; calls step by step hold it near the bound. In training
    with Adam, radii stay within about a tenth of it.

    Args:
        max_value: float > 0, the bound $c$ on the growth per step.
        steps: int >= 4, even: of the power iteration.
        words: int >= 2, states that follow each symbol: two by itself, the others with a partner each.

    Call arguments:
        w: (K, n, n), a matrix for each symbol; or (n, n).

    Returns: as `w`.
    Cost: `steps` + 2 passes over the weights, whatever the number of words up to a score.
    Raises: ValueError, if an argument is out of range or the matrices are not square.
    Example:

    >>> w = np.diag([0.5, 2.0, 0.7]).astype("float32")
    >>> constraint = MaxSpectralRadius(0.9)
    >>> for _ in range(20):
    ...     w = keras.ops.convert_to_numpy(constraint(w))
    >>> bool(abs(np.linalg.eigvals(w)).max() < 0.91)
    True

    Reference: Golub and Van Loan, "Matrix Computations", 4th edition, section 7.3.1, the power method.
    """

    def __init__(self, max_value: float = 0.95, steps: int = 12, words: int = 16) -> None:
        self.steps, self.words = at_least("steps", steps, 4), at_least("words", words, ALONE)
        if self.steps % 2:
            raise ValueError(f"steps must be even: pairs take turns. Received: steps={steps!r}.")
        self.max_value = _positive(max_value)

    def __call__(self, w: Tensor) -> Tensor:
        """The matrices, those directions scaled down that outgrow the bound."""
        _check_square(w)
        shape = tuple(w.shape)
        given = ops.convert_to_tensor(w)
        dtype = "float64" if keras.backend.standardize_dtype(given.dtype) == "float64" else "float32"
        kernel = ops.cast(given if len(shape) == 3 else given[None], dtype)
        phases = np.arange(self.words * shape[-1]).reshape(self.words, -1) * GOLDEN_ANGLE
        scattered = ops.cos(SCATTER * kernel[:, :1, :] + ops.cast(phases, dtype))
        there, back = self._partners(ops.sum(scattered, axis=(0, 2)), ops.shape(kernel)[0])

        h, _ = _normalized(scattered)
        measured, logarithm = 2 * (self.steps // 6) or 2, ops.zeros_like(h[..., :1])
        for step in range(self.steps):
            before = h
            own_turn = step % 2 == 1  # the last step is the symbol's own
            moved = ops.matmul(h, kernel) if own_turn else _placed(ops.matmul(_placed(h, there), kernel), back)
            h, growth = _normalized(moved)
            if step >= self.steps - measured:
                logarithm = logarithm + ops.log(growth)

        fastest = ops.argmax(logarithm, axis=1)[..., None]
        h, moved, logarithm = (ops.take_along_axis(x, fastest, axis=1) for x in (before, moved, logarithm))
        lost = 1 - ops.minimum(1.0, self.max_value / ops.exp(logarithm / measured)) ** RELAXATION
        constrained = kernel - ops.transpose(lost * h, (0, 2, 1)) * moved
        return ops.cast(constrained if len(shape) == 3 else constrained[0], given.dtype)

    def _partners(self, digits: Tensor, symbols: Any) -> tuple[Tensor, Tensor]:
        """Where each state goes to be read by the partner of its symbol, and where it comes back from.

        Partners lie a distance apart that is drawn for each of the words: with K symbols, all pairs are met in about
        K / (2 words) calls.
        """
        drawn = 1e3 * ops.abs(digits)
        drawn = ops.cast((drawn - ops.floor(drawn)) * ops.cast(symbols, digits.dtype), "int32")
        distances = ops.where(ops.arange(self.words) < ALONE, 0, ops.minimum(drawn, symbols - 1))
        of_symbol, of_word = ops.arange(symbols)[:, None], ops.arange(self.words)
        there, back = (
            ops.reshape((of_symbol + sign * distances) % symbols * self.words + of_word, (-1,)) for sign in (-1, 1)
        )
        return there, back

    def get_config(self) -> dict[str, Any]:
        """What `from_config` takes."""
        return {"max_value": self.max_value, "steps": self.steps, "words": self.words}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MaxSpectralNorm(keras.constraints.Constraint):
    r"""Bounds every product of matrices: no singular value of any of them exceeds $c$.

    With $W_a = U \Sigma V^\top$,

    $$W_a \leftarrow U \min(\Sigma, c) V^\top,$$

    the nearest matrix whose spectral norm is at most c. Then $\|h W_{x_1} \cdots W_{x_m}\| \le c^m \|h\|$ for every
    word, and with c < 1 no state of an ISAN is longer than $\|h_0\| + \max_a \|b_a\| / (1 - c)$, whatever it reads.

    Args:
        max_value: float > 0, the bound $c$.

    Call arguments:
        w: (K, n, n), a matrix for each symbol; (n, n); or blocks (K, n / m, m, m).

    Returns: as `w`.
    Cost: K singular value decompositions, O(K n^3), at every training step.
    Raises: ValueError, if the bound is no positive number or the matrices are not square.
    Exactness: to the rounding of the decomposition, in the dtype of the weights.
    Example:

    >>> w = np.diag([0.5, -2.0, 0.7])
    >>> keras.ops.convert_to_numpy(MaxSpectralNorm(0.9)(w)).diagonal().round(3).tolist()
    [0.5, -0.9, 0.7]

    Reference: Golub and Van Loan, "Matrix Computations", 4th edition, section 2.4.
    """

    def __init__(self, max_value: float = 1.0) -> None:
        self.max_value = _positive(max_value)

    def __call__(self, w: Tensor) -> Tensor:
        """The matrices, their singular values cut off at the bound."""
        _check_square(ops.reshape(w, (-1, *w.shape[-2:])))
        given = ops.convert_to_tensor(w)
        dtype = "float64" if keras.backend.standardize_dtype(given.dtype) == "float64" else "float32"
        left, values, right = ops.svd(ops.cast(given, dtype), full_matrices=False)
        return ops.cast(ops.matmul(left * ops.minimum(values, self.max_value)[..., None, :], right), given.dtype)

    def get_config(self) -> dict[str, Any]:
        """What `from_config` takes."""
        return {"max_value": self.max_value}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Zero(keras.constraints.Constraint):
    r"""Keeps a weight at zero: a network is trained without it, the layer being the same.

    An `ISAN` whose biases are zero is linear in its initial state, $h_T = h_0 W_{x_1} \cdots W_{x_T}$, and what the
    biases contribute is then seen in the loss. Initialize the weight with "zeros" too: the constraint holds from the
    first training step on.

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


def _positive(max_value: Any) -> float:
    if not isinstance(max_value, int | float | np.number) or not max_value > 0:
        raise ValueError(f"max_value must be a number > 0. Received: max_value={max_value!r}.")
    return float(max_value)


def _check_square(w: Tensor) -> None:
    shape = tuple(w.shape)
    if len(shape) not in (2, 3) or shape[-2] != shape[-1]:
        raise ValueError(
            f"Square matrices are applied again and again: (K, n, n) or (n, n). Received: shape {shape}. Constrain the "
            "recurrent kernel of an ISAN, or another square matrix."
        )


def _placed(states: Tensor, places: Tensor) -> Tensor:
    """States (K, words, n) with the first two axes in another order."""
    *words, units = states.shape
    return ops.reshape(ops.take(ops.reshape(states, (-1, units)), places, axis=0), (-1, words[1], units))


def _normalized(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of length 1, and their lengths (..., 1). The largest entry goes first: squares of large ones overflow."""
    largest = ops.maximum(ops.max(ops.abs(rows), axis=-1, keepdims=True), SMALLEST)
    scaled = rows / largest
    length = ops.maximum(ops.sqrt(ops.sum(ops.square(scaled), axis=-1, keepdims=True)), SMALLEST)
    return scaled / length, length * largest
