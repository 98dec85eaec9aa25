"""The 20 newsgroups, sorted by date: 11,314 posts for training and 7,532 later ones for the test, read through TFDS.

    texts, labels = newsgroups20.load("train")                   # 11,314 posts, int32 (11314,)
    texts, labels = newsgroups20.load("test", headers=False)     # without headers and signatures
    newsgroups20.CLASSES[labels[0]]                              # "alt.atheism"
    own = newsgroups20.load("train", source="20news-bydate.tar.gz")

The first call prepares the data: from the archive or folder given as `source`; else from one in
`<data_dir>/downloads/manual`; else from the download. Data of a source are kept in a folder named by its sha256, so
that two sources never share prepared data.

Reference: Lang, "NewsWeeder: learning to filter netnews", 1995; the split is that of
http://qwone.com/~jason/20Newsgroups.
"""

import os
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets.newsgroups20._classes import CLASSES

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.newsgroups20.newsgroups20_dataset_builder import Builder

__all__ = ["CLASSES", "body", "builder", "load"]

PathLike = str | os.PathLike[str]

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_DASHES = re.compile(r"\s*-{2,}\s*")
_AFTER_DASHES, _WITHOUT_DASHES = 10, 4


def builder(*, source: PathLike | None = None, data_dir: PathLike | None = None) -> "Builder":
    """Prepares the data, and returns their TFDS builder.

    Args:
        source: 20news-bydate.tar.gz, or the folder it was unpacked to, which has `20news-bydate-train` and
            `20news-bydate-test`; None to download it.
        data_dir: folder of prepared data; None for the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and everything else TFDS offers.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        datasets.DataError: if the posts are missing or damaged.

    Example:

    >>> from keras_interp_rnn.datasets import newsgroups20
    >>> made = newsgroups20.builder(source="20news-bydate")
    >>> made.info.features["label"].int2str(0)
    'alt.atheism'
    """
    _tfds.imported("newsgroups20")
    from keras_interp_rnn.datasets.newsgroups20.newsgroups20_dataset_builder import Builder, manual_source

    root = _tfds.data_root(data_dir)
    source = manual_source(root / "downloads" / "manual") if source is None else source
    return _tfds.prepare(Builder(source=source, data_dir=root), quiet=source is not None)


def load(
    split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None, headers: bool = True
) -> tuple[list[str], NDArray[np.int32]]:
    """Loads the posts of a split and their labels, by group and by number within a group.

    Args:
        split: "train" or "test".
        source: as `builder`.
        data_dir: as `builder`.
        headers: whether posts have their headers and signatures; if not, only the `body` of each.

    Returns:
        The posts, and int32 (num_texts,), indices into `CLASSES`.

    Raises:
        ValueError: if `split` is neither of the two.
        ImportError: if `tensorflow_datasets` is missing.
        datasets.DataError: if the posts are missing or damaged.

    Example:

    >>> from keras_interp_rnn.datasets import newsgroups20
    >>> texts, labels = newsgroups20.load("train", source="20news-bydate", headers=False)
    >>> len(texts), texts[0], newsgroups20.CLASSES[labels[0]]
    (20, 'About alt.atheism.', 'alt.atheism')
    """
    one_of("split", split, ("train", "test"))
    texts: list[str] = []
    labels: list[int] = []
    for example in _tfds.in_order(builder(source=source, data_dir=data_dir), split):
        text = example["text"].decode("utf-8")
        texts.append(text if headers else body(text))
        labels.append(int(example["label"]))
    return texts, np.array(labels, np.int32)


def body(post: str) -> str:
    r"""Removes the header and the signature of a post; quotations stay.

    The header ends with the first blank line. The signature is the text after the last line that consists of two or
    more dashes, if it has at most 10 lines; without such a line it is the last paragraph, if that has at most 4 lines.
    Lines of dashes at the very end belong to the signature. A post that consists of a signature alone keeps it.

    Args:
        post: a post with its header.

    Returns:
        The rest, without blanks at its end; "" for a header alone.

    Example:

    >>> body("From: a@b.c\nSubject: hay\n\nFor sale.\n\n-- \nAnn")
    'For sale.'
    """
    lines = [*_BLANK_LINE.split(post, maxsplit=1), ""][1].rstrip().split("\n")
    last = len(lines)
    while last and (not lines[last - 1].strip() or _DASHES.fullmatch(lines[last - 1])):
        last -= 1
    dashes = next((i for i in reversed(range(last)) if _DASHES.fullmatch(lines[i])), None)
    blank = next((i for i in reversed(range(last)) if not lines[i].strip()), None)
    for end, max_lines in ((dashes, _AFTER_DASHES), (blank, _WITHOUT_DASHES)):
        if end is not None and last - end - 1 <= max_lines and "".join(lines[:end]).strip():
            return "\n".join(lines[:end]).rstrip()
    return "\n".join(lines)
