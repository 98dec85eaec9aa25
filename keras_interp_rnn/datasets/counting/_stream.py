"""Fresh sequences of parentheses and noise, and their nesting levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._results import short_repr

PAIRS = ("()", "[]", "{}", "<>")


@short_repr
class Counts(NamedTuple):
    """Sequences of symbols, and the counts that a network has to output.

    Attributes:
        symbols: int32 (batch, time), in [0, 2 num_types + num_noise_symbols).
        counts: int32 (batch, time, num_types), in [0, max_count].
    """

    symbols: NDArray[np.int32]
    counts: NDArray[np.int32]


def symbol_names(num_types: int = 2, num_noise_symbols: int = 1) -> tuple[str, ...]:
    """Names of the symbols: the opening and closing parenthesis of each type, then letters.

    Args:
        num_types: int > 0, types of parentheses.
        num_noise_symbols: int >= 0, symbols that change no count.

    Returns:
        2 num_types + num_noise_symbols names.

    Raises:
        ValueError: if a number is not an integer or too small.

    Example:

    >>> symbol_names(num_types=2, num_noise_symbols=1)
    ('(', ')', '[', ']', 'a')
    """
    check_numbers(num_types=num_types, num_noise_symbols=num_noise_symbols)
    pairs = [*PAIRS[:num_types], *((f"({i}", f"){i}") for i in range(len(PAIRS) + 1, num_types + 1))]
    letters = [chr(ord("a") + i) if i < 26 else f"a{i}" for i in range(num_noise_symbols)]
    return (*(name for pair in pairs for name in pair), *letters)


def stream(
    seed: int | np.random.Generator,
    batch_size: int,
    *,
    length: int,
    num_types: int = 2,
    max_count: int = 5,
    delay: int = 1,
    num_noise_symbols: int = 1,
) -> Iterator[Counts]:
    """Yields new batches without end. Every sequence begins with all counts 0.

    Args:
        seed: an integer, or a generator, which draws each batch by
            `integers(2 * num_types + num_noise_symbols, size=(batch_size, length))`.
        batch_size: int > 0, sequences in a batch.
        length: int > 0, steps of a sequence.
        num_types: int > 0, types of parentheses. Symbol 2 k opens and symbol 2 k + 1 closes type k, counted from 0.
        max_count: int > 0; opening at this count changes nothing, nor does closing at 0.
        delay: int >= 0, steps between a count and the step at which it has to be output.
        num_noise_symbols: int >= 0, symbols that change no count.

    Yields:
        `Counts` of one batch.

    Raises:
        ValueError: if a number is not an integer or too small.

    Example:

    >>> symbols, counts = next(stream(0, batch_size=1, length=6, num_types=1, delay=0))
    >>> symbols
    array([[2, 1, 1, 0, 0, 0]], dtype=int32)
    >>> counts[:, :, 0]
    array([[0, 0, 0, 1, 2, 3]], dtype=int32)
    """
    check_numbers(
        batch_size=batch_size,
        length=length,
        num_types=num_types,
        max_count=max_count,
        delay=delay,
        num_noise_symbols=num_noise_symbols,
    )
    rng = np.random.default_rng(seed)
    changes = np.zeros((2 * num_types + num_noise_symbols, num_types), np.int32)
    for kind in range(num_types):
        changes[2 * kind, kind], changes[2 * kind + 1, kind] = 1, -1

    def batches() -> Iterator[Counts]:
        while True:
            symbols = rng.integers(len(changes), size=(batch_size, length)).astype(np.int32)
            counts = np.zeros((batch_size, length + 1, num_types), np.int32)
            for t in range(length):
                counts[:, t + 1] = np.clip(counts[:, t] + changes[symbols[:, t]], 0, max_count)
            late = np.maximum(np.arange(1, length + 1) - delay, 0)
            yield Counts(symbols, counts[:, late])

    return batches()


def check_numbers(**numbers: int) -> None:
    """Checks that every number is an integer of at least 1, or of at least 0 if that is allowed.

    Raises:
        ValueError: if one is not.
    """
    bounds = {"delay": 0, "num_noise_symbols": 0, "seed": 0}
    for name, value in numbers.items():
        bound = bounds.get(name, 1)
        if isinstance(value, bool) or value != int(value) or value < bound:
            raise ValueError(
                f"`{name}` must be an integer of at least {bound}. Received: {name}={value!r}. Choose another."
            )
