"""An automaton from labelled words, by one of two searches: merging states, rules about patterns.

Each looks for a short description of the automaton and the labels; which of them finds one depends on the words. Each
search gets half of the time, or of the work, that is left, and the last one all of it. A search first runs without the
words held out, and goes on with all words if its automaton predicts these.

If no label is wrong, a search of many words runs on growing parts of them, each with words that the automaton of the
part before contradicts; an automaton of a part that contradicts no word is the result.

Words whose labels tell an automaton from others, as its questions do, are hard to predict when they are held out. So
an automaton that contradicts no word may fail there if it is a far shorter description than the labels: by Occam's
razor an automaton of b bits that contradicts none of N words is wrong on a fraction of at most (b ln 2 + ln(1 /
delta)) / N of such words, except with probability delta. If it fails by no more than chance explains, it is the
result unless another search finds a better one.

Reference: Blumer, Ehrenfeucht, Haussler and Warmuth, "Occam's razor", Information Processing Letters 24, 1987.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_interp_rnn.automata.inference._deadline import Ledger, Limits, TimeUp
from keras_interp_rnn.automata.inference._evidence import interval
from keras_interp_rnn.automata.inference._pattern_rules import MIN_SAVED, shortest_rules
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words, is_shorter
from keras_interp_rnn.automata.inference._sample import Sample
from keras_interp_rnn.automata.inference._state_merging import smallest_automaton
from keras_interp_rnn.automata.machines import MooreMachine, automaton_of

SEARCHES: dict[str, Callable[[Words, Limits, Machine | None], Machine | None]] = {
    "merging": smallest_automaton,
    "patterns": shortest_rules,
}
"""In this order, unless merging would take long."""

MAX_HELD_OUT_ERRORS = 0.05
"""Fraction of the words held out, in addition to wrong labels, that an automaton may misclassify."""
MAX_DESCRIPTION = 1 / 3
"""Bits of an automaton per bit of the labels, up to which it may misclassify more if it contradicts no word.

