"""A row times many matrices, also where products between are out of the range of float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._types import Array, Ints


def row_times(matrices: Sequence[Array], row: Array) -> Array:
    """The product of a row (n,) and of matrices in turn; infinite or 0 only where the product is."""
    try:
        with np.errstate(over="raise", under="raise", invalid="raise"):
            found = row
            for matrix in matrices:  # not by `@`, whose threads do not report an underflow
                found = (found[:, None] * matrix).sum(axis=0)
            return found
    except FloatingPointError:
        numbers, exponents = np.frexp(row)
        for matrix in matrices:
            numbers, exponents = _wide_product(numbers, exponents, matrix)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.ldexp(numbers, exponents.clip(-10_000, 10_000).astype(np.int32)))


def _wide_product(numbers: Array, exponents: Any, matrix: Array) -> tuple[Array, Ints]:
    """A row m 2^e, with an exponent for every entry, times a matrix."""
    others, more = np.frexp(matrix)
    terms = numbers[:, None] * others
    powers = np.where(terms != 0, exponents[:, None] + more.astype(np.int64), -(2**62))
    top = powers.max(axis=0)
    sums = np.ldexp(terms, np.maximum(powers - top, -2_000).astype(np.int32)).sum(axis=0)
    found, shift = np.frexp(sums)
    return found, np.where(found != 0, top + shift, 0)
