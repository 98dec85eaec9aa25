"""The handwritten digits of LeCun et al., 1998, from the four idx files or from TFDS."""

import functools
import math
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._files import LARGEST, TextError, unpacked

SIDE = 28
"""Pixels of an image in each direction."""

_BLOCK = 1 << 20
_PREFIXES = {"train": "train", "test": "t10k"}
_IMAGES, _LABELS = 2051, 2049  # 0x0803 and 0x0801: unsigned bytes in three dimensions and in one

PathLike = str | os.PathLike[str]


def read(
    split: str, folder: PathLike | None = None, data_dir: PathLike | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Images and their digits, in the order of the files.

    Args:
        split: "train" or "test".
        folder: holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
            t10k-labels-idx1-ubyte, plain or with .gz at the end of their names; or None for TFDS's `mnist`, which has
            the same images in another order.
        data_dir: where TFDS keeps prepared data; its own default.

    Returns:
        uint8 (images, 28, 28), 0 for paper and 255 for ink, and int32 (images,).

    Raises:
        ValueError: if `split` is neither of the two.
        TextError: if a file is missing, damaged or something else; or if the images cannot be downloaded.
        ImportError: if `folder` is None and `tensorflow_datasets` is missing.
    """
    if split not in _PREFIXES:
        raise ValueError(f"`split` is 'train' or 'test'. Received: {split!r}. Choose one of them.")
    if folder is None:
        return _from_tfds(split, data_dir)
    images_file = _file(Path(folder).expanduser(), f"{_PREFIXES[split]}-images-idx3-ubyte")
    labels_file = _file(Path(folder).expanduser(), f"{_PREFIXES[split]}-labels-idx1-ubyte")
    images, labels = _idx(images_file, _IMAGES, (SIDE, SIDE)), _idx(labels_file, _LABELS, ())
    if len(images) != len(labels):
        raise TextError(
            f"Each image has a label. Received: {images_file} with {len(images)} images and {labels_file} with "
            f"{len(labels)} labels. Fetch both again."
        )
    if labels.max(initial=0) > 9:
        raise TextError(f"A label is a digit. Received: {labels_file}, with {labels.max()}. Fetch it again.")
    return images, labels.astype(np.int32)


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise TextError(
        f"There is neither {name} nor {name}.gz in {folder}. Fetch it from "
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
        raise TextError(
            f"The file begins with the numbers {magic}, how many, and {shape or 'no more'}. Received: {path}, which "
            f"begins with {numbers or 'fewer'}. It is damaged or something else: fetch it again."
        )
    if length != size or not fits:
        most = "" if fits else f", and it may have at most {LARGEST:,}"
        raise TextError(
            f"By its header the file has {size} bytes{most}. Received: {path}, with {length}. Fetch it again."
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(numbers[1:]).copy()


def _from_tfds(split: str, data_dir: PathLike | None) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    remedy = "Fetch the four idx files by other means and give their folder as `folder`."
    images, labels = [], []
    for example in _tfds.published("mnist", split, data_dir, "mnist", remedy):
        images.append(example["image"][:, :, 0])
        labels.append(example["label"])
    return np.stack(images), np.array(labels, np.int32)
