"""The automaton of a tree over patterns: the product of the patterns' automata."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._pattern_trees import Tree, leaves, patterns_of
from keras_interp_rnn.automata.inference._patterns import Bools, Family

MAX_PAIRS = 2_000_000  # pairs of states of two automata, above which their product is not formed


class Product(NamedTuple):
    """The automaton that follows several patterns together.

    Attributes:
        table: (n, classes of symbols). start: the state before a word. holds: (patterns, n), whether a word that ends
            in the state has the pattern.
    """

    table: Ints
    start: int
    holds: Bools


class TreeAutomaton(NamedTuple):
    """The automaton that gives words the labels of a tree.

    Attributes:
        table: (n, classes of symbols). class_of: of each symbol. start: the state before a word. labels: (n,).
    """

    table: Ints
    class_of: Ints
    start: int
    labels: Ints


def tree_automaton(family: Family, tree: Tree) -> TreeAutomaton | None:
    """The automaton of a tree; None if it would be too large."""
    asked = list(dict.fromkeys(patterns_of(tree)))
    made = [family.automaton(pattern) for pattern in asked]
    tier = list(family.tier)
    columns = np.concatenate([np.zeros((1, len(tier)), np.int64), *(table[:, : len(tier)] for table, _ in made)])
    _, first, class_of_tier = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    class_of = np.full(family.num_symbols, len(first))  # of the symbols that are skipped
    class_of[tier] = class_of_tier.ravel()
    whole = Product(np.zeros((1, len(first) + 1), np.int64), 0, np.ones((0, 1), bool))
    for table, marks in made:
        moves = np.concatenate([table[:, first], np.arange(len(table))[:, None]], axis=1)
        joined = _joined(whole, Product(moves, int(table[0, family.start]), marks[table[:, family.end]][None]))
        if joined is None:
            return None
        whole = joined
    labels = np.zeros(len(whole.table), np.int64)
    holds = dict(zip(asked, whole.holds, strict=True))
    for label, states in leaves(tree, np.arange(len(labels)), holds.__getitem__):
        labels[states] = label
    return TreeAutomaton(whole.table, class_of, whole.start, labels)


def _joined(one: Product, two: Product) -> Product | None:
    """The product of two automata, of the pairs of states that words lead to; None if there may be too many."""
    width = len(two.table)
    if len(one.table) * width > MAX_PAIRS:
        return None
    number = np.full(len(one.table) * width, -1)
    new = np.array([one.start * width + two.start])
    found, count = [], 0
    while len(new):
        number[new] = np.arange(count, count + len(new))
        count += len(new)
        found.append(new)
        after = one.table[new // width] * width + two.table[new % width]
        new = np.unique(after[number[after] < 0])
    pairs = np.concatenate(found)
    left, right = pairs // width, pairs % width
    table = number[one.table[left] * width + two.table[right]]
    return Product(table, 0, np.concatenate([one.holds[:, left], two.holds[:, right]]))
