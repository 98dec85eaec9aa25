r"""The bounds of a certificate by literal loops, in float64, as docs/notes/certificate.md states them.

States are rows, as in the note: x K + b + h R. An interval is a pair (low, high), a box a list of them. `Arithmetic` is
what the network's own arithmetic is allowed to do: `unit` u for each rounding, `tiny` for what underflows, `function`
for tanh, sigmoid and exp. The region and the scores are given the note's allowances, the sums of cell and head the
textbook's $\gamma_m$ with m the roundings that they really have. So these are bounds that a proof may not exceed; with
u = 0 they are those of exact arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np


class Arithmetic(NamedTuple):
    unit: float
    tiny: float = 0.0
    function: float = 2.0**-20

    def gamma(self, m) -> float:
        return m * self.unit / (1 - m * self.unit)

    def sum(self, roundings, a, b, rest=0.0) -> float:
        """How far a sum of the products a b, and the rest, is off; what is below `tiny` may be taken for 0."""
        sizes = sum(abs(x * y) for x, y in zip(a, b, strict=True)) + abs(rest)
        lost = len(a) + sum(abs(x) + abs(y) for x, y in zip(a, b, strict=True))
        return self.gamma(roundings) * sizes + self.tiny * lost


def size(interval) -> float:
    return max(abs(interval[0]), abs(interval[1]))


def plus(a, b):
    return a[0] + b[0], a[1] + b[1]


def times(a, b):
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def off(interval, by):
    return interval[0] - by, interval[1] + by


def dot(box, column):
    total = (0.0, 0.0)
    for interval, weight in zip(box, column, strict=True):
        total = plus(total, times(interval, (weight, weight)))
    return total


class Region(NamedTuple):
    """Lemma 1: s + sum_j a_j d_j + e with a_j >= 0, sum a_j <= epsilon, |e| <= error."""

    centre: np.ndarray
    directions: np.ndarray
    epsilon: float
    error: np.ndarray

    def under(self, column):
        """Lemma 2: a linear map has its extremes at the corners, 0 and epsilon d_j."""
        corners = [0.0] + [self.epsilon * sum(direction * column) for direction in self.directions]
        middle, spread = sum(self.centre * column), sum(self.error * abs(column))
        return middle + min(corners) - spread, middle + max(corners) + spread

    def box(self):
        return [self.under(unit) for unit in np.eye(len(self.centre))]


class SimpleRNN(NamedTuple):
    """tanh(x K + b + h R)."""

    K: np.ndarray
    R: np.ndarray
    b: np.ndarray

    def bounds(self, region, x, arithmetic):
        found, state = [], [size(h) for h in region.box()]
        for c in range(len(self.b)):
            drive = sum(x * self.K[:, c]) + self.b[c]
            off_by = arithmetic.sum(len(x) + 1, x, self.K[:, c], self.b[c])
            off_by += arithmetic.sum(len(state) + 1, state, self.R[:, c])
            low, high = off(plus(region.under(self.R[:, c]), (drive, drive)), off_by)
            found.append(off((math.tanh(low), math.tanh(high)), arithmetic.function))
        return found


class GRU(NamedTuple):
    """h' = z h + (1 - z) hh, in both of Keras's conventions: b is (2, 3 n) where the reset comes after, else (3 n,)."""

    K: np.ndarray
    R: np.ndarray
    b: np.ndarray

    def bounds(self, region, x, arithmetic):
        n, state = len(self.R), region.box()
        after = self.b.ndim == 2
        of_input, of_state = self.b if after else (self.b, np.zeros(3 * n))

        def drive(c):
            """What the symbol adds, and how far it is off."""
            off_by = arithmetic.sum(len(x), x, self.K[:, c], of_input[c])
            return off((sum(x * self.K[:, c]) + of_input[c],) * 2, off_by)

        def inner(c):
            off_by = arithmetic.sum(n, [size(h) for h in state], self.R[:, c], of_state[c])
            return off(plus(region.under(self.R[:, c]), (of_state[c],) * 2), off_by)

        def gate(c):
            low, high = plus(inner(c), drive(c))
            return off((1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high))), arithmetic.function)

        held = [off(times(gate(n + c), state[c]), arithmetic.sum(1, [1], [size(state[c])])) for c in range(n)]
        found = []
        for c in range(n):
            if after:
                mixed = times(gate(n + c), inner(2 * n + c))
            else:
                column = self.R[:, 2 * n + c]
                mixed = off(dot(held, column), arithmetic.sum(n, [size(h) for h in held], column))
            low, high = plus(mixed, drive(2 * n + c))
            new = off((math.tanh(low), math.tanh(high)), arithmetic.function)
            corners = [z * h + (1 - z) * u for z in gate(c) for h in state[c] for u in new]
            found.append(off((min(corners), max(corners)), arithmetic.sum(2, [1], [max(map(abs, corners))])))
        return found


class Component(NamedTuple):
    """The stochastic component: centroids (k, n), temperatures between which the network's lies."""

    S: np.ndarray
    coldest: float
    hottest: float
    hard: bool

    def rounding(self, largest_u, arithmetic) -> float:
        """Of a score over tau, for |u| up to this: the note's sigma, the largest of any centroid."""
        return max(arithmetic.sum(self.S.shape[1] + 6, abs(s), largest_u) for s in self.S) / self.coldest

    def rho(self, arithmetic) -> float:
        """By how much of its centroids' sizes a state is off, of Lemma 1."""
        k = len(self.S)
        sigma = self.rounding(np.maximum(1.01, 2 * abs(self.S).max(axis=0)), arithmetic)
        eta = math.expm1(2 * sigma) + (k + 8) * arithmetic.unit + 2 * arithmetic.function
        return eta + arithmetic.gamma(k + 2) * (1 + eta)

    def region(self, i, epsilon, arithmetic):
        """Lemma 1."""
        k, n = self.S.shape
        if self.hard:
            return Region(self.S[i], np.zeros((0, n)), 0.0, np.full(n, arithmetic.tiny))
        others = [abs(s) for j, s in enumerate(self.S) if j != i]
        sizes = abs(self.S[i]) + epsilon * np.max(others, axis=0, initial=0.0)
        error = self.rho(arithmetic) * sizes + arithmetic.tiny * (k + abs(self.S).sum(axis=0))
        return Region(self.S[i], np.array([s - self.S[i] for s in self.S]), epsilon, error)

    def log_odds(self, box, target, arithmetic) -> float:
        """Lemma 4; where the transition is hard, by how much the score leads, less what makes probabilities equal."""
        exponents = []
        for j, s in enumerate(self.S):
            if j != target:
                most = sum(max(low * d, high * d) for (low, high), d in zip(box, s - self.S[target], strict=True))
                exponents.append(max(most / self.coldest, most / self.hottest))
        if self.hard:
            sigma = self.rounding(np.array([size(u) for u in box]), arithmetic)
            return -max(exponents) - 2 * sigma - 8 * arithmetic.function
        highest = max(exponents)
        return -highest - math.log(sum(math.exp(exponent - highest) for exponent in exponents))


