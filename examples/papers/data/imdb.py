"""The IMDB reviews of Maas et al., 2011, "Learning Word Vectors for Sentiment Analysis".

texts, labels = imdb.load("train", source="aclImdb")
imdb.CLASSES[labels[0]]                                  # "neg"
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, downloaded, files, parsing

CLASSES = ("neg", "pos")
"""Names of the classes; a label is an index into this tuple."""

URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
SHA256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"


def load(split: str, *, source: PathLike | None = None) -> tuple[list[str], NDArray[np.int32]]:
    """Loads the reviews of a split and their labels, negative reviews first.

    Args:
        split: "train" or "test".
        source: aclImdb_v1.tar.gz, or the folder aclImdb, with `train/neg/*.txt` and so on; or a folder or archive of
            tables, `train-neg.tsv` and so on, each line of which has an id, a rating and the text.

    Returns:
        The texts, by the names of their files, and int32 (num_texts,), 0 for negative and 1 for positive.
    """
    source = downloaded(URL, SHA256) if source is None else source
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(CLASSES):
        for path, content in files(source, f"{split}-{name}.tsv", f"{split}/{name}/*.txt", what=URL).items():
            with parsing(path, "reviews in UTF-8, in a table an id, a rating and a text a line"):
                text = content.decode()
                # Not splitlines(), which ends lines at characters that occur within reviews.
                table = [line.split("\t") for line in text.rstrip("\n").split("\n")]
                texts += [text for _, _, text in table] if path.endswith(".tsv") else [text]
        labels += [label] * (len(texts) - len(labels))
    return texts, np.array(labels, np.int32)
