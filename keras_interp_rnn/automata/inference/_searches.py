"""An automaton from labelled words, by one of three searches: merging states, rules about patterns, splitting states.

Each looks for a short description of the automaton and the labels; which of them finds one depends on the words. With a
deadline each search gets half of the remaining time, and the last one all of it. A search first runs without the words
held out; if its automaton predicts these, it runs on all words.
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

MAX_HELD_OUT_ERRORS = 0.05
"""Fraction of the words held out, in addition to wrong labels, that an automaton may misclassify."""

PART, GROWTH, SECONDS_OF_PART = 2000, 5, 20.0
"""Words of the first part on which rules are looked for, the factor of the next one, and computing time for each."""

FIRST_SHARE = 2 / 3  # fraction of the time of a search that is spent without the words held out
MANY_PREFIXES = 15
"""Prefixes per word above which merging takes long: all short words have 1 each, random words of 25 symbols some 20."""


class Found(NamedTuple):
    """A minimal automaton of all words, and how it was found.

    Attributes:
        method: the search. held_out_right: number of words held out that an automaton of the other words predicts.
    """

    automaton: Automaton
    method: str
    held_out_right: int


def first_found(sample: Sample, limits: Limits) -> Found | None:
    """The automaton of the first search whose result describes the labels of the words and predicts those held out.

    Args:
        sample: the words. limits: of all searches together.
    """
    every = sample.as_ids()
    held_out = np.flatnonzero(sample.held_out)
    others = every[np.flatnonzero(~sample.held_out)] if len(held_out) else every
    order = list(SEARCHES)
    if len(every.tree.child) >= MANY_PREFIXES * len(every):  # merging takes long
        order = ["patterns", "splitting", "merging"]
    for by in order:
        now = time.monotonic()
        seconds = (limits.until.moment - now) / (1 if by == order[-1] else 2)
        first = search(by, others, limits.ending(now + FIRST_SHARE * seconds))
        if first is None:
            continue
        right = every.right(first)[held_out]
        noise = others.error(first) if limits.noise is None else limits.noise
        if len(right) and right.mean() < 1 - MAX_HELD_OUT_ERRORS - 1.5 * noise:
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
        The automaton. None unless it is a shorter description than the labels alone and, if no label is wrong,
        contradicts no word.
    """
    if by == "patterns" and limits.exact and not limits.strong:
        start = _on_growing_parts(words, limits, start)
    found = SEARCHES[by](words, limits, start)
    if found is None or (limits.exact and words.error(found) > 0):
        return None
    # Rules have been compared with the labels as rules: a few of them may make many states.
    return found if by == "patterns" or is_shorter(words.tree, found) else None


def _on_growing_parts(words: Words, limits: Limits, start: Machine | None) -> Machine | None:
    """The rules that are found in part of the words, as soon as they contradict no word.

    A search takes longer the more words there are, for rules that a few of them tell as well. A part has the words that
    the rules of the one before contradict; each has half of the remaining time.
    """
    order = np.random.default_rng(limits.seed).permutation(len(words))
    size = PART
    while size < len(words) / 2:
        rows = order[:size]
        if start is not None:
            wrong = np.flatnonzero(~words.right(start))
            if not len(wrong):
                break
            rows = np.union1d(rows, np.random.default_rng(limits.seed).permutation(wrong)[: size // 2])
        now = time.monotonic()
        found = shortest_rules(
            words[rows], limits.ending((now + limits.until.moment) / 2).within(SECONDS_OF_PART), start
        )
        start, size = found or start, GROWTH * size
    return start
