"""The biases of an input-switched affine network, and their parts in two subspaces of its states.

Foerster et al., ICML 2017, section 3.5. The readout R (n, outputs) splits the space of states into the span of its
columns, the readout subspace, and its orthogonal complement, the computational subspace, which no prediction reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._network import AffineReading
from keras_interp_rnn._results import Unpackable
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.bases import readout_basis
from keras_interp_rnn.analysis.statistics import ROUNDING


@dataclass(frozen=True, eq=False, repr=False)
class BiasParts(Unpackable):
    """A statistic of the biases of all symbols and of their parts.

    Attributes:
        whole: of the biases. readout: of their parts in the subspace that the readout reads.
        computational: of their parts in its orthogonal complement.

    Example: see `bias_norms`.
    """

    whole: Array
    readout: Array
    computational: Array


def bias_parts(network: object, readout: object = None, *, origin: ArrayLike | str | None = None) -> BiasParts:
    """The biases b_x (K, n), and their parts in the readout and in the computational subspace, which sum to them.

    A part that is small enough to be rounding of the whole is 0 (Foerster et al., ICML 2017, section 3.5). Takes and
    raises what `contributions` does.
    """
    (_, bias, _), _ = AffineReading(network).centred(readout, origin)
    basis = readout_basis(network, readout, rank_tolerance=ROUNDING)
    directions = basis.to.matrix[:, : basis.num_readout]
    seen = bias @ directions @ directions.T
    lengths = np.linalg.norm(bias, axis=1, keepdims=True)
    parts = (
        np.where(np.linalg.norm(part, axis=1, keepdims=True) > ROUNDING * lengths, part, 0.0)
        for part in (seen, bias - seen)
    )
    return BiasParts(bias, *parts)


def bias_norms(network: object, readout: object = None, *, origin: ArrayLike | str | None = None) -> BiasParts:
    """Euclidean norms of the biases and of their two parts (figure 6).

    Args:
        network, readout, origin: as `contributions`.

    Returns:
        `BiasParts`, each (K,).

    Raises:
        ValueError: as `contributions`.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 4), keras.layers.Dense(4)])
        >>> analysis.bias_norms(model).whole.shape
        (4,)

    Reference: Foerster et al., ICML 2017, figure 6.
    """
    return BiasParts(*(np.linalg.norm(part, axis=1) for part in bias_parts(network, readout, origin=origin)))
