"""Words of formal languages, drawn from a seed: no two splits share a word, and nothing is kept on disk."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from keras_interp_rnn._numbers import at_least
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets.labelled_words import LabelledWords

VERSION = "1.0.0"
"""Of the data: a part of what they are drawn from, beside their name, their config and the seed."""

Words = dict[str, bool]
"""Word -> whether it is in the language."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language, and how its splits are drawn.

    Attributes:
        name: of its module.
        alphabet: the symbols.
        configs: the name of a config -> what it holds.
        splits: their names, in the order in which they are drawn.
        draw: from a config and a generator to split -> words.
    """

    name: str
    alphabet: str
    configs: Mapping[str, str]
    splits: tuple[str, ...]
    draw: Callable[[str, random.Random], dict[str, Words]]

    def load(self, split: str, config: str, seed: int) -> LabelledWords:
        """The words of a split.

        Raises:
            ValueError: if there is no such split or config, or `seed` is not an integer >= 0.
        """
        one_of("split", split, self.splits)
        one_of("config", config, self.configs)
        words = _drawn(self, config, at_least("seed", seed, 0))[split]
        return LabelledWords(tuple(words), np.array([*words.values()], bool), self.alphabet)


@functools.lru_cache(maxsize=8)
def _drawn(language: Language, config: str, seed: int) -> dict[str, Words]:
    """The words of all splits, each in an order of its own."""
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
    """Numbers of new words of either label, none of them in `taken`, to which they are added.

    Positives come from `draw`; a negative is one of those after `corrupt`, if it is no longer in the language.
    """
    found: Words = {}
    wanted = {True: positives, False: negatives}
    for label in wanted:
        missed = 0
        while wanted[label]:
            word = draw()
            if not label:
                word = corrupt(word)
            missed += 1
            if missed > 10_000:
                raise ValueError(f"There are no {wanted[label]} more new words to be drawn. Ask for fewer.")
            if word in taken or accepts(word) != label:
                continue
            missed = 0
            found[word] = label
            taken.add(word)
            wanted[label] -= 1
    return found


def scattered(word: str, alphabet: str, rng: random.Random) -> str:
    """The word with each symbol redrawn with probability 1/2."""
    return "".join(rng.choice(alphabet) if rng.random() < 0.5 else symbol for symbol in word)
