r"""Bounds on what a state-regularized cell computes, in float32 or float64, over a region of states.

Every bound is of the number that the network's own arithmetic arrives at: beside the interval of the exact value stands
an allowance for rounding, from the classical bound on a sum of m products, $\gamma_m \sum |a||b|$ with
$\gamma_m = m u / (1 - m u)$, u the unit roundoff. Where the arithmetic might overflow there is no bound: it is infinite
or NaN, and proves nothing. The bounds are float64 and widened by `WIDEN`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.automata._deployed import Deployed, as_float64

Array = NDArray[np.float64]

FUNCTION_ERROR = 2.0**-20
"""Allowed to tanh, sigmoid and exp of the backend: absolute for the first two, relative for exp."""

WIDEN = 1e-12
"""Relative allowance for the float64 rounding of these bounds themselves."""

SURE_LEAD = 4 * FUNCTION_ERROR + 64 * 2.0**-24
r"""Nats by which a score over tau must lead, beyond rounding, for its computed probability to be the largest.

Probabilities are $\exp(z_j - \max z) / \sum$: two exponentials are off by a factor of $1 \pm 2^{-20}$ each, and the
division, which is the same for all, may round them to one number if they are less than a few u apart.
"""


@dataclass(frozen=True)
class Arithmetic:
    """The floating-point numbers that a network computes with.

    Attributes:
        unit: u, and four times that of float64, in which the bounds round beside the network.
        tiny: the smallest normal number; smaller ones may be taken for zero, as operands and as results.
        limit: what sums of absolute values must stay below, so that nothing overflows.
    """

    unit: float
    tiny: float
    limit: float

    @classmethod
    def of(cls, dtype: str) -> Arithmetic:
        info = np.finfo(dtype)
        return cls(float(info.eps) / 2 + 4 * 2.0**-53, float(info.tiny), float(info.max) / 64)

    def slack(self, terms: int, absolute: Array | float, operands: float) -> Array:
        """How far a sum of products lies from its value: `absolute` of the products, `operands` of their factors."""
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
class Region:
    """States s + sum_j a_j d_j + e with a_j >= 0, sum a_j <= epsilon, |e| <= error."""

    centre: Array
    directions: Array  # (j, n)
    epsilon: float
    error: Array

    @classmethod
    def point(cls, state: Array) -> Region:
        return cls(state, np.zeros((0, len(state))), 0.0, np.zeros(len(state)))

    def under(self, matrix: Array) -> Box:
        """Bounds on h @ matrix: a linear map of the simplex has its extremes at the corners."""
        middle, moves = self.centre @ matrix, self.directions @ matrix
        spread = self.error @ np.abs(matrix)
        low = self.epsilon * np.minimum(moves.min(axis=0, initial=0.0), 0) - spread
        high = self.epsilon * np.maximum(moves.max(axis=0, initial=0.0), 0) + spread
        return Box(middle + low, middle + high).wider(0.0)

    def box(self) -> Box:
        return self.under(np.eye(len(self.centre)))


@dataclass(frozen=True)
class Scores:
    r"""The stochastic component at one temperature.

    Attributes:
        centroids: (k, n). hard: whether the state is the most probable centroid itself.
        coldest, hottest: between which $\tau$ lies: apart where the backend computes it as an exponential.
    """

    centroids: Array
    hard: bool
    coldest: float
    hottest: float
    arithmetic: Arithmetic

    def region(self, i: int, epsilon: float) -> Region:
        """Where the state lies that the network computes when alpha_i >= 1 - epsilon, or when it takes s_i itself."""
        s, arithmetic = self.centroids, self.arithmetic
        if self.hard:
            return Region(s[i], np.zeros((0, s.shape[1])), 0.0, np.full(s.shape[1], arithmetic.tiny))
        # alpha as computed is alpha (1 + eta), or off by as much as underflows; its mixture rounds k products.
        k, n = s.shape
        largest = np.abs(s).max(axis=0)
        # |u| is at most 1, or what the state before was: it lies between that and a tanh. The state before was at most
        # twice the largest centroid, which the last line makes sure of.
        reach = np.maximum(2 * largest, 1.01)
        score = self._rounding(reach)
        eta = np.expm1(2 * score) + (k + 8) * arithmetic.unit + 2 * FUNCTION_ERROR
        relative = eta + _gamma(k + 2, arithmetic.unit) * (1 + eta)
        error = relative * largest + 8 * arithmetic.tiny * (k + np.abs(s).sum(axis=0))
        return Region(s[i], np.delete(s, i, axis=0) - s[i], epsilon, np.where(relative <= 0.99, error, np.inf))

    def worst_log_odds(self, u: Box, target: int) -> float:
        r"""Lower bound of $\ln(\alpha_t / (1 - \alpha_t))$ over a box of u; if hard, the lead of score t, in nats."""
        if len(self.centroids) == 1:
            return float(np.finfo(np.float64).max)  # no other centroid: nothing can go wrong
        apart = np.delete(self.centroids, target, axis=0) - self.centroids[target]
        most = np.maximum(apart * u.low, apart * u.high)
        bound = most.sum(axis=1) + WIDEN * np.abs(most).sum(axis=1)
        exponents = np.maximum(bound / self.coldest, bound / self.hottest)
        rounding = self._rounding(u.magnitude)
        highest = exponents.max()
        if self.hard:
            # The scores are computed before they are compared: both may be off.
            return float(-highest - 2 * rounding - SURE_LEAD)
        if not np.isfinite(rounding):
            return -np.inf
        worst = highest + np.log(np.exp(exponents - highest).sum())
        return float(-worst - WIDEN * (abs(worst) + abs(highest) + 1))

    def _rounding(self, u: Array) -> float:
        """How far a computed score over tau is off, for |u| up to this: product, division, the maximum subtracted."""
        largest = np.abs(self.centroids).max(axis=0)
        absolute = float(largest @ u)
        operands = float(u.sum() + largest.sum())
        off = float(self.arithmetic.slack(len(u) + 6, absolute, operands)) / self.coldest
        # tau itself is a normal number, and the quotient overflows nowhere.
        holds = self.coldest >= self.arithmetic.tiny and absolute / self.coldest < self.arithmetic.limit
        return off + 4 * self.arithmetic.tiny if holds else np.inf


Cell = Callable[[Region, Array], Box]
Verdict = Callable[[Box, bool], float]


def of(parts: Deployed, temperature: float) -> tuple[Cell, Verdict, Scores]:
    """Bounds of a network's parts: u of the cell over a region; the head's output over a box; the component."""
    arithmetic = Arithmetic.of(parts.dtype)
    kinds = {keras.layers.GRUCell: _gru, keras.layers.SimpleRNNCell: _simple_rnn}
    # exp of the backend, and the two roundings of its argument and result
    spread = 2 * FUNCTION_ERROR if parts.learns_temperature else 0.0
    scores = Scores(parts.centroids, parts.hard, temperature * (1 - spread), temperature * (1 + spread), arithmetic)
    return kinds[type(parts.cell)](parts.cell, arithmetic), _head(parts, arithmetic), scores


def _simple_rnn(cell: Any, arithmetic: Arithmetic) -> Cell:
    kernel, recurrent = as_float64(cell.kernel), as_float64(cell.recurrent_kernel)
    bias = as_float64(cell.bias) if cell.use_bias else np.zeros(recurrent.shape[1])
    weights = _total(kernel, recurrent, bias)

    def bounds(region: Region, x: Array) -> Box:
        state = region.box().magnitude
        drive = x @ kernel + bias
        absolute = np.abs(x) @ np.abs(kernel) + np.abs(bias) + state @ np.abs(recurrent)
        slack = arithmetic.slack(len(x) + len(recurrent) + 8, absolute, _total(x, state) + weights)
        return _tanh(_shifted(region.under(recurrent), drive).wider(slack))

    return bounds


def _gru(cell: Any, arithmetic: Arithmetic) -> Cell:
    kernel, recurrent = as_float64(cell.kernel), as_float64(cell.recurrent_kernel)
    n = recurrent.shape[0]
    of_input, of_state = np.zeros(3 * n), np.zeros(3 * n)
    if cell.use_bias:
        bias = as_float64(cell.bias)
        of_input, of_state = (bias[0], bias[1]) if cell.reset_after else (bias, of_state)
    weights = _total(kernel, recurrent, of_input, of_state)

    def bounds(region: Region, x: Array) -> Box:
        state = region.box()
        drive = x @ kernel + of_input
        of_drive = np.abs(x) @ np.abs(kernel) + np.abs(of_input)
        of_inner = state.magnitude @ np.abs(recurrent) + np.abs(of_state)
        operands = _total(x, state.magnitude) + weights

        def slack(absolute: Array) -> Array:
            return arithmetic.slack(len(x) + n + 12, absolute, operands)

        inner = _shifted(region.under(recurrent), of_state).wider(slack(of_inner))
        gates = _sigmoid(_shifted(inner, drive).wider(slack(of_drive + of_inner)))
        update, reset, own = slice(n), slice(n, 2 * n), slice(2 * n, None)
        r = Box(gates.low[reset], gates.high[reset])
        if cell.reset_after:
            mixed = _product(r, Box(inner.low[own], inner.high[own]))
        else:
            held = _product(r, state).wider(slack(state.magnitude))
            mixed = _linear(held, recurrent[:, own]).wider(slack(of_inner[own]))
        size = mixed.magnitude + of_drive[own]
        candidate = _tanh(_shifted(mixed, drive[own]).wider(slack(size)))
        gate = Box(gates.low[update], gates.high[update])
        return _between(gate, state, candidate).wider(slack(state.magnitude + candidate.magnitude))

    return bounds


def _head(parts: Deployed, arithmetic: Arithmetic) -> Verdict:
    kernel, bias = parts.kernel, parts.bias
    weights = _total(kernel, np.array([bias]))

    def margin(state: Box, accepts: bool) -> float:
        """Least distance of the logit from 0 on the right side; sigmoid keeps the side up to its own error."""
        low = float(np.minimum(kernel * state.low, kernel * state.high).sum()) + bias
        high = float(np.maximum(kernel * state.low, kernel * state.high).sum()) + bias
        size = float(np.abs(kernel) @ state.magnitude) + abs(bias)
        slack = float(arithmetic.slack(len(kernel) + 4, size, _total(state.magnitude) + weights))
        return (low if accepts else -high) - slack - WIDEN * size - 8 * FUNCTION_ERROR

    return margin


def _between(gate: Box, state: Box, candidate: Box) -> Box:
    """Z * h + (1 - z) * c: linear in each of z, h and c, so that its extremes lie at corners."""
    corners = [z * h + (1 - z) * c for z in gate for h in state for c in candidate]
    return Box(np.minimum.reduce(corners), np.maximum.reduce(corners)).wider(0.0)


def _product(a: Box, b: Box) -> Box:
    corners = [x * y for x in a for y in b]
    return Box(np.minimum.reduce(corners), np.maximum.reduce(corners)).wider(0.0)


def _linear(x: Box, matrix: Array) -> Box:
    middle, half = (x.low + x.high) / 2 @ matrix, (x.high - x.low) / 2 @ np.abs(matrix)
    return Box(middle - half, middle + half).wider(WIDEN * (x.magnitude @ np.abs(matrix)))


def _shifted(x: Box, by: Array) -> Box:
    return Box(x.low + by, x.high + by).wider(WIDEN * np.abs(by))


def _tanh(x: Box) -> Box:
    return Box(np.tanh(x.low), np.tanh(x.high)).wider(FUNCTION_ERROR)


def _sigmoid(x: Box) -> Box:
    return Box(0.5 + 0.5 * np.tanh(x.low / 2), 0.5 + 0.5 * np.tanh(x.high / 2)).wider(FUNCTION_ERROR)


def _gamma(m: int, unit: float) -> float:
    return m * unit / (1 - m * unit)


def _total(*arrays: Array) -> float:
    """Sum of absolute values."""
    return float(sum(np.abs(x).sum() for x in arrays))
