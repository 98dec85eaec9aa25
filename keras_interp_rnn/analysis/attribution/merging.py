"""A network along one sequence as a small automaton: histories whose states are alike are joined.

Before each player at most so many states are kept, those of cells of like states, each the weighted mean of what fell
into its cell. The automaton reads a coalition in n steps of a table, and its Shapley values are exact: with chance q of
each other player to be there, the mean gain of a player is a polynomial of degree n - 1 in q, which is integrated from
0 to 1 (Owen, 1972). Its cost is linear in the number of steps. Two directions are two automata whose outputs add up,
each with the mean of the other direction in place of it. Where an affine head reads the mean over the steps, each step
adds its part to the output as it is read, so that no state has to tell what was added before.
"""

from __future__ import annotations

import functools
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
        layers, last, mass = _merge(game, direction, num_states, q, weights)
        result = direction.result(last)
        total = mass @ weights
        automata.append((layers, result))
        means.append(total @ result / total.sum())
    shared = game.head([mean[None] for mean in means])
    directions = []
    for i, (layers, result) in enumerate(automata):

        def outputs(of_direction: Array, i: int = i) -> Array:
            read = [np.broadcast_to(mean, (len(of_direction), len(mean))) for mean in means]
            read[i] = of_direction
            return game.head(read)

        if game.adds_up_steps:
            nothing = outputs(np.zeros((1, len(means[i]))))
            layers = [layer._replace(added=outputs(layer.added) - nothing) for layer in layers]
        directions.append(_MergedDirection(layers, outputs(result) - (shared if i else 0.0)))
    return Merged(game.num_players, directions, q, weights)


def _merge(
    game: Prefixes, direction: Direction, num_states: int, q: Array, weights: Array
) -> tuple[list[_Layer], Nodes, Array]:
    """The layers of an automaton, and its last states, with the mass (states, nodes) of each."""
    nodes, mass = direction.start(), np.ones((1, len(q)))
    layers = []
    players = _without_gaps(game.players[direction.steps])
    for player, run in itertools.groupby(zip(players.tolist(), direction.steps, strict=True), lambda pair: pair[0]):
        steps = [t for _, t in run]
        if player < 0:
            for t in steps:
                nodes = direction.step(t, nodes, np.ones(len(nodes[0]), np.intp))
            continue
        there = np.repeat([0, 1], len(nodes[0]))
        before = mass
        mass = np.concatenate([mass * (1 - q), mass * q])
        nodes = [np.concatenate([x, x]) for x in nodes]
        for t in steps:
            nodes = direction.step(t, nodes, there if game.players[t] >= 0 else np.ones_like(there))
        label, added = np.arange(len(there)), np.zeros((len(there), 1))
        if game.adds_up_steps:
            added = direction.result(nodes)
            nodes[-1] = np.zeros_like(nodes[-1])
        if len(there) > num_states:
            states = np.concatenate(nodes, axis=1)
            weight = mass @ weights
            order, starts = cells(states, weight, num_states)
            cell = _cell_of(starts, len(order))
            label[order] = cell
            mass = np.add.reduceat(mass[order], starts, axis=0)
            part = weight[order] / np.add.reduceat(weight[order], starts)[cell]
            states = np.add.reduceat(states[order] * part[:, None], starts, axis=0)
            nodes = np.split(states, np.cumsum([x.shape[1] for x in nodes])[:-1], axis=1)
        layers.append(_Layer(player, before, label.reshape(2, -1), added))
    return layers, nodes, mass


def _without_gaps(players: NDArray[np.intp]) -> NDArray[np.intp]:
    """The players of steps, where steps that are always there count to a player that is before and after them."""

    def filled(players: NDArray[np.intp]) -> NDArray[np.intp]:
        return players[np.maximum.accumulate(np.where(players >= 0, np.arange(len(players)), 0))]

    before, after = filled(players), filled(players[::-1])[::-1]
    return np.where(before == after, before, players)


