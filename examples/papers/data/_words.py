"""Words of formal languages, drawn from a seed in memory; no two splits share a word."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keras_interp_rnn.datasets import LabelledWords

VERSION = "1.0.0"
"""Version of the data, part of their seed together with name, config and `seed`."""

Words = dict[str, bool]
"""Word -> whether it is in the language."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language with the drawing of its splits.

    Attributes:
        name: of its module.
        alphabet: the symbols.
        configs: their names.
        splits: names of the splits, in the order of drawing.
        draw: function of a config and a generator that returns split -> words.
    """

    name: str
    alphabet: str
    configs: tuple[str, ...]
    splits: tuple[str, ...]
    draw: Callable[[str, random.Random], dict[str, Words]]

    def load(self, split: str, config: str, seed: int) -> LabelledWords:
        """The words of a split.

        Raises:
            ValueError: if there is no such split or config.
        """
        if split not in self.splits or config not in self.configs:
            raise ValueError(
                f"A split must be one of {self.splits}, a config one of {self.configs}. Received: {split!r} and "
                f"{config!r}."
            )
        words = _drawn(self, config, seed)[split]
        return LabelledWords(tuple(words), np.array([*words.values()], bool), self.alphabet)


@functools.lru_cache(maxsize=8)
def _drawn(language: Language, config: str, seed: int) -> dict[str, Words]:
    """The words of all splits, each in random order."""
    rng = random.Random(f"{language.name} {VERSION} {config} {seed}")
    drawn = language.draw(config, rng)
    return {split: dict(_shuffled(words, rng)) for split, words in drawn.items()}


def _shuffled(words: Words, rng: random.Random) -> list[tuple[str, bool]]:
    order = list(words.items())
    rng.shuffle(order)
    return order


def collect(
    positives: int,
    negatives: int,
    draw: Callable[[], str],
    accepts: Callable[[str], bool],
    corrupt: Callable[[str], str],
    taken: set[str],
) -> Words:
    """Draws new words of both labels that are not in `taken`, and adds them to it.

    Positives come from `draw`; negatives are drawn words after `corrupt` that are no longer in the language.
    """
    found: Words = {}
    missing = {True: positives, False: negatives}
    for label in missing:
        attempts = 0
        while missing[label]:
            word = draw()
            if not label:
                word = corrupt(word)
            attempts += 1
            if attempts > 10_000:
                raise ValueError(
                    f"The language must have enough words. Received: {missing[label]} words missing after "
                    "10,000 attempts. Ask for fewer."
                )
            if word in taken or accepts(word) != label:
                continue
            attempts = 0
            found[word] = label
            taken.add(word)
            missing[label] -= 1
    return found


def scattered(word: str, alphabet: str, rng: random.Random) -> str:
    """The word with each symbol redrawn with probability 1/2."""
    return "".join(rng.choice(alphabet) if rng.random() < 0.5 else symbol for symbol in word)
