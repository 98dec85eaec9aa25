r"""A linear recurrence over symbols, or over given vectors, as an ISAN: one affine map for each.

Where a layer puts out something else than its state, $y_t = s_t M_x + m_x$ with a map that the input chooses, the
outputs join the state, $[s_t, y_t]$, so that what reads the layer is affine in the state again:

$$[s_t, y_t] = [s_{t-1}, y_{t-1}] \begin{pmatrix} W_x & W_x M_x \\ 0 & 0 \end{pmatrix} + [b_x, b_x M_x + m_x].$$
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY

MAX_BYTES = 2**32
"""The most that all matrices may take together."""


def affine_maps(cell: Any, vectors: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
    """Kernel (K, n, n) and bias (K, n) of the steps that read these vectors (K, features).

    n counts the state's numbers, and after them those of the output where that is not the state. They are computed in
    float64, or another dtype of NumPy.

    Raises:
        ValueError: if the output is not affine in the state; if the matrices need more than 4 GiB.
    """
    equations = _equations(cell, dtype)
    vectors = vectors.astype(dtype)
    if getattr(equations, "scale", None) is not None:
        raise ValueError(
            f"Outputs must be affine in the state to split exactly. Received: {cell.name}, which divides each head's "
            "output by its root mean square. Pass normalize=False to the layer, or use analysis.attribution."
        )
    size = int(cell.state_size)
    count, all_units = len(vectors), size + (0 if equations.outputs_state else cell.units)
    if 8 * count * all_units**2 > MAX_BYTES:
        raise ValueError(
            f"The matrices of all vectors must fit into {MAX_BYTES / 2**30:g} GiB. Received: {count} vectors and "
            f"{all_units} units, which need {8 * count * all_units**2 / 2**30:.1f} GiB. Pass a shorter text."
        )
    drive = equations.drive(NUMPY, vectors)
    nothing = np.zeros((count, size))
    [bias] = equations.step(NUMPY, (nothing,), drive).states
    back = equations.linearization(NUMPY, (nothing,), drive).before(np.broadcast_to(np.eye(size), (count, size, size)))
    kernel = np.swapaxes(back, 1, 2)
    if equations.outputs_state:
        return np.ascontiguousarray(kernel), bias
    offset = equations.output(NUMPY, (nothing,), drive)
    # One unit of the state after the other, for all vectors.
    columns = [equations.output(NUMPY, (nothing + unit,), drive) - offset for unit in np.eye(size)]
    read = np.stack(columns, axis=1)
    joint = np.zeros((count, all_units, all_units), dtype)
    joint[:, :size, :size], joint[:, :size, size:] = kernel, kernel @ read
    following = (bias[:, None, :] @ read)[:, 0] + offset
    return joint, np.concatenate([bias, following], axis=1)


def feature_addends(cell: Any, vectors: Array) -> Array:
    """(K, features, n): what each feature of each vector adds to the state, given the gates; n as in `affine_maps`.

    Raises:
        ValueError: if what the cell adds to its state is not linear in the vector, given the gates.
    """
    equations = _equations(cell)
    linear = equations.feature_drives(NUMPY, vectors) if hasattr(equations, "feature_drives") else None
    if linear is None:
        raise ValueError(
            "What a step adds to the state must be linear in the vector, given the gates, to split among features. "
            f"Received: {cell.name}, a {type(cell).__name__} of another form. Leave by_feature=True out."
        )
    count, features = vectors.shape
    drive = [np.repeat(entry, features, axis=0) for entry in equations.drive(NUMPY, vectors)]
    for i, of_features in linear.items():
        drive[i] = of_features.reshape(count * features, -1)
    nothing = np.zeros((count * features, int(cell.state_size)))
    [added] = equations.step(NUMPY, (nothing,), tuple(drive)).states
    parts = [added] if equations.outputs_state else [added, equations.output(NUMPY, (added,), tuple(drive))]
    return np.concatenate(parts, axis=1).reshape(count, features, -1)


def _equations(cell: Any, dtype: Any = np.float64) -> Any:
    equations = equations_of(cell, lambda weight: as_float64(weight).astype(dtype))
    if equations is None:
        raise ValueError(
            f"A linear recurrence must compute its steps as its class does. Received: {type(cell).__name__}, which "
            "computes something of its own. Use analysis.attribution."
        )
    return equations
