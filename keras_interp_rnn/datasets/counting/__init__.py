"""Nesting levels of several types of parentheses, to be put out some steps late, as fresh streams and through TFDS.

    symbols, counts = next(counting.stream(np.random.default_rng(0), batch=32, length=50))
    targets = counting.one_hot(counts, maximum=5)    # (32, 50, 12), two of twelve are 1
    examples = counting.load("train")                # symbols (2000, 100), counts (2000, 100, 2)
    counting.builder().info.metadata                 # names of the symbols, sizes of the splits

Every step draws one symbol, all alike: an opening or closing parenthesis of a type, or noise. The count of a type goes
up and down with its parentheses, from 0, and stays within [0, maximum]. What is to be put out at step t are the counts
after step t - delay, 0 where there is no such step: with a delay of 1, those before the symbol is read.

Splits: train, validation and test; no two sequences are the same. Nothing is downloaded, and no licence applies.

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, section 4; the task is after
Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent Neural Networks", 2016.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.datasets import _tfds

__all__ = ["Counts", "builder", "load", "one_hot", "stream", "symbol_names"]

PathLike = str | os.PathLike[str]

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
    _checked(types=types, noise=noise)
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
    _checked(batch=batch, length=length, types=types, maximum=maximum, delay=delay, noise=noise)
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


def one_hot(counts: ArrayLike, maximum: int) -> NDArray[np.float32]:
    """Counts (..., types) as one-hot codes side by side, (..., types (maximum + 1)).

    Raises:
        ValueError: if a count lies outside [0, maximum].
    """
    array = np.asarray(counts)
    if array.size and (array.min() < 0 or array.max() > maximum):
        raise ValueError(
            f"Counts lie in [0, {maximum}]. Received: {array.min()} to {array.max()}. Pass the maximum of the stream."
        )
    codes = np.eye(maximum + 1, dtype=np.float32)[array]
    return codes.reshape(*array.shape[:-1], array.shape[-1] * (maximum + 1))


def builder(
    types: int = 2,
    maximum: int = 5,
    delay: int = 1,
    noise: int = 1,
    length: int = 100,
    seed: int = 0,
    data_dir: PathLike | None = None,
) -> Any:
    """Returns the TFDS builder, its data prepared.

    Args:
        types, maximum, delay, noise, length: as `stream`.
        seed: of the sequences, together with the builder's version; every choice of these numbers has its own folder.
        data_dir: where prepared data lie; TFDS's own default.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if a number is no integer or too small, or if there are too few sequences of this length.
    """
    _checked(types=types, maximum=maximum, delay=delay, noise=noise, length=length, seed=seed)
    _tfds.imported("counting")
    from keras_interp_rnn.datasets.counting.counting_dataset_builder import Builder, CountingConfig

    numbers = (int(n) for n in (types, maximum, delay, noise, length, seed))
    with _tfds.undamaged(_tfds.data_root(data_dir) / "counting"):
        made = Builder(config=CountingConfig.of(*numbers), data_dir=data_dir)
    return _tfds.prepare(made, quiet=True)


def load(
    split: str,
    types: int = 2,
    maximum: int = 5,
    delay: int = 1,
    noise: int = 1,
    length: int = 100,
    seed: int = 0,
    data_dir: PathLike | None = None,
) -> Counts:
    """Returns the sequences of a split.

    Args:
        split: "train", "validation", "test", or a slice of one in TFDS's notation ("train[:10%]").
        types, maximum, delay, noise, length, seed, data_dir: as `builder`.

    Raises:
        ImportError, ValueError: as `builder`.
    """
    made = builder(types, maximum, delay, noise, length, seed, data_dir)
    examples = list(_tfds.in_order(made, split))
    return Counts(*(np.stack([example[key] for example in examples]) for key in ("symbols", "counts")))


def _checked(**numbers: int) -> None:
    least = {"delay": 0, "noise": 0, "seed": 0}
    for name, value in numbers.items():
        bound = least.get(name, 1)
        if isinstance(value, bool) or value != int(value) or value < bound:
            raise ValueError(f"{name} is an integer of at least {bound}. Received: {name}={value!r}.")
