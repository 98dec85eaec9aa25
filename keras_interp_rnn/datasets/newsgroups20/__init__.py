"""The 20 newsgroups, sorted by date: 11,314 posts to train on and 7,532 later ones to test, read through TFDS.

    texts, labels = newsgroups20.load("train")                   # 11,314 posts, int32 (11314,)
    texts, labels = newsgroups20.load("test", headers=False)     # what was written, without header and signature
    newsgroups20.CLASSES[labels[0]]                              # "alt.atheism"
    own = newsgroups20.load("train", source="20news-bydate.tar.gz")

The first call prepares the data, from the archive or folder given as `source`, else from one put into
`<data_dir>/downloads/manual` by hand, else from the download. Data of a source lie in a folder named by its sha256, so
another source never gets the data of the first.

Reference: Lang, "NewsWeeder: learning to filter netnews", 1995; the split is that of
http://qwone.com/~jason/20Newsgroups.
"""

import os
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets.newsgroups20._classes import CLASSES

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.newsgroups20.newsgroups20_dataset_builder import Builder

__all__ = ["CLASSES", "body", "builder", "load"]

PathLike = str | os.PathLike[str]

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_DASHES = re.compile(r"\s*-{2,}\s*")
_AFTER_DASHES, _WITHOUT_DASHES = 10, 4


def builder(source: PathLike | None = None, data_dir: PathLike | None = None) -> "Builder":
    """Returns the TFDS builder, its data prepared.

    Args:
        source: 20news-bydate.tar.gz, or the folder it was unpacked to, which holds `20news-bydate-train` and
            `20news-bydate-test`.
        data_dir: where prepared data lie; by default the environment variable TFDS_DATA_DIR, or
            ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and everything else TFDS does.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        datasets.text.TextError: if the posts are missing or damaged.
    """
    _tfds.imported("newsgroups20")
    from keras_interp_rnn.datasets.newsgroups20.newsgroups20_dataset_builder import Builder, manual_source

    source = source or manual_source(_tfds.data_root(data_dir) / "downloads" / "manual")
    return _tfds.prepare(Builder(source=source, data_dir=_tfds.data_root(data_dir)))


def load(
    split: str, headers: bool = True, source: PathLike | None = None, data_dir: PathLike | None = None
) -> tuple[list[str], NDArray[np.int32]]:
    """Returns posts and their labels, group by group and by number within a group.

    Args:
        split: "train" or "test".
        headers: whether posts are whole; if not, `body` of each.
        source: as `builder`.
        data_dir: as `builder`.

    Returns:
        The posts, and int32 (posts,), each a place in `CLASSES`.

    Raises:
        ValueError: if `split` is neither of the two.
        ImportError, datasets.text.TextError: as `builder`.
    """
    if split not in ("train", "test"):
        raise ValueError(f"`split` is 'train' or 'test'. Received: {split!r}. Choose one of them.")
    texts: list[str] = []
    labels: list[int] = []
    for example in _tfds.in_order(builder(source, data_dir), split):
        text = example["text"].decode("utf-8")
        texts.append(text if headers else body(text))
        labels.append(int(example["label"]))
    return texts, np.array(labels, np.int32)


def body(post: str) -> str:
    r"""Returns what was written in a post, without its header and its signature; quotations stay.

    The header ends with the first blank line. The signature is what follows the last line of nothing but dashes, two
    or more, if that is at most 10 lines; where there is none such, it is the last paragraph, if that has at most 4
    lines. Lines of dashes at the very end belong to the signature. A signature is never all there is: then it stays.

    Args:
        post: a post with its header.

    Returns:
        The rest, without blanks at its end; "" for a header alone.

    >>> body("From: a@b.c\nSubject: hay\n\nFor sale.\n\n-- \nAnn")
    'For sale.'
    """
    lines = [*_BLANK_LINE.split(post, maxsplit=1), ""][1].rstrip().split("\n")
    last = len(lines)
    while last and (not lines[last - 1].strip() or _DASHES.fullmatch(lines[last - 1])):
        last -= 1
    dashes = next((i for i in reversed(range(last)) if _DASHES.fullmatch(lines[i])), None)
    blank = next((i for i in reversed(range(last)) if not lines[i].strip()), None)
    for end, most in ((dashes, _AFTER_DASHES), (blank, _WITHOUT_DASHES)):
        if end is not None and last - end - 1 <= most and "".join(lines[:end]).strip():
            return "\n".join(lines[:end]).rstrip()
    return "\n".join(lines)
