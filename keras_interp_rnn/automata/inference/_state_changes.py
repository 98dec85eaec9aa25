r"""Changes of an automaton's table, and where they lead if some labels are wrong.

A change moves a transition, merges a state into another, makes another state the start, or gives a transition a copy of
its target, perhaps with a transition of its own. For all of them at once one pass over the prefix tree estimates how
many more words would be contradicted. Let E(u, r) be the number of words below the prefix u that are contradicted if
the automaton is in state r after u, its outputs as they are:

    E(u, r) = words that end in u, of another label than r has + sum over symbols a of E(ua, table(r, a)).

If the prefixes u after one transition came to r in place of their state q, the sum of E(u, r) - E(u, q) more words
would be contradicted; a prefix counts by itself, as if the transition were not taken again after it. The most promising
changes are then evaluated exactly, and the first that shortens the description (`_prefix_tree`) is made.

The search is this package's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline
from keras_interp_rnn.automata.inference._prefix_tree import Machine, PrefixTree, bits, description_length

MOST_MOVED = 3
"""Transitions that a kick moves at most."""

NUM_EVALUATED = 40
"""Changes that are evaluated exactly, in the order of their estimates, before the search ends."""


def refined(tree: PrefixTree, table: Ints, until: Deadline = NEVER) -> Machine:
    """The automaton that changes lead to, each of which shortens the description.

    Args:
        tree: of the words. table: (n, K), with which the search begins. until: when it ends.

    Returns:
        The automaton; the output of each state is the label that most of its words have.
    """
    best = trimmed(tree, table)
    shortest = bits(tree, best)
    improved = True
    while improved:
        improved = False
        for other in promising(tree, best):
            if until.passed:
                break
            length = bits(tree, other)
            if length < shortest - 1e-9:
                best, shortest, improved = trimmed(tree, other), length, True
                break
    return Machine(best, tree.counts_of(tree.states(best), len(best)).argmax(axis=1))


def promising(tree: PrefixTree, table: Ints) -> Iterator[Ints]:
    """The tables of the `NUM_EVALUATED` changes that should shorten the description most, the best first.

    Args:
        tree: of the words. table: (n, K), all of whose states are reached.
    """
    size, symbols = table.shape
    states = tree.states(table)
    counts = tree.counts_of(states, size)
    below = contradicted_below(tree, table, counts.argmax(axis=1))
    wrong = counts.sum() - counts.max(axis=1).sum()
    price = math.log2(max((tree.num_words - wrong) / max(wrong, 1.0), 2.0))  # bits of one more contradicted word
    state = description_length(size + 1, wrong, tree) - description_length(size, wrong, tree)

    # Prefixes by the transition (of `size * symbols`) that leads to them, and by the last two.
    last = np.full(len(states), -1)
    last[1:] = states[tree.parent[1:]] * symbols + tree.symbol[1:]
    second = np.flatnonzero(last[tree.parent] >= 0)
    two = last[tree.parent[second]] * symbols + tree.symbol[second]
    target = table.ravel()
    moved = price * _summed(below[1:] - below[np.arange(1, len(states)), states[1:], None], last[1:], target.size)
    after = below[second] - below[second, states[second], None]
    moved_after = price * _summed(after, two, target.size * symbols).reshape(target.size, symbols, size)
    own = _summed(tree.counts[1:], last[1:], target.size)
    relabelled = price * (_disagreements(own) + _disagreements(counts[target] - own) - _disagreements(counts)[target])
    used = np.bincount(last[1:], minlength=target.size) > 0
    merged = np.stack([moved[target == gone].sum(axis=0) for gone in range(size)]) - state

    unchanged = np.arange(size) == target[:, None]
    moved[unchanged | ~used[:, None]] = np.inf
    only = used & (np.bincount(target[used], minlength=size)[target] == 1) & (target > 0)
    moved[only] -= state  # the target is not reached any more
    copied = np.where(used, relabelled + state, np.inf)
    moved_after += copied[:, None, None]
    moved_after[np.arange(size) == table[target][:, :, None]] = np.inf
    looped = np.where(table[target] == target[:, None], copied[:, None], np.inf)
    merged[0] = np.inf  # the start stays
    np.fill_diagonal(merged, np.inf)

    started = price * (below[0] - below[0, 0])
    started[0] = np.inf

    estimates = (moved, copied, moved_after, looped, merged, started)
    flat = np.concatenate([each.ravel() for each in estimates])
    kinds = np.repeat(np.arange(len(estimates)), [each.size for each in estimates])
    places = np.concatenate([np.arange(each.size) for each in estimates])
    for row in np.argsort(flat, kind="stable")[:NUM_EVALUATED]:
        if flat[row] < np.inf:
            kind = kinds[row]
            yield _changed(table, kind, np.unravel_index(places[row], estimates[kind].shape))


def _changed(table: Ints, kind: int, place: tuple[Ints, ...]) -> Ints:
    """The table of a change: of the six kinds of `promising`."""
    size, symbols = table.shape
    if kind == 4:
        gone, stays = place
        return np.where(table == gone, stays, table)
    if kind == 5:
        order = np.concatenate([place, np.delete(np.arange(size), place)])  # the start is state 0
        return np.argsort(order)[table[order]]
    state, symbol = divmod(int(place[0]), symbols)
    new = table.copy()
    if kind == 0:
        new[state, symbol] = place[1]
        return new
    new = np.concatenate([new, new[new[state, symbol]][None]])
    new[state, symbol] = size
    if kind == 2:
        new[size, place[1]] = place[2]
    elif kind == 3:
        new[size, place[1]] = size
    return new


def contradicted_below(tree: PrefixTree, table: Ints, outputs: Ints) -> Array:
    """E(u, r): words (nodes, n) below each prefix that are contradicted if the automaton is in state r there."""
    wrong = tree.counts.sum(axis=1)[:, None] - tree.counts[:, outputs]
    for nodes, parents, symbols in reversed(tree.levels):
        for symbol in range(tree.num_symbols):
            there = symbols == symbol  # of a parent one at most
            wrong[parents[there]] += wrong[nodes[there]][:, table[:, symbol]]
    return wrong


def _summed(rows: Array, groups: Ints, number: int) -> Array:
    """The sums of rows (m, columns) by group."""
    return np.stack([np.bincount(groups, weights=column, minlength=number) for column in rows.T], axis=1)


def _disagreements(counts: Array) -> Array:
    """Words in each row of counts that have another label than most."""
    return counts.sum(axis=1) - counts.max(axis=1)


def kicked(table: Ints, rng: np.random.Generator, *, growing: float, fewest: int) -> Ints:
    """The table with some transitions moved at random, perhaps with a copy of a state.

    Args:
        growing: probability of a new state. fewest: of the transitions that are moved; the most are `MOST_MOVED`.
    """
    new = table.copy()
    if growing and rng.random() < growing:
        new = np.concatenate([new, new[rng.integers(len(new), size=1)]])
    for _ in range(rng.integers(fewest, MOST_MOVED + 1)):
        new[rng.integers(len(new)), rng.integers(new.shape[1])] = rng.integers(len(new))
    return new


def moves(table: Ints) -> Iterator[Ints]:
    """A transition leads to another state."""
    for state, symbol in np.ndindex(*table.shape):
        for target in range(len(table)):
            if target != table[state, symbol]:
                moved = table.copy()
                moved[state, symbol] = target
                yield moved


def trimmed(tree: PrefixTree, table: Ints) -> Ints:
    """The table without the states that no prefix of a word reaches."""
    reached, first = np.unique(tree.states(table), return_index=True)
    order = reached[np.argsort(first)]
    place = np.full(len(table), -1)
    place[order] = np.arange(len(order))
    rows = place[table[order]]
    return np.where(rows < 0, np.arange(len(order))[:, None], rows)