class _Layer(NamedTuple):
    """The steps of a player.

    Attributes:
        mass: (states, nodes), of the states before it. next: (2, states), those after it, without it and with it.
        added: (2 states, outputs), what these steps add to the output.
    """

    player: int
    mass: Array
    next: NDArray[np.intp]
    added: Array


class _MergedDirection(NamedTuple):
    """The layers of an automaton, and the outputs of its last states."""

    layers: Sequence[_Layer]
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
                there = coalitions[:, layer.player].astype(np.intp)
                total = total + layer.added[there * layer.next.shape[1] + state]
                state = layer.next[there, state]
            total = total + direction.outputs[state]
        return total

    def shapley_values(self) -> Array:
        """(n, outputs): phi_i = int_0^1 E[v(S with i) - v(S without)] dq, S with each other player with chance q."""
        q = self.nodes[:, None]
        values = np.zeros((self.num_players, self.directions[0].outputs.shape[1]))
        for direction in self.directions:
            outputs = direction.outputs
            ahead = np.broadcast_to(outputs[:, None], (len(outputs), len(self.nodes), outputs.shape[1]))
            for layer in reversed(direction.layers):
                without, having = (
                    ahead[after] + added[:, None]
                    for after, added in zip(layer.next, np.split(layer.added, 2), strict=True)
                )
                difference = having - without
                values[layer.player] += np.tensordot(layer.mass * self.weights, difference, axes=2)
                ahead = without + q * difference
        return values


AXES = 8
"""How many principal components states are told apart by."""


def cells(points: Array, weights: Array, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divides points (N, d) into at most `count` cells of like ones.

    Points are told apart by about their first eight principal components. In each round every cell is split in two, or
    those that vary most if that makes enough of them: at its weighted mean, along the component of its largest
    weighted variance.

    Returns:
        The points in the order of their cells, and where each cell starts in it.
    """
    order, starts = np.arange(len(points)), np.zeros(1, np.intp)
    weights = np.maximum(weights, 1e-300)  # a point of no weight has its place too
    centred = _principal(points - weights @ points / weights.sum(), weights)  # variances keep their digits
    weighted = centred * weights[:, None]
    moments = np.concatenate([weights[:, None], weighted, weighted * centred], axis=1)
    d = centred.shape[1]
    rounding = 1e-14 * moments[:, d + 1 :].sum()
    while len(starts) < count:
        sums = np.add.reduceat(moments[order], starts, axis=0)
        mean = sums[:, 1 : d + 1] / sums[:, :1]
        spread = sums[:, d + 1 :] - sums[:, 1 : d + 1] * mean
        axis, score = spread.argmax(axis=1), spread.sum(axis=1)
        split = score > rounding
        most = count - len(starts)
        if most < len(score):
            split[np.argpartition(-score, most - 1)[most:]] = False
        cell = _cell_of(starts, len(order))
        along = axis[cell]
        right = (centred[order, along] > mean[cell, along]) & split[cell]
        keys = 2 * cell + right
        resorted = np.argsort(keys, kind="stable")
        order, keys = order[resorted], keys[resorted]
        new = np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
        if len(new) == len(starts):
            break
        starts = new
    return order, starts


def _cell_of(starts: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The number of the cell of each of so many points in the order of their cells."""
    begins = np.zeros(count, np.intp)
    begins[starts[1:]] = 1
    return begins.cumsum()


def _principal(centred: Array, weights: Array) -> Array:
    """About the first principal components (N, 8) of points, by one step of subspace iteration."""
    if centred.shape[1] <= AXES:
        return centred
    weighted = (centred * weights[:, None]).T
    components = centred @ np.linalg.qr(weighted @ (centred @ _directions(centred.shape[1])))[0]
    return np.asarray(components @ np.linalg.eigh((components * weights[:, None]).T @ components)[1])


@functools.cache
def _directions(size: int) -> Array:
    """Random ones (size, 8), with which the iteration begins."""
    return np.random.default_rng(0).normal(size=(size, AXES))
