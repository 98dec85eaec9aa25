"""Words drawn uniformly from what an automaton accepts or rejects, many at once."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.dfa import count_completions

Ints = NDArray[np.int64]

SHORT, LONG = range(20, 30), range(31, 51)
"""Lengths of the benchmark's words."""

TRIES = 60
"""Rounds in which words that are missing are drawn again."""

Drawn = tuple[list[Ints], list[bool]]
"""Words as symbols' places in the alphabet, and whether each is in the language."""


class Sampler:
    """Uniform draws of words of one length, by the number of completions of each state."""

    def __init__(self, dfa: DFA) -> None:
        complete = dfa.complete()
        self.sides = {True: complete, False: complete.complement()}  # of the same table
        self.table = np.array(complete.transitions, np.int64)
        self.start = complete.start
        self.accepting = np.isin(np.arange(len(complete)), list(complete.accepting))

    def words(self, label: bool, length: int, number: int, rng: np.random.Generator) -> Ints:
        """(number, length) symbols of words of a label; (0, length) if there is none."""
        completions = count_completions(self.sides[label], length)
        if not completions[0][self.start]:
            return np.empty((0, length), np.int64)
        states = np.full(number, self.start)
        words = np.empty((number, length), np.int64)
        for t, (here, after) in enumerate(itertools.pairwise(completions)):
            # Ratios of exact counts, rounded once.
            chances = [
                [after[q] / n if n else 0.0 for q in row] for n, row in zip(here, self.table.tolist(), strict=True)
            ]
            below = np.cumsum(chances, axis=1)[states]
            symbols = (rng.random((number, 1)) * below[:, -1:] >= below).sum(axis=1)
            words[:, t], states = symbols, self.table[states, symbols]
        return words

    def accepts(self, words: Ints) -> NDArray[np.bool_]:
        """Of words of one length, (number, length)."""
        states = np.full(len(words), self.start)
        for symbols in words.T:
            states = self.table[states, symbols]
        return self.accepting[states]


def draw(dfa: DFA, split: str, num_words: int, seed: int) -> Drawn:
    """The words of a split: as many of each length and label as there are, up to `num_words`.

    Each split has random numbers of its own; one that may not have words of another draws that too.
    """
    sampler = Sampler(dfa)

    def rng(name: str) -> np.random.Generator:
        return np.random.default_rng([seed, *name.encode()])

    def among(lengths: range, name: str, repeated: bool, apart: set[bytes]) -> Drawn:
        return _random(sampler, lengths, num_words, rng(name), repeated=repeated, apart=apart)

    train = among(SHORT, "train", True, set())
    if split == "train":
        return train
    seen = {word.tobytes() for word in train[0]}
    validation = among(SHORT, "validation", True, seen)
    if split == "validation":
        return validation
    seen |= {word.tobytes() for word in validation[0]}
    lengths = SHORT if split.startswith("short") else LONG
    if split.endswith("random"):
        return among(lengths, split, False, seen)
    return _pairs(sampler, lengths, num_words, rng(split), seen)


def _random(
    sampler: Sampler, lengths: range, num_words: int, rng: np.random.Generator, *, repeated: bool, apart: set[bytes]
) -> Drawn:
    """Words of every length, half of them in the language, none of them in `apart`."""
    words: list[Ints] = []
    labels: list[bool] = []
    for length, number in zip(lengths, _shares(num_words // 2, len(lengths)), strict=True):
        for label in (True, False):
            found: list[Ints] = []
            taken: set[bytes] = set()
            for _ in range(TRIES):
                if len(found) == number:
                    break
                for word in sampler.words(label, length, number - len(found), rng):
                    key = word.tobytes()
                    if key not in apart and (repeated or key not in taken):
                        taken.add(key)
                        found.append(word)
            words += found
            labels += [label] * len(found)
    return words, labels


def _pairs(sampler: Sampler, lengths: range, num_words: int, rng: np.random.Generator, apart: set[bytes]) -> Drawn:
    """Pairs of words of which one is in the language, and one edit of a symbol leads from one to the other."""
    words: list[Ints] = []
    labels: list[bool] = []
    taken = set(apart)
    for length, number in zip(lengths, _shares(num_words // 2, len(lengths)), strict=True):
        found = 0
        for round_ in range(TRIES):
            if found == number:
                break
            label = round_ % 2 == 0  # from either side: words of one label may be far from those of the other
            several = sampler.words(label, length, 2 * number, rng)
            edited = _edited(several, sampler.table.shape[1], lengths, rng)
            differ = np.flatnonzero(sampler.accepts(edited) != label)
            for word, other in zip(several[differ], edited[differ], strict=True):
                keys = {word.tobytes(), other.tobytes()}
                if found < number and taken.isdisjoint(keys):
                    taken |= keys
                    words += [word, other]
                    labels += [label, not label]
                    found += 1
    return words, labels


def _edited(words: Ints, num_symbols: int, lengths: range, rng: np.random.Generator) -> Ints:
    """The words with a symbol replaced, removed or inserted: the same in all, at a place of its own in each."""
    number, length = words.shape
    change = rng.choice([c for c in (-1, 0, 1) if length + c in lengths])
    place = rng.integers(length + (change == 1), size=(number, 1))
    symbols = rng.integers(num_symbols, size=(number, 1))
    at = np.arange(length + change)
    if change == 0:
        return np.where(at == place, symbols, words)
    if change < 0:
        return np.take_along_axis(words, at + (at >= place), axis=1)
    kept = np.take_along_axis(
        words, np.broadcast_to(np.minimum(at - (at > place), length - 1), (number, length + 1)), axis=1
    )
    return np.where(at == place, symbols, kept)


def _shares(number: int, parts: int) -> list[int]:
    """Equal parts of a number, the first ones larger by one where it cannot be divided."""
    return [number // parts + (i < number % parts) for i in range(parts)]
