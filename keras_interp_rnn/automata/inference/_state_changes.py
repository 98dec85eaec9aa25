r"""Changes of an automaton's table that shorten the description of the labels, some of which may be wrong.

A change moves a transition, merges a state into another, makes another state the start, or gives a transition a copy of
its target, perhaps with one transition changed. One pass over the prefix tree estimates for all of them how many more
words would be contradicted. Let E(u, r) be the number of words below the prefix u that are contradicted if the
automaton is in state r after u, with its outputs as they are:

    E(u, r) = words that end in u, of another label than r has + sum over symbols a of E(ua, table(r, a)).

If the prefixes u after one transition led to r in place of their state q, the sum of E(u, r) - E(u, q) more words would
be contradicted; each prefix counts as if the transition were not taken again after it. The most promising changes are
evaluated exactly, and the first that shortens the description (`_prefix_tree`) is made.

The search is this package's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, TimeUp
from keras_interp_rnn.automata.inference._prefix_tree import Machine, PrefixTree, bits, description_length

MAX_MOVED = 3  # transitions that a kick moves
NUM_EVALUATED = 40
"""Number of changes that are evaluated exactly, in the order of their estimates, before the search ends."""


def refined(tree: PrefixTree, table: Ints, until: Deadline = NEVER) -> Machine:
    """The automaton that changes of a table (n, K) lead to, each of which shortens the description.

    The output of a state is the most frequent label of its words.
    """
    best = trimmed(tree, table)
    shortest = bits(tree, best)
    improved = True
    while improved:
        improved = False
        for other in promising(tree, best):
            try:
                until.check(1)
            except TimeUp:
                break
            length = bits(tree, other)
            if length < shortest - 1e-9:
                best, shortest, improved = trimmed(tree, other), length, True
                break
    return Machine(best, tree.counts_of(tree.states(best), len(best)).argmax(axis=1))


def promising(tree: PrefixTree, table: Ints) -> Iterator[Ints]:
    """The tables after the `NUM_EVALUATED` changes that should shorten the description most, the best first.

    All states of the given table (n, K) must be reached.
    """
    size, symbols = table.shape
    states = tree.states(table)
    counts = tree.counts_of(states, size)
    below = contradicted_below(tree, table, counts.argmax(axis=1))
    wrong = counts.sum() - counts.max(axis=1).sum()
    price = math.log2(max((tree.num_words - wrong) / max(wrong, 1.0), 2.0))  # bits of one more contradicted word
    state = description_length(size + 1, wrong, tree) - description_length(size, wrong, tree)

    # The transition (of `size * symbols`) that leads to each prefix, and the last two of them.
    last = np.full(len(states), -1)
    last[1:] = states[tree.parent[1:]] * symbols + tree.symbol[1:]
    second = np.flatnonzero(last[tree.parent] >= 0)
    two = last[tree.parent[second]] * symbols + tree.symbol[second]
    target = table.ravel()
    moved = price * _summed(below[1:] - below[np.arange(1, len(states)), states[1:], None], last[1:], target.size)
    after = below[second] - below[second, states[second], None]
    moved_after = price * _summed(after, two, target.size * symbols).reshape(target.size, symbols, size)
    after_it = _summed(tree.counts[1:], last[1:], target.size)
    others = counts[target] - after_it
    relabelled = price * (_disagreements(after_it) + _disagreements(others) - _disagreements(counts)[target])
    used = np.bincount(last[1:], minlength=target.size) > 0
    merged = np.stack([moved[target == gone].sum(axis=0) for gone in range(size)]) - state

    unchanged = np.arange(size) == target[:, None]
    moved[unchanged | ~used[:, None]] = np.inf
    only = used & (np.bincount(target[used], minlength=size)[target] == 1) & (target > 0)
    moved[only] -= state  # the target is no longer reached
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
    """The table after a change of one of the six kinds of `promising`."""
    size, symbols = table.shape
    if kind == 4:
        gone, stays = place
        return np.where(table == gone, stays, table)
    if kind == 5:
        return started(table, int(place[0]))
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
    """E(u, r), (nodes, n): words below each prefix that are contradicted if the automaton is in state r there."""
    wrong: Array = tree.counts.sum(axis=1)[:, None] - tree.counts[:, outputs]
    for nodes, parents, symbols in reversed(tree.levels):
        for symbol in range(tree.num_symbols):
            there = symbols == symbol  # at most one child of a parent
            wrong[parents[there]] += wrong[nodes[there]][:, table[:, symbol]]
    return wrong


def _summed(rows: Array, groups: Ints, number: int) -> Array:
    """The sums of rows (m, columns) by group."""
    return np.stack([np.bincount(groups, weights=column, minlength=number) for column in rows.T], axis=1)


def _disagreements(counts: Array) -> Array:
    """The number of words in each row of counts with another label than the most frequent one."""
    return np.asarray(counts.sum(axis=1) - counts.max(axis=1))


def started(table: Ints, start: int) -> Ints:
    """The table with another start, which becomes state 0."""
    order = np.r_[start, np.delete(np.arange(len(table)), start)]
    return np.argsort(order)[table[order]]


def kicked(table: Ints, rng: np.random.Generator, *, growing: float, min_moved: int) -> Ints:
    """The table with `min_moved` to `MAX_MOVED` transitions moved at random; with probability `growing` also a copy."""
    new = table.copy()
    if growing and rng.random() < growing:
        new = np.concatenate([new, new[rng.integers(len(new), size=1)]])
    for _ in range(rng.integers(min_moved, MAX_MOVED + 1)):
        new[rng.integers(len(new)), rng.integers(new.shape[1])] = rng.integers(len(new))
    return new


def trimmed(tree: PrefixTree, table: Ints) -> Ints:
    """The table without the states that no prefix of a word reaches."""
    reached, first = np.unique(tree.states(table), return_index=True)
    order = reached[np.argsort(first)]
    place = np.full(len(table), -1)
    place[order] = np.arange(len(order))
    rows = place[table[order]]
    return np.where(rows < 0, np.arange(len(order))[:, None], rows)
