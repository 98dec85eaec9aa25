"""Token ids, checked, and rankings of tokens and phrases."""

from __future__ import annotations

import numpy as np

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._network import read_text, read_texts
from keras_interp_rnn._types import AnyArray


def check_ids(inputs: object, tokens: Alphabet | None) -> AnyArray:
    """Token ids (batch, time), or texts of named tokens, as an array of ids; raises ValueError for anything else."""
    ids = as_array("Tokens", read_texts(inputs, tokens))
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or 0 in ids.shape:
        raise ValueError(
            f"`inputs` must be integers (batch, time). Received: {ids.dtype} of shape {ids.shape}. Pass the ids that "
            "the model reads."
        )
    return ids


def check_text(sequence: object, tokens: Alphabet | None) -> AnyArray:
    """One text, token ids (time,) or named tokens, as an array of ids; raises ValueError for anything else."""
    text = read_text("Tokens", sequence, tokens)
    if text.ndim != 1 or text.dtype.kind not in "iu" or not len(text):
        row = "its one row, ids[0]" if text.ndim == 2 and len(text) == 1 else "one text, ids[i] of a batch"
        raise ValueError(
            f"`sequence` must be the integers of one text, shape (time,). Received: {text.dtype} of shape "
            f"{text.shape}. Pass {row}."
        )
    return text


def ranked(items: AnyArray, values: AnyArray, *, by: str, min_count: int) -> list[tuple[int, float, int]]:
    """(item, highest or mean value, occurrences), best first; ties go to the more frequent item.

    Args:
        items: (samples,), integers. values: (samples,).
        by: "highest" or "mean".
        min_count: minimum number of occurrences of an item.
    """
    distinct, which, counts = np.unique(items, return_inverse=True, return_counts=True)
    if by == "mean":
        scores = np.bincount(which, weights=values, minlength=len(distinct)) / np.maximum(counts, 1)
    else:
        scores = np.full(len(distinct), -np.inf)
        np.maximum.at(scores, which, values)
    order = np.lexsort((-counts, -np.round(scores, 4)))
    return [(int(distinct[i]), float(scores[i]), int(counts[i])) for i in order if counts[i] >= min_count]
