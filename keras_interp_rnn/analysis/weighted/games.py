r"""The game of a word and its multilinear extension, for a network that is an affine map for each symbol.

The players are the T symbols of a word x. The value of a coalition S is v(S) = E f(z), with z_t = x_t for t in S and
all other z_t drawn from the background. Where player t is there with chance q_t, by itself, the expected value is

    f(q_1, ..., q_T) = s_0 C_1(q_1) ... C_T(q_T) o,     C_t(q) = q A_{x_t} + (1 - q) B,

with B the mean of the maps. It is linear in each q_t, and its derivatives are those of one factor or of two. Under a
Markov background the state includes the last symbol of the chain, which moves on at every step, seen or not; symbols
that the chain cannot have drawn are left out. Symbols that follow one another may be one player: its factor is q times
the product of their maps, and 1 - q times that of what is drawn.

Reference: Owen, "Multilinear extensions of games", Management Science, 1972.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.backgrounds import Background

MEMORY = 2**27
"""Bytes of the states of all steps, which limit how many nodes are evaluated together."""


class Game:
    """A word before a background.

    States are (..., nodes, chain, n), and functionals alike. The axis `chain` is the last symbol that the background
    may have drawn; its length is 1 if symbols are independent.

    Args:
        initial, maps, final: (n,), (K, n, n) and (n, outputs), the network.
        word: ids (T,).
        background: over the K symbols.
        players: the steps of each player, which follow one another: all steps, in their order. By default each step is
            a player.
    """

    def __init__(
        self,
        initial: Array,
        maps: Array,
        final: Array,
        word: NDArray[np.int64],
        background: Background,
        players: Sequence[NDArray[np.intp]] | None = None,
    ) -> None:
        self._initial, self._final = initial, final
        self._players = np.arange(len(word))[:, None] if players is None else players
        self._known = [maps[symbol] for symbol in word]
        self._first, self._moves, self._drawn = _along(background, maps, len(word))

    @property
    def bytes_of_a_state(self) -> int:
        """The largest one, of one node."""
        return 8 * max(map(len, self._drawn)) * len(self._initial)

    def derivatives(self, nodes: Array, weights: Array) -> Array:
        """(players, outputs), the sum over nodes q of the weight times df/dq_i at (q, ..., q)."""
        q = nodes[:, None, None]
        states = self._begin(len(nodes))
        changes = []  # of the state after a player if it becomes known
        for steps in self._players:
            known, unknown = self._read(states, steps)
            changes.append(known - unknown)
            states = q * known + (1 - q) * unknown
        functionals = self._end(len(nodes))
        found = np.zeros((len(changes), self._final.shape[1]))
        for i in range(len(changes) - 1, -1, -1):
            found[i] = np.einsum("q,qcn,oqcn->o", weights, changes[i], functionals, optimize=True)
            if i:
                known, unknown = self._read_back(functionals, self._players[i])
                functionals = q * known + (1 - q) * unknown
        return found

    def second_derivatives(self, nodes: Array, weights: Array) -> Array:
        r"""(players, players), the sum over nodes q of the weight times d^2 f / dq_i dq_j at (q, ..., q).

        The diagonal is 0. There must be one output.
        """
        q = nodes[:, None, None]
        [functionals] = self._end(len(nodes))
        ahead = []  # of the state before a player, the change of the output if it becomes known; the last player first
        for steps in reversed(self._players):
            known, unknown = self._read_back(functionals, steps)
            ahead.append(known - unknown)
            functionals = q * known + (1 - q) * unknown
        count = len(ahead)
        found = np.zeros((count, count))
        changes = self._begin(len(nodes))[None][:0]  # of the state if each earlier player becomes known
        states = self._begin(len(nodes))
        for j, steps in enumerate(self._players):
            pulled = weights[:, None, None] * ahead.pop()
            found[:j, j] = changes.reshape(j, pulled.size) @ pulled.ravel()
            known, unknown = self._read(np.concatenate([changes, states[None]]), steps)
            changes = q * known + (1 - q) * unknown
            states = changes[-1].copy()
            changes[-1] = known[-1] - unknown[-1]
        return found + found.T

    def mean(self) -> Array:
        """(outputs,), E f over words of the background."""
        states = self._begin(1)
        for steps in self._players:
            _, states = self._read(states, steps)
        return np.asarray(states.sum(axis=(0, 1)) @ self._final)

    def _begin(self, nodes: int) -> Array:
        # Before the first symbol, the axis of the chain is the distribution of the first symbol.
        return np.broadcast_to(self._first[:, None] * self._initial, (nodes, len(self._first), len(self._initial)))

    def _end(self, nodes: int) -> Array:
        """(outputs, nodes, chain, n)."""
        shape = self._final.shape[1], nodes, len(self._drawn[-1]), len(self._initial)
        return np.broadcast_to(self._final.T[:, None, None], shape)

    def _read(self, states: Array, steps: NDArray[np.intp]) -> tuple[Array, Array]:
        """The states after some steps if their symbols are known, and if they are not."""
        known = unknown = states
        for t in steps:
            moved = _moved(known, self._moves[t])
            known, unknown = (
                _product(moved, self._known[t]),
                _products(moved if known is unknown else _moved(unknown, self._moves[t]), self._drawn[t]),
            )
        return known, unknown

    def _read_back(self, functionals: Array, steps: NDArray[np.intp]) -> tuple[Array, Array]:
        """The functionals of the state before some steps if their symbols are known, and if they are not."""
        known = unknown = functionals
        for t in steps[::-1]:
            move = self._moves[t]
            back = None if move is None else move.T
            known = _moved(_product(known, self._known[t].T), back)
            unknown = _moved(_products(unknown, np.swapaxes(self._drawn[t], 1, 2)), back)
        return known, unknown


def quadrature(num_nodes: int, bytes_per_node: int) -> Iterator[tuple[Array, Array]]:
    """Gauss-Legendre nodes and weights on [0, 1], some at a time, exact for polynomials of degree 2 num_nodes - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    at_once = max(1, MEMORY // bytes_per_node)
    for first in range(0, len(nodes), at_once):
        some = slice(first, first + at_once)
        yield (nodes[some] + 1) / 2, weights[some] / 2


def _along(background: Background, maps: Array, steps: int) -> tuple[Array, list[Array | None], list[Array]]:
    """The draws of a background along a word, without symbols that it cannot draw at a step.

    Returns:
        The probabilities of the first symbol; for each step the probabilities (before, now) of a move of the chain,
        None where it does not move; for each step the maps of what may be drawn, or the mean map of independent
        symbols.
    """
    chances, at_least_one = background.initial, max(steps, 1)
    if background.transitions is None:
        mean = np.einsum("k,kij->ij", chances, maps)[None]
        return np.ones(1), [None] * at_least_one, [mean] * at_least_one
    support = np.flatnonzero(chances)
    first, drawn = chances[support], [_some(maps, support)]
    moves: list[Array | None] = [None]
    for _ in range(1, steps):
        before, chances = support, chances @ background.transitions
        support = np.flatnonzero(chances)
        moves.append(background.transitions[np.ix_(before, support)])
        drawn.append(_some(maps, support))
    return first, moves, drawn


def _some(maps: Array, chosen: NDArray[np.intp]) -> Array:
    return maps if len(chosen) == len(maps) else maps[chosen]


def _moved(states: Array, move: Array | None) -> Array:
    """States (..., before, n) after a move of the chain (before, now)."""
    return states if move is None else np.einsum("...cn,cd->...dn", states, move, optimize=True)


def _product(states: Array, matrix: Array) -> Array:
    """States (..., n) @ matrix, as one product."""
    return np.asarray((states.reshape(-1, len(matrix)) @ matrix).reshape(states.shape))


def _products(states: Array, matrices: Array) -> Array:
    """States (..., chain, n), each @ the matrix of its place in the chain."""
    if len(matrices) == 1:
        return _product(states, matrices[0])
    moved = np.moveaxis(states, -2, 0)
    found = moved.reshape(len(matrices), -1, matrices.shape[1]) @ matrices
    return np.asarray(np.moveaxis(found.reshape(moved.shape), 0, -2))
