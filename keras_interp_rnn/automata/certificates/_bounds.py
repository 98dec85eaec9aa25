r"""Bounds on what a state-regularized cell computes, in float32 or float64, over a region of states.

Every bound holds for the number that the network's own arithmetic computes: the interval of the exact value plus an
allowance for rounding, from the classical bound on a sum of m products, $\gamma_m \sum |a||b|$ with
$\gamma_m = m u / (1 - m u)$, u the unit roundoff. If the arithmetic might overflow there is no bound: it is infinite or
NaN, and proves nothing. The bounds are computed in float64 and widened by `WIDEN`. This module needs NumPy alone.

A region may be given for E epsilons together: its boxes, and the bounds over them, then have E as their first axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.equations import between

FUNCTION_ERROR = 2.0**-20
"""Allowance for tanh, sigmoid and exp of the backend: absolute for the first two, relative for exp."""

WIDEN = 1e-12
"""Relative allowance for the float64 rounding of these bounds themselves."""

SURE_LEAD = 4 * FUNCTION_ERROR + 64 * 2.0**-24
r"""Nats by which a score over tau must lead, beyond rounding, for its computed probability to be the largest.

Probabilities are $\exp(z_j - \max z) / \sum$: two exponentials have an error of a factor $1 \pm 2^{-20}$ each, and the
division, by the same number for all, may round them to one number if they are less than a few u apart.
"""


@dataclass(frozen=True)
class Arithmetic:
    """The floating-point numbers that a network computes with.

    Attributes:
        unit: u plus four times the unit roundoff of float64, in which these bounds themselves round.
        tiny: the smallest normal number; smaller operands and results may be flushed to zero.
        limit: nothing overflows if the sums of absolute values are below this.
    """

    unit: float
    tiny: float
    limit: float

    @classmethod
    def of(cls, dtype: str) -> Arithmetic:
        info = np.finfo(dtype)
        return cls(float(info.eps) / 2 + 4 * 2.0**-53, float(info.tiny), float(info.max) / 64)

    def slack(self, terms: int, absolute: Array | float, operands: Array | float) -> Array:
        """Bound on the error of a sum of products, from the sums of absolute values of products and of factors."""
        error = _gamma(terms, self.unit) * absolute + self.tiny * (terms + operands)
        return np.where(absolute < self.limit, error, np.inf)


class Box(NamedTuple):
    """Componentwise bounds: low <= x <= high."""

    low: Array
    high: Array

    def wider(self, by: Array | float) -> Box:
        slack = by + WIDEN * (np.abs(self.low) + np.abs(self.high))
        return Box(self.low - slack, self.high + slack)

    @property
    def magnitude(self) -> Array:
        return np.maximum(np.abs(self.low), np.abs(self.high))


@dataclass(frozen=True)
class Intervals:
    """The array namespace in which a cell's equations are evaluated on intervals.

    Attributes:
        terms: more than any sum of the cell has. operands: (..., 1), sum of the absolute values of all factors.
    """

    arithmetic: Arithmetic
    terms: int
    operands: Array

    def slack(self, absolute: Array) -> Array:
        """Bound on the error of a sum, from the sum of the absolute values of its terms."""
        return self.arithmetic.slack(self.terms, absolute, self.operands)

    def matmul(self, x: Interval | Array, matrix: Array) -> Interval:
        if isinstance(x, Interval):
            box = x.computed()
            return Interval(self, _linear(box, matrix), box.magnitude @ np.abs(matrix))
        value = x @ matrix
        return Interval(self, Box(value, value), np.abs(x) @ np.abs(matrix))

    def tanh(self, x: Interval) -> Interval:
        return Interval(self, _tanh(x.computed()), None)

    def sigmoid(self, x: Interval) -> Interval:
        return Interval(self, _sigmoid(x.computed()), None)

    def split(self, x: Interval, parts: int, axis: int) -> list[Interval]:
        size = x.shape[-1] // parts
        return [x[..., i * size : (i + 1) * size] for i in range(parts)]


@dataclass(frozen=True)
class Interval:
    """Bounds of a sum of computed terms, which the network computes with rounding.

    Attributes:
        box: bounds of the exact sum.
        size: bound on the sum of the absolute values of its terms; None if no rounding is left to count.
    """

    xp: Intervals
    box: Box
    size: Array | None

    __array_ufunc__ = None  # array + interval calls the interval's method

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the bounded numbers."""
        return self.box.low.shape

    def computed(self) -> Box:
        """Bounds of the number that the network computes."""
        return self.box if self.size is None else self.box.wider(self.xp.slack(self.size))

    @property
    def absolute(self) -> Array:
        """Bound on the sum of the absolute values of the terms, of which a computed number is one."""
        return self.box.magnitude if self.size is None else self.size

    def __getitem__(self, key: Any) -> Interval:
        box = Box(self.box.low[key], self.box.high[key])
        return Interval(self.xp, box, None if self.size is None else self.size[key])

    def __add__(self, other: Interval | Array) -> Interval:
        if not isinstance(other, Interval):
            shifted = Box(self.box.low + other, self.box.high + other).wider(WIDEN * np.abs(other))
            return Interval(self.xp, shifted, self.absolute + np.abs(other))
        box = Box(self.box.low + other.box.low, self.box.high + other.box.high)
        rounding = WIDEN * (self.box.magnitude + other.box.magnitude)
        return Interval(self.xp, box.wider(rounding), self.absolute + other.absolute)

    def __mul__(self, other: Interval) -> Interval:
        box = _hull([x * y for x in self.computed() for y in other.computed()])
        return Interval(self.xp, box, box.magnitude)


