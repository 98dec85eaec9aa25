r"""States that a recurrent cell does not leave under a constant input: $s^* = F(s^*, x)$.

Newton's method with a line search, from many starts, with the Jacobian of the cell's equations in closed form, or by
automatic differentiation (Sussillo and Barak, Neural Computation 25(3), 2013, minimize $\lVert F(s) - s \rVert^2$
instead). At an attractor all eigenvalues of the Jacobian have a modulus below 1. Points that no start leads to are
missing from the result.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_array, generator
from keras_interp_rnn._checks import integer, positive
from keras_interp_rnn._network.cell_maps import CellMap, cell_map
from keras_interp_rnn._program.affine_layers import describe, has_isan
from keras_interp_rnn._results import Result, Table, counted, numbered, numbers, points, texts
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.maps import FixedPoints
from keras_interp_rnn.analysis.isan.maps import fixed_points as isan_fixed_points

TOLERANCE, TOLERANCE_OF_CODE = 1e-10, 1e-5
"""By default, by equations in float64, and by a cell's own code in its dtype."""
ROUNDING, ROUNDING_OF_CODE = 1e-14, 2e-7
"""Newton's method ends where |F(s) - s| is below it."""
HALVINGS = 12
"""Maximum number of halvings in the line search."""
MIXED = (1, 2, 4, 8)
"""Numbers of states whose mean is a start: saddles lie between attractors."""


KINDS = 8
"""Maximum number of numbers of unstable directions that a sentence counts."""


@dataclass(frozen=True, eq=False, repr=False)
class CellFixedPoints(Result):
    """Fixed points of a cell under one input, sorted by their number of unstable directions, attractors first.

    Attributes:
        states: (points, s), the whole state, h first.
        eigenvalues: complex (points, s), eigenvalues of the Jacobian at each point, by descending modulus.
        num_converged: number of starts that led to a fixed point.
        residual: largest |F(s*) - s*|.

    Example: see `fixed_points`.
    """

    states: Array
    eigenvalues: NDArray[np.complex128]
    num_converged: int
    residual: float

    @property
    def num_unstable(self) -> NDArray[np.int64]:
        """(points,), number of directions in which the state moves away: eigenvalues of modulus above 1."""
        return np.asarray((np.abs(self.eigenvalues) > 1).sum(axis=1))

    @property
    def attracts(self) -> NDArray[np.bool_]:
        """(points,), whether all states nearby move to the point: all eigenvalues of modulus below 1."""
        return np.asarray((np.abs(self.eigenvalues) < 1).all(axis=1))

    def table(self) -> Table:
        """The number of points, how many attract; a row for each, and a drawing on their principal axes."""
        counts = sorted(Counter(self.num_unstable.tolist()).items())
        kinds = ", ".join(
            f"{count} with {counted(unstable, 'unstable direction')}" for unstable, count in counts[:KINDS]
        )
        moduli = np.abs(self.eigenvalues).max(axis=1, initial=0)
        states = [" ".join(f"{x:.3g}" for x in state[:6]) + " …" * (len(state) > 6) for state in self.states.tolist()]
        return Table(
            f"{counted(len(self.states), 'fixed point')}, {int(self.attracts.sum())} of which attract; residual "
            f"{self.residual:.1e}, reached from {self.num_converged:,} starts",
            (
                numbered("point", len(self.states)),
                texts("attracts", ["yes" if attracts else "no" for attracts in self.attracts]),
                numbers("unstable directions", self.num_unstable, "d"),
                numbers("largest |eigenvalue|", moduli, ".4f"),
                texts("state", states),
            ),
            (kinds,) if kinds else (),
            drawings=(self.drawing,),
        )

    def drawing(self) -> str:
        """The points on their first two principal axes: discs attract, squares do not."""
        return points(self.states, self.attracts)


