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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets.counting._stream import Counts, check_numbers, stream, symbol_names

__all__ = ["Counts", "builder", "load", "one_hot", "stream", "symbol_names"]

PathLike = str | os.PathLike[str]


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
    check_numbers(types=types, maximum=maximum, delay=delay, noise=noise, length=length, seed=seed)
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
