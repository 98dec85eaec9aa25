"""How far the numbers of a network may be off, of which it is an automaton: those that are computed of its weights."""

from __future__ import annotations

import numpy as np

from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._network import AffineReading, affine_maps, matrix_and_offset, vectors_of
from keras_interp_rnn._program import is_linear_recurrence
from keras_interp_rnn._program.operations import Scale
from keras_interp_rnn._types import Array

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding of an entry that is assumed in addition to what is measured."""


def of_maps(reading: AffineReading) -> tuple[Array, Array] | None:
    """How far the entries of computed matrices and biases may be off; None where they are the stored weights.

    Measured against the same computation in extended precision, and widened.
    """
    cell, read = reading.cell, reading.content
    if is_linear_recurrence(cell):
        vectors = vectors_of(cell, None, read.lookup)
        narrow, wide = (affine_maps(cell, vectors, dtype) for dtype in (np.float64, np.longdouble))
    elif hasattr(cell, "into_factors"):
        narrow, wide = (
            cell.equations(lambda weight, dtype=dtype: as_float64(weight).astype(dtype)).maps()
            for dtype in (np.float64, np.longdouble)
        )
    else:
        return None
    pairs = zip(narrow, wide, strict=True)
    kernel, bias = (np.asarray(2 * abs(b - a) + ROUNDING * abs(a), np.float64) for a, b in pairs)
    if is_linear_recurrence(cell) and read.mask == "zero":
        kernel[0], bias[0] = 0, 0
    return kernel, bias


def of_head(reading: AffineReading) -> float:
    """How far the entries of a model's head may be off, if it is a product of several layers; 0 of one Dense."""
    found = () if reading.flow is None else reading.flow.outputs
    head = next((content.head for content in found if content.head), ())
    if len(head) < 2 and not any(isinstance(operation, Scale) for operation in head):
        return 0.0
    matrix = offset = error = shift = np.zeros(0)
    for operation in head:  # sums of absolute values, which bound those of all products
        narrow, wide = (matrix_and_offset(operation, dtype) for dtype in (np.float64, np.longdouble))
        following, added = (np.asarray(abs(array), np.float64) for array in narrow)
        off, off_added = (np.asarray(2 * abs(b - a), np.float64) for a, b in zip(narrow, wide, strict=True))
        if not matrix.size:
            matrix, offset, error, shift = following, added, off, off_added
            continue
        error = error @ (following + off) + matrix @ off
        shift = shift @ (following + off) + offset @ off + off_added
        matrix, offset = matrix @ following, offset @ following + added
    terms = sum(len(matrix_and_offset(operation)[0]) + 8 for operation in head)
    sizes = max(matrix.max(initial=0.0), offset.max(initial=0.0))
    return float(terms * ROUNDING * sizes + max(error.max(initial=0.0), shift.max(initial=0.0)))
