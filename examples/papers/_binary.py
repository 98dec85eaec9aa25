"""How near the weights of a network that counts are to zeros and ones (Foerster et al., ICML 2017, section 4)."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import analysis, layers

Array = NDArray[np.float64]


def label_basis(network: Any, states: Array, labels: Array, *, num_readout: int, readout: Any = None) -> Any:
    """The basis in which the coordinates of states are their binary labels, by linear regression.

    They are the outputs of a network whose readout is the regression, and every later output is a sum of them.

    Args:
        network, readout: as `analysis.sparse_basis`, whose basis has the same form.
        states: (..., n). labels: (..., binary), 0 or 1, affine functions of the states; the first `num_readout` are
            those of the readout.
    """
    rows = np.append(states.reshape(-1, states.shape[-1]), np.ones((states[..., 0].size, 1)), axis=1)
    vectors = np.linalg.lstsq(rows, labels.reshape(len(rows), -1), rcond=1e-6)[0]
    layer = getattr(network, "layers", [network])[0]
    basis = analysis.sparse_basis(layer, states, readout=(vectors[:-1], vectors[-1]), tolerance=0.49)
    return dataclasses.replace(basis, num_readout=num_readout)


def binarized_network(network: Any, basis: Any, *, readout: Any = None) -> tuple[layers.ISAN, analysis.AffineMap]:
    """A network of zeros and ones and its readout: a trained one in a binary basis, rounded; of no other coordinates.

    The initial state is the vector of `basis.points` from which the symbols lead closest to the states after the
    trained initial state. (The initial content of a delay line may never be read, so the trained initial state itself
    need not be near a binary one.)

    Raises:
        ValueError: if an entry is at least 0.5 away from both 0 and 1.
    """
    changed, head = analysis.change_basis(network, basis, readout=readout)
    (kernel, bias, trained), m = changed.get_weights(), basis.num_binary
    after = (trained @ kernel + bias)[:, :m]
    exact = (kernel[:, :m, :m], bias[:, :m], head.matrix[:m], head.offset)
    if (error := rounding_error(*exact)) >= 0.5:
        raise ValueError(f"Every entry must be nearer than 0.5 to 0 or 1. Received: {error:.2f}. Train longer.")
    kernel, bias, matrix, offset = (np.clip(np.rint(array), 0, 1) for array in exact)
    points = basis.points.astype(np.float64)
    distances = sum(np.abs(points @ k + b - state).max(axis=1) for k, b, state in zip(kernel, bias, after, strict=True))
    layer = layers.ISAN(m, len(bias), recurrent_constraint=None, return_sequences=True, dtype="float64")
    layer.build((None, None))
    layer.set_weights([kernel, bias, points[int(np.argmin(np.round(distances, 3)))]])
    return layer, analysis.AffineMap(matrix, offset)


class BasisBlocks(NamedTuple):
    r"""The blocks of eq. 7, by the paper's names, states as rows.

    Attributes:
        rr: (K, r, r), from the readout to itself.
        rc: (K, c, r), from the computation to the readout: the paper's $W^{rc}_x$, transposed.
        cr: (K, r, c), from the readout to the computation.
        cc: (K, c, c), from the computation to itself.
        b_r: (K, r), biases of the readout.
        b_c: (K, c), biases of the computation.
    """

    rr: Array
    rc: Array
    cr: Array
    cc: Array
    b_r: Array
    b_c: Array


def named_blocks(layer: Any, basis: Any) -> BasisBlocks:
    """The blocks of an ISAN in a basis, without what leads to and from the coordinates that are not binary.

    Args:
        layer: what `analysis.change_basis` returned for the basis.
        basis: its first `num_readout` coordinates are the readout's. The computation is the other binary coordinates,
            or all others where there are no binary ones.
    """
    kernel, bias, *_ = layer.get_weights()
    r, m = basis.num_readout, basis.num_binary or kernel.shape[1]
    return BasisBlocks(
        kernel[:, :r, :r], kernel[:, r:m, :r], kernel[:, :r, r:m], kernel[:, r:m, r:m], bias[:, :r], bias[:, r:m]
    )


def rounding_error(*arrays: ArrayLike) -> float:
    """Largest distance of any entry from the nearer of 0 and 1."""
    entries = np.concatenate([np.ravel(array) for array in arrays])
    return float(np.minimum(np.abs(entries), np.abs(entries - 1)).max(initial=0.0))


def fraction_near_zero(*arrays: ArrayLike, tolerance: float = 0.05) -> float:
    """The fraction of entries whose absolute value is at most `tolerance`."""
    entries = np.concatenate([np.ravel(array) for array in arrays])
    return float(np.mean(np.abs(entries) <= tolerance))
