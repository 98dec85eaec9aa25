"""How near the weights of a network that counts are to zeros and ones (Foerster et al., ICML 2017, section 4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


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
