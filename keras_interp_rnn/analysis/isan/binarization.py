"""A network of zeros and ones, obtained by rounding a trained one in a binary basis.

Foerster et al., ICML 2017, section 4: in a binary basis the weights of a network that counts are almost 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._network import AffineReading, isan_like
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.isan.bases import Basis, TransformedNetwork, change_basis, check_basis


def rounding_error(*arrays: ArrayLike) -> float:
    """Largest distance of an entry from the nearer of 0 and 1; 0 if there are no entries."""
    return max(
        float(np.minimum(np.abs(a), np.abs(np.asarray(a) - 1)).max(initial=0.0)) for a in map(np.asarray, arrays)
    )


def binarized_network(network: Any, basis: Basis, *, readout: Any = None, dtype: str = "float64") -> TransformedNetwork:
    r"""A network of zeros and ones, obtained by rounding a trained one.

    The weights are the binary blocks of `change_basis`, with their biases and readout, each entry rounded to 0 or 1;
    the other coordinates are dropped. The initial state is the vector of `basis.points` from which the symbols lead
    closest to the states after the trained initial state. (The initial content of a delay line may never be read, so
    the trained initial state itself need not be near a binary one.)

    Args:
        network, readout: as `change_basis`.
        basis: a basis with binary coordinates, as from `sparse_basis`.
        dtype: of the new layer.

    Returns:
        `TransformedNetwork`: a built ISAN with `basis.num_binary` units, and its readout, all zeros and ones.

    Raises:
        ValueError: if the basis has no binary coordinates, or an entry is at least 0.5 away from both 0 and 1.

    Exactness: not guaranteed; test the network on new texts. `residual` is the largest change of an output after one
        symbol.
    Example: a network that delays one bit by a step.

        >>> from keras_interp_rnn import analysis, layers
        >>> layer = layers.ISAN(2, 2, recurrent_constraint=None)
        >>> layer.build((None, None))
        >>> matrix, bias = [[0, 1], [0, 0]], [[0, 0], [1, 0]]
        >>> layer.set_weights([np.array([matrix, matrix]), np.array(bias), np.zeros(2)])
        >>> states, readout = [[0, 0], [1, 0], [0, 1], [1, 1]], ([[0], [1]], [0])
        >>> basis = analysis.sparse_basis(layer, states, readout=readout)
        >>> analysis.binarized_network(layer, basis, readout=readout).readout.matrix
        array([[1.],
               [0.]])

    Reference: Foerster et al., ICML 2017, section 4.
    """
    check_basis(basis)
    if not basis.num_binary:
        raise ValueError(
            "`basis` must have binary coordinates. Received: a basis without any. Use label_basis or sparse_basis."
        )
    changed, head = change_basis(network, basis, readout=readout)
    kernel, bias, _ = AffineReading(changed).weights()
    m = basis.num_binary
    exact = (kernel[:, :m, :m], bias[:, :m], head.matrix[:m], head.offset)
    error = rounding_error(*exact)
    if error >= 0.5:
        raise ValueError(
            f"Every entry must be nearer than 0.5 to 0 or 1. Received: an entry {error:.2f} away. Train longer, or "
            "with more weight decay."
        )
    kernel, bias, matrix, offset = (np.clip(np.rint(array), 0, 1) for array in exact)
    original = AffineReading(network).weights()
    trained = basis.to.apply(original.initial_state @ original.kernel + original.bias)[:, :m]
    points = basis.points.astype(np.float64)
    distances = sum(np.abs(points @ k + b - w).max(axis=1) for k, b, w in zip(kernel, bias, trained, strict=True))
    start = points[int(np.argmin(np.round(distances, 3)))]
    layer = isan_like(network, kernel, bias, start, dtype)
    head = AffineMap(matrix, offset)
    gaps = _outputs_after_one(layer, head) - _outputs_after_one(network, readout)
    return TransformedNetwork(layer, head, float(np.abs(gaps).max(initial=0.0)), 1)


def _outputs_after_one(network: Any, readout: Any) -> NDArray[np.float64]:
    """(K, outputs), the outputs after each single symbol."""
    reading = AffineReading(network)
    kernel, bias, start = reading.weights()
    return np.asarray(reading.readout(readout).apply(start @ kernel + bias))