@between.register
def _(gate: Interval, first: Interval, second: Interval) -> Interval:
    """Linear in each of the three, so its extremes lie at corners."""
    a, b = first.computed(), second.computed()
    box = _hull([z * h + (1 - z) * c for z in gate.computed() for h in a for c in b])
    return Interval(gate.xp, box, a.magnitude + b.magnitude)


@dataclass(frozen=True)
class Region:
    """States s + sum_j a_j d_j + e with a_j >= 0, sum a_j <= epsilon, |e| <= error; epsilon is a number or (E,)."""

    centre: Array
    directions: Array  # (j, n)
    epsilon: Array | float
    error: Array

    @classmethod
    def point(cls, state: Array) -> Region:
        return cls(state, np.zeros((0, len(state))), 0.0, np.zeros(len(state)))

    def under(self, matrix: Array) -> Box:
        """Bounds on h @ matrix: a linear map of the simplex has its extremes at the corners."""
        return self._around(self.centre @ matrix, self.directions @ matrix, self.error @ np.abs(matrix))

    def box(self) -> Box:
        return self._around(self.centre, self.directions, self.error)

    def _around(self, middle: Array, moves: Array, spread: Array) -> Box:
        epsilon = np.expand_dims(self.epsilon, -1)
        low = epsilon * np.minimum(moves.min(axis=0, initial=0.0), 0) - spread
        high = epsilon * np.maximum(moves.max(axis=0, initial=0.0), 0) + spread
        return Box(middle + low, middle + high).wider(0.0)