def fixed_points(
    network: object,
    inputs: ArrayLike | None = None,
    *,
    states: ArrayLike | None = None,
    num_starts: int = 1024,
    max_steps: int = 100,
    tolerance: float | None = None,
    seed: int = 0,
) -> FixedPoints | CellFixedPoints:
    r"""The fixed points of each symbol's map of an ISAN, or of any cell under a constant input.

    Args:
        network: an ISAN, its cell, or a model with one; with `inputs`, a recurrent layer, or a model with exactly one.
        inputs: (features,), the input of the cell at every step; None for the maps of an ISAN's symbols, in closed
            form.
        states: (num_states, s), whole states such as `h` of `trace`. Newton's method starts from some of them, and from
            means of two, four or eight of them; None draws the starts from [-1, 1].
        num_starts: number of starts of Newton's method.
        max_steps: maximum number of steps of Newton's method.
        tolerance: largest |F(s) - s| at a fixed point. Points closer to each other than its square root count as one.
            By default 1e-10, or 1e-5 for a cell whose equations are not known.
        seed: of the starts.

    Returns:
        `FixedPoints` of an ISAN, NaN for a map with an eigenvalue of 1 up to rounding; with `inputs`,
        `CellFixedPoints`.

    Raises:
        ValueError: without inputs, if there is no ISAN, or more than one; with inputs, if there is no recurrent layer,
            if it draws noise, or if inputs or states have other shapes or are not finite.

    Exactness: float64, by the equations of this package's cells, of Keras's cells with their usual activations, and of
        a SimpleRNN with relu, sigmoid or no activation. Other cells run, and are differentiated, in their own dtype.
        `residual` is the largest error of the equation at the points returned. Newton's method may miss points.
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
                "Without inputs the network must have an ISAN, whose symbols have fixed points. Received: inputs=None "
                f"and {describe(network)}. Pass inputs, the vector (features,) that the cell reads at every step."
            )
        return isan_fixed_points(network)
    num_starts, max_steps = integer("num_starts", num_starts), integer("max_steps", max_steps)
    if tolerance is not None:
        positive("tolerance", tolerance)
    constant = as_array("The inputs", inputs)
    if constant.ndim != 1 or not np.isfinite(constant).all():
        raise ValueError(
            "`inputs` must be one finite vector (features,), which the cell reads at every step. Received: "
            f"shape={constant.shape}."
        )
    cell = cell_map(network, constant.astype(np.float64))
    if tolerance is None:
        tolerance = TOLERANCE if cell.is_closed else TOLERANCE_OF_CODE
    starts = _starts(states, cell.size, num_starts, generator(seed))
    with np.errstate(over="ignore", invalid="ignore"):
        ends = _newton(cell, starts, max_steps)
        off = np.abs(cell.step(ends) - ends).max(axis=1)
    converged = ends[off <= tolerance]
    distinct: list[Array] = []
    for state in converged:
        if all(np.abs(state - other).max() > np.sqrt(tolerance) for other in distinct):
            distinct.append(state)
    points = np.array(distinct).reshape(-1, cell.size)
    after, jacobians = (cell.step(points), cell.jacobian(points)) if len(points) else (points, np.zeros((0, 1, 1)))
    eigenvalues = np.linalg.eigvals(jacobians).astype(np.complex128).reshape(-1, cell.size)
    eigenvalues = np.take_along_axis(eigenvalues, np.argsort(-np.abs(eigenvalues), axis=1), axis=1)
    order = np.argsort((np.abs(eigenvalues) > 1).sum(axis=1), kind="stable")
    residual = float(np.abs(after - points).max(initial=0.0))
    return CellFixedPoints(points[order], eigenvalues[order], len(converged), residual)


def _starts(states: ArrayLike | None, size: int, num_starts: int, rng: np.random.Generator) -> Array:
    if states is None:
        return rng.uniform(-1, 1, (num_starts, size))
    rows = as_array("The states", states).astype(np.float64)
    if rows.ndim != 2 or rows.shape[1] != size or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(
            f"`states` must be finite (num_states, {size}), h first. Received: shape={rows.shape}. Reshape the states "
            "of a trace."
        )
    drawn = rows[rng.integers(len(rows), size=(num_starts, max(MIXED)))]
    mixed = rng.choice(MIXED, num_starts)
    weights = (np.arange(max(MIXED)) < mixed[:, None]) / mixed[:, None]
    return np.asarray(np.einsum("im,ims->is", weights, drawn))


def _newton(cell: CellMap, state: Array, max_steps: int) -> Array:
    identity = np.eye(state.shape[1])
    for _ in range(max_steps):
        off = cell.step(state) - state
        now = np.linalg.norm(off, axis=1)
        if (now < (ROUNDING if cell.is_closed else ROUNDING_OF_CODE)).all():
            break
        # By least squares, so that a singular matrix gives a direction too.
        move = np.stack(
            [np.linalg.lstsq(identity - j, o, rcond=1e-12)[0] for j, o in zip(cell.jacobian(state), off, strict=True)]
        )
        share = np.ones(len(state))
        for _ in range(HALVINGS):
            tried = state + share[:, None] * move
            worse = ~(np.linalg.norm(cell.step(tried) - tried, axis=1) <= now)
            if not worse.any():
                break
            share[worse] /= 2
        share[worse] = 0
        if not share.any():  # no start comes nearer
            break
        state = state + share[:, None] * move
    return state
