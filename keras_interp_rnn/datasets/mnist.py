"""The handwritten digits of LeCun et al., 1998, from the four idx files or from TFDS.

images, labels = mnist.load("train")                      # through TensorFlow Datasets
images, labels = mnist.load("train", source="mnist")      # from a folder with the four files
"""

import functools
import math
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets._files import LARGEST, DataError, given_path, unpacked

__all__ = ["SIDE", "load"]

SIDE = 28
"""Height and width of an image in pixels."""

_BLOCK = 1 << 20
_PREFIXES = {"train": "train", "test": "t10k"}
_IMAGES, _LABELS = 2051, 2049  # 0x0803 and 0x0801: unsigned bytes in three dimensions and in one

PathLike = str | os.PathLike[str]


def load(
    split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Loads the images of a split and their digits, in the order of the files.

    Args:
        split: "train" or "test".
        source: a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
            t10k-labels-idx1-ubyte, each plain or with the suffix .gz. None reads `mnist` of TensorFlow Datasets, which
            has the same images in another order.
        data_dir: folder in which TensorFlow Datasets keeps prepared data; None for its default.

    Returns:
        uint8 (num_images, 28, 28), 0 for paper and 255 for ink, and int32 (num_images,), the digits.

    Raises:
        ValueError: if `split` is neither of the two.
        datasets.DataError: if a file is missing, is damaged or has other contents; or if the images cannot be
            downloaded.
        ImportError: if `source` is None and `tensorflow_datasets` is missing.

    Example:

    >>> from keras_interp_rnn.datasets import mnist
    >>> images, labels = mnist.load("train", source="mnist")
    >>> images.shape, images.dtype
    ((3, 28, 28), dtype('uint8'))
    >>> labels
    array([5, 0, 4], dtype=int32)
    """
    one_of("split", split, _PREFIXES)
    if source is None:
        return _from_tfds(split, data_dir)
    folder = given_path(source, "source")
    images_file = _file(folder, f"{_PREFIXES[split]}-images-idx3-ubyte")
    labels_file = _file(folder, f"{_PREFIXES[split]}-labels-idx1-ubyte")
    images, labels = _idx(images_file, _IMAGES, (SIDE, SIDE)), _idx(labels_file, _LABELS, ())
    if len(images) != len(labels):
        raise DataError(
            f"Each image must have a label. Received: {images_file} with {len(images)} images and {labels_file} with "
            f"{len(labels)} labels. Download both again."
        )
    if labels.max(initial=0) > 9:
        raise DataError(f"A label must be a digit. Received: {labels_file}, with {labels.max()}. Download it again.")
    return images, labels.astype(np.int32)


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DataError(
        f"`source` must be a folder with {name} or {name}.gz. Received: {folder}, which has neither. Download it from "
        f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}.gz and put it there."
    )


def _idx(path: Path, magic: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The values of an idx file of unsigned bytes, whose header gives a magic number and the sizes."""
    header = struct.calcsize(f">{2 + len(shape)}I")
    with unpacked(path) as stream:
        data = stream.read(header)
        numbers = struct.unpack(f">{2 + len(shape)}I", data) if len(data) == header else ()
        size = header + math.prod(numbers[1:])
        fits = numbers[:1] == (magic,) and numbers[2:] == shape and size <= LARGEST
        data += stream.read(size - header) if fits else b""
        length = len(data) + sum(map(len, iter(functools.partial(stream.read, _BLOCK), b"")))
    if numbers[:1] != (magic,) or numbers[2:] != shape:
        raise DataError(
            f"The file must begin with the numbers {(magic, 'number of items', *shape)}. Received: {path}, which "
            f"begins with {numbers or 'fewer'}. It is damaged or another file: download it again."
        )
    if length != size or not fits:
        bound = "" if fits else f", and at most {LARGEST:,} are allowed"
        raise DataError(
            f"By its header the file must have {size} bytes{bound}. Received: {path}, with {length}. Download it again."
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(numbers[1:]).copy()


def _from_tfds(split: str, data_dir: PathLike | None) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    remedy = "Download the four idx files by other means and give their folder as `source`."
    images, labels = [], []
    for example in _tfds.published("mnist", split, data_dir, "mnist", remedy):
        images.append(example["image"][:, :, 0])
        labels.append(example["label"])
    return np.stack(images), np.array(labels, np.int32)
