"""The One Billion Word benchmark of Chelba et al., 2013, as bytes: text for the prediction of the next byte.

train = lm1b.load("train")                         # uint8 (num_bytes,), a newline after each sentence
table = lm1b.most_frequent(train)                  # int32 (256,), the 70 ids of Foerster et al., 2017
ids = table[train]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, downloaded, files, parsing

URL = "http://www.statmt.org/lm-benchmark/1-billion-word-language-modeling-benchmark-r13output.tar.gz"
SHA256 = "01ba60381110baf7f189dfd2b8374de371e8c9a340835793f190bdae9e90a34e"

NEWLINE = 10
"""The byte after each sentence."""

_TRAIN = ("1b_benchmark.dev.tokens", "training-monolingual.tokenized.shuffled/news.en-*")
_TEST = ("1b_benchmark.test.tokens", "heldout-monolingual.tokenized.shuffled/news.en.heldout-*")
_HELD_OUT = {"1b_benchmark.dev.tokens": 10}
"""One sentence of how many is for validation, of a file's: a tenth of the small one, else a hundredth."""


def load(split: str, *, source: PathLike | None = None) -> NDArray[np.uint8]:
    r"""Loads the sentences of a split as bytes of UTF-8, in order, with a newline after each.

    Args:
        split: "train" or "validation": the training text (about 4 GB) without its last hundredth, and that; or "test",
            the held-out text.
        source: the benchmark's archive, or the folder it unpacks to. Or a folder with 1b_benchmark.dev.tokens and
            1b_benchmark.test.tokens, 12,216 and 12,105 sentences of the held-out text, one a line: the first without
            its last tenth is then for training, which suffices to try things out.

    Returns:
        uint8 (num_bytes,).
    """
    source = downloaded(URL, SHA256) if source is None else source
    found = files(source, *(_TEST if split == "test" else _TRAIN), what=URL)
    parts = _HELD_OUT.get(name := next(iter(found)), 100)
    joined = bytearray()
    while found:  # each is let go once it is copied
        content = found.pop(next(iter(found)))
        joined += content if content.endswith(b"\n") else content + b"\n"
    symbols = np.frombuffer(joined, np.uint8)
    with parsing(name, "at least ten sentences, one a line"):
        ends = np.flatnonzero(symbols == NEWLINE) + 1
        if len(ends) < 10:
            raise ValueError(f"{len(ends)} sentences")
    middle = ends[len(ends) - len(ends) // parts - 1]
    return {"train": symbols[:middle], "validation": symbols[middle:], "test": symbols}[split]


def most_frequent(symbols: NDArray[np.uint8], num_ids: int = 70) -> NDArray[np.int32]:
    """Makes a table that gives each of the most frequent bytes an id of its own, and all others the id 0.

    Args:
        symbols: uint8 (num_bytes,), the text in which bytes are counted. num_ids: number of ids, at most 256.

    Returns:
        int32 (256,), the id of each byte. The `num_ids` - 1 most frequent bytes have the ids 1, 2, ... in descending
        order of frequency, ties in ascending order of the byte. All others, and bytes that do not occur, have 0.

    Reference: Foerster et al., "Input Switched Affine Networks", 2017, section 3.2, with 70 ids.
    """
    counts = np.zeros(256, np.int64)
    for start in range(0, len(symbols), 1 << 24):  # np.bincount makes eight bytes of each
        counts += np.bincount(symbols[start : start + (1 << 24)], minlength=256)
    ranked = np.argsort(-counts, kind="stable")[: num_ids - 1]
    ranked = ranked[counts[ranked] > 0]
    table = np.zeros(256, np.int32)
    table[ranked] = np.arange(1, len(ranked) + 1)
    return table
