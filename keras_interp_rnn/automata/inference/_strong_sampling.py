r"""Trees over patterns for words that were drawn uniformly from all words of their label: strong sampling.

Suppose that each word was drawn uniformly from the words of its length and label. Then words are evidence beyond their
labels: of two trees that contradict no word, the one that gives the labels to fewer other words is likelier. Where a
tree gives the label l to the fraction p_l(n) of all words of length n, its description (`_pattern_trees`) has

    bits = bits(tree) + sum log2 p_l(n) + 30 e,

where the sum runs over the words, of length n and label l, except the e words that the tree contradicts. The fractions
are exact: they follow from the product of the patterns' automata.

The search begins with the tree that the labels lead to. It changes patterns and removes questions as long as that
shortens the description.

Reference: Tenenbaum and Griffiths, "Generalization, similarity, and Bayesian inference", Behavioral and Brain Sciences
24, 2001 (strong sampling and the size principle). The search is this package's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._pattern_trees import (
    CONTRADICTED_BITS,
    Node,
    Search,
    Tree,
    leaves,
    patterns_of,
    pruned,
    shortened,
    swapped,
)
from keras_interp_rnn.automata.inference._patterns import Bools, Family, Pattern

MAX_PAIRS = 2_000_000  # pairs of states of two automata, above which their product is not formed
EVALUATED = 64  # trees of one kind of change whose fractions are computed


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


def fractions(family: Family, tree: Tree, num_labels: int, longest: int) -> Array | None:
    """The fraction of the words of each length 0, 1, ... to which a tree gives each label, (longest + 1, num_labels).

    None if the automaton of its patterns would be too large.
    """
    whole = tree_automaton(family, tree)
    if whole is None:
        return None
    labels = np.eye(num_labels)[whole.labels]
    weights = np.bincount(whole.class_of, minlength=whole.table.shape[1]) / family.num_symbols
    probability = np.zeros(len(labels))
    probability[whole.start] = 1.0
    found = np.empty((longest + 1, num_labels))
    after = whole.table.ravel()
    for length in range(longest + 1):
        found[length] = probability @ labels
        moved = (probability[:, None] * weights).ravel()
        probability = np.bincount(after, moved, len(labels)).astype(np.float64)
    return found


class Sharpening:
    """The search from the best tree of a family."""

    def __init__(self, search: Search, lengths: Ints) -> None:
        self.search, self.lengths = search, lengths
        self.known: dict[Tree, float] = {}

    def improve(self) -> None:
        """Replaces the search's tree, which contradicts no word, by one of a shorter description that contradicts none.

        Words that a changed tree contradicts are added to the sample, with which the search then starts again.
        """
        search, before = self.search, self.search.tree
        while True:
            search.ask(patterns_of(before))
            tree, _ = shortened(before, self.changed, self.bits)
            wrong = search.contradicted(tree)
            if not len(wrong):
                search.tree = tree
                return
            unread = np.setdiff1d(wrong, search.sample)
            if not len(unread):
                return
            search.add(unread)
            self.known.clear()

    def changed(self, tree: Tree) -> Iterator[list[Tree]]:
        """The most promising trees that one change leads to, pattern by pattern, and that two changes lead to."""
        search = self.search
        for pattern in dict.fromkeys(patterns_of(tree)):
            others = [*search.others(tree, pattern), *search.family.longer(pattern)]
            yield self._promising([*pruned(tree), *(swapped(tree, pattern, other) for other in others)])
            if pattern.modulus:
                yield [_exactly(tree, pattern)]
        yield self._promising([*search.two_changed(tree)])

    def _promising(self, trees: list[Tree]) -> list[Tree]:
        """The trees whose descriptions by the labels alone are shortest."""
        for tree in trees:
            self.search.ask(patterns_of(tree))
        return sorted(dict.fromkeys(trees), key=self.search.bits)[:EVALUATED]

    def bits(self, tree: Tree) -> float:
        """The description length of a tree and of the words of the sample."""
        if tree not in self.known:
            self.known[tree] = self._bits(tree)
        return self.known[tree]

    def _bits(self, tree: Tree) -> float:
        search = self.search
        shares = fractions(search.family, tree, search.num_labels, int(self.lengths.max()))
        if shares is None:
            return math.inf
        search.ask(patterns_of(tree))
        bits = search.bits_of_rules(tree)
        for label, rows in search.leaves(tree, search.all):
            right = search.one_hot[rows, label] > 0
            lengths = self.lengths[search.sample[rows[right]]]
            bits += float(np.log2(shares[lengths, label]).sum()) + CONTRADICTED_BITS * float((~right).sum())
        return bits


def _exactly(tree: Tree, pattern: Pattern) -> Tree:
    """The tree that asks for an exact number of occurrences in place of the number modulo another."""
    if isinstance(tree, int):
        return tree
    yes, no = _exactly(tree.yes, pattern), _exactly(tree.no, pattern)
    if tree.pattern != pattern:
        return Node(tree.pattern, yes, no)
    count = pattern.residue
    if pattern.modulus == 2:  # which asks for even numbers: 1 is the other answer
        count, yes, no = 1, no, yes
    more = Node(Pattern(pattern.pieces, count + 1), no, yes)
    return Node(Pattern(pattern.pieces, count), more, no) if count else more
