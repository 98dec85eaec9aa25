"""The IMDB reviews of Maas et al., 2011, "Learning Word Vectors for Sentiment Analysis", from a folder or from TFDS."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._files import TextError, decoded

CLASSES = ("neg", "pos")
ARCHIVE = "aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment"


def read(
    folder: str | os.PathLike[str] | None, split: str, data_dir: str | os.PathLike[str] | None = None
) -> tuple[list[str], NDArray[np.int32]]:
    """Reviews and their labels, 0 for negative and 1 for positive, all negative ones first.

    Args:
        folder: the unpacked archive, with `train/neg/*.txt` and so on; or tables `train-neg.tsv` and so on, each line
            an id, a rating and the text; or None for TFDS's `imdb_reviews`.
        split: "train" or "test".
        data_dir: where TFDS keeps prepared data; its own default.

    Raises:
        ValueError: if `split` is neither of the two.
        TextError: if the folder holds neither, at a line of a table that does not fit, or at a file that is not UTF-8;
            or if the reviews cannot be downloaded.
        ImportError: if `folder` is None and `tensorflow_datasets` is missing.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test'. Received: {split!r}.")
    if folder is None:
        return _from_tfds(split, data_dir)
    folder = Path(folder).expanduser()
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(CLASSES):
        table, files = folder / f"{split}-{name}.tsv", sorted((folder / split / name).glob("*.txt"))
        if table.is_file():
            found = _from_table(table)
        elif files:
            found = [decoded(file) for file in files]
        else:
            raise TextError(
                f"There are no reviews in {folder}: neither {split}/{name}/*.txt nor {split}-{name}.tsv. Unpack "
                f"{ARCHIVE} and give the folder aclImdb as `folder`."
            )
        texts += found
        labels += [label] * len(found)
    return texts, np.array(labels, np.int32)


def _from_tfds(split: str, data_dir: str | os.PathLike[str] | None) -> tuple[list[str], NDArray[np.int32]]:
    """The reviews of TFDS, in its order within each class."""
    found: tuple[list[str], list[str]] = ([], [])
    remedy = f"Unpack {ARCHIVE} and give the folder aclImdb as `folder`."
    for example in _tfds.published("imdb_reviews", split, data_dir, "imdb", remedy):
        found[int(example["label"])].append(example["text"].decode("utf-8"))
    return [*found[0], *found[1]], np.repeat(np.arange(2, dtype=np.int32), [len(texts) for texts in found])


def _from_table(path: Path) -> list[str]:
    texts = []
    # Not splitlines(), which ends lines at signs that occur within reviews.
    for number, line in enumerate(decoded(path).rstrip("\n").split("\n"), 1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise TextError(
                f"A line holds an id, a rating and a text, with tabs between. Received: {path}, line {number}, with "
                f"{len(fields)} fields. Mend or remove it."
            )
        texts.append(fields[2])
    return texts
