"""Nesting levels of several types of parentheses, output with a delay: endless streams, and splits.

    symbols, counts = next(counting.stream(0, batch_size=32, length=50))
    targets = counting.one_hot(counts, max_count=5)  # (32, 50, 12), two ones in each row of twelve
    examples = counting.load("train")                # symbols (2000, 100), counts (2000, 100, 2)

Every step draws one symbol uniformly: an opening or closing parenthesis of a type, or noise. The count of a type begins
at 0, rises and falls with its parentheses, and stays within [0, max_count]. The targets at step t are the counts
after step t - delay, or 0 if there is no such step; with a delay of 1 they are the counts before the symbol is read.

Splits: train, validation and test. No two sequences are the same. The data are generated; nothing is downloaded, and
no licence applies.

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, section 4; the task is after
Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent Neural Networks", 2016.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import choice, integer, integers
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.datasets._languages import VERSION

__all__ = ["Counts", "load", "one_hot", "stream", "symbol_names"]

PAIRS = ("()", "[]", "{}", "<>")


SIZES = {"train": 2000, "validation": 500, "test": 500}
"""Number of sequences of each split."""


@short_repr
class Counts(NamedTuple):
    """Sequences of symbols, and the counts that a network must output.

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
    """Yields new batches endlessly. Every sequence starts with all counts at 0.

    Args:
        seed: an integer, or a generator, which draws each batch by
            `integers(2 * num_types + num_noise_symbols, size=(batch_size, length))`.
        batch_size: int > 0, sequences in a batch.
        length: int > 0, steps of a sequence.
        num_types: int > 0, types of parentheses. Symbol 2 k opens and symbol 2 k + 1 closes type k, counted from 0.
        max_count: int > 0; opening at this count changes nothing, nor does closing at 0.
        delay: int >= 0, steps between a count and its output.
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


def one_hot(counts: ArrayLike, max_count: int) -> NDArray[np.float32]:
    """Encodes counts as one-hot vectors, with the vectors of all types side by side.

    Args:
        counts: int (..., num_types), in [0, max_count].
        max_count: int > 0, as in the stream.

    Returns:
        float32 (..., num_types (max_count + 1)).

    Raises:
        ValueError: if a count lies outside [0, max_count].

    Example:

    >>> one_hot([[0, 2]], max_count=2)
    array([[1., 0., 0., 0., 0., 1.]], dtype=float32)
    """
    array = integers("counts", counts, below=max_count + 1, remedy="Pass the `max_count` of the stream.")
    codes: NDArray[np.float32] = np.eye(max_count + 1, dtype=np.float32)[array]
    return codes.reshape(*array.shape[:-1], array.shape[-1] * (max_count + 1))


def load(
    split: str,
    *,
    num_types: int = 2,
    max_count: int = 5,
    delay: int = 1,
    num_noise_symbols: int = 1,
    length: int = 100,
    seed: int = 0,
) -> Counts:
    """Draws the sequences of a split: 2,000 for training, 500 for validation and 500 for the test.

    Args:
        split: "train", "validation" or "test".
        num_types: as `stream`.
        max_count: as `stream`.
        delay: as `stream`.
        num_noise_symbols: as `stream`.
        length: as `stream`.
        seed: int >= 0. The sequences depend on it and on all other numbers.

    Returns:
        The symbols and the counts.

    Raises:
        ValueError: if `split` is unknown, a number is not an integer or too small, or there are too few sequences of
            this length.

    Example:

    >>> from keras_interp_rnn.datasets import counting
    >>> symbols, counts = counting.load("test", num_types=1, length=12)
    >>> symbols.shape, counts.shape
    ((500, 12), (500, 12, 1))
    """
    choice("split", split, SIZES)
    numbers = check_numbers(
        num_types=num_types,
        max_count=max_count,
        delay=delay,
        num_noise_symbols=num_noise_symbols,
        length=length,
        seed=seed,
    )
    end = list(np.cumsum([*SIZES.values()]))[list(SIZES).index(split)]
    return Counts(*(array[end - SIZES[split] : end].copy() for array in _drawn(**numbers)))


@functools.lru_cache(maxsize=4)
def _drawn(num_types: int, max_count: int, delay: int, num_noise_symbols: int, length: int, seed: int) -> Counts:
    """The sequences of all splits, one split after the other; no two are equal.

    Raises:
        ValueError: unless at least four times as many sequences of this length exist.
    """
    num_sequences, num_symbols = sum(SIZES.values()), 2 * num_types + num_noise_symbols
    if num_symbols**length < 4 * num_sequences:
        raise ValueError(
            f"`length` must allow at least {4 * num_sequences:,} sequences. Received: length={length} over "
            f"{num_symbols} symbols. Choose a larger one."
        )
    name = f"types{num_types}-maximum{max_count}-delay{delay}-noise{num_noise_symbols}-length{length}-seed{seed}"
    batches = stream(
        np.random.default_rng(list(f"counting {VERSION} {name}".encode())),
        num_sequences,
        length=length,
        num_types=num_types,
        max_count=max_count,
        delay=delay,
        num_noise_symbols=num_noise_symbols,
    )
    rows: dict[bytes, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
    while len(rows) < num_sequences:
        for row, counts in zip(*next(batches), strict=True):
            if len(rows) < num_sequences:
                rows.setdefault(row.tobytes(), (row, counts))
    return Counts(*(np.stack(arrays) for arrays in zip(*rows.values(), strict=True)))


def check_numbers(**numbers: int) -> dict[str, int]:
    """The numbers; ValueError unless each is a positive integer, or a non-negative one if 0 is allowed."""
    may_be_zero = ("delay", "num_noise_symbols", "seed")
    return {name: integer(name, value, 0 if name in may_be_zero else 1) for name, value in numbers.items()}
