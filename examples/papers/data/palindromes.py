"""Palindromes w w^-1 over a to z, and strings that are not.

    words = palindromes.load("train", config="small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded with 0

Splits: train and validation (at most 100 symbols), and the three test sets of the paper's table 3, with 500 words of
each label: test_l100, test_l200, test_l500. The paper does not give the numbers of training and validation
words; they are those of `balanced_parentheses`.

A negative is a palindrome in which each letter was redrawn with probability 1/2. The outermost two or three pairs of
letters reveal nearly all negatives, so a network needs hardly any memory. In "small_near" and "large_near" a negative
differs from a palindrome in one letter.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 3.
"""

from __future__ import annotations

import random
import string

from examples.papers.data._words import Language, Words, collect, scattered
from examples.papers.data.balanced_parentheses import EACH, TRAINING
from keras_interp_rnn.datasets import LabelledWords

TESTS = {"test_l100": 100, "test_l200": 200, "test_l500": 500}
"""Largest length, table 3."""


def draw(config: str, rng: random.Random) -> dict[str, Words]:
    """The words of every split."""
    size, _, near = config.partition("_")
    taken: set[str] = set()

    def some(positives: int, negatives: int, longest: int) -> Words:
        return collect(
            positives,
            negatives,
            lambda: drawn(longest, rng),
            palindrome,
            lambda word: changed(word, rng) if near else scattered(word, string.ascii_lowercase, rng),
            taken,
        )

    return {
        **{split: some(*sizes, 100) for split, sizes in TRAINING[size].items()},
        **{name: some(EACH, EACH, longest) for name, longest in TESTS.items()},
    }


def drawn(longest: int, rng: random.Random) -> str:
    """A palindrome of even length; all lengths are equally frequent."""
    half = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, longest // 2)))
    return half + half[::-1]


def changed(word: str, rng: random.Random) -> str:
    """The word with one of its letters replaced by another."""
    at = rng.randrange(len(word))
    return word[:at] + rng.choice([letter for letter in string.ascii_lowercase if letter != word[at]]) + word[at + 1 :]


def palindrome(word: str) -> bool:
    """Whether a word is w w^-1: of even length, and equal to its reverse."""
    return len(word) % 2 == 0 and word == word[::-1]


LANGUAGE = Language(
    "palindromes",
    string.ascii_lowercase,
    tuple(size + suffix for size in TRAINING for suffix in ("", "_near")),
    ("train", "validation", *TESTS),
    draw,
)


def load(split: str, *, config: str = "small", seed: int = 0) -> LabelledWords:
    """The words of a split, as the docstring of the module describes them."""
    return LANGUAGE.load(split, config, seed)