As fewer than 2^(b + 1) automata have b bits or less, B bits of labels in random order have such an automaton with a
probability below 2^(1 - 2 B / 3). It misclassifies at most (ln 2) / 3 + ln(1 / delta) / N of such words.
"""
LEVEL = 0.9  # of the interval of the errors that chance explains

PART, SECONDS_OF_PART = 2000, 20.0  # words of the first part, and computing time for each part
GROWTH = {"merging": 1.5, "patterns": 5}
"""Size of a part relative to the one before. Merging a small part takes little time; rules take as long for it."""

FIRST_SHARE = 2 / 3  # fraction of the time of a search that is spent without the words held out
MANY_PREFIXES = 15
"""Prefixes per word above which merging takes long: all short words have 1 each, random words of 25 symbols some 20."""


class Found(NamedTuple):
    """A minimal automaton of all words, and how it was found.

    Attributes:
        method: the search. held_out_right: number of words held out that an automaton of the other words predicts.
        cut_off: as of `NotFound`.
    """

    automaton: MooreMachine
    method: str
    held_out_right: int
    cut_off: str = ""


class NotFound(NamedTuple):
    """Why no search has a result.

    Attributes:
        cut_off: "time" or "work" if that ended a search, else "".
        num_states, num_contradicted: of the automaton that contradicts fewest words; 0 states if there is none.
    """

    cut_off: str
    num_states: int = 0
    num_contradicted: int = 0


def first_found(sample: Sample, limits: Limits, words: Words | None = None) -> Found | NotFound:
    """The automaton of the first search whose result describes the labels of the words and predicts those held out.

    Args:
        sample: the words. limits: of all searches together. words: the words of the sample as ids, if they are known.
    """

    def automaton(machine: Machine) -> MooreMachine:
        outputs = [sample.classes[i] for i in machine.outputs]
        return automaton_of(machine.table.tolist(), outputs, sample.classes, alphabet=sample.alphabet).minimize()

    ledger = limits.until.ledger or Ledger()
    limits = limits._replace(until=limits.until._replace(ledger=ledger))
    every = sample.as_ids(limits.until) if words is None else words
    held_out = np.flatnonzero(sample.held_out)
    others = every[np.flatnonzero(~sample.held_out)] if len(held_out) else every
    order, doubtful, tried = list(SEARCHES), [], []
    if len(every.tree.child) >= MANY_PREFIXES * len(every):  # merging takes long
        order = ["patterns", "merging"]
    for by in order:
        whole = limits if by == order[-1] else limits.share(1 / 2)
        first, describes = search(by, others, whole.share(FIRST_SHARE))
        if first is None:
            continue
        tried.append(first)
        if not describes:
            continue
        right = every.right(first)[held_out]
        noise = others.error(first) if limits.noise is None else limits.noise
        expected = 1 - MAX_HELD_OUT_ERRORS - 1.5 * noise
        predicts = not len(right) or right.mean() >= expected
        if not (predicts or limits.exact):
            continue
        machine = first
        if len(right):
            with contextlib.suppress(KeyboardInterrupt):
                again, describes = search(by, every, whole, first)
                machine = again if again is not None and describes else first
        tried.append(machine)
        minimal = automaton(machine)
        wrong = int(sample.num_contradicted(sample.labels_by(minimal)).sum())
        if limits.noise is not None and interval(wrong, int(sample.counts.sum()), 0.99)[0] > limits.noise:
            continue
        found = Found(minimal, by, int(right.sum()), ledger.cut_off)
        if predicts or is_shorter(every.tree, machine, MAX_DESCRIPTION):
            return found
        if interval(found.held_out_right, len(right), LEVEL)[1] >= expected:
            doubtful.append(found)
    if doubtful:
        return min(doubtful, key=lambda found: len(found.automaton))._replace(cut_off=ledger.cut_off)
    if not tried:
        return NotFound(ledger.cut_off)
    best = min(tried, key=every.error)
    return NotFound(ledger.cut_off, len(automaton(best)), int((~every.right(best)).sum()))


def fewest_bits(num_symbols: int) -> float:
    """Bits of labels up to which no search can find an automaton: those of two states, or of a rule on one symbol."""
    return min(2.0 * (num_symbols + 1), MIN_SAVED + math.log2(num_symbols))


def search(by: str, words: Words, limits: Limits, start: Machine | None = None) -> tuple[Machine | None, bool]:
    """The best automaton of a search, and whether it describes the words.

    It does if it is a shorter description than the labels alone and contradicts no word, if no label is wrong.

    Args:
        by: of `SEARCHES`. start: an automaton of some of the words, to begin with; the result if no label is wrong and
            it contradicts no word.
    """
    found = start
    try:
        if limits.exact:
            found = start = _on_growing_parts(by, words, limits, start)
        if start is None or not limits.exact or words.error(start) > 0:
            found = SEARCHES[by](words, limits, start)
    except TimeUp:  # while it read words
        pass
    _ = limits.until.passed  # which the ledger notes
    if found is None or (limits.exact and words.error(found) > 0):
        return found, False
    # Rules have been compared with the labels as rules: a few of them may make many states.
    return found, by == "patterns" or is_shorter(words.tree, found)


def _on_growing_parts(by: str, words: Words, limits: Limits, start: Machine | None) -> Machine | None:
    """The automaton of a part of the words that contradicts fewest of all words; the first one that contradicts none.

    A search takes longer the more words there are, for an automaton that a few of them determine as well. A part is
    drawn at random; for merging it has the shortest words, which share endings. It also has words that the best
    automaton so far contradicts. Each part has half of the remaining time.
    """
    rng = np.random.default_rng(limits.seed)
    order = rng.permutation(len(words))
    if by == "merging":
        order = order[np.argsort([len(words.words[row]) for row in order], kind="stable")]
    size, fewest = PART, math.inf if start is None else words.error(start)
    while size < len(words) / 2 and fewest > 0:
        rows = order[:size]
        if start is not None:
            rows = np.union1d(rows, rng.permutation(np.flatnonzero(~words.right(start)))[: size // 2])
        part = limits.share(1 / 2).within(SECONDS_OF_PART)
        found = SEARCHES[by](words[rows], part, start)
        if found is not None and words.error(found) < fewest:
            start, fewest = found, words.error(found)
        size = int(GROWTH[by] * size)
    return start
