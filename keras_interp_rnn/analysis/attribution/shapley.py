"""Shapley values of the steps of a sequence: exact where that is cheap, otherwise with a standard error.

- A network that is read step by step, of up to 16 players: exact, from all coalitions by the tree of prefixes, if its
  updates of the state are within the budget.
- More players: the exact values of the network with like states merged (`merging`), and what these miss, by
  a regression over complementary pairs of coalitions (`coalitions`). The states and the pairs double until the largest
  standard error is small enough, or the budget of updates of the state is spent.
- Any other network: exact up to 8 players, otherwise the regression alone.

Merging was chosen by measurement, over an affine map for each step, fitted to the states that runs pass through, with
the same regression on what it misses. Mean of the largest error of a step, in parts of the range of the exact values,
on six to eight texts of trained networks:

| steps | network | affine maps | merged |
|---|---|---|---|
| 60 | LSTM, words with negation | 0.18 (47,000 updates, 145 ms) | 0.041 (52,000, 168 ms) |
| 60 | LSTM, Tomita 4 | 0.21 (47,000, 101 ms) | 0.067 (52,000, 130 ms) |
| 14 | LSTM, words with negation | 0.026 (5,700, 24 ms) | 0.018 (6,600, 22 ms) |
| 14 | GRU, words with negation | 0.005 (5,700, 17 ms) | 0.004 (6,600, 18 ms) |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network.prefixes import Prefixes
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.coalitions import (
    Coalitions,
    Known,
    Pairs,
    all_coalitions,
    exact_values,
    nobody_and_all,
    regression,
)
from keras_interp_rnn.analysis.attribution.merging import Merged, can_merge, merged

EXACT_PLAYERS, EXACT_RUNS = 16, 8
"""Maximum number of players of exact values, where prefixes share their states, and where each coalition is a run."""

UPDATES, RUNS = 2**20, 512
"""The default budgets: updates of the state of one call, and runs of each sequence where prefixes share nothing."""

STATES, PAIRS, FEWEST = 256, 63, 64
"""The states and the pairs to begin with: of a network that is read step by step, and of another; and the fewest.

