"""Shapley values by their definition: what a player adds, on average over all orders in which the players come."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def coalitions(num_players: int) -> NDArray[np.bool_]:
    """(2^n, n), all of them; coalition i has player j if bit j of i is set."""
    return np.array([[i >> j & 1 for j in range(num_players)] for i in range(2**num_players)], bool).reshape(
        -1, num_players
    )


def shapley_values(value: Callable[[NDArray[np.bool_]], NDArray[np.float64]], num_players: int) -> NDArray[np.float64]:
    """(n, ...) for a game of up to 8 players, whose value takes coalitions (m, n) to (m, ...)."""
    table = np.asarray(value(coalitions(num_players)), np.float64)
    found = np.zeros((num_players, *table.shape[1:]))
    orders = np.array(list(itertools.permutations(range(num_players))), int).reshape(-1, num_players)
    before = np.zeros(len(orders), int)
    for players in orders.T:
        after = before + 2**players
        np.add.at(found, players, table[after] - table[before])
        before = after
    return found / len(orders)


def of_steps(
    run: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    x: NDArray[np.float64],
    reference: NDArray[np.float64],
    players: NDArray[np.int64],
) -> NDArray[np.float64]:
    """(n, outputs) for one sequence (time, ...), in whose place the reference (time, ...) is read.

    Args:
        run: from sequences (m, time, ...) to outputs (m, outputs).
        players: int (time,), the player of each step, from 0; -1 for one that is always there.
    """

    def value(some: NDArray[np.bool_]) -> NDArray[np.float64]:
        there = np.concatenate([some, np.ones((len(some), 1), bool)], axis=1)[:, players]
        return run(np.where(there.reshape(*there.shape, *[1] * (x.ndim - 1)), x, reference))

    return shapley_values(value, int(max(players.max(initial=-1), -1)) + 1)
