"""The IMDB reviews of Maas et al., 2011, "Learning Word Vectors for Sentiment Analysis", from a folder or from TFDS.

texts, labels = imdb.load("train")                       # through TensorFlow Datasets
texts, labels = imdb.load("train", source="aclImdb")     # from the unpacked archive
imdb.CLASSES[labels[0]]                                  # "neg"
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets._files import DataError, decoded, given_path

__all__ = ["ARCHIVE", "CLASSES", "load"]

CLASSES = ("neg", "pos")
"""Names of the classes; a label is an index into this tuple."""

ARCHIVE = "aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment"
"""The file to download, and from where."""
_REMEDY = f"Unpack {ARCHIVE} and give the folder aclImdb as `source`."

PathLike = str | os.PathLike[str]


def load(
    split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None
) -> tuple[list[str], NDArray[np.int32]]:
    """Loads the reviews of a split and their labels, negative reviews first.

    Args:
        split: "train" or "test".
        source: a folder with reviews, which is either the unpacked archive (`train/neg/*.txt` and so on) or holds
            tables (`train-neg.tsv` and so on; each line has an id, a rating and the text). None reads `imdb_reviews`
            of TensorFlow Datasets.
        data_dir: folder in which TensorFlow Datasets keeps prepared data; None for its default.

    Returns:
        The texts, and int32 (num_texts,), 0 for negative and 1 for positive.

    Raises:
        ValueError: if `split` is neither of the two.
        datasets.DataError: if `source` holds no reviews, a line of a table has other fields, or a file is not in
            UTF-8; or if the reviews cannot be downloaded.
        ImportError: if `source` is None and `tensorflow_datasets` is missing.

    Example:

    >>> from keras_interp_rnn.datasets import imdb
    >>> texts, labels = imdb.load("train", source="aclImdb")
    >>> texts
    ['A dull film.', 'A fine film.']
    >>> labels
    array([0, 1], dtype=int32)
    """
    one_of("split", split, ("train", "test"))
    if source is None:
        return _from_tfds(split, data_dir)
    folder = given_path(source, "source")
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(CLASSES):
        table, files = folder / f"{split}-{name}.tsv", sorted((folder / split / name).glob("*.txt"))
        if table.is_file():
            reviews = _from_table(table)
        elif files:
            reviews = [decoded(file) for file in files]
        else:
            raise DataError(
                f"`source` must be a folder with reviews. Received: {folder}, which has neither {split}/{name}/*.txt "
                f"nor {split}-{name}.tsv. {_REMEDY}"
            )
        texts += reviews
        labels += [label] * len(reviews)
    return texts, np.array(labels, np.int32)


def _from_tfds(split: str, data_dir: PathLike | None) -> tuple[list[str], NDArray[np.int32]]:
    """The reviews of TFDS, in its order within each class."""
    reviews: tuple[list[str], list[str]] = ([], [])
    for example in _tfds.published("imdb_reviews", split, data_dir, "imdb", _REMEDY):
        reviews[int(example["label"])].append(example["text"].decode("utf-8"))
    return [*reviews[0], *reviews[1]], np.repeat(np.arange(2, dtype=np.int32), [len(texts) for texts in reviews])


def _from_table(path: Path) -> list[str]:
    texts = []
    # Not splitlines(), which ends lines at characters that occur within reviews.
    for number, line in enumerate(decoded(path).rstrip("\n").split("\n"), 1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise DataError(
                f"Each line must have three fields, an id, a rating and a text, separated by tabs. Received: {path}, "
                f"line {number}, with {len(fields)} fields. Fix or remove it."
            )
        texts.append(fields[2])
    return texts
