"""Tokens as users pass and read them: checked ids, their names, and rankings of tokens and phrases."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import is_integer
from keras_interp_rnn._network import Names, as_array, read_text, read_texts


def check_ids(inputs: Any, tokens: Names | None) -> NDArray[Any]:
    """Token ids (batch, time), or texts of named tokens, as an array of ids; raises ValueError for anything else."""
    ids = as_array("Tokens", read_texts(inputs, tokens))
    if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer) or 0 in ids.shape:
        raise ValueError(
            f"Tokens are integers (batch, time). Received: {ids.dtype} of shape {ids.shape}. Pass the ids that the "
            "model reads."
        )
    return ids


def check_text(sequence: Any, tokens: Names | None) -> NDArray[Any]:
    """One text, token ids (time,) or named tokens, as an array of ids; raises ValueError for anything else."""
    text = read_text("Tokens", sequence, tokens)
    if text.ndim != 1 or not np.issubdtype(text.dtype, np.integer) or not len(text):
        remedy = (
            "Pass its one row, ids[0]." if text.ndim == 2 and len(text) == 1 else "Pass one text, ids[i] of a batch."
        )
        raise ValueError(
            f"The tokens of one text are integers (time,). Received: {text.dtype} of shape {text.shape}. {remedy}"
        )
    return text


def check_counts(**counts: Any) -> None:
    """Raises ValueError unless every argument is an int > 0."""
    for name, count in counts.items():
        if (as_index(count) or 0) < 1:
            raise ValueError(f"{name} is a number, at least 1. Received: {name}={count!r}. Pass an int > 0.")


def as_index(value: Any) -> int | None:
    """An integer as an int, None for anything else."""
    return operator.index(value) if is_integer(value) else None


def ranked(what: NDArray[Any], values: NDArray[Any], *, by: str, min_count: int) -> list[tuple[int, float, int]]:
    """(thing, highest or mean value, occurrences), best first; ties go to the more frequent thing.

    Args:
        what: (samples,), integers. values: (samples,).
        by: "highest" or "mean".
        min_count: occurrences below which a thing is left out.
    """
    distinct, which, counts = np.unique(what, return_inverse=True, return_counts=True)
    if by == "mean":
        scores = np.bincount(which, weights=values, minlength=len(distinct)) / np.maximum(counts, 1)
    else:
        scores = np.full(len(distinct), -np.inf)
        np.maximum.at(scores, which, values)
    order = np.lexsort((-counts, -np.round(scores, 4)))
    return [(int(distinct[i]), float(scores[i]), int(counts[i])) for i in order if counts[i] >= min_count]
