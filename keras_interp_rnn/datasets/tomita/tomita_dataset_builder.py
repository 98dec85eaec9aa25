"""TFDS builder of words labelled by Tomita's languages."""

from __future__ import annotations

import random
from typing import ClassVar

from keras_interp_rnn.automata import DFA, tomita
from keras_interp_rnn.automata.languages import DESCRIPTIONS
from keras_interp_rnn.datasets._language_builder import LanguageBuilder, LanguageConfig, Words

__all__ = ["LENGTHS", "Builder"]

TRAIN = (*range(13), 16, 19, 22)
LENGTHS = {
    "train": TRAIN,
    "validation": tuple(n for n in range(13, 29) if n not in TRAIN),
    "test": (*range(30, 101, 10), 200, 500, 1000),
}

EACH = 100
"""Maximum number of words per label and length."""


class Builder(LanguageBuilder):
    """Words of up to 1,000 symbols over 0 and 1, labelled by one of the seven languages of Tomita.

    Reference: Tomita, "Dynamic construction of finite automata from examples using hill-climbing", 1982.
    """

    BUILDER_CONFIGS: ClassVar[list[LanguageConfig]] = [
        LanguageConfig(name=str(number), description=f"Tomita {number}: {description}.")
        for number, description in DESCRIPTIONS.items()
    ]
    ALPHABET = "01"
    SOURCE = "The splits differ in the lengths of their words. Reference: Tomita, 1982."

    def drawn(self, language: str, rng: random.Random) -> dict[str, Words]:
        inside = tomita(int(language))
        return {
            split: {
                word: label
                for length in lengths
                for label, dfa in ((True, inside), (False, inside.complement()))
                for word in _sample_words(dfa, length, rng)
            }
            for split, lengths in LENGTHS.items()
        }


def _sample_words(dfa: DFA, length: int, rng: random.Random) -> list[str]:
    """Up to `EACH` distinct words of a length that the automaton accepts."""
    if dfa.count(length) <= 2 * EACH:
        every = ["".join(map(str, word)) for word in dfa.words(length)]
        return every if len(every) <= EACH else rng.sample(every, EACH)
    words: dict[str, None] = {}
    while len(words) < EACH:
        words["".join(map(str, dfa.sample(length, rng)))] = None
    return list(words)
