"""The One Billion Word benchmark of Chelba et al., 2013, as bytes: text for the prediction of the next byte.

train = lm1b.read("train", "lm1b")                 # uint8 (bytes,), a newline after each sentence
table = lm1b.commonest(train)                      # int32 (256,), the 70 ids of Foerster et al., 2017
ids = table[train]
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._files import TextError

SPLITS = ("train", "validation", "test")
NEWLINE = 10

_FILES = {
    "train": "1b_benchmark.dev.tokens",
    "validation": "1b_benchmark.dev.tokens",
    "test": "1b_benchmark.test.tokens",
}
_SLICES = {"train": "train[:99%]", "validation": "train[99%:]", "test": "test"}
_BLOCK = 1 << 24

PathLike = str | os.PathLike[str]


def read(split: str, folder: PathLike | None = None, data_dir: PathLike | None = None) -> NDArray[np.uint8]:
    """Sentences as bytes of UTF-8, in order, each with a newline at its end.

    The two files of a folder are text that the benchmark holds out, 12,216 and 12,105 sentences: enough to try things
    on, and nothing to be compared with published results.

    Args:
        split: of a folder: "train", the sentences of the dev file but the last tenth, "validation", that tenth, or
            "test", the test file. Of TFDS: "train", 99 in a hundred of its train split (about 4 GB), "validation",
            the rest of it, or "test", its test split, which is all the text held out.
        folder: holds 1b_benchmark.dev.tokens and 1b_benchmark.test.tokens, a sentence a line; or None for TFDS's
            `lm1b`.
        data_dir: where TFDS keeps prepared data; its own default.

    Returns:
        uint8 (bytes,).

    Raises:
        ValueError: if `split` is none of the three.
        TextError: if a file is missing or holds too little; or if the text cannot be downloaded.
        ImportError: if `folder` is None and `tensorflow_datasets` is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` is one of {list(SPLITS)}. Received: {split!r}. Choose one of them.")
    if folder is None:
        return _from_tfds(split, data_dir)
    path = Path(folder).expanduser() / _FILES[split]
    if not path.is_file():
        raise TextError(
            f"There is no file {path}. Give as `folder` one that holds {_FILES[split]}, held-out sentences of the "
            "benchmark (https://www.statmt.org/lm-benchmark), each on its line; or none, and TensorFlow Datasets "
            "downloads the whole corpus."
        )
    symbols = np.fromfile(path, np.uint8)
    if len(symbols) and symbols[-1] != NEWLINE:
        symbols = np.append(symbols, np.uint8(NEWLINE))
    ends = np.flatnonzero(symbols == NEWLINE) + 1
    if len(ends) < 10:
        raise TextError(
            f"A file holds at least ten sentences, each on its line. Received: {path}, with {len(ends)}. "
            "Fetch it again."
        )
    middle = ends[len(ends) - len(ends) // 10 - 1]
    return {"train": symbols[:middle], "validation": symbols[middle:], "test": symbols}[split]


def commonest(symbols: NDArray[np.uint8], size: int = 70) -> NDArray[np.int32]:
    """A table of ids: the commonest bytes have one each and all others share the id 0.

    Args:
        symbols: uint8 (bytes,), the text whose bytes are counted.
        size: how many ids there are.

    Returns:
        int32 (256,): the `size` - 1 commonest bytes map to 1, 2, ... in the order of their frequency, of equally
        common ones the smaller byte first; all others, and bytes that do not occur, map to 0.

    Raises:
        ValueError: if `symbols` are no bytes or `size` is not in [2, 256].

    Reference: Foerster et al., "Input Switched Affine Networks", 2017, section 3.2, with 70 ids.
    """
    if symbols.dtype != np.uint8 or symbols.ndim != 1:
        raise ValueError(
            f"`symbols` are uint8 (bytes,). Received: {symbols.dtype} {symbols.shape}. Give what `read` returns."
        )
    if not 2 <= size <= 256:
        raise ValueError(f"`size` is at least 2 and at most 256. Received: {size}. Choose another.")
    counts = np.zeros(256, np.int64)
    for start in range(0, len(symbols), _BLOCK):  # np.bincount makes eight bytes of each
        counts += np.bincount(symbols[start : start + _BLOCK], minlength=256)
    ranked = np.argsort(-counts, kind="stable")[: size - 1]
    ranked = ranked[counts[ranked] > 0]
    table = np.zeros(256, np.int32)
    table[ranked] = np.arange(1, len(ranked) + 1)
    return table


def _from_tfds(split: str, data_dir: PathLike | None) -> NDArray[np.uint8]:
    remedy = "Fetch the text by other means and give a folder with files of it as `folder`."
    text = bytearray()
    for example in _tfds.published("lm1b", _SLICES[split], data_dir, "lm1b", remedy):
        text += example["text"]
        text.append(NEWLINE)
    return np.frombuffer(text, np.uint8)