@dataclass(frozen=True)
class Scores:
    r"""The stochastic component at one temperature.

    Attributes:
        centroids: (k, n). hard: whether the state is the most probable centroid itself.
        coldest, hottest: bounds of $\tau$; they differ if the backend computes it as an exponential.
    """

    centroids: Array
    hard: bool
    coldest: float
    hottest: float
    arithmetic: Arithmetic

    def region(self, i: int, epsilon: Array | float) -> Region:
        """The states that the network may compute if alpha_i >= 1 - epsilon, or if it takes s_i itself."""
        s, arithmetic = self.centroids, self.arithmetic
        if self.hard:
            return Region(s[i], np.zeros((0, s.shape[1])), 0.0, np.full(s.shape[1], arithmetic.tiny))
        # The computed alpha is alpha (1 + eta), apart from underflow; the mixture rounds k products.
        k, n = s.shape
        largest = np.abs(s).max(axis=0)
        # |u| is at most the larger of 1 and the state before, as it lies between that and a tanh. The state before was
        # at most twice the largest centroid, which the last line ensures.
        reach = np.maximum(2 * largest, 1.01)
        score = self._rounding(reach)
        eta = np.expm1(2 * score) + (k + 8) * arithmetic.unit + 2 * FUNCTION_ERROR
        relative = eta + _gamma(k + 2, arithmetic.unit) * (1 + eta)
        # Of sum_j alpha_j |s_j|, in which the other centroids have at most epsilon.
        others = np.delete(s, i, axis=0)
        mixed = np.abs(s[i]) + np.multiply.outer(epsilon, np.abs(others).max(axis=0, initial=0.0))
        error = relative * mixed + 8 * arithmetic.tiny * (k + np.abs(s).sum(axis=0))
        return Region(s[i], others - s[i], epsilon, np.where(relative <= 0.99, error, np.inf))

    def worst_log_odds(self, u: Box, target: int) -> Array:
        r"""Lower bound of $\ln(\alpha_t / (1 - \alpha_t))$ over a box of u; if hard, the lead of score t, in nats."""
        if len(self.centroids) == 1:
            return np.array(np.finfo(np.float64).max)  # there is no other centroid
        apart = np.delete(self.centroids, target, axis=0) - self.centroids[target]
        bound = -_least(u, -apart)
        exponents = np.maximum(bound / self.coldest, bound / self.hottest)
        rounding = self._rounding(u.magnitude)
        highest = exponents.max(axis=-1)
        if self.hard:
            # The scores are computed before they are compared, so both have an error.
            return np.asarray(-highest - 2 * rounding - SURE_LEAD)
        worst = highest + np.log(np.exp(exponents - highest[..., None]).sum(axis=-1))
        odds = -worst - WIDEN * (np.abs(worst) + np.abs(highest) + 1)
        return np.where(np.isfinite(rounding), odds, -np.inf)

    def _rounding(self, u: Array) -> Array:
        """Bound on the error of a score over tau, for |u| up to this: product, division, subtraction of the maximum."""
        sizes = np.abs(self.centroids)
        absolute = (u @ sizes.T).max(axis=-1)
        operands = u.sum(axis=-1) + sizes.sum(axis=1).max()
        off = self.arithmetic.slack(u.shape[-1] + 6, absolute, operands) / self.coldest
        # tau itself is a normal number, and the quotient overflows nowhere.
        holds = (self.coldest >= self.arithmetic.tiny) & (absolute / self.coldest < self.arithmetic.limit)
        return np.where(holds, off + 4 * self.arithmetic.tiny, np.inf)


Cell = Callable[[Region], Callable[[Array], Box]]
"""From a region of states, then the features of a symbol, to the box of u."""
Decision = Callable[[Box, int], Array]
"""From the box of a state and the place of its label to a lower bound on the margin of that decision."""


def bounds_of(network: Proved, temperature: float) -> tuple[Cell, Decision, Scores]:
    """The bounds of a network's parts: the cell, the head's decision, and the stochastic component."""
    arithmetic = Arithmetic.of(network.dtype)
    # exp of the backend, and the two roundings of its argument and result
    spread = 2 * FUNCTION_ERROR if network.learns_temperature else 0.0
    scores = Scores(network.centroids, network.hard, temperature * (1 - spread), temperature * (1 + spread), arithmetic)
    head = _head if network.kernel.ndim == 1 else _heads
    return _cell(network, arithmetic), head(network, arithmetic), scores


