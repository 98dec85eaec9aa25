"""A network along one sequence as a small automaton: histories whose states are alike are joined.

Before each player at most so many states are kept, those of cells of like states, each the weighted mean of what fell
into its cell. The automaton reads a coalition in n steps of a table, and its Shapley values are exact: with chance q of
each other player to be there, the mean gain of a player is a polynomial of degree n - 1 in q, which is integrated from
0 to 1 (Owen, 1972). Its cost is linear in the number of steps. Two directions are two automata whose outputs add up,
each with the mean of the other direction in place of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network.prefixes import Coalitions, Direction, Nodes, Prefixes
from keras_interp_rnn._types import Array

NODES = 48
"""Maximum number of Gauss-Legendre nodes of the integral; up to 95 players it is exact."""


def can_merge(game: Prefixes) -> bool:
    """Whether the steps of each player follow each other."""
    of_players = game.players[game.players >= 0]
    return len(list(itertools.groupby(of_players))) == game.num_players


def merged(game: Prefixes, num_states: int) -> Merged:
    """The network with at most so many states of this sequence before each player, and in each direction."""
    nodes, weights = np.polynomial.legendre.leggauss(min(NODES, game.num_players // 2 + 1))
    q, weights = (nodes + 1) / 2, weights / 2
    automata, means = [], []
    for direction in game.directions:
        layers, masses, last, mass = _merge(game, direction, num_states, q, weights)
        result = direction.result(last)
        total = mass @ weights
        automata.append((layers, masses, result))
        means.append(total @ result / total.sum())
    shared = game.head([mean[None] for mean in means])
    directions = []
    for i, (layers, masses, result) in enumerate(automata):
        read = [np.broadcast_to(mean, (len(result), len(mean))) for mean in means]
        read[i] = result
        directions.append(_MergedDirection(layers, masses, game.head(read) - (shared if i else 0.0)))
    return Merged(game.num_players, directions, q, weights)


def _merge(
    game: Prefixes, direction: Direction, num_states: int, q: Array, weights: Array
) -> tuple[list[_Layer], list[Array], Nodes, Array]:
    nodes, mass = direction.start(), np.ones((1, len(q)))
    layers, masses = [], []
    players = _without_gaps(game.players[direction.steps])
    for player, run in itertools.groupby(zip(players.tolist(), direction.steps, strict=True), lambda pair: pair[0]):
        steps = [t for _, t in run]
        if player < 0:
            for t in steps:
                nodes = direction.step(t, nodes, np.ones(len(nodes[0]), np.intp))
            continue
        there = np.repeat([0, 1], len(nodes[0]))
        masses.append(mass)
        mass = np.concatenate([mass * (1 - q), mass * q])
        nodes = [np.concatenate([x, x]) for x in nodes]
        for t in steps:
            nodes = direction.step(t, nodes, there if game.players[t] >= 0 else np.ones_like(there))
        label = np.arange(len(there))
        if len(there) > num_states:
            states = np.concatenate(nodes, axis=1)
            weight = mass @ weights
            order, starts = cells(states, weight, num_states)
            label[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(order)]))
            mass = np.add.reduceat(mass[order], starts, axis=0)
            part = (
                weight[order, None]
                / np.repeat(np.add.reduceat(weight[order], starts), np.diff([*starts, len(order)]))[:, None]
            )
            states = np.add.reduceat(states[order] * part, starts, axis=0)
            nodes = np.split(states, np.cumsum([x.shape[1] for x in nodes])[:-1], axis=1)
        layers.append(_Layer(player, label.reshape(2, -1)))
    return layers, masses, nodes, mass


def _without_gaps(players: NDArray[np.intp]) -> NDArray[np.intp]:
    """The players of steps, where steps that are always there count to a player that is before and after them."""

    def filled(players: NDArray[np.intp]) -> NDArray[np.intp]:
        return players[np.maximum.accumulate(np.where(players >= 0, np.arange(len(players)), 0))]

    before, after = filled(players), filled(players[::-1])[::-1]
    return np.where(before == after, before, players)


class _Layer(NamedTuple):
    """The states before a player, and those after it, (2, states): without it, and with it."""

    player: int
    next: NDArray[np.intp]


class _MergedDirection(NamedTuple):
    """The layers of an automaton, the mass (states, nodes) of the states before each, and the last states' outputs."""

    layers: Sequence[_Layer]
    masses: Sequence[Array]
    outputs: Array


@dataclass(frozen=True)
class Merged:
    """A layered automaton for each direction, whose outputs add up.

    Attributes:
        num_players: n. nodes, weights: (Q,), of Owen's integral.
    """

    num_players: int
    directions: Sequence[_MergedDirection]
    nodes: Array
    weights: Array

    def outputs(self, coalitions: Coalitions) -> Array:
        """(m, outputs) for coalitions (m, n)."""
        total = np.zeros(())
        for direction in self.directions:
            state = np.zeros(len(coalitions), np.intp)
            for layer in direction.layers:
                state = layer.next[coalitions[:, layer.player].astype(np.intp), state]
            total = total + direction.outputs[state]
        return total

    def shapley_values(self) -> Array:
        """(n, outputs): phi_i = int_0^1 E[v(S with i) - v(S without)] dq, S with each other player with chance q."""
        q = self.nodes[:, None]
        values = np.zeros((self.num_players, self.directions[0].outputs.shape[1]))
        for direction in self.directions:
            outputs = direction.outputs
            ahead = np.broadcast_to(outputs[:, None], (len(outputs), len(self.nodes), outputs.shape[1]))
            for layer, mass in zip(reversed(direction.layers), reversed(direction.masses), strict=True):
                without, having = ahead[layer.next[0]], ahead[layer.next[1]]
                difference = having - without
                values[layer.player] += np.einsum("q,sq,sqo->o", self.weights, mass, difference, optimize=True)
                ahead = without + q * difference
        return values


def cells(points: Array, weights: Array, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divides points (N, d) into at most `count` cells of like ones.

    A cell is split at the weighted mean of the coordinate of its largest weighted variance. In each round those half
    of the cells are split that vary most.

    Returns:
        The points in the order of their cells, and where each cell starts in it.
    """
    order, starts = np.arange(len(points)), np.zeros(1, np.intp)
    centred = points - points.mean(axis=0)  # variances keep their digits
    moments = np.concatenate([centred, centred * centred], axis=1) * weights[:, None]
    d = points.shape[1]
    while len(starts) < count:
        sizes = np.diff(np.append(starts, len(order)))
        total = np.maximum(np.add.reduceat(weights[order], starts), 1e-300)[:, None]
        first, second = np.split(np.add.reduceat(moments[order], starts, axis=0), [d], axis=1)
        mean = first / total
        spread = second - first * mean
        axis = spread.argmax(axis=1)
        score = np.where(sizes > 1, spread.sum(axis=1), -1.0)
        most = min(count - len(starts), max(1, len(starts) // 2))
        split = np.zeros(len(starts), bool)
        split[np.argpartition(-score, most - 1)[:most] if most < len(score) else slice(None)] = True
        split &= score > 1e-18
        cell = np.repeat(np.arange(len(starts)), sizes)
        right = (centred[order, axis[cell]] > mean[np.arange(len(starts)), axis][cell]) & split[cell]
        keys = 2 * cell + right
        resorted = np.argsort(keys, kind="stable")
        order, keys = order[resorted], keys[resorted]
        new = np.flatnonzero(np.diff(keys, prepend=-1))
        if len(new) == len(starts):
            break
        starts = new
    return order, starts
