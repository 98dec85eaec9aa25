"""The One Billion Word benchmark of Chelba et al., 2013, as bytes: text for the prediction of the next byte.

train = lm1b.load("train")                         # uint8 (num_bytes,), a newline after each sentence
table = lm1b.most_frequent(train)                  # int32 (256,), the 70 ids of Foerster et al., 2017
ids = table[train]
"""

import os

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets._files import DataError, given_path

__all__ = ["NEWLINE", "SPLITS", "load", "most_frequent"]

SPLITS = ("train", "validation", "test")
"""Names of the splits."""

NEWLINE = 10
"""The byte after each sentence."""

_FILES = {
    "train": "1b_benchmark.dev.tokens",
    "validation": "1b_benchmark.dev.tokens",
    "test": "1b_benchmark.test.tokens",
}
_SLICES = {"train": "train[:99%]", "validation": "train[99%:]", "test": "test"}
_BLOCK = 1 << 24

PathLike = str | os.PathLike[str]


def load(split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None) -> NDArray[np.uint8]:
    r"""Loads the sentences of a split as bytes of UTF-8, in order, with a newline after each.

    The two files of a folder are the held-out text of the benchmark, 12,216 and 12,105 sentences. They suffice for
    trying things out; their results are not comparable with published ones.

    Args:
        split: "train", "validation" or "test".
            From a folder: the dev file without its last tenth, that tenth, and the test file.
            From TensorFlow Datasets: 99 percent of its train split (about 4 GB), the rest of it, and its test split,
            which is all the held-out text.
        source: a folder with 1b_benchmark.dev.tokens and 1b_benchmark.test.tokens, one sentence per line. None reads
            `lm1b` of TensorFlow Datasets.
        data_dir: folder in which TensorFlow Datasets keeps prepared data; None for its default.

    Returns:
        uint8 (num_bytes,).

    Raises:
        ValueError: if `split` is none of the three.
        datasets.DataError: if a file is missing or has fewer than ten sentences; or if the text cannot be downloaded.
        ImportError: if `source` is None and `tensorflow_datasets` is missing.

    Example:

    >>> from keras_interp_rnn.datasets import lm1b
    >>> lm1b.load("validation", source="lm1b").tobytes()
    b'Sentence 9 .\n'
    """
    one_of("split", split, SPLITS)
    if source is None:
        return _from_tfds(split, data_dir)
    path = given_path(source, "source") / _FILES[split]
    if not path.is_file():
        raise DataError(
            f"`source` must be a folder with {_FILES[split]}. Received: {path.parent}, which does not have it. Put the "
            "held-out sentences of the benchmark there (https://www.statmt.org/lm-benchmark), one per line; or leave "
            "`source` out, and TensorFlow Datasets downloads the whole corpus."
        )
    symbols = np.fromfile(path, np.uint8)
    if len(symbols) and symbols[-1] != NEWLINE:
        symbols = np.append(symbols, np.uint8(NEWLINE))
    ends = np.flatnonzero(symbols == NEWLINE) + 1
    if len(ends) < 10:
        raise DataError(
            f"A file must have at least ten sentences, one per line. Received: {path}, with {len(ends)}. "
            "Download it again."
        )
    middle = ends[len(ends) - len(ends) // 10 - 1]
    return {"train": symbols[:middle], "validation": symbols[middle:], "test": symbols}[split]


def most_frequent(symbols: NDArray[np.uint8], num_ids: int = 70) -> NDArray[np.int32]:
    """Makes a table that gives each of the most frequent bytes an id of its own, and all others the id 0.

    Args:
        symbols: uint8 (num_bytes,), the text in which bytes are counted.
        num_ids: number of ids, from 2 to 256.

    Returns:
        int32 (256,), the id of each byte. The `num_ids` - 1 most frequent bytes have the ids 1, 2, ... in descending
        order of frequency, ties in ascending order of the byte. All others, and bytes that do not occur, have 0.

    Raises:
        ValueError: if `symbols` are not bytes or `num_ids` is out of range.

    Example:

    >>> table = most_frequent(np.frombuffer(b"banana", np.uint8), num_ids=3)
    >>> table[[ord(letter) for letter in "ban"]]
    array([0, 1, 2], dtype=int32)

    Reference: Foerster et al., "Input Switched Affine Networks", 2017, section 3.2, with 70 ids.
    """
    if symbols.dtype != np.uint8 or symbols.ndim != 1:
        raise ValueError(
            f"`symbols` must be uint8 (num_bytes,). Received: {symbols.dtype} {symbols.shape}. Pass what `load` "
            "returns."
        )
    if not 2 <= num_ids <= 256:
        raise ValueError(f"`num_ids` must be at least 2 and at most 256. Received: {num_ids}. Choose another number.")
    counts = np.zeros(256, np.int64)
    for start in range(0, len(symbols), _BLOCK):  # np.bincount makes eight bytes of each
        counts += np.bincount(symbols[start : start + _BLOCK], minlength=256)
    ranked = np.argsort(-counts, kind="stable")[: num_ids - 1]
    ranked = ranked[counts[ranked] > 0]
    table = np.zeros(256, np.int32)
    table[ranked] = np.arange(1, len(ranked) + 1)
    return table


def _from_tfds(split: str, data_dir: PathLike | None) -> NDArray[np.uint8]:
    remedy = "Download the text by other means and give its folder as `source`."
    text = bytearray()
    for example in _tfds.published("lm1b", _SLICES[split], data_dir, "lm1b", remedy):
        text += example["text"]
        text.append(NEWLINE)
    return np.frombuffer(text, np.uint8)
