r"""The labels of words as a decision tree over patterns of one family: factors, subsequences, tiers, counts.

The nodes of a tree ask whether a word has a pattern (`_patterns`), and its leaves are labels. A tree with the patterns
P, D nodes and the counts of labels n_l in its leaves has the description length

    bits = bits(family) + sum_P bits(P) + 3 D - sum_l log2 KT(n_l) + 30 e,

where KT is the Krichevsky-Trofimov estimate (`label_bits`); the last term, for e contradicted words, counts only
if no label is wrong. All patterns of a tree are of one kind and on one tier, as are those that define the languages of
one class. `_pattern_rules` chooses the families.

The search grows a tree from each of several patterns that separate the labels well. It adds the pattern that shortens
the description most, which a beam finds by changing patterns one symbol at a time. Then patterns are changed and nodes
removed as long as that shortens the description; then the best tree is changed at random and improved in the same way.
All this reads a sample of the words, to which contradicted words are added.

Reference: Quinlan and Rivest, "Inferring decision trees using the minimum description length principle", Information
and Computation, 1989. The search is this package's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from keras_interp_rnn._types import AnyArray, Array, Ints
from keras_interp_rnn.automata.inference._deadline import Limits
from keras_interp_rnn.automata.inference._patterns import Bools, Family, Pattern
from keras_interp_rnn.automata.inference._prefix_tree import Words

MARGIN = 50.0  # bits above the best description at which a tree is given up, and so is a family whose first tree it is
ADDED = 200  # contradicted words that are added to the sample at a time
BEAM, ROUNDS = 10, 8  # in the search for the best pattern: patterns that are changed at a time, and how often
ROOTS = 6  # patterns of which each begins a tree
ALIKE = 0.97  # fraction of words on which two patterns agree, from which on only the better one begins a tree
NODES = 6  # nodes that are added to a tree at a time
KICKS = 12  # random changes in a row without a shorter description, after which the search of a family ends
NODE_BITS = 3.0
CONTRADICTED_BITS = 30.0

POOL = 20_000  # patterns whose answers are kept


class Node(NamedTuple):
    """A question about a word, and the trees for its answers."""

    pattern: Pattern
    yes: Node | int
    no: Node | int


Tree = Node | int


class Search:
    """The search in one family.

    At the deadline its methods raise TimeUp; `tree` and `shortest` are then the best tree so far and its length.

    Attributes:
        sample: places of the words that are read. answers: (patterns, sample), whether they have the patterns asked so
            far. place: the row of each of these patterns.
    """

    def __init__(
        self, family: Family, words: Words, limits: Limits, rng: np.random.Generator, words_of_a_label: int
    ) -> None:
        self.family, self.rng, self.until, self.exact = family, rng, limits.until, limits.exact
        self.letters, self.labels, self.num_labels = family.letters(words.words), words.labels, words.num_labels
        rows = [rng.permutation(np.flatnonzero(self.labels == label)) for label in range(self.num_labels)]
        self.sample = np.concatenate([each[:words_of_a_label] for each in rows])
        self.near: dict[Pattern, list[Pattern]] = {}
        self.tree: Tree = int(np.bincount(self.labels[self.sample]).argmax())
        self.shortest = math.inf
        self._read()

    def _read(self) -> None:
        """Forgets all answers but those to the simplest patterns, as the sample has changed or there are too many."""
        self.all = np.arange(len(self.sample))
        self.some = self.letters[:, self.sample]
        self.one_hot = np.eye(self.num_labels)[self.labels[self.sample]]
        self.place: dict[Pattern, int] = {}
        self.answers = np.empty((0, len(self.sample)), bool)
        simplest = []
        for pattern in self.family.simplest():  # of thousands of symbols there are millions
            self.until.check()
            simplest.append(pattern)
        self.ask(simplest)

    def neighbours(self, pattern: Pattern) -> list[Pattern]:
        """The neighbours of a pattern in the family, kept for the next time."""
        if pattern not in self.near:
            self.near[pattern] = self.family.neighbours(pattern)
        return self.near[pattern]

    def ask(self, patterns: Sequence[Pattern]) -> Ints:
        """The rows of `answers` for some patterns."""
        new = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self.place]
        if new:
            answers = self.family.holds(new, self.some, self.until)
            self.place.update(zip(new, range(len(self.answers), len(self.answers) + len(new)), strict=True))
            self.answers = np.concatenate([self.answers, answers])
        return np.array([self.place[pattern] for pattern in patterns], np.int64)

    # Trees

    def leaves(self, tree: Tree, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """The labels of a tree's leaves, with the words of the sample that lead there."""
        return leaves(tree, rows, lambda pattern: self.answers[self.place[pattern]])

    def bits(self, tree: Tree) -> float:
        """The description length of a tree and of the labels of the sample."""
        self.until.check(1)
        counts = np.stack([self.one_hot[rows].sum(axis=0) for _, rows in self.leaves(tree, self.all)])
        wrong = (counts.sum() - counts.max(axis=1).sum()) if self.exact else 0.0
        asked = patterns_of(tree)
        patterns = sum(self.family.bits_of(pattern) for pattern in set(asked))
        rules = self.family.bits + patterns + NODE_BITS * len(asked)
        return rules + float(label_bits(counts).sum()) + CONTRADICTED_BITS * wrong

    def labelled(self, tree: Tree, rows: Ints) -> Tree:
        """The tree with the most frequent label in each leaf, and without questions that do not matter."""
        if isinstance(tree, int):
            return int(self.one_hot[rows].sum(axis=0).argmax()) if len(rows) else tree
        holds = self.answers[self.place[tree.pattern], rows]
        yes, no = self.labelled(tree.yes, rows[holds]), self.labelled(tree.no, rows[~holds])
        return yes if isinstance(yes, int) and yes == no else Node(tree.pattern, yes, no)

    def predicted(self, tree: Tree) -> Ints:
        """The label that a tree gives to each word, also to those outside the sample."""
        asked = list(dict.fromkeys(patterns_of(tree)))
        answers = dict(zip(asked, self.family.holds(asked, self.letters, self.until), strict=True))
        predicted = np.empty(len(self.labels), np.int64)
        for label, rows in leaves(tree, np.arange(len(predicted)), answers.__getitem__):
            predicted[rows] = label
        return predicted

    # The search

    def without_rules(self) -> float:
        """The description length of the labels of the sample by themselves."""
        return float(label_bits(self.one_hot.sum(axis=0)))

    def screened(self) -> float:
        """The description length of the first tree that grows."""
        tree: Tree = int(self.one_hot.sum(axis=0).argmax())
        return self.bits(self.grown(tree))

    def grow_roots(self) -> None:
        """Finds the best of the trees that begin with one of the best patterns."""
        for pattern in self._apart(self.best_patterns(self.all)):
            self.ask([pattern])
            self._keep_better(self.labelled(Node(pattern, 0, 1), self.all))

    def improve(self) -> None:
        """Changes the best tree at random, until that has led to no better one for a while."""
        stale = 0
        while not isinstance(self.tree, int):
            if stale > KICKS * (3 if self.exact and len(self.contradicted(self.tree)) else 1):
                break
            tree, last = self.kicked(self.tree)
            tree, _ = self.refitted(tree, last)
            stale = 0 if self._keep_better(tree) else stale + 1

    def begin_with(self, tree: Tree) -> None:
        """Begins with a tree in place of the best one."""
        self.tree = tree
        self.ask(patterns_of(tree))
        self.shortest = self.bits(tree)
        self._keep_better(tree)

    def _keep_better(self, tree: Tree) -> bool:
        """Grows and refits a tree; takes the result in place of the best tree if it is better."""
        tree, bits = self.finished(tree)
        self.ask(patterns_of(self.tree))
        self.shortest = self.bits(self.tree)
        better = bits < self.shortest - 1e-6
        if better:
            self.tree, self.shortest = tree, bits
        return better

    def finished(self, tree: Tree) -> tuple[Tree, float]:
        """The tree, grown and refitted until no word outside the sample contradicts it, and its length."""
        bits = math.inf
        for _ in range(4):
            tree, bits = self.refitted(self.grown(tree))
            if bits > self.shortest + MARGIN or not self.exact:
                break
            wrong = np.setdiff1d(self.contradicted(tree), self.sample)
            if not len(wrong):
                break
            self.add(wrong)
            self.ask(patterns_of(tree))
        return tree, bits

    def add(self, wrong: Ints) -> None:
        """Adds some of the contradicted words to the sample."""
        self.sample = np.concatenate([self.sample, self.rng.permutation(wrong)[:ADDED]])
        self._read()

    def contradicted(self, tree: Tree) -> Ints:
        """The words to which a tree gives another label than their own."""
        return np.flatnonzero(self.predicted(tree) != self.labels)

    def grown(self, tree: Tree) -> Tree:
        """The tree with questions in place of leaves with several labels, where that shortens the description."""
        nodes = 0

        def grow(tree: Tree, rows: Ints) -> Tree:
            nonlocal nodes
            if not isinstance(tree, int):
                [place] = self.ask([tree.pattern])  # again, as the growth of another part may have reset the answers
                holds = self.answers[place, rows]
                return Node(tree.pattern, grow(tree.yes, rows[holds]), grow(tree.no, rows[~holds]))
            counts = self.one_hot[rows].sum(axis=0)
            if np.count_nonzero(counts) < 2 or nodes >= NODES:
                return tree
            values = self.best_patterns(rows)
            if not values:
                return tree
            pattern = max(values, key=values.__getitem__)
            saved = CONTRADICTED_BITS * (counts.sum() - counts.max()) if self.exact else 0.0
            if values[pattern] + saved <= NODE_BITS:
                return tree
            nodes += 1
            return grow(self.labelled(Node(pattern, 0, 1), rows), rows)

        return grow(tree, self.all)

    def best_patterns(self, rows: Ints) -> dict[Pattern, float]:
        """The patterns that a beam search visits, with the bits that each saves on some words of the sample."""
        if len(self.place) > POOL:
            self._read()
        labels = self.one_hot[rows].astype(np.float32)
        total = labels.sum(axis=0)
        values: dict[Pattern, float] = {}

        def score(patterns: list[Pattern]) -> None:
            asked = self.ask(patterns)
            holds = self.answers[np.ix_(asked, rows)].astype(np.float32)
            there = (holds @ labels).astype(np.float64)
            rest = total - there
            saved = label_bits(total) - label_bits(there) - label_bits(rest)
            splits = (there.sum(axis=1) > 0.5) & (rest.sum(axis=1) > 0.5)
            for pattern, value, splitting in zip(patterns, saved, splits, strict=True):
                values[pattern] = value - self.family.bits_of(pattern) if splitting else -math.inf

        score(list(self.place))
        changed: set[Pattern] = set()
        best, stale = -math.inf, 0
        for _ in range(ROUNDS):
            ranked = sorted(values, key=values.__getitem__, reverse=True)[: 3 * BEAM]
            beam = [pattern for pattern in ranked if pattern not in changed][:BEAM]
            if not beam:
                break
            changed |= {*beam}
            new = dict.fromkeys(other for pattern in beam for other in self.neighbours(pattern))
            score([pattern for pattern in new if pattern not in values] or beam)
            now = max(values.values())
            stale = 0 if now > best + 1e-6 else stale + 1
            best = max(best, now)
            if stale == 2:
                break
        return {pattern: value for pattern, value in values.items() if value > -math.inf}

    def _apart(self, values: dict[Pattern, float]) -> list[Pattern]:
        """The best patterns, of which no two agree, or disagree, on nearly all words."""
        ranked = sorted(values, key=values.__getitem__, reverse=True)[:400]
        chosen: list[Pattern] = []
        for pattern in ranked:
            answers = self.answers[self.place[pattern]]
            agreement = [(answers == self.answers[self.place[other]]).mean() for other in chosen]
            if all(1 - ALIKE < each < ALIKE for each in agreement):
                chosen.append(pattern)
            if len(chosen) == ROOTS:
                break
        return chosen

    def refitted(self, tree: Tree, last: Pattern | None = None) -> tuple[Tree, float]:
        """The tree after changes of patterns, `last` being tried last, and removals of questions; and its length."""
        self.ask(patterns_of(tree))
        tree, bits = shortened(tree, lambda tree: self.changed(tree, last), self.bits)
        return self.labelled(tree, self.all), bits

    def changed(self, tree: Tree, last: Pattern | None) -> Iterator[list[Tree]]:
        """The trees that one change of a pattern leads to, pattern by pattern; then those of two changes."""
        for pattern in sorted(dict.fromkeys(patterns_of(tree)), key=lambda each: each == last):
            others = self.others(tree, pattern)
            candidates = [*pruned(tree), *(swapped(tree, pattern, other) for other in others)]
            # "Yes" to a piece is "no" to an even number of it: a word without the piece has it 0 times.
            counted = bool(pattern.modulus)
            candidates += [
                swapped(tree, pattern, other, exchanged=True) for other in others if bool(other.modulus) != counted
            ]
            yield candidates
        yield list(self.two_changed(tree))

    def two_changed(self, tree: Tree) -> Iterator[Tree]:
        """The trees with two patterns resized by a symbol, and those with "or" in place of "and"."""
        asked = list(dict.fromkeys(patterns_of(tree)))[:NODES]
        used = {symbol for pattern in asked for piece in pattern.pieces for symbol in piece}
        resized = {pattern: self.family.resized(pattern, used) for pattern in asked}
        self.ask([other for others in resized.values() for other in others])
        for first, second in itertools.combinations(asked, 2):
            for one, two in itertools.product(resized[first], resized[second]):
                if one != second:
                    yield swapped(swapped(tree, first, one), second, two)

        def either(pattern: Pattern) -> list[Pattern]:
            return [pattern, *resized.get(pattern, ())]

        yield from _rotated(tree, lambda first, second: itertools.product(either(first), either(second)))

    def others(self, tree: Tree, pattern: Pattern) -> list[Pattern]:
        """The patterns that may replace one of a tree."""
        others = [*self.neighbours(pattern), *(other for other in set(patterns_of(tree)) if other != pattern)]
        self.ask(others)
        return others

    def kicked(self, tree: Tree) -> tuple[Tree, Pattern | None]:
        """The tree after a random change, and the new pattern; None if a part was removed."""
        asked = list(dict.fromkeys(patterns_of(tree)))
        if not asked:
            return tree, None
        if self.rng.random() < 0.3:
            shorter = list(pruned(tree))
            return shorter[self.rng.integers(len(shorter))], None
        pattern = asked[self.rng.integers(len(asked))]
        others = self.others(tree, pattern)
        choice = self.rng.random()
        if choice < 0.8:  # one of those that do least harm, or that are right where the tree is wrong
            wrong = [rows[self.one_hot[rows, label] == 0] for label, rows in self.leaves(tree, self.all)]
            rows = np.concatenate(wrong)
            if len(rows) and choice < 0.5:
                word = self.rng.choice(rows, 1)
                label = int(self.one_hot[word[0]].argmax())
                right = [other for other in others if self._label_of(swapped(tree, pattern, other), word) == label]
                others = right or others
            harm = [self.bits(swapped(tree, pattern, other)) for other in others]
            others = [others[place] for place in np.argsort(harm)[: BEAM // 2]]
        other = others[self.rng.integers(len(others))]
        return swapped(tree, pattern, other), other

    def _label_of(self, tree: Tree, word: Ints) -> int:
        """The label of one word of the sample, given as a row of a single place."""
        return next(label for label, rows in self.leaves(tree, word) if len(rows))


def label_bits(counts: AnyArray) -> Array:
    """Bits of labels by the Krichevsky-Trofimov estimate, from their counts in the last axis (..., C)."""
    half = counts.shape[-1] / 2
    likely = gammaln(half) - 2 * half * gammaln(0.5) + gammaln(counts + 0.5).sum(-1) - gammaln(counts.sum(-1) + half)
    return np.asarray(-likely / math.log(2))


def shortened(
    tree: Tree, changed: Callable[[Tree], Iterable[list[Tree]]], bits: Callable[[Tree], float]
) -> tuple[Tree, float]:
    """The tree that changes lead to, each the best of the first list that shortens the description; and its length."""
    best = bits(tree)
    improved = True
    while improved:
        improved = False
        for candidates in changed(tree):
            lengths = [bits(candidate) for candidate in candidates]
            if lengths and min(lengths) < best - 1e-6:
                best, improved = min(lengths), True
                tree = candidates[lengths.index(best)]
                break
    return tree, best


def leaves(tree: Tree, rows: Ints, answers: Callable[[Pattern], Bools]) -> Iterator[tuple[int, Ints]]:
    """The label of each leaf, with those of the rows that lead there; `answers` to a pattern are those of all rows."""
    if isinstance(tree, int):
        yield tree, rows
    else:
        holds = answers(tree.pattern)[rows]
        yield from leaves(tree.yes, rows[holds], answers)
        yield from leaves(tree.no, rows[~holds], answers)


def patterns_of(tree: Tree) -> list[Pattern]:
    """The patterns of all nodes, the root first."""
    return [] if isinstance(tree, int) else [tree.pattern, *patterns_of(tree.yes), *patterns_of(tree.no)]


def swapped(tree: Tree, pattern: Pattern, other: Pattern, *, exchanged: bool = False) -> Tree:
    """The tree with another pattern in place of one; if `exchanged`, with its branches exchanged."""
    if isinstance(tree, int):
        return tree
    yes, no = (swapped(branch, pattern, other, exchanged=exchanged) for branch in (tree.yes, tree.no))
    if tree.pattern != pattern:
        return Node(tree.pattern, yes, no)
    return Node(other, no, yes) if exchanged else Node(other, yes, no)


def _rotated(tree: Tree, change: Callable[[Pattern, Pattern], Iterable[tuple[Pattern, Pattern]]]) -> Iterator[Tree]:
    """The trees in which "or" takes the place of "and" between a question and the next one, or the other way round.

    `change` yields the pairs of patterns that the two questions may get.
    """
    if isinstance(tree, int):
        return
    pattern, yes, no = tree
    if isinstance(yes, Node):
        for one, two in change(pattern, yes.pattern):
            yield Node(one, yes.yes, Node(two, yes.yes, no))
    if isinstance(no, Node):
        for one, two in change(pattern, no.pattern):
            yield Node(one, Node(two, no.yes, no.no), no.no)
    for other in _rotated(yes, change):
        yield Node(pattern, other, no)
    for other in _rotated(no, change):
        yield Node(pattern, yes, other)


def pruned(tree: Tree) -> Iterator[Tree]:
    """The trees in which one branch replaces its node."""
    if isinstance(tree, int):
        return
    yield tree.yes
    yield tree.no
    for yes in pruned(tree.yes):
        yield tree._replace(yes=yes)
    for no in pruned(tree.no):
        yield tree._replace(no=no)
