r"""Many small minimizations at once, by L-BFGS within bounds, in float64 NumPy.

Each row of an array is one problem. All rows are evaluated together, and each is at its own place in its own line
search: a row never waits for another. The direction is $-H g$ with the inverse Hessian $H$ that the last pairs of steps
and changes of the gradient imply (Nocedal, 1980); the length of a step brackets the weak Wolfe conditions (Lewis and
Overton, 2013).

Bounds are a change of coordinates, as in MINUIT (James and Roos, 1975): $x = a + (b - a) \sin^2 u$ between two,
$x = a + u^2$ or $b - u^2$ beyond one. Bounds are reached, at $u = 0$, and the objective stays smooth, so that $H$ does.

What it leaves out: constraints other than bounds, and a proof that a minimum is the least one: hence restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array, Ints

PAIRS = 10
"""Pairs of steps and changes of the gradient that imply the Hessian."""

DECREASE, CURVATURE = 1e-4, 0.9
"""Constants of the Wolfe conditions."""

WINDOW = 10
"""Steps over which a gain is measured: one short step is no end."""

MAX_TRIALS = 25
"""Points of one line search. After half of them a decrease suffices."""


@dataclass(frozen=True)
class Minima:
    """Where the minimizations of all rows ended.

    Attributes:
        points: (rows, n). values: (rows,).
        converged: bool (rows,); False where the steps ran out.
        num_steps: int (rows,).
    """

    points: Array
    values: Array
    converged: NDArray[np.bool_]
    num_steps: Ints


MARGIN = 0.01
"""How far from its bounds a start is moved, relative to their distance, or to 1: at a bound it would not see inside."""


class Box:
    """The coordinates u of points within bounds.

    Args:
        lower, upper: (n,), infinite for none.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        below, above = np.isfinite(lower), np.isfinite(upper)
        self.both, self.below, self.above = below & above, below & ~above, above & ~below
        self.start = np.where(below, lower, np.where(above, upper, 0.0))
        self.width = np.where(self.both, upper, 1.0) - np.where(self.both, lower, 0.0)

    def coordinates(self, points: Array) -> Array:
        """Coordinates of points, moved off the bounds."""
        shares = np.clip((points - self.start) / np.maximum(self.width, 1e-300), MARGIN, 1 - MARGIN)
        beyond = np.sqrt(np.maximum(np.abs(points - self.start), MARGIN))
        of_one = np.where(self.below | self.above, beyond, points)
        return np.where(self.both, np.arcsin(np.sqrt(shares)), of_one)

    def points(self, coordinates: Array) -> Array:
        """Points of coordinates."""
        sign = np.where(self.above, -1.0, 1.0)
        of_one = np.where(self.below | self.above, self.start + sign * coordinates**2, coordinates)
        inside = np.where(self.both, self.start + self.width * np.sin(coordinates) ** 2, of_one)
        return np.clip(inside, self.lower, self.upper)

    def slopes(self, coordinates: Array) -> Array:
        """Derivatives of points by their coordinates."""
        of_one = np.where(self.below, 2 * coordinates, np.where(self.above, -2 * coordinates, 1.0))
        return np.where(self.both, self.width * np.sin(2 * coordinates), of_one)


