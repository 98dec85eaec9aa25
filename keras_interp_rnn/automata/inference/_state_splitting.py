r"""A small automaton from labelled words by splitting states: for words so long that no two share an ending.

Merging states (`_state_merging`) needs words that share endings, as short words do. This search goes the other way: it
begins with one state and makes the change of the table that shortens the description most, until none does. A change
moves a transition, merges two states, or gives a transition a new target: a copy of the old one, perhaps with one
transition changed, or a state that is never left. The description of the table and of the labels has

    bits = n K log2 n - sum_q log2 P(n_q),
    P(n) = Gamma(C/2) / Gamma(1/2)^C  prod_c Gamma(n_c + 1/2) / Gamma(sum_c n_c + C/2)

for n states, K symbols and C labels, where n_q are the counts of the labels of the words that end in state q: the
probability of these labels if each state had its own distribution (the Krichevsky-Trofimov estimate). Unlike the number
of contradicted words it rewards a state that makes a label only more likely, so rules are found part by part.

Changes are tried on a few hundred words: some drawn at random, and some that the best automaton contradicts. When no
single change helps, the search goes on from an automaton with a few transitions moved at random, and accepts a result
if it shortens the description of all words.

References: Rissanen, "Modeling by shortest data description", Automatica, 1978; Krichevsky and Trofimov, "The
performance of universal encoding", IEEE Transactions on Information Theory, 1981. The search is this package's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._deadline import Deadline, Limits, TimeUp
from keras_interp_rnn.automata.inference._prefix_tree import Machine, PrefixTree, Words
from keras_interp_rnn.automata.inference._state_changes import kicked, moves, started, trimmed

SECONDS = 30.0  # computing time after which the search ends
NUM_WORDS = 800  # random words, and as many contradicted ones, on which changes are tried
BATCH = 200  # tables that are evaluated together
MAX_STATES = 64  # from this number on no state is split
PATIENCE = 40  # random changes in a row without a shorter description, after which the search ends
PATIENCE_IF_EXACT = 10
"""The same if no label is wrong and the automaton contradicts no word: a smaller one may be right too."""


def shortest_description(words: Words, limits: Limits, start: Machine | None = None) -> Machine:
    """The automaton of the shortest description that is found.

    If no label is wrong, the search goes on until the automaton contradicts no word or time is up.

    Args:
        start: an automaton to begin with; by default the one of a single state.
    """
    rng, tree, until = np.random.default_rng(limits.seed), words.tree, limits.within(SECONDS).until
    limit = min(words.max_states, MAX_STATES)
    table = np.zeros((1, tree.num_symbols), np.int64) if start is None else trimmed(tree, start.table)
    shortest, stale = predictive_bits(tree, table[None])[0], 0
    while not until.passed:
        wrong = contradicted(words, table)
        if stale > (PATIENCE if not limits.exact else PATIENCE_IF_EXACT if not len(wrong) else math.inf):
            break
        rows = rng.choice(len(words), min(NUM_WORDS, len(words)), replace=False)
        if limits.exact:
            rows = np.union1d(rows, rng.permutation(wrong)[:NUM_WORDS])
        begin = kicked(table, rng, growing=0.3 if len(table) < limit else 0.0, min_moved=1) if stale else table
        other = trimmed(tree, _climbed(words[rows].tree, begin, limit, until))
        length = predictive_bits(tree, other[None])[0]
        stale = 0 if length < shortest - 1e-6 else stale + 1
        if not stale:
            table, shortest = other, length
    counts = tree.counts_of(tree.states(table), len(table))
    return Machine(table, counts.argmax(axis=1))


def contradicted(words: Words, table: Ints) -> Ints:
    """The words whose label is not the most frequent one of the words that end in the same state."""
    states = words.tree.states(table)
    outputs = words.tree.counts_of(states, len(table)).argmax(axis=1)
    return np.flatnonzero(outputs[states[words.tree.ends]] != words.labels)


def predictive_bits(tree: PrefixTree, tables: Ints) -> Array:
    """The lengths (m,) of the descriptions of tables (m, n, K) and of the labels of the words."""
    number, n, symbols = tables.shape
    flat, offsets = tables.ravel(), np.arange(number)[:, None] * (n * symbols)
    states = np.zeros((number, len(tree.child)), np.int64)
    for nodes, parents, letters in tree.levels:
        states[:, nodes] = flat[offsets + states[:, parents] * symbols + letters]
    ends = np.flatnonzero(tree.counts.any(axis=1))
    places = (np.arange(number)[:, None] * n + states[:, ends]).ravel()
    counts = np.stack(
        [
            np.bincount(places, np.broadcast_to(column[ends], (number, len(ends))).ravel(), number * n)
            for column in tree.counts.T
        ],
        axis=-1,
    ).reshape(number, n, -1)
    return np.asarray(n * symbols * math.log2(n) + label_bits(counts).sum(axis=-1))


def label_bits(counts: NDArray[Any]) -> Array:
    """Bits of labels by the Krichevsky-Trofimov estimate, from their counts in the last axis (..., C)."""
    half = counts.shape[-1] / 2
    likely = gammaln(half) - 2 * half * gammaln(0.5) + gammaln(counts + 0.5).sum(-1) - gammaln(counts.sum(-1) + half)
    return np.asarray(-likely / math.log(2))


def _climbed(tree: PrefixTree, table: Ints, limit: int, until: Deadline) -> Ints:
    """The table that changes lead to, each the one that shortens the description most."""
    best = trimmed(tree, table)
    shortest = predictive_bits(tree, best[None])[0]
    improved = True
    while improved:
        improved = False
        for changes in (moves(best), _splits(best) if len(best) < limit else (), _merges(best)):
            try:
                found = _best(tree, changes, limit, until)
            except TimeUp:
                return best
            if found is not None and found[1] < shortest - 1e-6:
                best, improved = trimmed(tree, found[0]), True
                shortest = predictive_bits(tree, best[None])[0]
                break
    return best


def _best(tree: PrefixTree, tables: Iterable[Ints], limit: int, until: Deadline) -> tuple[Ints, float] | None:
    """The table of the shortest description, and its length; of several the smallest, and of these the first.

    Tables of more than `limit` states are left out.
    """
    found: list[tuple[float, int, Ints]] = []
    waiting: dict[int, list[Ints]] = {}  # by size, as tables of one size are evaluated together

    def evaluate(alike: list[Ints]) -> None:
        until.check(len(alike))
        lengths = predictive_bits(tree, np.stack(alike))
        place = int(lengths.argmin())
        found.append((float(lengths[place]), len(alike[place]), alike[place]))

    for table in tables:
        until.check()
        if len(table) > limit:
            continue
        alike = waiting.setdefault(len(table), [])
        alike.append(table)
        if len(alike) == BATCH:
            evaluate(waiting.pop(len(table)))
    for alike in waiting.values():
        evaluate(alike)
    if not found:
        return None
    length, _, table = min(found, key=lambda each: each[:2])
    return table, length


def _merges(table: Ints) -> Iterator[Ints]:
    """The tables in which one state takes the place of another, which may be the start."""
    size = len(table)
    for gone in range(size):
        for stays in range(size):
            if stays != gone:
                place = np.arange(size) - (np.arange(size) > gone)
                place[gone] = place[stays]
                merged = place[np.delete(table, gone, axis=0)]
                yield started(merged, place[0]) if place[0] else merged


def _splits(table: Ints) -> Iterator[Ints]:
    """The tables in which a transition leads to a new state: a copy of its target, or one that is never left.

    The copy may have one transition changed, also to a second new state that is never left.
    """
    size, symbols = table.shape
    for state, symbol in np.ndindex(*table.shape):
        copy = np.concatenate([table, table[table[state, symbol]][None]])
        copy[state, symbol] = size
        yield copy
        absorbing = copy.copy()
        absorbing[size] = size
        yield absorbing
        for column in range(symbols):
            for target in range(size + 1):
                if target != copy[size, column]:
                    moved = copy.copy()
                    moved[size, column] = target
                    yield moved
            before = np.concatenate([copy, np.full((1, symbols), size + 1)])
            before[size, column] = size + 1
            yield before
