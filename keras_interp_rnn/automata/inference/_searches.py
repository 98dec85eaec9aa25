"""An automaton from labelled words, by one of three searches: merging states, rules about patterns, splitting states.

Each looks for a short description of the automaton and the labels; which of them finds one depends on the words. A
search that has a deadline gets half of the time that is left, the last one all of it. It first runs on the words that
are not held out; if what it finds predicts the others, it runs on all of them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_interp_rnn.automata.inference._deadline import Limits
from keras_interp_rnn.automata.inference._evidence import interval
from keras_interp_rnn.automata.inference._pattern_rules import shortest_rules
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words, is_shorter
from keras_interp_rnn.automata.inference._sample import Sample
from keras_interp_rnn.automata.inference._state_merging import smallest_automaton
from keras_interp_rnn.automata.inference._state_splitting import shortest_description
from keras_interp_rnn.automata.machines import Automaton, automaton_of

SEARCHES: dict[str, Callable[[Words, Limits, Machine | None], Machine | None]] = {
    "merging": smallest_automaton,
    "patterns": shortest_rules,
    "splitting": shortest_description,
}
"""In this order, unless merging would take long."""

CONVINCING_ERRORS = 0.05
"""Fraction of the words held out, beyond wrong labels, that an automaton may misclassify."""

FIRST_SHARE = 2 / 3
"""Fraction of the time of a search for the words that are not held out."""

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
    every = Words(words, sample.labels.astype(np.int64), len(column), len(sample.classes))
    held_out = np.flatnonzero(sample.held_out)
    others = every[np.flatnonzero(~sample.held_out)] if len(held_out) else every
    order = list(SEARCHES)
    if every.tree.num_prefixes >= MANY_PREFIXES * len(words):  # merging takes long
        order = ["patterns", "splitting", "merging"]
    for by in order:
        now = time.monotonic()
        seconds = (limits.until.moment - now) / (1 if by == order[-1] else 2)
        first = search(by, others, limits.ending(now + FIRST_SHARE * seconds))
        if first is None:
            continue
        right = every.right(first)[held_out]
        noise = others.error(first) if limits.noise is None else limits.noise
        if len(right) and right.mean() < 1 - CONVINCING_ERRORS - 1.5 * noise:
            continue
        machine = first
        if len(right):
            with contextlib.suppress(KeyboardInterrupt):
                machine = search(by, every, limits.ending(now + seconds), first) or first
        outputs = [sample.classes[i] for i in machine.outputs]
        table = machine.table.tolist()
        automaton = automaton_of(table, outputs, sample.classes, alphabet=sample.alphabet).minimize()
        wrong = int(sample.num_contradicted(sample.labels_by(automaton)).sum())
        if limits.noise is None or interval(wrong, int(sample.counts.sum()), 0.99)[0] <= limits.noise:
            return Found(automaton, by, int(right.sum()))
    return None


def search(by: str, words: Words, limits: Limits, start: Machine | None = None) -> Machine | None:
    """The automaton that a search finds.

    Args:
        by: of `SEARCHES`. start: an automaton of some of the words, to begin with.

    Returns:
        The automaton; None if none is found, or none that describes the labels more shortly than they do. It
        contradicts no word where no label is wrong.
    """
    found = SEARCHES[by](words, limits, start)
    if found is None or (limits.exact and words.error(found) > 0):
        return None
    # Rules have been held against the labels as rules: a few of them may make many states.
    return found if by == "patterns" or is_shorter(words.tree, found) else None
