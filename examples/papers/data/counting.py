"""Nesting levels of several types of parentheses, output with a delay, as an endless stream.

    symbols, counts = next(counting.stream(0, batch_size=32, length=50))
    targets = counting.one_hot(counts, max_count=5)  # (32, 50, 12), two ones in each row of twelve

Every step draws one symbol uniformly: an opening or closing parenthesis of a type, or noise. The count of a type begins
at 0, rises and falls with its parentheses, and stays within [0, max_count]. The targets at step t are the counts
after step t - delay, or 0 if there is no such step; with a delay of 1 they are the counts before the symbol is read.

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, section 4; the task is after
Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent Neural Networks", 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PAIRS = ("()", "[]", "{}", "<>")


class Counts(NamedTuple):
    """Sequences of symbols, and the counts that a network must output.

    Attributes:
        symbols: int32 (batch, time), in [0, 2 num_types + num_noise_symbols).
        counts: int32 (batch, time, num_types), in [0, max_count].
    """

    symbols: NDArray[np.int32]
    counts: NDArray[np.int32]


def symbol_names(num_types: int = 2, num_noise_symbols: int = 1) -> tuple[str, ...]:
    """Names of the symbols: the opening and closing parenthesis of each of up to four types, then letters."""
    return (*"".join(PAIRS[:num_types]), *map(chr, range(ord("a"), ord("a") + num_noise_symbols)))


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
    """Yields new batches endlessly. Every sequence starts with all counts at 0.

    Args:
        seed: an integer, or a generator, which draws each batch by
            `integers(2 * num_types + num_noise_symbols, size=(batch_size, length))`.
        batch_size, length: sequences in a batch, and their steps.
        num_types: symbol 2 k opens and symbol 2 k + 1 closes type k, counted from 0.
        max_count: opening at this count changes nothing, nor does closing at 0.
        delay: steps between a count and its output. num_noise_symbols: symbols that change no count.
    """
    rng = np.random.default_rng(seed)
    changes = np.zeros((2 * num_types + num_noise_symbols, num_types), np.int32)
    for kind in range(num_types):
        changes[2 * kind, kind], changes[2 * kind + 1, kind] = 1, -1
    while True:
        symbols = rng.integers(len(changes), size=(batch_size, length)).astype(np.int32)
        counts = np.zeros((batch_size, length + 1, num_types), np.int32)
        for t in range(length):
            counts[:, t + 1] = np.clip(counts[:, t] + changes[symbols[:, t]], 0, max_count)
        yield Counts(symbols, counts[:, np.maximum(np.arange(1, length + 1) - delay, 0)])


def one_hot(counts: NDArray[np.int32], max_count: int) -> NDArray[np.float32]:
    """Counts (..., num_types) as one-hot vectors (..., num_types (max_count + 1)), those of all types side by side."""
    codes: NDArray[np.float32] = np.eye(max_count + 1, dtype=np.float32)[counts]
    return codes.reshape(*counts.shape[:-1], -1)