class Head(NamedTuple):
    w: np.ndarray
    b: float

    def distance(self, box, accepts, arithmetic) -> float:
        """The least distance of the logit from 0 on the right side, beyond what sigmoid may be off."""
        low, high = plus(dot(box, self.w), (self.b, self.b))
        off_by = arithmetic.sum(len(box), [size(h) for h in box], self.w, self.b)
        return (low if accepts else -high) - off_by - 8 * arithmetic.function


class Heads(NamedTuple):
    """An output for each label, of which the largest decides."""

    w: np.ndarray
    b: np.ndarray

    def distance(self, box, label, arithmetic) -> float:
        """The least lead of a label's logit over another one, beyond what makes probabilities equal."""
        sizes = [size(h) for h in box]
        off_by = [arithmetic.sum(len(box), sizes, w, b) for w, b in zip(self.w.T, self.b, strict=True)]
        leads = []
        for other in range(len(self.b)):
            if other != label:
                low, _ = dot(box, self.w[:, label] - self.w[:, other])
                leads.append(low + self.b[label] - self.b[other] - off_by[label] - off_by[other])
        return min(leads) - 8 * arithmetic.function


class Bounds(NamedTuple):
    start: float
    margins: np.ndarray
    verdicts: np.ndarray

    @property
    def least_of_path(self) -> float:
        return min(self.start, self.margins.min())

    @property
    def least(self) -> float:
        return min(self.least_of_path, self.verdicts.min())


def bounds(cell, component, head, path, centroids, epsilon, features, first, last, arithmetic) -> Bounds:
    """What the theorem asks for.

    Args:
        path: (transitions, accepting, start) of the automaton of the centroids, whose states have these `centroids`; or
            for `accepting`, a set, a list of the place of each state's label.
        features: of each symbol, in the order of the transitions. first, last: of the start token and of the end token;
            None without one.
    """
    transitions, accepting, start = path
    needed = 0.0 if component.hard else math.log((1 - epsilon) / epsilon)
    n = component.S.shape[1]
    origin = Region(np.zeros(n), np.zeros((0, n)), 0.0, np.zeros(n))

    def margin(region, x, state):
        return component.log_odds(cell.bounds(region, x, arithmetic), centroids[state], arithmetic) - needed

    regions = [component.region(i, epsilon, arithmetic) for i in centroids]
    margins = [
        [margin(region, x, state) for x, state in zip(features, row, strict=True)]
        for region, row in zip(regions, transitions, strict=True)
    ]
    boxes = [region.box() if last is None else cell.bounds(region, last, arithmetic) for region in regions]
    said = accepting if isinstance(accepting, list) else [state in accepting for state in range(len(boxes))]
    verdicts = [head.distance(box, label, arithmetic) for box, label in zip(boxes, said, strict=True)]
    return Bounds(margin(origin, first, start), np.array(margins), np.array(verdicts))
