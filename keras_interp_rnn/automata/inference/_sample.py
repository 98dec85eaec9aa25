"""Labelled words from which automata are learned: every word once, with counts of its labels; some are held out.

Copies of a word are merged, as they are no further evidence; the word has the label of most of its copies. So the words
held out differ from all others. They are drawn from every label and from all lengths.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import check_not_missing, distinct_symbols, shown_symbols
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline
from keras_interp_rnn.automata.inference._prefix_tree import Words
from keras_interp_rnn.automata.machines import (
    MooreMachine,
    Word,
    checked_words,
    labels_and_classes,
    ordered,
)

T = TypeVar("T")

HOLD_OUT = 0.1  # fraction of the words of each label that is held out
FEWEST = 5  # minimum number of words of a label to learn from; if fewer remained, no word of the label is held out


class Sample(NamedTuple):
    """Different words.

    Attributes:
        words: each once.
        labels: (N,), whether each word is in the language; with three labels or more, the place of its label in
            `classes`. If copies disagree, the most frequent label; of equally frequent ones the first of `classes`.
        counts: (N, C), number of copies of each word with each label.
        held_out: bool (N,).
        alphabet, classes: the symbols and the labels.
        accepted, rejected: the labels of accepted and of rejected words, if there are two labels.
    """

    words: list[Word]
    labels: AnyArray
    counts: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    alphabet: tuple[Hashable, ...]
    classes: tuple[Hashable, ...] = (False, True)
    accepted: Hashable = True
    rejected: Hashable = False

    def of(self, labels: Iterable[Hashable]) -> AnyArray:
        """Labels of the words in the form of `labels`; -1 for a label outside `classes`."""
        place = {label: i for i, label in enumerate(self.classes)}
        return np.array([place.get(label, -1) for label in labels]).astype(self.labels.dtype)

    def as_ids(self, until: Deadline = NEVER) -> Words:
        """The words as numbers of symbols and of labels; raises TimeUp if they are not read by a deadline."""
        column = {symbol: i for i, symbol in enumerate(self.alphabet)}
        words = [tuple(column[symbol] for symbol in word) for word in _before(until, self.words)]
        return Words(words, self.labels.astype(np.int64), len(column), len(self.classes), until)

    def labels_by(self, automaton: MooreMachine) -> AnyArray:
        """The labels that an automaton gives to the words, in the form of `labels`."""
        return self.of(automaton.output(word) for word in self.words)

    def balanced_accuracy(self, predictions: AnyArray) -> float:
        """Mean over the labels of the fraction of their words that are predicted."""
        labels = self.labels
        return float(np.mean([np.mean(predictions[labels == label] == label) for label in np.unique(labels)]))

    def num_contradicted(self, predictions: AnyArray) -> NDArray[np.int64]:
        """(N,), the number of labels of each word, copies included, that differ from a prediction."""
        places = predictions.astype(np.int64)
        agreeing = np.take_along_axis(self.counts, np.maximum(places, 0)[:, None], axis=1)[:, 0]
        return np.asarray(self.counts.sum(axis=1) - np.where(places < 0, 0, agreeing))


def sample_of(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[object],
    alphabet: Iterable[Hashable] | None,
    seed: int,
    *,
    consistent: bool,
    hold_out: float = HOLD_OUT,
    until: Deadline = NEVER,
) -> Sample:
    """The sample of labelled words; raises ValueError if nothing can be learned from them.

    Args:
        words, labels, alphabet, seed: as `infer`. consistent: whether a word with several labels is refused.
        until: raises TimeUp if the words are not read by then.
    """
    if labels is None:
        raise ValueError(
            "Every word must have a label: the language of all words, and many smaller ones, contain these words too "
            "(Gold, 1967). Received: labels=None. Pass words outside the language as well, and a label for each word."
        )
    copies = [tuple(word) for word in _before(until, checked_words(words))]
    symbols = distinct_symbols(_symbols_of(copies) if alphabet is None else alphabet)
    labels = list(labels)
    if len(copies) != len(labels):
        raise ValueError(
            f"Every word must have a label. Received: {len(copies)} words and {len(labels)} labels. Pass one for each."
        )
    places, classes = labels_and_classes(labels)
    rejected, accepted = classes if len(classes) == 2 else (False, True)
    if len(classes) == 2:
        classes = (False, True)
    row: dict[Word, int] = {}
    rows = [row.setdefault(word, len(row)) for word in _before(until, copies)]
    known, different = set(symbols), list(row)
    for word in _before(until, different):
        strays = [symbol for symbol in word if symbol not in known]
        if strays:
            raise ValueError(
                f"A word must be over the alphabet {shown_symbols(symbols)}. Received: {word!r}, with "
                f"{strays[0]!r}. Add the symbol to `alphabet`, or leave the word out."
            )
    counts = np.zeros((len(row), len(classes)), np.int64)
    np.add.at(counts, (np.array(rows), places), 1)
    if consistent:
        _check_consistent(different, counts)
    majority = counts.argmax(axis=1)
    numbers = np.bincount(majority, minlength=2)
    if len(classes) == 2 and numbers.min() < 2:
        raise ValueError(
            "There must be words of two labels or more, at least two different ones of each. "
            f"Received: {numbers[1]} in it and {numbers[0]} not. Pass more words."
        )
    held_out = _held_out(different, majority, hold_out, np.random.default_rng(seed))
    values = majority.astype(bool) if len(classes) == 2 else majority
    return Sample(different, values, counts, held_out, symbols, classes, accepted, rejected)


def _before(until: Deadline, words: Iterable[T]) -> Iterator[T]:
    """The words one by one; raises TimeUp at a deadline."""
    for word in words:
        until.check()
        yield word


def _symbols_of(words: list[Word]) -> tuple[Hashable, ...]:
    """The symbols of the words, in ascending order."""
    symbols = dict.fromkeys(symbol for word in words for symbol in word)
    check_not_missing(symbols)
    return ordered(symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in symbols)


def _held_out(
    words: list[Word], labels: NDArray[np.int64], hold_out: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Whether each word is held out: a fraction of every label, of all lengths, but no word of a label that has few."""
    lengths = np.array([len(word) for word in words])
    order = np.lexsort((rng.random(len(words)), lengths, labels))
    steps = np.floor(np.arange(len(words) + 1) * hold_out + rng.random())
    held_out = np.zeros(len(words), bool)
    held_out[order] = np.diff(steps) > 0
    for label in np.unique(labels):
        if (~held_out & (labels == label)).sum() < FEWEST:
            held_out &= labels != label
    return held_out


def _check_consistent(words: list[Word], counts: NDArray[np.int64]) -> None:
    """Raises ValueError if a word has several labels."""
    several = [words[row] for row in np.flatnonzero((counts > 0).sum(axis=1) > 1)]
    if several:
        shown = ", ".join(map(repr, sorted(several, key=lambda word: (len(word), repr(word)))[:3]))
        raise ValueError(
            f"A word must have one label. Received: {'both' if counts.shape[1] == 2 else 'several'} labels for "
            f"{len(several):,} word{'s' * (len(several) > 1)}: {shown}{', ...' * (len(several) > 3)}. Remove the wrong "
            "ones, or pass label_noise to `infer`, the fraction that may be wrong, or None if it is not known."
        )
