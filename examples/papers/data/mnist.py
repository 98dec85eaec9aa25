"""The handwritten digits of LeCun et al., 1998.

images, labels = mnist.load("train", source="mnist")      # a folder with the four files
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, downloaded, files, parsing

URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
WHAT = "https://storage.googleapis.com/cvdf-datasets/mnist"

_PREFIXES = {"train": "train", "test": "t10k"}
_HEADERS = {"images-idx3": (2051, 28, 28), "labels-idx1": (2049,)}  # unsigned bytes in three dimensions, or in one


def load(split: str, *, source: PathLike | None = None) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Loads the images of a split and their digits, in the order of the files.

    Args:
        split: "train" or "test".
        source: a folder, or an archive of it, with train-images-idx3-ubyte, train-labels-idx1-ubyte,
            t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, in a folder each plain or .gz.

    Returns:
        uint8 (num_images, 28, 28), 0 for paper and 255 for ink, and int32 (num_images,), the digits.
    """
    if source is None:
        with np.load(downloaded(URL, SHA256)) as both:
            return both[f"x_{split}"], both[f"y_{split}"].astype(np.int32)
    names = [f"{_PREFIXES[split]}-{name}-ubyte" for name in _HEADERS]
    found = [next(iter(files(source, name, f"{name}.gz", what=WHAT).values())) for name in names]
    images, labels = map(_idx, names, found, _HEADERS.values())
    with parsing(names[1], "the digit of each image"):
        if len(images) != len(labels) or labels.max(initial=0) > 9:
            raise ValueError(f"{len(labels)} labels up to {labels.max(initial=0)} of {len(images)} images")
    return images, labels.astype(np.int32)


def _idx(name: str, content: bytes, header: tuple[int, ...]) -> NDArray[np.uint8]:
    """The values of an idx file of unsigned bytes, whose header is a magic number, the number of items, their shape."""
    magic, *shape = header
    with parsing(name, f"an array of the magic number {magic} and items of the shape {shape}"):
        numbers = np.frombuffer(content[: 4 * (len(header) + 1)], ">u4").tolist()
        if numbers[:1] != [magic] or numbers[2:] != shape:
            raise ValueError(f"it begins with {numbers}")
        return np.frombuffer(content, np.uint8, offset=4 * len(numbers)).reshape(numbers[1:]).copy()
