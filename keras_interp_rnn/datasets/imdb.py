"""The IMDB reviews of Maas et al., 2011, "Learning Word Vectors for Sentiment Analysis", from a folder.

`tfds.load("imdb_reviews")` has the same reviews, for those who can download; this reads them where they lie.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets._files import TextError

CLASSES = ("neg", "pos")


def read(folder: str | os.PathLike[str], split: str) -> tuple[list[str], NDArray[np.int32]]:
    """Reviews and their labels, 0 for negative and 1 for positive, all negative ones first.

    Args:
        folder: the unpacked archive, with `train/neg/*.txt` and so on; or tables `train-neg.tsv` and so on, each line
            an id, a rating and the text.
        split: "train" or "test".

    Raises:
        TextError: if the folder holds neither, or at a line of a table that does not fit.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test'. Received: {split!r}.")
    folder = Path(folder).expanduser()
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(CLASSES):
        table, files = folder / f"{split}-{name}.tsv", sorted((folder / split / name).glob("*.txt"))
        if table.is_file():
            found = _from_table(table)
        elif files:
            found = [file.read_text(encoding="utf-8") for file in files]
        else:
            raise TextError(
                f"There are no reviews in {folder}: neither {split}/{name}/*.txt nor {split}-{name}.tsv. Unpack "
                "aclImdb_v1.tar.gz and give the folder aclImdb."
            )
        texts += found
        labels += [label] * len(found)
    return texts, np.array(labels, np.int32)


def _from_table(path: Path) -> list[str]:
    texts = []
    # Not splitlines(), which ends lines at signs that occur within reviews.
    for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), 1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise TextError(
                f"A line holds an id, a rating and a text, with tabs between. Received: {path}, line {number}, with "
                f"{len(fields)} fields. Mend or remove it."
            )
        texts.append(fields[2])
    return texts
