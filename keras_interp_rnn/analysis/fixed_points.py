r"""States that a recurrent cell does not leave under a constant input: $s^* = F(s^*, x)$.

Newton's method with a line search, from many starts, on the Jacobian of the cell's equations in closed form (Sussillo
and Barak, Neural Computation 25(3), 2013, minimize $\lVert F(s) - s \rVert^2$ instead). The eigenvalues of the Jacobian
tell attractors, all of modulus below 1, from saddles. Points that no start leads to are not in the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import is_integer, is_number
from keras_interp_rnn._network import as_array, generator
from keras_interp_rnn._network.along import cell_map
from keras_interp_rnn._network.isan_models import describe, has_isan
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.maps import FixedPoints
from keras_interp_rnn.analysis.isan.maps import fixed_points as isan_fixed_points

HALVINGS = 12
"""Steps of the line search."""
MIXED = (1, 2, 4, 8)
"""Numbers of given states whose mean is a start: saddles lie between attractors."""


@dataclass(frozen=True, eq=False, repr=False)
class CellFixedPoints(Result):
    """Fixed points of a cell under one input, the attractors first, then by the number of unstable directions.

    Attributes:
        states: (points, s), the whole state, h first.
        eigenvalues: complex (points, s), of the Jacobian there, by falling modulus.
        num_converged: number of starts that led to one of them.
        residual: largest |F(s*) - s*|.

    Example: see `fixed_points`.
    """

    states: Array
    eigenvalues: NDArray[np.complex128]
    num_converged: int
    residual: float

    @property
    def num_unstable(self) -> NDArray[np.int64]:
        """(points,), directions in which the state moves away: eigenvalues of modulus above 1."""
        return (np.abs(self.eigenvalues) > 1).sum(axis=1)

    @property
    def attracts(self) -> NDArray[np.bool_]:
        """(points,), whether all states nearby move there: all eigenvalues of modulus below 1."""
        return np.asarray((np.abs(self.eigenvalues) < 1).all(axis=1))


def fixed_points(
    network: Any,
    inputs: ArrayLike | None = None,
    *,
    states: ArrayLike | None = None,
    num_starts: int = 1024,
    max_steps: int = 100,
    tolerance: float = 1e-10,
    seed: int = 0,
) -> FixedPoints | CellFixedPoints:
    r"""The fixed points of each symbol's map of an ISAN; or, given an input, those of any cell.

    Args:
        network: an ISAN, its cell, or a model with one; given `inputs`, a recurrent layer, or a model with exactly one.
        inputs: (features,), what the cell reads at every step; None for an ISAN's symbols, in closed form.
        states: (num_states, s), whole states from which starts are drawn: themselves, and means of two, four or eight;
            such as `h` of `trace`. None draws starts from [-1, 1].
        num_starts: starts of Newton's method.
        max_steps: steps of it.
        tolerance: largest |F(s) - s| at a fixed point. Points closer than the square root of it are one.
        seed: of the starts.

    Returns:
        `FixedPoints` of an ISAN: where a map has an eigenvalue 1 to rounding, NaN. Given `inputs`, `CellFixedPoints`.

    Raises:
        ValueError: without inputs, if there is no ISAN, or more than one; with them, if there is no recurrent layer, if
            its equations are not known, or if inputs or states have other shapes or are not finite.

    Exactness: float64; `residual` is the largest error of the equation at the points returned. Newton's method finds
        those that a start leads to, which need not be all.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> layer = keras.layers.SimpleRNN(1)
        >>> _ = layer(np.zeros((1, 1, 1)))
        >>> layer.set_weights([np.ones((1, 1)), np.full((1, 1), 2.0), np.zeros(1)])  # tanh(2 h)
        >>> points = analysis.fixed_points(layer, [0.0])
        >>> len(points.states), points.num_unstable.tolist()
        (3, [0, 0, 1])

    Reference: Foerster et al., ICML 2017, section 2; Sussillo and Barak, Neural Computation 25(3), 2013.
    """
    if inputs is None:
        if not has_isan(network):
            raise ValueError(
                "Without inputs fixed points are those of the symbols of an ISAN. Received: inputs=None and "
                f"{describe(network)}. Pass inputs, the vector (features,) that the cell reads at every step."
            )
        return isan_fixed_points(network)
    for name, value in (("num_starts", num_starts), ("max_steps", max_steps)):
        if not is_integer(value) or value < 1:
            raise ValueError(f"{name} is a number, at least 1. Received: {name}={value!r}. Pass an int > 0.")
    if not is_number(tolerance) or not tolerance > 0:
        raise ValueError(f"A tolerance is a number above 0. Received: tolerance={tolerance!r}.")
    held = as_array("The inputs", inputs)
    if held.ndim != 1 or not np.isfinite(held).all():
        raise ValueError(
            f"A cell reads one finite input (features,) at every step. Received: shape={held.shape}. Pass one vector."
        )
    step, size = cell_map(network, held.astype(np.float64))
    starts = _starts(states, size, num_starts, generator(seed))
    with np.errstate(over="ignore", invalid="ignore"):
        ends = _newton(step, starts, max_steps)
        off = np.abs(step(ends)[0] - ends).max(axis=1)
    converged = ends[off <= tolerance]
    distinct: list[Array] = []
    for state in converged:
        if all(np.abs(state - other).max() > np.sqrt(tolerance) for other in distinct):
            distinct.append(state)
    points = np.array(distinct).reshape(-1, size)
    after, jacobians = step(points) if len(points) else (points, np.zeros((0, size, size)))
    eigenvalues = np.linalg.eigvals(jacobians).astype(np.complex128).reshape(-1, size)
    eigenvalues = np.take_along_axis(eigenvalues, np.argsort(-np.abs(eigenvalues), axis=1), axis=1)
    order = np.argsort((np.abs(eigenvalues) > 1).sum(axis=1), kind="stable")
    residual = float(np.abs(after - points).max(initial=0.0))
    return CellFixedPoints(points[order], eigenvalues[order], len(converged), residual)


def _starts(states: ArrayLike | None, size: int, num_starts: int, rng: np.random.Generator) -> Array:
    if states is None:
        return rng.uniform(-1, 1, (num_starts, size))
    given = as_array("The states", states).astype(np.float64)
    if given.ndim != 2 or given.shape[1] != size or not len(given) or not np.isfinite(given).all():
        raise ValueError(
            f"States are finite (num_states, {size}), h first. Received: shape={given.shape}. Reshape those of a trace."
        )
    drawn = given[rng.integers(len(given), size=(num_starts, max(MIXED)))]
    mixed = rng.choice(MIXED, num_starts)
    weights = (np.arange(max(MIXED)) < mixed[:, None]) / mixed[:, None]
    return np.asarray(np.einsum("im,ims->is", weights, drawn))


def _newton(step: Any, state: Array, max_steps: int) -> Array:
    identity = np.eye(state.shape[1])
    for _ in range(max_steps):
        after, jacobian = step(state)
        off = after - state
        now = np.linalg.norm(off, axis=1)
        if (now < 1e-14).all():
            break
        # Of least squares, so that a singular matrix gives a direction too.
        move = np.stack([np.linalg.lstsq(identity - j, o, rcond=1e-12)[0] for j, o in zip(jacobian, off, strict=True)])
        share = np.ones(len(state))
        for _ in range(HALVINGS):
            tried = state + share[:, None] * move
            worse = ~(np.linalg.norm(step(tried)[0] - tried, axis=1) <= now)
            if not worse.any():
                break
            share[worse] /= 2
        share[worse] = 0
        state = state + share[:, None] * move
    return state
