r"""The labels of words as a decision tree over patterns of one family: factors, subsequences, tiers, counts.

The labels are described by a tree whose nodes ask whether a word has a pattern (`_patterns`) and whose leaves have
labels. A tree with the patterns P, D nodes and the labels n_l in its leaves has

    bits = bits(family) + sum_P bits(P) + 3 D - sum_l log2 KT(n_l) + 30 e,

where KT is the Krichevsky-Trofimov estimate (`_state_splitting`) and the last term, for e contradicted words, stands if
no label is wrong. All patterns of a tree are of one family: of one kind, and on one tier, as are those of the classes
of languages that the families stand for. `_pattern_rules` chooses the families.

The search grows a tree from each of several patterns that tell most of the labels, always by the pattern
that shortens the description most; a beam finds it, which changes patterns one symbol at a time. Patterns of the whole
tree are then changed, and nodes removed, as long as that shortens the description; then the best tree is changed at
random and goes the same way. All this reads a sample of the words, to which the contradicted ones are added.

References: Quinlan and Rivest, "Inferring decision trees using the minimum description length principle", Information
and Computation, 1989. The search is this package's.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import Limits
from keras_interp_rnn.automata.inference._patterns import Family, Pattern
from keras_interp_rnn.automata.inference._prefix_tree import Words
from keras_interp_rnn.automata.inference._state_splitting import label_bits

MARGIN = 50.0
"""Bits above the best description at which a tree, or a family whose first tree it is, is given up."""

ADDED = 200
"""Contradicted words that are added at a time."""

BEAM, ROUNDS = 10, 8
"""Patterns that are changed at a time, and how often, in the search for the best one."""

ROOTS = 6
"""Patterns of which each begins a tree."""

ALIKE = 0.97
"""Fraction of words on which one of two patterns says the same; only the first begins a tree."""

NODES = 6
"""That are added to a tree at a time."""

KICKS = 12
"""Changed trees in a row that lead to no shorter description, after which the search of a family ends."""

NODE_BITS = 3.0
CONTRADICTED_BITS = 30.0

POOL = 20_000
"""Patterns whose answers are kept."""


class Node(NamedTuple):
    """A question about a word, and what follows."""

    pattern: Pattern
    yes: Node | int
    no: Node | int


Tree = Node | int


class Search:
    """The search in one family: the sample, and the answers to patterns on it.

    At the deadline its methods raise TimeUp; `tree` and `shortest` are then the best so far.
    """

    def __init__(
        self,
        family: Family,
        words: Words,
        limits: Limits,
        rng: np.random.Generator,
        sample: int,
    ) -> None:
        self.family, self.rng, self.until, self.exact = family, rng, limits.until, limits.exact
        self.letters, self.labels, self.num_labels = family.letters(words.words), words.labels, words.num_labels
        labels = self.labels
        drawn = [rng.permutation(np.flatnonzero(labels == label))[:sample] for label in range(self.num_labels)]
        self.sample = np.concatenate(drawn)
        self.near: dict[Pattern, list[Pattern]] = {}
        self.tree: Tree = int(np.bincount(labels[self.sample]).argmax())
        self.shortest = math.inf
        self._read()

    def on(self, family: Family, words: Sequence[Sequence[int]]) -> Search:
        """The search in another family, of the same sample of the words."""
        other = copy.copy(self)
        other.family, other.letters, other.near = family, family.letters(words), {}
        other._read()
        return other

    def _read(self) -> None:
        """Forgets all answers but those to the simplest patterns: the sample has changed, or there are too many."""
        self.all = np.arange(len(self.sample))
        self.some = self.letters[:, self.sample]
        self.one_hot = np.eye(self.num_labels)[self.labels[self.sample]]
        self.place: dict[Pattern, int] = {}
        self.answers = np.empty((0, len(self.sample)), bool)
        self.ask(self.family.simplest())

    def neighbours(self, pattern: Pattern) -> list[Pattern]:
        """As of the family, which are asked for again and again."""
        if pattern not in self.near:
            self.near[pattern] = self.family.neighbours(pattern)
        return self.near[pattern]

    def ask(self, patterns: Sequence[Pattern]) -> Ints:
        """The rows of `answers` of some patterns."""
        new = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self.place]
        if new:
            answers = self.family.holds(new, self.some, self.until)
            self.place.update(zip(new, range(len(self.answers), len(self.answers) + len(new)), strict=True))
            self.answers = np.concatenate([self.answers, answers])
        return np.array([self.place[pattern] for pattern in patterns], np.int64)

    # Trees

    def leaves(self, tree: Tree, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """The labels of a tree's leaves, with the words of the sample that come there."""
        if isinstance(tree, int):
            yield tree, rows
        else:
            holds = self.answers[self.place[tree.pattern], rows]
            yield from self.leaves(tree.yes, rows[holds])
            yield from self.leaves(tree.no, rows[~holds])

    def bits(self, tree: Tree) -> float:
        """The description length of a tree and the labels of the sample."""
        self.until.check()
        counts = np.stack([self.one_hot[rows].sum(axis=0) for _, rows in self.leaves(tree, self.all)])
        wrong = (counts.sum() - counts.max(axis=1).sum()) if self.exact else 0.0
        return self.bits_of_rules(tree) + float(label_bits(counts).sum()) + CONTRADICTED_BITS * wrong

    def bits_of_rules(self, tree: Tree) -> float:
        """The description length of a tree."""
        asked = patterns_of(tree)
        patterns = sum(self.family.bits_of(pattern) for pattern in set(asked))
        return self.family.bits + patterns + NODE_BITS * len(asked)

    def labelled(self, tree: Tree, rows: Ints) -> Tree:
        """The tree with the label in each leaf that most of its words have, without questions that do not matter."""
        if isinstance(tree, int):
            return int(self.one_hot[rows].sum(axis=0).argmax()) if len(rows) else tree
        holds = self.answers[self.place[tree.pattern], rows]
        yes, no = self.labelled(tree.yes, rows[holds]), self.labelled(tree.no, rows[~holds])
        return yes if isinstance(yes, int) and yes == no else Node(tree.pattern, yes, no)

    def predicted(self, tree: Tree) -> Ints:
        """The label that a tree gives to each word, not only of the sample."""
        asked = list(dict.fromkeys(patterns_of(tree)))
        answers = dict(zip(asked, self.family.holds(asked, self.letters, self.until), strict=True))
        predicted = np.empty(len(self.labels), np.int64)

        def walk(tree: Tree, rows: Ints) -> None:
            if isinstance(tree, int):
                predicted[rows] = tree
            else:
                holds = answers[tree.pattern][rows]
                walk(tree.yes, rows[holds])
                walk(tree.no, rows[~holds])

        walk(tree, np.arange(len(predicted)))
        return predicted

    # The search

    def without_rules(self) -> float:
        """The description length of the labels of the sample by themselves."""
        return float(label_bits(self.one_hot.sum(axis=0)))

    def screened(self) -> float:
        """The description length of the tree that grows at once."""
        tree: Tree = int(self.one_hot.sum(axis=0).argmax())
        return self.bits(self.grown(tree))

    def grow_roots(self) -> None:
        """The best tree of those that begin with one of the best patterns."""
        for pattern in self._apart(self.best_patterns(self.all)):
            self.ask([pattern])
            self._keep_better(self.labelled(Node(pattern, 0, 1), self.all))

    def improve(self) -> None:
        """The best tree of those that random changes of the best one lead to."""
        stale = 0
        while not isinstance(self.tree, int):
            if stale > KICKS * (3 if self.exact and len(self.contradicted(self.tree)) else 1):
                break
            tree, last = self.kicked(self.tree)
            tree, _ = self.refitted(tree, last)
            stale = 0 if self._keep_better(tree) else stale + 1

    def begin_with(self, tree: Tree) -> None:
        """Takes the tree that this one leads to for the best one."""
        self.tree = tree
        self.ask(patterns_of(tree))
        self.shortest = self.bits(tree)
        self._keep_better(tree)

    def _keep_better(self, tree: Tree) -> bool:
        """Takes the tree that a tree leads to in place of the best one, if it is better."""
        tree, bits = self.finished(tree)
        self.ask(patterns_of(self.tree))
        before = self.bits(self.tree)
        better = bits < before - 1e-6
        if better:
            self.tree, before = tree, bits
        self.shortest = before
        return better

    def finished(self, tree: Tree) -> tuple[Tree, float]:
        """The tree that a tree leads to, by growing and refitting, until the sample has no news."""
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
        """Adds some of the words that are contradicted to the sample."""
        self.sample = np.concatenate([self.sample, self.rng.permutation(wrong)[:ADDED]])
        self._read()

    def contradicted(self, tree: Tree) -> Ints:
        return np.flatnonzero(self.predicted(tree) != self.labels)

    def grown(self, tree: Tree) -> Tree:
        """The tree with questions in place of leaves that have several labels, if that shortens the description."""
        nodes = 0

        def grow(tree: Tree, rows: Ints) -> Tree:
            nonlocal nodes
            if not isinstance(tree, int):
                [place] = self.ask([tree.pattern])  # again, where the growth of another part has made the search forget
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

    def best_patterns(self, rows: Ints, rounds: int = ROUNDS) -> dict[Pattern, float]:
        """Patterns with the bits that asking them saves on some words of the sample: all that a beam passed."""
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
            apart = (there.sum(axis=1) > 0.5) & (rest.sum(axis=1) > 0.5)
            for pattern, value, splits in zip(patterns, saved, apart, strict=True):
                values[pattern] = value - self.family.bits_of(pattern) if splits else -math.inf

        score(list(self.place))
        changed: set[Pattern] = set()
        best, stale = -math.inf, 0
        for _ in range(rounds):
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
        """The best patterns of which no two say the same on nearly all words."""
        ranked = sorted(values, key=values.__getitem__, reverse=True)[:400]
        kept: list[Pattern] = []
        for pattern in ranked:
            answers = self.answers[self.place[pattern]]
            same = [(answers == self.answers[self.place[other]]).mean() for other in kept]
            if all(1 - ALIKE < each < ALIKE for each in same):
                kept.append(pattern)
            if len(kept) == ROOTS:
                break
        return kept

    def refitted(self, tree: Tree, last: Pattern | None = None) -> tuple[Tree, float]:
        """The tree to which changes of patterns lead, the one of `last` at the end, and removals of questions."""
        self.ask(patterns_of(tree))
        best = self.bits(tree)
        improved = True
        while improved:
            improved = False
            for pattern in sorted(dict.fromkeys(patterns_of(tree)), key=lambda each: each == last):
                others = self.others(tree, pattern)
                candidates = [*pruned(tree), *(swapped(tree, pattern, other) for other in others)]
                # A word without a piece has it 0 times modulo anything.
                candidates += [
                    swapped(tree, pattern, other, exchanged=True)
                    for other in others
                    if bool(other.modulus) != bool(pattern.modulus)
                ]
                lengths = [self.bits(candidate) for candidate in candidates]
                place = int(np.argmin(lengths))
                if lengths[place] < best - 1e-6:
                    tree, best, improved = candidates[place], lengths[place], True
                    break
            else:
                candidates = list(self.two_changed(tree))
                lengths = [self.bits(candidate) for candidate in candidates]
                if lengths and min(lengths) < best - 1e-6:
                    best, improved = min(lengths), True
                    tree = candidates[lengths.index(best)]
        return self.labelled(tree, self.all), best

    def two_changed(self, tree: Tree) -> Iterator[Tree]:
        """The trees with two patterns longer or shorter by a symbol at an end, and those that ask "or" for "and"."""
        asked = list(dict.fromkeys(patterns_of(tree)))[:NODES]
        used = {symbol for pattern in asked for piece in pattern.pieces for symbol in piece}
        resized = {pattern: self.family.resized(pattern, used) for pattern in asked}
        self.ask([other for others in resized.values() for other in others])
        for first, second in itertools.combinations(asked, 2):
            for one, two in itertools.product(resized[first], resized[second]):
                if one != second:
                    yield swapped(swapped(tree, first, one), second, two)
        yield from _rotated(
            tree,
            lambda first, second: itertools.product(
                [first, *resized.get(first, ())], [second, *resized.get(second, ())]
            ),
        )

    def others(self, tree: Tree, pattern: Pattern) -> list[Pattern]:
        """The patterns that may take the place of one of a tree."""
        others = [*self.neighbours(pattern), *(other for other in set(patterns_of(tree)) if other != pattern)]
        self.ask(others)
        return others

    def kicked(self, tree: Tree) -> tuple[Tree, Pattern | None]:
        """The tree without a part, or with another pattern, and that."""
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
            wrong = np.concatenate(
                [rows[self.one_hot[rows, label] == 0] for label, rows in self.leaves(tree, self.all)]
            )
            if len(wrong) and choice < 0.5:
                word = self.rng.choice(wrong, 1)
                label = int(self.one_hot[word[0]].argmax())
                mend = [other for other in others if next(self._leaf(swapped(tree, pattern, other), word)) == label]
                others = mend or others
            harm = [self.bits(swapped(tree, pattern, other)) for other in others]
            others = [others[place] for place in np.argsort(harm)[: BEAM // 2]]
        other = others[self.rng.integers(len(others))]
        return swapped(tree, pattern, other), other

    def _leaf(self, tree: Tree, word: Ints) -> Iterator[int]:
        return (label for label, rows in self.leaves(tree, word) if len(rows))


def patterns_of(tree: Tree) -> list[Pattern]:
    """The patterns of all nodes, the root first."""
    return [] if isinstance(tree, int) else [tree.pattern, *patterns_of(tree.yes), *patterns_of(tree.no)]


def swapped(tree: Tree, pattern: Pattern, other: Pattern, *, exchanged: bool = False) -> Tree:
    """The tree with another pattern in place of one, perhaps with what follows exchanged."""
    if isinstance(tree, int):
        return tree
    yes, no = (swapped(branch, pattern, other, exchanged=exchanged) for branch in (tree.yes, tree.no))
    if tree.pattern != pattern:
        return Node(tree.pattern, yes, no)
    return Node(other, no, yes) if exchanged else Node(other, yes, no)


def _rotated(tree: Tree, change: Callable[[Pattern, Pattern], Iterable[tuple[Pattern, Pattern]]]) -> Iterator[Tree]:
    """The trees in which two questions, one after the other, are joined by "or" in place of "and", or by "and"."""
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
    """The trees in which one of two branches takes the place of their node."""
    if isinstance(tree, int):
        return
    yield tree.yes
    yield tree.no
    for yes in pruned(tree.yes):
        yield tree._replace(yes=yes)
    for no in pruned(tree.no):
        yield tree._replace(no=no)
