"""Nesting levels of several types of parentheses, to be output with a delay: endless streams, and splits through TFDS.

    symbols, counts = next(counting.stream(0, batch_size=32, length=50))
    targets = counting.one_hot(counts, max_count=5)  # (32, 50, 12), of which two in twelve are 1
    examples = counting.load("train")                # symbols (2000, 100), counts (2000, 100, 2)
    counting.builder().info.metadata                 # names of the symbols, sizes of the splits

Every step draws one symbol uniformly: an opening or closing parenthesis of a type, or noise. The count of a type goes
up and down with its parentheses, begins at 0 and stays within [0, max_count]. The targets at step t are the counts
after step t - delay, or 0 if there is no such step; with a delay of 1 they are the counts before the symbol is read.

Splits: train, validation and test. No two sequences are the same. The data are generated; nothing is downloaded, and
no licence applies.

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


def one_hot(counts: ArrayLike, max_count: int) -> NDArray[np.float32]:
    """Writes counts as one-hot codes, those of all types side by side.

    Args:
        counts: int (..., num_types), in [0, max_count].
        max_count: int > 0, that of the stream.

    Returns:
        float32 (..., num_types (max_count + 1)).

    Raises:
        ValueError: if a count lies outside [0, max_count].

    Example:

    >>> one_hot([[0, 2]], max_count=2)
    array([[1., 0., 0., 0., 0., 1.]], dtype=float32)
    """
    array = np.asarray(counts)
    if array.size and (array.min() < 0 or array.max() > max_count):
        raise ValueError(
            f"`counts` must lie in [0, {max_count}]. Received: {array.min()} to {array.max()}. Pass the `max_count` of "
            "the stream."
        )
    codes = np.eye(max_count + 1, dtype=np.float32)[array]
    return codes.reshape(*array.shape[:-1], array.shape[-1] * (max_count + 1))


def builder(
    num_types: int = 2,
    max_count: int = 5,
    *,
    delay: int = 1,
    num_noise_symbols: int = 1,
    length: int = 100,
    seed: int = 0,
    data_dir: PathLike | None = None,
) -> Any:
    """Prepares the data, and returns their TFDS builder.

    Args:
        num_types: as `stream`.
        max_count: as `stream`.
        delay: as `stream`.
        num_noise_symbols: as `stream`.
        length: as `stream`.
        seed: int >= 0, of the sequences, together with the builder's version. Each choice of these numbers has its own
            folder.
        data_dir: folder of prepared data; None for TFDS's default.

    Returns:
        The builder; its `info.metadata` has the names of the symbols and the sizes of the splits.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if a number is not an integer or too small, or if there are too few sequences of this length.

    Example:

    >>> from keras_interp_rnn.datasets import counting
    >>> counting.builder(num_types=1, length=12).info.metadata["symbols"]
    ['(', ')', 'a']
    """
    check_numbers(
        num_types=num_types,
        max_count=max_count,
        delay=delay,
        num_noise_symbols=num_noise_symbols,
        length=length,
        seed=seed,
    )
    _tfds.imported("counting")
    from keras_interp_rnn.datasets.counting.counting_dataset_builder import Builder, CountingConfig

    numbers = (int(n) for n in (num_types, max_count, delay, num_noise_symbols, length, seed))
    root = _tfds.data_root(data_dir)
    with _tfds.undamaged(root / "counting"):
        made = Builder(config=CountingConfig.of(*numbers), data_dir=root)
    return _tfds.prepare(made, quiet=True)


def load(
    split: str,
    *,
    num_types: int = 2,
    max_count: int = 5,
    delay: int = 1,
    num_noise_symbols: int = 1,
    length: int = 100,
    seed: int = 0,
    data_dir: PathLike | None = None,
) -> Counts:
    """Loads the sequences of a split. They are generated on the first call and nothing is downloaded.

    Args:
        split: "train", "validation" or "test", or a slice of one in TFDS's notation ("train[:10%]").
        num_types: as `stream`.
        max_count: as `stream`.
        delay: as `stream`.
        num_noise_symbols: as `stream`.
        length: as `stream`.
        seed: as `builder`.
        data_dir: as `builder`.

    Returns:
        The symbols and the counts.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `split` is unknown, a number is not an integer or too small, or there are too few sequences of
            this length.

    Example:

    >>> from keras_interp_rnn.datasets import counting
    >>> symbols, counts = counting.load("test", num_types=1, length=12)
    >>> symbols.shape, counts.shape
    ((500, 12), (500, 12, 1))
    """
    made = builder(
        num_types,
        max_count,
        delay=delay,
        num_noise_symbols=num_noise_symbols,
        length=length,
        seed=seed,
        data_dir=data_dir,
    )
    examples = list(_tfds.in_order(made, split))
    return Counts(*(np.stack([example[key] for example in examples]) for key in ("symbols", "counts")))
