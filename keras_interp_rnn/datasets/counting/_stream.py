"""Fresh sequences of parentheses and noise, and their nesting levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._repr import short_repr

PAIRS = ("()", "[]", "{}", "<>")


@short_repr
class Counts(NamedTuple):
    """symbols: int32 (batch, time). counts: int32 (batch, time, types), what is to be put out."""

    symbols: NDArray[np.int32]
    counts: NDArray[np.int32]


def symbol_names(types: int = 2, noise: int = 1) -> tuple[str, ...]:
    """Names of the 2 types + noise symbols: each type's opening and closing parenthesis, then letters.

    Raises:
        ValueError: if a number is not one of the allowed, see `stream`.
    """
    check_numbers(types=types, noise=noise)
    pairs = [*PAIRS[:types], *((f"({i}", f"){i}") for i in range(len(PAIRS) + 1, types + 1))]
    letters = [chr(ord("a") + i) if i < 26 else f"a{i}" for i in range(noise)]
    return (*(name for pair in pairs for name in pair), *letters)


def stream(
    rng: np.random.Generator,
    batch: int,
    length: int,
    types: int = 2,
    maximum: int = 5,
    delay: int = 1,
    noise: int = 1,
) -> Iterator[Counts]:
    """Fresh batches without end; every sequence begins with all counts 0.

    Args:
        rng: draws the symbols, `rng.integers(2 * types + noise, size=(batch, length))` for each batch.
        batch, length: sequences of a batch and their steps, at least 1.
        types: of parentheses, at least 1. Symbol 2 k opens and symbol 2 k + 1 closes type k, counted from 0.
        maximum: largest count, at least 1; opening further changes nothing, nor does closing at 0.
        delay: steps between a count and when it is to be put out, at least 0.
        noise: how many symbols change nothing, at least 0.

    Yields:
        `Counts`.

    Raises:
        ValueError: if a number is no integer or too small.
    """
    check_numbers(batch=batch, length=length, types=types, maximum=maximum, delay=delay, noise=noise)
    changes = np.zeros((2 * types + noise, types), np.int32)
    for kind in range(types):
        changes[2 * kind, kind], changes[2 * kind + 1, kind] = 1, -1

    def batches() -> Iterator[Counts]:
        while True:
            symbols = rng.integers(len(changes), size=(batch, length)).astype(np.int32)
            counts = np.zeros((batch, length + 1, types), np.int32)
            for t in range(length):
                counts[:, t + 1] = np.clip(counts[:, t] + changes[symbols[:, t]], 0, maximum)
            late = np.maximum(np.arange(1, length + 1) - delay, 0)
            yield Counts(symbols, counts[:, late])

    return batches()


def check_numbers(**numbers: int) -> None:
    """Raises ValueError unless every number is an integer, and at least 1, or 0 where that is allowed."""
    least = {"delay": 0, "noise": 0, "seed": 0}
    for name, value in numbers.items():
        bound = least.get(name, 1)
        if isinstance(value, bool) or value != int(value) or value < bound:
            raise ValueError(f"{name} is an integer of at least {bound}. Received: {name}={value!r}.")
