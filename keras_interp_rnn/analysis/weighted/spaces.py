r"""Reachable and observable spaces of weighted automata, with the singular values at which they were cut.

The forward space of vectors v and matrices W_x is the span of all v W_{x_1} ... W_{x_k}: the smallest space that holds
v and is mapped into itself by every W_x. A basis is built by generations: the part of the images of the last generation
outside of the basis is decomposed, and directions with a singular value above the tolerance join the basis. The
backward space of columns R, the span of all W_{x_1} ... W_{x_k} R, is the forward space of the transposed matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Array


class Space(NamedTuple):
    """An orthonormal basis, and the singular values that determine its dimension, relative to the largest image.

    Attributes:
        basis: (dimension, n), rows.
        kept: the least singular value of a direction in the basis; 1 if there is no direction.
        dropped: the largest singular value of a direction that is left out; 0 if there is none.
    """

    basis: Array
    kept: float
    dropped: float


def forward_space(vectors: Array, matrices: Array, tolerance: float) -> Space:
    """The smallest space that holds the rows of `vectors` and is mapped into itself, to a relative tolerance."""
    # The space does not depend on the scale; powers of two round nothing, and squares of 1e200 would overflow.
    vectors, matrices = _scaled(vectors), _scaled(matrices)
    size = matrices.shape[1]
    basis, kept, dropped = np.zeros((0, size)), 1.0, 0.0
    images, scale = vectors, np.linalg.norm(vectors, axis=1).max(initial=0.0)
    of_matrices = max((np.linalg.norm(matrix, 2) for matrix in matrices), default=0.0)
    while len(images) and len(basis) < size and scale > 0:
        outside = images / scale
        for _ in range(2):  # a single projection leaves rounding of the parts inside
            outside = outside - outside @ basis.T @ basis
        if len(outside) > size:  # a square matrix with the same singular values and directions
            outside = np.linalg.qr(outside, mode="r")
        _, values, directions = np.linalg.svd(outside, full_matrices=False)
        new = values > tolerance
        kept = min(kept, values[new].min(initial=np.inf))
        dropped = max(dropped, values[~new].max(initial=0.0))
        # A direction of a small singular value has the rounding of the large ones, and need not be orthogonal.
        found = directions[new] - directions[new] @ basis.T @ basis
        found = np.linalg.qr(found.T)[0].T
        basis = np.concatenate([basis, found])
        images, scale = (found @ matrices).reshape(-1, size), of_matrices
    return Space(basis, float(kept), float(dropped))


def _scaled(array: Array) -> Array:
    largest = np.abs(array).max(initial=0.0)
    return np.ldexp(array, -int(np.frexp(largest)[1])) if largest > 0 else array


def backward_space(columns: Array, matrices: Array, tolerance: float) -> Space:
    """The smallest space that holds the columns (n, outputs) and is mapped into itself by products from the left."""
    return forward_space(columns.T, np.swapaxes(matrices, 1, 2), tolerance)
