"""The 20 newsgroups, sorted by date: 11,314 posts for training and 7,532 later ones for the test.

texts, labels = newsgroups20.load("test", headers=False)     # without headers and signatures
newsgroups20.CLASSES[labels[0]]                              # "alt.atheism"

Reference: Lang, "NewsWeeder: learning to filter netnews", 1995; the split is that of
http://qwone.com/~jason/20Newsgroups. The posts are their authors', and may be used for research.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, downloaded, files, parsing

CLASSES = (
    *("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    *("comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
    *("sci.crypt", "sci.electronics", "sci.med", "sci.space", "soc.religion.christian", "talk.politics.guns"),
    *("talk.politics.mideast", "talk.politics.misc", "talk.religion.misc"),
)
"""Names of the groups; a label is an index into this tuple."""

URL = "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz"
SHA256 = "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_DASHES = re.compile(r"\s*-{2,}\s*")
_AFTER_DASHES, _WITHOUT_DASHES = 10, 4


def load(split: str, *, source: PathLike | None = None, headers: bool = True) -> tuple[list[str], NDArray[np.int32]]:
    """Loads the posts of a split and their labels, by group and by number within a group.

    Args:
        split: "train" or "test".
        source: 20news-bydate.tar.gz, or the folder it unpacks to, with 20news-bydate-train and 20news-bydate-test.
        headers: whether posts have their headers and signatures; if not, only the `body` of each.

    Returns:
        The posts, in latin-1, in which every byte is a character, and int32 (num_texts,), indices into `CLASSES`.
    """
    source = downloaded(URL, SHA256) if source is None else source
    posts = files(source, f"20news-bydate-{split}/*/*", what=URL)
    of_group = {path: path.split("/")[1] for path in posts}
    with parsing(source, "posts of each of the 20 groups"):
        if wrong := set(of_group.values()) ^ set(CLASSES):
            raise ValueError(f"no or unknown: {sorted(wrong)}")
    paths = sorted(posts, key=lambda path: (of_group[path], len(path), path))
    texts = [posts[path].decode("latin-1") for path in paths]
    labels = np.array([CLASSES.index(of_group[path]) for path in paths], np.int32)
    return texts if headers else [body(text) for text in texts], labels


def body(post: str) -> str:
    """Removes the header and the signature of a post; quotations stay.

    The header ends with the first blank line. The signature is the text after the last line that consists of two or
    more dashes, if it has at most 10 lines; without such a line it is the last paragraph, if that has at most 4 lines.
    Lines of dashes at the very end belong to the signature. A post that consists of a signature alone keeps it.

    Args:
        post: a post with its header.

    Returns:
        The rest, without blanks at its end; "" for a header alone.
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