class Minimization:
    """The state of all rows; points are in the coordinates of the box.

    Args:
        function: values (rows,) and gradients (rows, n) at the points of some rows: `function(points, rows)`.
        points: (rows, n), where to start.
        lower, upper: bounds (n,).
        max_steps: of each row.
        tolerance: a row ends where no entry of its gradient, by the coordinates, exceeds it.
        min_gain: a row ends where `WINDOW` steps lower its value by no more than this, relative to a value above 1.
    """

    def __init__(
        self,
        function: Callable[[Array, Ints], tuple[Array, Array]],
        points: Array,
        lower: Array,
        upper: Array,
        max_steps: int,
        tolerance: float,
        min_gain: float,
    ) -> None:
        self.function, self.box = function, Box(lower, upper)
        self.max_steps, self.tolerance, self.min_gain = max_steps, tolerance, min_gain
        rows, n = points.shape
        self.points = self.box.coordinates(points)
        self.live = np.arange(rows)
        self.values, self.gradients = self.evaluate(self.points, self.live)
        self.marks = self.values.copy()  # at the beginning of the window
        self.converged = np.zeros(rows, bool)
        self.num_steps, self.trials = np.zeros((2, rows), np.int64)
        self.moves, self.changes = np.zeros((2, rows, PAIRS, n))
        self.curvatures = np.zeros((rows, PAIRS))  # 0 where there is no pair yet
        self.directions = np.zeros((rows, n))
        # The line search: the present length, the bracket, and the value and slope at its lower end.
        self.lengths, self.low, self.high, self.low_values, self.low_slopes = np.zeros((5, rows))
        self.end(~np.isfinite(self.values) | ~np.isfinite(self.gradients).all(1), False)
        self.aim(self.live)

    def run(self, progress: Callable[[int, int], None] | None = None) -> Minima:
        """Runs to the end; `progress` is called after every evaluation, with its number and that of the live rows."""
        evaluation = 0
        while len(self.live):
            self.advance()
            evaluation += 1
            if progress is not None:
                progress(evaluation, len(self.live))
        return Minima(self.box.points(self.points), self.values, self.converged, self.num_steps)

    def evaluate(self, points: Array, rows: Ints) -> tuple[Array, Array]:
        """Values and gradients by the coordinates."""
        values, gradients = self.function(self.box.points(points), rows)
        return values, gradients * self.box.slopes(points)

    def advance(self) -> None:
        """One evaluation of all live rows, and what follows from it for each."""
        rows = self.live
        directions, lengths = self.directions[rows], self.lengths[rows]
        trial = self.points[rows] + lengths[:, None] * directions
        values, gradients = self.evaluate(trial, rows)
        self.trials[rows] += 1
        slopes = np.einsum("ij,ij->i", gradients, directions)
        first_slopes = np.einsum("ij,ij->i", self.gradients[rows], directions)
        finite = np.isfinite(values) & np.isfinite(gradients).all(1)
        decreased = finite & (values <= self.values[rows] + DECREASE * lengths * first_slopes)
        flat = slopes >= CURVATURE * first_slopes
        accepted = decreased & (flat | (self.trials[rows] > MAX_TRIALS // 2))
        self.bracket(rows[~accepted], decreased[~accepted], values[~accepted], slopes[~accepted])
        self.accept(rows[accepted], trial[accepted], values[accepted], gradients[accepted])
        self.give_up(rows[~accepted & (self.trials[rows] >= MAX_TRIALS)])

    def accept(self, rows: Ints, points: Array, values: Array, gradients: Array) -> None:
        """Moves rows, remembers the pairs, and ends the rows that are done."""
        moves, changes = points - self.points[rows], gradients - self.gradients[rows]
        curvature = np.einsum("ij,ij->i", moves, changes)
        good = curvature > 1e-10 * np.einsum("ij,ij->i", changes, changes)
        kept = rows[good]
        for memory, new in ((self.moves, moves), (self.changes, changes), (self.curvatures, curvature)):
            memory[kept] = np.roll(memory[kept], -1, axis=1)
            memory[kept, -1] = new[good]
        self.points[rows], self.values[rows], self.gradients[rows] = points, values, gradients
        self.num_steps[rows] += 1
        marked = self.num_steps[rows] % WINDOW == 0
        stalled = marked & (self.marks[rows] - values <= self.min_gain * np.maximum(np.abs(values), 1.0))
        self.marks[rows[marked]] = values[marked]
        self.end(np.isin(np.arange(len(self.points)), rows[stalled]), True)
        self.end(self.num_steps >= self.max_steps, False)
        self.aim(rows)

    def aim(self, rows: Ints) -> None:
        """New directions; rows without a slope end."""
        gradient = self.gradients[rows]
        done = np.abs(gradient).max(axis=1, initial=0.0) <= self.tolerance
        self.end(np.isin(np.arange(len(self.points)), rows[done]), True)
        directions = -self.times_inverse_hessian(rows, gradient)
        slopes = np.einsum("ij,ij->i", directions, gradient)
        uphill = ~(slopes < 0)
        directions[uphill] = -gradient[uphill]
        self.curvatures[rows[uphill]] = 0.0
        self.directions[rows] = directions
        fresh = ~(self.curvatures[rows] > 0).any(axis=1)
        sizes = np.abs(directions).sum(axis=1)
        self.lengths[rows] = np.where(fresh, np.minimum(1.0, 1 / np.maximum(sizes, 1e-300)), 1.0)
        self.low[rows], self.high[rows], self.trials[rows] = 0.0, np.inf, 0
        self.low_values[rows] = self.values[rows]
        self.low_slopes[rows] = np.einsum("ij,ij->i", directions, gradient)

    def times_inverse_hessian(self, rows: Ints, vectors: Array) -> Array:
        """The two loops over the pairs, from the last one to the first and back."""
        moves, changes, curvatures = self.moves[rows], self.changes[rows], self.curvatures[rows]
        inverse = np.divide(1.0, curvatures, out=np.zeros_like(curvatures), where=curvatures > 0)
        result, shares = vectors.copy(), np.zeros_like(curvatures)
        for i in reversed(range(PAIRS)):
            shares[:, i] = inverse[:, i] * np.einsum("ij,ij->i", moves[:, i], result)
            result -= shares[:, i, None] * changes[:, i]
        length = np.einsum("ij,ij->i", changes[:, -1], changes[:, -1])
        scale = np.divide(curvatures[:, -1], length, out=np.ones_like(length), where=inverse[:, -1] > 0)
        result *= scale[:, None]
        for i in range(PAIRS):
            back = inverse[:, i] * np.einsum("ij,ij->i", changes[:, i], result)
            result += (shares[:, i] - back)[:, None] * moves[:, i]
        return result

    def bracket(self, rows: Ints, decreased: NDArray[np.bool_], values: Array, slopes: Array) -> None:
        """The next lengths of line searches that go on."""
        lengths, low, high = self.lengths[rows], self.low[rows], self.high[rows]
        # The minimum of the parabola through the lower end, its slope and the value that is too high.
        width = lengths - low
        excess = values - self.low_values[rows] - self.low_slopes[rows] * width
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            vertex = -self.low_slopes[rows] * width**2 / (2 * excess)
        vertex = np.where(np.isfinite(vertex), vertex, 0.1 * width)
        shorter = low + np.clip(vertex, 0.1 * width, 0.5 * width)
        longer = np.where(np.isinf(high), 3 * lengths, (lengths + high) / 2)
        self.high[rows] = np.where(decreased, high, lengths)
        self.low[rows] = np.where(decreased, lengths, low)
        self.low_values[rows] = np.where(decreased, values, self.low_values[rows])
        self.low_slopes[rows] = np.where(decreased, np.minimum(slopes, -1e-300), self.low_slopes[rows])
        self.lengths[rows] = np.where(decreased, longer, shorter)

    def give_up(self, rows: Ints) -> None:
        """Rows without a decrease forget their pairs and try the gradient; if they had none they are at a minimum."""
        had_none = ~(self.curvatures[rows] > 0).any(axis=1)
        self.end(np.isin(np.arange(len(self.points)), rows[had_none]), True)
        again = rows[~had_none]
        self.curvatures[again] = 0.0
        self.aim(again)

    def end(self, rows: NDArray[np.bool_], converged: bool) -> None:
        """Takes rows out of the live ones; those that have ended keep how they ended."""
        ends = rows[self.live]
        self.converged[self.live[ends]] = converged
        self.live = self.live[~ends]