def _cell(network: Proved, arithmetic: Arithmetic) -> Cell:
    """The cell's own equations, evaluated on intervals."""
    equations = network.equations
    units = len(equations.recurrent_kernel)
    arrays = (getattr(equations, field.name) for field in fields(equations))
    weights = _total(*(array for array in arrays if isinstance(array, np.ndarray)))

    def reading(region: Region) -> Callable[[Array], Box]:
        state, recurrent = region.box(), equations.recurrent_kernel
        product, size = region.under(recurrent), state.magnitude @ np.abs(recurrent)
        operands = state.magnitude.sum(axis=-1, keepdims=True) + weights

        def bounds(x: Array) -> Box:
            xp = Intervals(arithmetic, len(x) + units + 12, operands + _total(x))
            drive = equations.drive(xp, x)
            states = (Interval(xp, state, None),)
            new: Interval = equations.step_given_product(xp, states, Interval(xp, product, size), drive).states[0]
            return new.computed()

        return bounds

    return reading


def _head(network: Proved, arithmetic: Arithmetic) -> Decision:
    """The decision of one output, by its sign."""
    kernel, bias = network.kernel, float(network.bias)
    weights = _total(kernel, np.array([bias]))

    def margin(state: Box, accepts: int) -> Array:
        """Lower bound on the logit's distance from 0 on the right side; sigmoid keeps the side up to its own error."""
        side = 1.0 if accepts else -1.0
        size = state.magnitude @ np.abs(kernel) + abs(bias)
        slack = arithmetic.slack(len(kernel) + 4, size, state.magnitude.sum(axis=-1) + weights)
        return _least(state, side * kernel) + side * bias - slack - WIDEN * size - 8 * FUNCTION_ERROR

    return margin


def _heads(network: Proved, arithmetic: Arithmetic) -> Decision:
    """The decision of an output for each label, by the largest."""
    kernel, bias = network.kernel, np.asarray(network.bias)
    weights = _total(kernel, bias)

    def margin(state: Box, label: int) -> Array:
        """Lower bound on the lead of a label's logit, beyond what a softmax may round to a tie."""
        others = np.delete(np.arange(len(bias)), label)
        lead = _least(state, (kernel[:, [label]] - kernel[:, others]).T) + (bias[label] - bias[others])
        size = state.magnitude @ np.abs(kernel) + np.abs(bias)
        operands = state.magnitude.sum(axis=-1, keepdims=True) + weights
        slack = arithmetic.slack(len(kernel) + 4, size, operands) + WIDEN * size
        return np.asarray((lead - slack[..., [label]] - slack[..., others]).min(axis=-1) - SURE_LEAD)

    return margin


def _least(x: Box, rows: Array) -> Array:
    """Lower bound of x @ rows.T over a box, less the rounding of its sums."""
    error = max(WIDEN, _gamma(2 * rows.shape[-1] + 2, 2.0**-53)) * (x.magnitude @ np.abs(rows).T)
    return x.low @ np.maximum(rows, 0).T + x.high @ np.minimum(rows, 0).T - error


def _hull(corners: list[Array]) -> Box:
    return Box(np.minimum.reduce(corners), np.maximum.reduce(corners)).wider(0.0)


def _linear(x: Box, matrix: Array) -> Box:
    middle, half = (x.low + x.high) / 2 @ matrix, (x.high - x.low) / 2 @ np.abs(matrix)
    return Box(middle - half, middle + half).wider(WIDEN * (x.magnitude @ np.abs(matrix)))


def _tanh(x: Box) -> Box:
    return Box(np.tanh(x.low), np.tanh(x.high)).wider(FUNCTION_ERROR)


def _sigmoid(x: Box) -> Box:
    return Box(0.5 + 0.5 * np.tanh(x.low / 2), 0.5 + 0.5 * np.tanh(x.high / 2)).wider(FUNCTION_ERROR)


def _gamma(m: int, unit: float) -> float:
    return m * unit / (1 - m * unit)


def _total(*arrays: Array) -> float:
    """Sum of absolute values."""
    return float(sum(np.abs(x).sum() for x in arrays))
