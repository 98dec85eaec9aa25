"""Balanced parentheses among letters, and strings whose parentheses do not balance.

    words = balanced_parentheses.load("train", config="small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)  # int32, padded with 0

Splits: train (depth 1 to 5, at most 100 symbols), validation (depth 6 to 10), and the six test sets of the paper's
table 1, with 500 words of each label: test_d1_10_l100, test_d10_20_l100, test_d10_20_l200, test_d5_l200,
test_d10_l200, test_d20_l1000. The numbers of training and validation words and of their positives are the paper's.

The configs "small_paper" and "large_paper" draw positives as the paper does, by S -> ( S ) | S S | letter with
probability 1/3 for each rule. Most are short: the median is about ten symbols in training and 60 at depths 10 to 20.
In "small" and "large" all depths and many lengths are equally frequent, so that training strings are nearly as long as
test strings. A negative is a positive in which each symbol was redrawn with probability 1/2, as in the published data;
in the paper's configs the numbers of ( and ) differ. In "small_near" and "large_near" a negative differs from a
positive in one symbol.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 1.
"""

from __future__ import annotations

import random
import string
from typing import Any

from examples.papers.data._words import Language, Words, collect, scattered
from keras_interp_rnn.datasets import LabelledWords

TRAINING = {
    "small": {"train": (601, 407), "validation": (142, 126)},
    "large": {"train": (13_025, 9_261), "validation": (3_582, 3_122)},
}
"""Positive and negative words, section 5.2."""

TESTS = {
    "test_d1_10_l100": (1, 10, 100),
    "test_d10_20_l100": (10, 20, 100),
    "test_d10_20_l200": (10, 20, 200),
    "test_d5_l200": (5, 5, 200),
    "test_d10_l200": (10, 10, 200),
    "test_d20_l1000": (20, 20, 1000),
}
"""Smallest depth, largest depth and largest length, table 1."""

EACH = 500
"""Words of each label in a test set."""


ALPHABET = "()" + string.ascii_lowercase


def draw(config: str, rng: random.Random) -> dict[str, Words]:
    """The words of every split."""
    size, _, kind = config.partition("_")
    taken: set[str] = set()

    def some(sizes: tuple[int, int], min_depth: int, max_depth: int, max_length: int) -> Words:
        def word() -> str:
            if kind == "paper":
                return derived(min_depth, max_depth, max_length, rng)
            return nested(rng.randint(min_depth, max_depth), max_length, rng)

        return collect(*sizes, word, balanced, corrupt, taken)

    def corrupt(word: str) -> str:
        if kind == "near":
            return turned(word, rng)
        other = scattered(word, ALPHABET, rng)
        # The paper's label is whether the numbers of ( and ) are equal: a string that keeps them is drawn again.
        return word if kind == "paper" and other.count("(") == other.count(")") else other

    sizes = TRAINING[size]
    return {
        "train": some(sizes["train"], 1, 5, 100),
        "validation": some(sizes["validation"], 6, 10, 100),
        **{name: some((EACH, EACH), *limits) for name, limits in TESTS.items()},
    }


def nested(depth: int, longest: int, rng: random.Random) -> str:
    """A balanced string of exactly this depth; short ones are more frequent than long ones.

    It starts as a nest of that depth. Letters and pairs are then inserted at random places, never deeper than that.
    """
    length = 2 * depth + int((longest - 2 * depth + 1) * rng.random() ** 2)
    root: list[Any] = []
    nodes, inner = [(root, 0)], root
    for level in range(1, depth + 1):
        child: list[Any] = []
        inner.append(child)
        nodes.append((child, level))
        inner = child
    size = 2 * depth
    shallow = [node for node in nodes if node[1] < depth]
    while size < length:
        if size + 2 <= length and rng.random() < 0.5:
            into, level = rng.choice(shallow)
            new: tuple[list[Any], int] = ([], level + 1)
            into.insert(rng.randint(0, len(into)), new[0])
            nodes.append(new)
            if level + 1 < depth:
                shallow.append(new)
            size += 2
        else:
            into, _ = rng.choice(nodes)
            into.insert(rng.randint(0, len(into)), rng.choice(string.ascii_lowercase))
            size += 1
    return "".join(_written(part) for part in root)


def derived(min_depth: int, max_depth: int, max_length: int, rng: random.Random) -> str:
    """A balanced string of the paper's grammar, of these depths and at most this length.

    S -> ( S ) | S S | letter, each with probability 1/3, from the left; strings that are longer or of another depth
    are rejected. Most strings are short: half of those of depth 1 to 5 have at most ten symbols.
    """
    while True:
        word: list[str] = []
        rest, depth, deepest = ["S"], 0, 0
        while rest and len(word) + len(rest) <= max_length and deepest <= max_depth:
            part = rest.pop()
            if part == "S":
                rule = rng.randrange(3)
                rest += (
                    [")", "S", "("] if rule == 0 else ["S", "S"] if rule == 1 else [rng.choice(string.ascii_lowercase)]
                )
                continue
            depth += (part == "(") - (part == ")")
            deepest = max(deepest, depth)
            word.append(part)
        if not rest and min_depth <= deepest <= max_depth:
            return "".join(word)


def turned(word: str, rng: random.Random) -> str:
    """The word with one parenthesis reversed or replaced with a letter."""
    at = rng.choice([i for i, symbol in enumerate(word) if symbol in "()"])
    other = ")" if word[at] == "(" else "("
    return word[:at] + rng.choice([other, rng.choice(string.ascii_lowercase)]) + word[at + 1 :]


def balanced(word: str) -> bool:
    """Whether every parenthesis is matched."""
    depth = 0
    for symbol in word:
        depth += (symbol == "(") - (symbol == ")")
        if depth < 0:
            return False
    return depth == 0


def _written(part: list[Any] | str) -> str:
    return part if isinstance(part, str) else f"({''.join(map(_written, part))})"


LANGUAGE = Language(
    "balanced_parentheses",
    ALPHABET,
    tuple(size + suffix for size in TRAINING for suffix in ("", "_near", "_paper")),
    ("train", "validation", *TESTS),
    draw,
)


def load(split: str, *, config: str = "small", seed: int = 0) -> LabelledWords:
    """The words of a split, as the docstring of the module describes them."""
    return LANGUAGE.load(split, config, seed)
