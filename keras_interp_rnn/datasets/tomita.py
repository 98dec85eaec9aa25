"""Words over "0" and "1", labelled by one of the seven languages of Tomita.

    words = tomita.load("train", config="1")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded with 0

The splits differ in the lengths of their words: train (0 to 12, 16, 19, 22), validation (13 to 28 except those of
train), test (30 to 1,000). Each length has up to 100 words in the language and 100 outside, or all words if there
are fewer.

Reference: Tomita, 1982; Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.1.
"""

from __future__ import annotations

import functools
import random

import numpy as np

from keras_interp_rnn import automata
from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn.datasets.labelled_words import LabelledWords

__all__ = ["load"]

TRAIN = (*range(13), 16, 19, 22)
LENGTHS = {
    "train": TRAIN,
    "validation": tuple(n for n in range(13, 29) if n not in TRAIN),
    "test": (*range(30, 101, 10), 200, 500, 1000),
}

VERSION = "1.0.0"
"""Version of the data, part of their seed."""

EACH = 100
"""Maximum number of words per label and length."""


@functools.lru_cache(maxsize=8)
def _drawn(config: str, seed: int) -> dict[str, list[tuple[str, bool]]]:
    """The words of all splits with their labels, each in random order."""
    rng = random.Random(f"tomita {VERSION} {config} {seed}")
    inside = automata.tomita(int(config))
    drawn = {
        split: [
            (word, label)
            for length in lengths
            for label, dfa in ((True, inside), (False, inside.complement()))
            for word in _sample_words(dfa, length, rng)
        ]
        for split, lengths in LENGTHS.items()
    }
    for words in drawn.values():
        rng.shuffle(words)
    return drawn


def _sample_words(dfa: automata.DFA, length: int, rng: random.Random) -> list[str]:
    """Up to `EACH` distinct accepted words of a length."""
    if dfa.count(length) <= 2 * EACH:
        every = ["".join(map(str, word)) for word in dfa.words(length)]
        return every if len(every) <= EACH else rng.sample(every, EACH)
    words: dict[str, None] = {}
    while len(words) < EACH:
        words["".join(map(str, dfa.sample(length, rng)))] = None
    return list(words)


def load(split: str, *, config: str, seed: int = 0) -> LabelledWords:
    """Draws the words of a split.

    Args:
        split: "train", "validation" or "test".
        config: "1" to "7", the number of the language.
        seed: int >= 0, of the words.

    Returns:
        The words, and whether each is in the language.

    Raises:
        ValueError: if `split` or `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import tomita
    >>> words = tomita.load("train", config="1")
    >>> sorted(words.up_to(1).words)
    ['', '0', '1']
    """
    choice("split", split, LENGTHS)
    choice("config", config, [str(number) for number in range(1, 8)])
    words, labels = zip(*_drawn(config, integer("seed", seed, 0))[split], strict=True)
    return LabelledWords(words, np.array(labels, bool), "01")
