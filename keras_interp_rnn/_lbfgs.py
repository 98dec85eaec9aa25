r"""Many small minimizations at once, by L-BFGS within bounds, in float64 NumPy.

Each row of an array is one problem. All rows are evaluated together, and each is at its own place in its own line
search: a row never waits for another. With the inverse Hessian $H$ that the last pairs of steps and changes of the
gradient imply (Nocedal, 1980), the direction is

$$d_F = -H_{FF} g_F, \qquad d_A = 0,$$

where $A$ are the entries at a bound that the gradient pushes beyond it, and $F$ the others (Bertsekas, 1982,
"Projected Newton methods for optimization problems with simple constraints"). A step goes to $P(x + t d)$, where $P$
clips at the bounds; $t$ brackets the weak Wolfe conditions (Lewis and Overton, 2013).

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


class Minimization:
    """The state of all rows.

    Args:
        function: values (rows,) and gradients (rows, n) at the points of some rows: `function(points, rows)`.
        points: (rows, n), where to start.
        lower, upper: bounds (n,).
        max_steps: of each row.
        tolerance: a row ends where no entry of its gradient that a bound leaves free exceeds it, or where a step
            lowers its value by less than its square.
    """

    def __init__(
        self,
        function: Callable[[Array, Ints], tuple[Array, Array]],
        points: Array,
        lower: Array,
        upper: Array,
        max_steps: int,
        tolerance: float,
    ) -> None:
        self.function, self.lower, self.upper = function, lower, upper
        self.max_steps, self.tolerance = max_steps, tolerance
        rows, n = points.shape
        self.points = np.clip(points, lower, upper)
        self.live = np.arange(rows)
        self.values, self.gradients = function(self.points, self.live)
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
        return Minima(self.points, self.values, self.converged, self.num_steps)

    def advance(self) -> None:
        """One evaluation of all live rows, and what follows from it for each."""
        rows = self.live
        trial = np.clip(self.points[rows] + self.lengths[rows, None] * self.directions[rows], self.lower, self.upper)
        values, gradients = self.function(trial, rows)
        self.trials[rows] += 1
        moves = trial - self.points[rows]
        inside = (trial > self.lower) & (trial < self.upper)
        slopes = np.einsum("ij,ij->i", gradients, np.where(inside, self.directions[rows], 0.0))
        expected = np.einsum("ij,ij->i", self.gradients[rows], moves)
        finite = np.isfinite(values) & np.isfinite(gradients).all(1)
        decreased = finite & (values <= self.values[rows] + DECREASE * expected)
        first_slopes = np.einsum("ij,ij->i", self.gradients[rows], self.directions[rows])
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
        gained = self.values[rows] - values
        self.points[rows], self.values[rows], self.gradients[rows] = points, values, gradients
        self.num_steps[rows] += 1
        stalled = gained <= self.tolerance**2 * np.maximum(np.abs(values), 1.0)
        self.end(np.isin(np.arange(len(self.points)), rows[stalled]), True)
        self.end(self.num_steps >= self.max_steps, False)
        self.aim(rows)

    def aim(self, rows: Ints) -> None:
        """New directions; rows without a slope end."""
        gradient = self.gradients[rows]
        beyond = ((self.points[rows] <= self.lower) & (gradient > 0)) | (
            (self.points[rows] >= self.upper) & (gradient < 0)
        )
        free = np.where(beyond, 0.0, gradient)
        done = np.isin(np.arange(len(self.points)), rows[np.abs(free).max(axis=1, initial=0.0) <= self.tolerance])
        self.end(done, True)
        directions = np.where(beyond, 0.0, -self.times_inverse_hessian(rows, free))
        slopes = np.einsum("ij,ij->i", directions, gradient)
        uphill = ~(slopes < 0)
        directions[uphill] = -free[uphill]
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