Several sequences share the states, so that many begin with the fewest.
"""


class Estimate(NamedTuple):
    """Shapley values (n, K), their standard errors (0 if exact), the number of coalitions run.

    `is_limited`: whether the budget was spent before the errors were small enough.
    """

    values: Array
    errors: Array
    runs: int
    is_limited: bool = False


def by_prefixes(
    game: Prefixes,
    columns: NDArray[np.int64],
    tolerance: float,
    budget: int,
    rng: np.random.Generator,
    num_sequences: int = 1,
) -> Estimate:
    """The values of a sequence that is read step by step.

    Args:
        columns: (K,), the outputs. tolerance: of the largest standard error, in parts of the range of the values.
        budget: the number of updates of the state. num_sequences: of the call.
    """
    n, steps = game.num_players, game.num_steps
    if n == 0:
        return Estimate(np.zeros((0, len(columns))), np.zeros((0, len(columns))), 0)
    if n <= EXACT_PLAYERS and game.updates_of_all(game.players) <= max(budget, 4 * FEWEST * steps):
        values = exact_values(game.all_outputs()[:, columns])
        return Estimate(values, np.zeros_like(values), game.runs)
    pairs, seen = Pairs(n, rng), _Seen(n, lambda rows: game.outputs(rows)[:, columns])
    states = int(np.clip(budget // (4 * steps), FEWEST, max(FEWEST, STATES // num_sequences)))
    while True:
        seen.add(pairs.draw(states - len(pairs.coalitions)))
        values, errors = seen.values(pairs, merged(game, states) if can_merge(game) else None, columns)
        if _is_near(values, errors, tolerance, np.abs(seen.ends).max()):
            return Estimate(values, errors, game.runs)
        if game.updates + 8 * states * steps > budget:
            return Estimate(values, errors, game.runs, is_limited=True)
        states *= 2


def divided(budget: int, of_exact: Sequence[int | None]) -> list[int]:
    """The budget of each sequence: what exact values of some leave over is for those that have none.

    Args:
        of_exact: the updates of the exact values of each sequence; None of too many players.
    """
    found = [0] * len(of_exact)
    costs = [budget + 1 if cost is None else cost for cost in of_exact]
    share = budget // max(1, len(costs))
    for k, i in enumerate(np.argsort(costs, kind="stable").tolist()):
        if costs[i] <= share:  # the rest have equal parts, whatever their order
            budget -= costs[i]
            share = budget // max(1, len(costs) - k - 1)
            found[i] = costs[i]
        else:
            found[i] = share
    return found


class _Seen:
    """The values of pairs of coalitions, and of nobody and all."""

    def __init__(self, num_players: int, outputs: Callable[[Coalitions], Array]) -> None:
        self.outputs, self.ends = outputs, outputs(nobody_and_all(num_players))
        self.coalitions: Coalitions = np.zeros((0, num_players), bool)
        self.sides: Array = np.zeros((2, 0, self.ends.shape[1]))

    def add(self, coalitions: Coalitions) -> None:
        """Runs more coalitions, and the rest of each."""
        new = self.outputs(np.concatenate([coalitions, ~coalitions])).reshape(2, len(coalitions), -1)
        self.coalitions = np.concatenate([self.coalitions, coalitions])
        self.sides = np.concatenate([self.sides, new], axis=1)

    def values(self, pairs: Pairs, known: Merged | None, columns: NDArray[np.int64]) -> tuple[Array, Array]:
        """The values and their standard errors; `known` has exact ones of a game that is much like this one."""
        differences, whole = self.sides[0] - self.sides[1], self.ends[1] - self.ends[0]
        if known is None:
            return regression(pairs, differences, whole)
        first, second = (known.outputs(rows)[:, columns] for rows in (self.coalitions, ~self.coalitions))
        return regression(pairs, differences, whole, Known(known.shapley_values()[:, columns], first - second))


def _is_near(values: Array, errors: Array, tolerance: float, scale: float) -> bool:
    """Whether standard errors are small in parts of the range of the values, or are rounding of outputs of a scale."""
    return bool((errors.max(axis=0, initial=0) <= tolerance * np.ptp(values, axis=0) + 1e-14 * scale + 1e-100).all())


def by_running(
    run: Callable[[NDArray[np.intp], Sequence[Coalitions]], Sequence[Array]],
    num_players: Sequence[int],
    tolerance: float,
    budgets: Sequence[int],
    rngs: Sequence[np.random.Generator],
) -> Iterator[Estimate]:
    """The values of sequences whose coalitions are run one by one, many sequences at a time.

    Args:
        run: from the indices of sequences and some coalitions of each to the values (m, K) of these.
        num_players: of each sequence. budgets: the number of runs of each, unless they are exact.
    """
    count = len(num_players)
    found: dict[int, Estimate] = {}
    exact = np.array([i for i, n in enumerate(num_players) if n <= EXACT_RUNS], np.intp)
    tables = [all_coalitions(num_players[i]) for i in exact]
    for i, table in zip(exact, run(exact, tables), strict=True):
        values = exact_values(table) if num_players[i] else np.zeros((0, table.shape[1]))
        found[int(i)] = Estimate(values, np.zeros_like(values), len(table))
    left = np.array([i for i in range(count) if i not in found], np.intp)
    pairs = {int(i): Pairs(num_players[i], rngs[i]) for i in left}
    sides: dict[int, Array] = {}
    if len(left):
        both = [nobody_and_all(num_players[i]) for i in left]
        ends = dict(zip(left.tolist(), run(left, both), strict=True))
    while len(left):
        new = [pairs[i].draw(_wanted(num_players[i], len(pairs[i].coalitions), budgets[i])) for i in left.tolist()]
        outputs = run(left, [np.concatenate([rows, ~rows]) for rows in new])
        for i, of_new in zip(left.tolist(), outputs, strict=True):
            of_pairs = of_new.reshape(2, -1, of_new.shape[1])
            sides[i] = of_pairs if i not in sides else np.concatenate([sides[i], of_pairs], axis=1)
            values, errors = regression(pairs[i], sides[i][0] - sides[i][1], ends[i][1] - ends[i][0])
            runs = 2 * len(pairs[i].coalitions) + 2
            is_near = _is_near(values, errors, tolerance, np.abs(ends[i]).max())
            if is_near or 2 * runs > budgets[i] + 4:
                found[i] = Estimate(values, errors, runs, not is_near)
        left = np.array([i for i in left if i not in found], np.intp)
    return (found[i] for i in range(count))


def _wanted(num_players: int, have: int, budget: int) -> int:
    """How many more pairs to draw: at first 64, or one for each player, within the budget; then as many again."""
    return have or max(1, min(max(PAIRS, num_players), budget // 2 - 1))
