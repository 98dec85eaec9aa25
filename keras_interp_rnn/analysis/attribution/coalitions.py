r"""Shapley values from the values of coalitions: of all of them, or of some, with standard errors.

The Shapley value of player i of n in a game v is

    phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S with i) - v(S)),

and the solution of a weighted regression: of all c with the sum v(N) - v(empty), that which minimizes

    sum over S of k(|S|) (v(S) - v(empty) - sum of c_i over i in S)^2,   k(s) = (n - 1) / (C(n, s) s (n - s)).

A sample takes complementary pairs of coalitions, S and the rest, and sizes as often as each other (leverage scores),
without repeats. Half of the difference of a pair is what the odd orders of the game make: the even ones, interactions
of two among them, drop out of the regression.

What is regressed is v less a part, none, half or all, of a game whose Shapley values are known, such as that of a
merged automaton (regression adjustment), so that c is small: an automaton tells little of a network that nearly adds
up its steps. The prior of c is normal with mean 0 and variance t^2, that of t flat, and the variance of the noise the
most probable one. So with few pairs the values stay near the known ones, and with many they are those of the
regression. Standard errors are those of the posterior, a Student's t of n - 1 degrees, as many as tell of t^2.

Reference: Shapley, 1953; Lundberg and Lee, NeurIPS 2017; Musco and Witter, arXiv:2410.01917, 2024; Witter, Liu and
Musco, arXiv:2506.11849, 2025.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array

Coalitions = NDArray[np.bool_]

RIDGES = np.logspace(-6, 8, 85)
"""Ratios of the variance of the noise and t^2 that are tried."""


def exact_values(outputs: Array) -> Array:
    """(n, K) from the values (2^n, K) of all coalitions; in an index bit i is that of player i."""
    n = len(outputs).bit_length() - 1
    sizes = sizes_of(n)
    joined = np.array([0.0, *(1 / (n * math.comb(n - 1, s - 1)) for s in range(1, n + 1))])[sizes]
    left = np.array([*(1 / (n * math.comb(n - 1, s)) for s in range(n)), 0.0])[sizes]
    change = outputs - outputs[0]  # keeps the digits of small changes
    without = left @ change
    both = change * (joined + left)[:, None]
    return np.stack([both.reshape(-1, 2, 2**i, both.shape[1])[:, 1].sum(axis=(0, 1)) - without for i in range(n)])


def all_coalitions(num_players: int) -> Coalitions:
    """(2^n, n); in the index of a coalition bit i is that of player i."""
    return (np.arange(2**num_players)[:, None] >> np.arange(num_players) & 1).astype(bool)


def nobody_and_all(num_players: int) -> Coalitions:
    """(2, n)."""
    return np.repeat([[False], [True]], num_players, axis=1)


def sizes_of(n: int) -> NDArray[np.intp]:
    """(2^n,), the number of players of every coalition."""
    sizes = np.zeros(1, np.intp)
    for _ in range(n):
        sizes = np.concatenate([sizes, sizes + 1])
    return sizes


FACTORS = (0.0, 0.5, 1.0)
"""How much of a known game is taken away before the regression; which of them is most probable, the sample tells."""


class Pairs:
    """Complementary pairs of coalitions of n players, drawn without repeats, and the weights of the regression.

    Attributes:
        coalitions: (m, n), one of each pair.
    """

    def __init__(self, num_players: int, rng: np.random.Generator) -> None:
        self.num_players = num_players
        self.coalitions: Coalitions = np.zeros((0, num_players), bool)
        self._rng, self._seen = rng, set[bytes]()
        n = num_players
        # Pairs of sizes (h, n - h), and how many of them there are.
        self._sizes = np.arange(1, n // 2 + 1)
        numbers = [math.comb(n, h) // (2 if 2 * h == n else 1) for h in range(1, n // 2 + 1)]
        self._available = np.array([min(number, 2**50) for number in numbers], np.int64)
        self._share = np.where(2 * self._sizes == n, 1.0, 2.0)
        self._taken = np.zeros(len(self._sizes), np.int64)

    @property
    def available(self) -> int:
        """How many pairs there are."""
        return int(2 ** (self.num_players - 1)) - 1

    @property
    def are_all(self) -> bool:
        return len(self.coalitions) >= self.available

    def draw(self, count: int) -> Coalitions:
        """Draws so many more pairs, or as many as are left, and returns one coalition of each."""
        total = min(len(self.coalitions) + count, self.available)
        target = self._counts(total)
        new = []
        for i, h in enumerate(self._sizes):
            left = int(target[i] - self._taken[i])
            few = self._available[i] <= 2 * target[i]
            new += self._new(left, self._all(int(h)) if few else self._random(int(h)))
            self._taken[i] = target[i]
        drawn = np.array(new, bool).reshape(len(new), self.num_players)
        self.coalitions = np.concatenate([self.coalitions, drawn])
        return drawn

    def _counts(self, total: int) -> NDArray[np.int64]:
        """How many pairs of each size a sample of so many has: as many of all sizes, or all that there are."""
        counts = self._taken.astype(float)
        free = np.ones(len(counts), bool)
        while free.any():
            level = (total - counts[~free].sum()) / self._share[free].sum()
            even = self._share * level
            full = free & (even >= self._available)
            if not full.any():
                counts[free] = np.maximum(even[free], self._taken[free])
                break
            counts[full] = self._available[full]
            free &= ~full
        whole = np.floor(counts + 1e-9).astype(np.int64)
        parts = np.maximum(counts - whole, 0.0)
        rest = min(total - int(whole.sum()), int((parts > 1e-9).sum()))
        if rest > 0:
            whole[self._rng.choice(len(parts), rest, replace=False, p=parts / parts.sum())] += 1
        return np.maximum(whole, self._taken)

    def _all(self, size: int) -> Iterator[Coalitions]:
        """All coalitions of a size, in random order."""
        n = self.num_players
        rows = np.zeros((math.comb(n, size), n), bool)
        for row, members in zip(rows, itertools.combinations(range(n), size), strict=True):
            row[list(members)] = True
        yield from self._rng.permutation(rows)

    def _random(self, size: int) -> Iterator[Coalitions]:
        """Coalitions of a size, with repeats."""
        while True:
            row = np.zeros(self.num_players, bool)
            row[self._rng.permutation(self.num_players)[:size]] = True
            yield row

    def _new(self, count: int, coalitions: Iterator[Coalitions]) -> list[Coalitions]:
        """The first of them that were not drawn, neither they nor the rest of their players."""
        found: list[Coalitions] = []
        while len(found) < count:
            row = next(coalitions)
            key = min(row.tobytes(), (~row).tobytes())
            if key not in self._seen:
                self._seen.add(key)
                found.append(row)
        return found

    @property
    def weights(self) -> Array:
        """(m,), of each pair in the regression: k of its sizes over the chance of being drawn."""
        n, sizes = self.num_players, self.coalitions.sum(axis=1)
        small = np.minimum(sizes, n - sizes)
        mass = self._share / (self._sizes * (n - self._sizes))
        return np.asarray((mass / np.maximum(self._taken, 1))[small - 1])


class Known(NamedTuple):
    """A game whose Shapley values (n, K) are known, and the differences (m, K) of pairs of coalitions in it."""

    values: Array
    differences: Array


def regression(pairs: Pairs, differences: Array, whole: Array, known: Known | None = None) -> tuple[Array, Array]:
    """The Shapley values (n, K) of a game, and their standard errors.

    Args:
        differences: (m, K), the value of each of `pairs.coalitions` less that of the rest.
        whole: (K,), v(N) - v(empty), the sum of the values.
        known: a game that is much like this one.
    """
    n, sizes = pairs.num_players, pairs.coalitions.sum(axis=1)
    if known is None:
        known = Known(np.zeros((n, len(whole))), np.zeros_like(differences))
    root = np.sqrt(pairs.weights * len(sizes))[:, None]
    left, scale, right = np.linalg.svd((pairs.coalitions - (sizes / n)[:, None]) * root, full_matrices=False)
    kept = scale > 1e-9 * scale[0]
    left, scale, right = left[:, kept], scale[kept], right[kept]

    def seen(differences: Array, whole: Array) -> Array:
        """Half of the differences, less those of a game of equal players."""
        return np.asarray((differences / 2 - (sizes / n - 0.5)[:, None] * whole) * root)

    of_game, of_known = seen(differences, whole), seen(known.differences, known.values.sum(axis=0))
    if pairs.are_all:
        values = right.T @ (left.T @ of_game / scale[:, None])
        return values + whole / n, np.zeros_like(values)
    squares, ridges = scale**2, RIDGES[:, None] * len(sizes) / n
    fit = squares / (squares + ridges)
    # Directions that no pair tells of, orthogonal to the sum, keep the variance t^2.
    unknown = np.maximum(1 - 1 / n - (right**2).sum(axis=0), 0.0)
    spreads = (1 / (squares + ridges)) @ right**2 + unknown / ridges
    values, errors = np.empty((2, n, len(whole)))
    for k in range(len(whole)):
        evidence, means, variances = [], [], []
        for factor in FACTORS if of_known[:, k].any() else (0.0,):
            y = of_game[:, k] - factor * of_known[:, k]
            along = left.T @ y
            noise = np.maximum(y @ y - fit @ along**2, 1e-300 + 1e-14 * (y @ y)) / len(y)
            # The logarithm of the probability of the sample, and of a flat prior on t, over ridges that are alike.
            fitting = -0.5 * (np.log1p(squares / ridges).sum(axis=1) + len(y) * np.log(noise))
            evidence.append(fitting + 0.5 * np.log(noise / ridges[:, 0]))
            rest = whole[k] - factor * known.values[:, k].sum()
            means.append((fit * (along / scale)) @ right + rest / n + factor * known.values[:, k])
            variances.append(noise[:, None] * spreads)
        chance, each = np.exp(np.array(evidence) - np.max(evidence)).ravel(), np.concatenate(means)
        chance /= chance.sum()
        values[:, k] = chance @ each
        errors[:, k] = np.sqrt(chance @ (np.concatenate(variances) + (each - values[:, k]) ** 2))
    return values, errors * np.sqrt((n - 1) / max(n - 3, 1))
