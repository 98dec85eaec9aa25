"""An automaton from labelled words, by one of three searches: merging states, rules about patterns, splitting states.

Each looks for a short description of the automaton and the labels; which of them finds one depends on the words. A
search that has a deadline gets half of the time that is left, the last one all of it. It first runs on the words that
are not held out; if what it finds predicts the others, it runs on all of them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline
from keras_interp_rnn.automata.inference._evidence import interval
from keras_interp_rnn.automata.inference._pattern_rules import shortest_rules
from keras_interp_rnn.automata.inference._prefix_tree import Machine, PrefixTree, is_shorter, most_states
from keras_interp_rnn.automata.inference._sample import Sample
from keras_interp_rnn.automata.inference._state_merging import smallest_automaton
from keras_interp_rnn.automata.inference._state_splitting import contradicted, shortest_description
from keras_interp_rnn.automata.machines import Automaton, MooreMachine, automaton_of

MERGING_SECONDS = 30.0
"""Of computing, after which merging states ends, if no limit ends it before; all short words take a second or a few."""

SPLITTING_SECONDS = 30.0
"""As `MERGING_SECONDS`, of a search by splitting states."""

PATTERN_SECONDS = 60.0
"""As `MERGING_SECONDS`, of a search for rules about patterns."""

CONVINCING_ERRORS = 0.05
"""Fraction of the words held out, beyond wrong labels, that an automaton may misclassify."""

FIRST_SHARE = 2 / 3
"""Of the time of a search, for the words that are not held out."""

MANY_PREFIXES = 15
"""For a word, on average: all short words have one, and random words of 25 symbols have some 20."""


class Found(NamedTuple):
    """An automaton of all words, minimal, and how it was found.

    Attributes:
        method: the search. held_out_right: words held out whose label the automaton of the other words predicts.
    """

    automaton: Automaton
    method: str
    held_out_right: int


def first_found(sample: Sample, limits: Limits) -> Found | None:
    """An automaton that describes the labels of words and predicts those held out, by one search after the other.

    Args:
        sample: the words. limits: for all searches together.
    """
    column = {symbol: i for i, symbol in enumerate(sample.alphabet)}
    words = [tuple(column[symbol] for symbol in word) for word in sample.words]
    every = Searched(words, sample.labels.astype(np.int64), len(column), len(sample.classes))
    held_out = np.flatnonzero(sample.held_out)
    others = every[np.flatnonzero(~sample.held_out)] if len(held_out) else every
    order = ["merging", "patterns", "splitting"]
    if every.tree.num_prefixes >= MANY_PREFIXES * len(words):  # merging takes long
        order = ["patterns", "splitting", "merging"]
    for by in order:
        now = time.monotonic()
        seconds = (limits.until.moment - now) / (1 if by == order[-1] else 2)
        first = others.automaton(by, limits.ending(now + FIRST_SHARE * seconds))
        if first is None:
            continue
        right = every.right(first)[held_out]
        noise = others.contradicted(first) if limits.noise is None else limits.noise
        if len(right) and right.mean() < 1 - CONVINCING_ERRORS - 1.5 * noise:
            continue
        machine = first
        if len(right):
            with contextlib.suppress(KeyboardInterrupt):
                machine = every.automaton(by, limits.ending(now + seconds), first) or first
        outputs = [sample.classes[i] for i in machine.outputs]
        table = machine.table.tolist()
        automaton = automaton_of(table, outputs, sample.classes, alphabet=sample.alphabet).minimize()
        wrong = int(sample.num_contradicted(sample.labels_by(automaton)).sum())
        if limits.noise is None or interval(wrong, int(sample.counts.sum()), 0.99)[0] <= limits.noise:
            return Found(automaton, by, int(right.sum()))
    return None


class Limits(NamedTuple):
    """What holds for every search.

    Attributes:
        noise: probability of a wrong label; None if it is not known. until: when searches end. seed: of a search.
        strong: whether the words of each label were drawn from all that have it, which rules about patterns use.
    """

    noise: float | None = 0.0
    until: Deadline = NEVER
    seed: int = 0
    strong: bool = False

    def ending(self, moment: float) -> Limits:
        """These limits, with an end at a moment of `time.monotonic`."""
        return self._replace(until=self.until._replace(moment=moment))

    @property
    def exact(self) -> bool:
        """Whether no label is wrong."""
        return self.noise == 0


class Searched:
    """Words, of symbols 0, 1, ..., with labels 0, 1, ..., in which automata are looked for."""

    def __init__(self, words: Sequence[Sequence[int]], labels: Ints, num_symbols: int, num_labels: int) -> None:
        self.words, self.labels, self.num_symbols, self.num_labels = words, labels, num_symbols, num_labels
        self.tree = PrefixTree(words, labels, num_symbols, num_labels)
        self.most_states = most_states(self.tree)

    def __getitem__(self, rows: Ints) -> Searched:
        """Some of the words."""
        return Searched([self.words[row] for row in rows], self.labels[rows], self.num_symbols, self.num_labels)

    def automaton(self, by: str, limits: Limits, start: Machine | None = None) -> Machine | None:
        """The automaton that a search finds.

        Args:
            by: "merging", "patterns" or "splitting". start: an automaton of some of the words, to begin with.

        Returns:
            The automaton; None if none is found, or none that describes the labels more shortly than they do. It
            contradicts no word where no label is wrong.
        """
        search = {"merging": self._merged, "patterns": self._of_patterns, "splitting": self._split}[by]
        found = search(limits, start)
        if found is None or (limits.exact and self.contradicted(found) > 0):
            return None
        # Rules have been held against the labels as rules: a few of them may make many states.
        return found if by == "patterns" or is_shorter(self.tree, found) else None

    def _merged(self, limits: Limits, start: Machine | None) -> Machine | None:
        return smallest_automaton(
            self.tree,
            limits.noise,
            self.most_states,
            until=limits.until.within(MERGING_SECONDS),
            seed=limits.seed,
            start=start,
        )

    def _of_patterns(self, limits: Limits, start: Machine | None) -> Machine | None:
        found = start
        if start is None or len(contradicted(self.tree, start.table, self.labels)):
            found = shortest_rules(
                self.words,
                self.labels,
                self.num_symbols,
                self.num_labels,
                exact=limits.exact,
                strong=limits.strong,
                until=limits.until.within(PATTERN_SECONDS),
                seed=limits.seed,
            )
        if found is None:
            return None
        whole = MooreMachine(found.table.tolist(), found.outputs.tolist(), alphabet=range(self.num_symbols)).minimize()
        return Machine(np.array(whole.transitions), np.array(whole.outputs))

    def _split(self, limits: Limits, start: Machine | None) -> Machine:
        return shortest_description(
            self.tree,
            self.words,
            self.labels,
            exact=limits.exact,
            max_states=self.most_states,
            until=limits.until.within(SPLITTING_SECONDS),
            seed=limits.seed,
            start=start,
        )

    def right(self, machine: Machine) -> NDArray[np.bool_]:
        """Whether an automaton gives each word its label."""
        labels = machine.outputs[self.tree.states(machine.table)[self.tree.ends]]
        return np.asarray(labels == self.labels)

    def contradicted(self, machine: Machine) -> float:
        """The fraction of the words to which an automaton gives another label."""
        return float((~self.right(machine)).mean())
