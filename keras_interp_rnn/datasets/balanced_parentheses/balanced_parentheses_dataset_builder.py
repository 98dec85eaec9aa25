"""TFDS builder of balanced parentheses: S -> ( S ) | S S | letter, and corruptions of it."""

from __future__ import annotations

import random
import string
from typing import Any, ClassVar

from keras_interp_rnn.datasets._language_builder import LanguageBuilder, LanguageConfig, Words, collect, scattered

__all__ = ["TESTS", "TRAINING", "Builder", "balanced", "draw"]

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
"""Smallest and largest depth and largest length, table 1."""

EACH = 500
"""Words of either label in a test set."""


class Builder(LanguageBuilder):
    """Balanced parentheses among letters; training and test differ in depth and length."""

    BUILDER_CONFIGS: ClassVar[list[LanguageConfig]] = [
        LanguageConfig(
            name=size + suffix,
            description=f"Balanced parentheses, {sum(sizes['train']):,} words for training; {negatives}.",
        )
        for size, sizes in TRAINING.items()
        for suffix, negatives in (
            ("", "all depths equally frequent, half of a negative's symbols redrawn"),
            ("_near", "all depths equally frequent, negatives one symbol from balanced"),
            ("_paper", "drawn by the paper's grammar, half of a negative's symbols redrawn"),
        )
    ]
    ALPHABET = "()" + string.ascii_lowercase
    SOURCE = "After Wang, Lawrence and Niepert, 2022, section 5.2."

    def drawn(self, language: str, rng: random.Random) -> dict[str, Words]:
        size, _, kind = language.partition("_")
        taken: set[str] = set()

        def some(sizes: tuple[int, int], min_depth: int, max_depth: int, max_length: int) -> Words:
            def word() -> str:
                if kind == "paper":
                    return derive(min_depth, max_depth, max_length, rng)
                return draw(rng.randint(min_depth, max_depth), max_length, rng)

            return collect(*sizes, word, balanced, corrupt, taken)

        def corrupt(word: str) -> str:
            if kind == "near":
                return turned(word, rng)
            other = scattered(word, self.ALPHABET, rng)
            # The paper's label is whether the numbers of ( and ) are equal: a string that keeps them is drawn again.
            return word if kind == "paper" and other.count("(") == other.count(")") else other

        sizes = TRAINING[size]
        return {
            "train": some(sizes["train"], 1, 5, 100),
            "validation": some(sizes["validation"], 6, 10, 100),
            **{name: some((EACH, EACH), *limits) for name, limits in TESTS.items()},
        }


def draw(depth: int, longest: int, rng: random.Random) -> str:
    """A balanced string of exactly this depth, short ones more often than long ones.

    It begins as the nest of that depth; then letters and pairs are put in at random places, never deeper than that.
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


def derive(min_depth: int, max_depth: int, max_length: int, rng: random.Random) -> str:
    """A balanced string of the paper's grammar, of these depths and at most this length.

    S -> ( S ) | S S | letter, each with probability 1/3, from the left; strings that are longer, or of another depth,
    are thrown away. Most strings are short: half of those of depth 1 to 5 have at most ten symbols.
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
    """The word with one parenthesis turned round, or a letter in its place."""
    at = rng.choice([i for i, symbol in enumerate(word) if symbol in "()"])
    other = ")" if word[at] == "(" else "("
    return word[:at] + rng.choice([other, rng.choice(string.ascii_lowercase)]) + word[at + 1 :]


def balanced(word: str) -> bool:
    """Whether every parenthesis has its other half."""
    depth = 0
    for symbol in word:
        depth += (symbol == "(") - (symbol == ")")
        if depth < 0:
            return False
    return depth == 0


def _written(part: list[Any] | str) -> str:
    return part if isinstance(part, str) else f"({''.join(map(_written, part))})"
