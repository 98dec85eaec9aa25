r"""The prefixes of labelled words as a tree, and the description length of the labels by an automaton.

An automaton of n states, K symbols and C labels, with the e of N words that it contradicts, is described in

    bits = n K log2 n + n log2 C + log2 binomial(N, e) + e log2(C - 1)

bits (Rissanen's minimum description length).

Reference: Rissanen, "Modeling by shortest data description", Automatica, 1978.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline


@dataclass(frozen=True, eq=False)
class Machine:
    """A complete automaton that starts in state 0: its table (n, K) and the labels (n,) of its states.

    Attributes:
        rules: the family of patterns and the tree that it was made of, if it was.
    """

    table: Ints
    outputs: Ints
    rules: Any = None

    def __len__(self) -> int:
        return len(self.table)


class PrefixTree:
    """The prefixes of words as a tree: a node for each different prefix, breadth first.

    Attributes:
        child: (nodes, K), -1 if there is no such child. parent, symbol: (nodes,), 0 for the root.
        levels: for each length from 1 on the nodes, their parents and symbols. ends: (words,), the node of each word.
        counts: (nodes, C), of the labels of the words that end there. below: (nodes,), number of words with the prefix.
    """

    def __init__(
        self,
        words: Sequence[Sequence[int]],
        labels: Ints,
        num_symbols: int,
        num_labels: int,
        until: Deadline = NEVER,
    ) -> None:
        self.num_symbols, self.num_labels, self.num_words = num_symbols, num_labels, len(words)
        longest = max(map(len, words), default=0)
        letters = np.full((len(words), longest), -1, np.int64)
        for row, word in zip(letters, words, strict=True):
            row[: len(word)] = word
        self.ends = ends = np.zeros(len(words), np.int64)
        self.levels: list[tuple[Ints, Ints, Ints]] = []
        size, rows = 1, np.arange(len(words))
        for column in range(longest):
            until.check()
            rows = rows[letters[rows, column] >= 0]
            keys, place = np.unique(ends[rows] * num_symbols + letters[rows, column], return_inverse=True)
            self.levels.append((np.arange(size, size + len(keys)), keys // num_symbols, keys % num_symbols))
            ends[rows] = size + place.ravel()
            size += len(keys)
        self.child = np.full((size, num_symbols), -1, np.int64)
        self.parent, self.symbol = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for nodes, parents, symbols in self.levels:
            self.child[parents, symbols] = nodes
            self.parent[nodes], self.symbol[nodes] = parents, symbols
        self.counts = np.zeros((size, num_labels))
        np.add.at(self.counts, (ends, labels), 1.0)
        self.below = self.counts.sum(axis=1)
        for nodes, parents, _ in reversed(self.levels):
            np.add.at(self.below, parents, self.below[nodes])

    def states(self, table: Ints) -> Ints:
        """The state of an automaton after each prefix."""
        states = np.zeros(len(self.child), np.int64)
        for nodes, parents, symbols in self.levels:
            states[nodes] = table[states[parents], symbols]
        return states

    def counts_of(self, states: Ints, num_states: int) -> Array:
        """The counts of labels (n, C) in each state, from the state of each prefix."""
        return np.stack([np.bincount(states, weights=column, minlength=num_states) for column in self.counts.T], axis=1)


def bits(tree: PrefixTree, table: Ints) -> float:
    """The description length by a table whose states have the most frequent labels of their words."""
    states = tree.states(table)
    counts = tree.counts_of(states, len(table))
    used = int(np.count_nonzero(np.bincount(states)))
    return description_length(used, float(counts.sum() - counts.max(axis=1).sum()), tree)


def description_length(num_states: int, errors: float, tree: PrefixTree) -> float:
    """Bits of an automaton and of the labels that it contradicts."""
    words, labels = tree.num_words, tree.num_labels
    which = bits_of_order([errors, words - errors])
    table = num_states * (tree.num_symbols * math.log2(num_states) + math.log2(labels))
    return table + which + errors * math.log2(max(labels - 1, 1))


def max_states(tree: PrefixTree) -> int:
    """The largest number of states with which an automaton can be a shorter description than the labels alone."""
    length, states = bits_alone(tree), 1
    while description_length(states + 1, 0, tree) < length:
        states += 1
    return states


def bits_alone(tree: PrefixTree) -> float:
    """The description length of the labels alone: of their order, as their numbers are known."""
    return bits_of_order(tree.counts.sum(axis=0))


def is_shorter(tree: PrefixTree, machine: Machine, factor: float = 1.0) -> bool:
    """Whether an automaton, with the labels that it contradicts, is a shorter description than the labels alone.

    Args:
        factor: of the bits of the labels.
    """
    return bits(tree, machine.table) < factor * bits_alone(tree)


def bits_of_order(counts: Iterable[float]) -> float:
    """Bits that tell which of the orders of so many things of each kind it is."""
    counts = list(counts)
    return (math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts)) / math.log(2)


class Words:
    """Words of symbols 0, 1, ..., with labels 0, 1, ..., from which automata are learned.

    Attributes:
        max_states: of the automata. until: the deadline by which they, and parts of them, are read.
    """

    def __init__(
        self,
        words: Sequence[Sequence[int]],
        labels: Ints,
        num_symbols: int,
        num_labels: int,
        until: Deadline = NEVER,
    ) -> None:
        self.words, self.labels, self.num_symbols, self.num_labels = words, labels, num_symbols, num_labels
        self.until = until
        self.tree = PrefixTree(words, labels, num_symbols, num_labels, until)
        self.max_states = max_states(self.tree)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Ints) -> Words:
        """Some of the words."""
        some = [self.words[row] for row in rows]
        return Words(some, self.labels[rows], self.num_symbols, self.num_labels, self.until)

    def right(self, machine: Machine) -> NDArray[np.bool_]:
        """Whether an automaton gives each word its label."""
        labels = machine.outputs[self.tree.states(machine.table)[self.tree.ends]]
        return np.asarray(labels == self.labels)

    def error(self, machine: Machine) -> float:
        """The fraction of the words to which an automaton gives another label."""
        return float((~self.right(machine)).mean())
