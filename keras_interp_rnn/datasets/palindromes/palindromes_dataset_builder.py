"""TFDS builder of palindromes w w^-1 over a to z, and corruptions of them."""

from __future__ import annotations

import random
import string
from typing import ClassVar

from keras_interp_rnn.datasets._language_builder import LanguageBuilder, LanguageConfig, Words, collect, scattered

__all__ = ["TESTS", "TRAINING", "Builder", "draw", "palindrome"]

TRAINING = {
    "small": {"train": (601, 407), "validation": (142, 126)},
    "large": {"train": (13_025, 9_261), "validation": (3_582, 3_122)},
}
"""Positive and negative words."""

TESTS = {"test_l100": 100, "test_l200": 200, "test_l500": 500}
"""Largest length, table 3."""

EACH = 500
"""Words of either label in a test set."""


class Builder(LanguageBuilder):
    """Words w followed by themselves backwards; training and test differ in length."""

    BUILDER_CONFIGS: ClassVar[list[LanguageConfig]] = [
        LanguageConfig(
            name=name + suffix, description=f"Palindromes, {sum(sizes['train']):,} words for training; {negatives}."
        )
        for name, sizes in TRAINING.items()
        for suffix, negatives in (("", "half of a negative's letters redrawn"), ("_near", "negatives one letter away"))
    ]
    ALPHABET = string.ascii_lowercase
    SOURCE = "After Wang, Lawrence and Niepert, 2022, section 5.2."

    def drawn(self, language: str, rng: random.Random) -> dict[str, Words]:
        size, _, near = language.partition("_")
        taken: set[str] = set()

        def some(positives: int, negatives: int, longest: int) -> Words:
            return collect(
                positives,
                negatives,
                lambda: draw(longest, rng),
                palindrome,
                lambda word: changed(word, rng) if near else scattered(word, self.ALPHABET, rng),
                taken,
            )

        return {
            **{split: some(*sizes, 100) for split, sizes in TRAINING[size].items()},
            **{name: some(EACH, EACH, longest) for name, longest in TESTS.items()},
        }


def draw(longest: int, rng: random.Random) -> str:
    """A palindrome of an even length, all lengths alike."""
    half = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, longest // 2)))
    return half + half[::-1]


def changed(word: str, rng: random.Random) -> str:
    """The word with one of its letters replaced by another."""
    at = rng.randrange(len(word))
    return word[:at] + rng.choice([letter for letter in string.ascii_lowercase if letter != word[at]]) + word[at + 1 :]


def palindrome(word: str) -> bool:
    """Whether it is w w^-1: of even length, and the same backwards."""
    return len(word) % 2 == 0 and word == word[::-1]
