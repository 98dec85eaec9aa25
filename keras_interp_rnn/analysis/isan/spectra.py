"""Spectra of the states that a network reaches, and of the matrices of an input-switched affine network.

Foerster et al., ICML 2017, section 3.1 and figure 1; version 1 of the paper, section 4.4, for the singular values.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._network import AffineReading
from keras_interp_rnn._results import Table, Unpackable, counted, numbers, quoted, symbol_name, texts
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.statistics import ROUNDING


@dataclass(frozen=True, eq=False, repr=False)
class TransitionSpectra(Unpackable):
    r"""Singular values of the matrices of all symbols, with $W_x = U \Sigma V^\top$ in row convention.

    Attributes:
        values: (K, n), in descending order.
        read: (K, n), the direction of the state that is stretched most: the first left singular vector (the first right
            one in the paper, whose states are columns).
        written: (K, n), the direction to which it is mapped.
        alignment: (K, outputs), |cosine| between `read` and the direction that each output reads, a column of R.
        radius: (K,), largest |eigenvalue|.
        alphabet: names of the symbols that a model carries; None for their ids.

    Example: see `transition_spectra`.
    """

    values: Array
    read: Array
    written: Array
    alignment: Array
    radius: Array
    alphabet: Sequence[Hashable] | None = None

    def parts(self) -> tuple[Array, ...]:
        """The arrays, into which it unpacks."""
        return self.values, self.read, self.written, self.alignment, self.radius

    def table(self) -> Table:
        """A row for each symbol, in descending order of the spectral radius."""
        order = np.argsort(-self.radius, kind="stable")
        names = [symbol_name(self.alphabet, int(k)) for k in order]
        first = f"{quoted(names[0])} has the largest radius, {self.radius[order[0]]:.4g}: " if names else ""
        grow = int((self.radius > 1).sum())
        return Table(
            f"{first}states grow under {counted(grow, 'symbol')} of {len(names):,} that is repeated, and shrink under "
            "the others",
            (
                texts("symbol", names),
                numbers("radius", self.radius[order], ".4g"),
                numbers("largest singular value", self.values[order, 0], ".4g"),
            ),
        )


def state_spectrum(states: ArrayLike) -> Array:
    """The fraction of the variance of states that each principal direction explains (figure 1).

    Args:
        states: (..., n), at least two of them.

    Returns:
        (n,), in descending order; they sum to 1.

    Raises:
        ValueError: if there are fewer than two states, or they do not vary.

    Example:

        >>> from keras_interp_rnn import analysis
        >>> analysis.state_spectrum([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
        array([1., 0.])

    Reference: Foerster et al., ICML 2017, figure 1.
    """
    array = as_array("states", states).astype(np.float64)
    rows = array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array[:0]
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"`states` must be (samples, n), at least two states. Received: shape {array.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("`states` must be finite. Received: NaN or infinity. Leave these states out.")
    variances = np.linalg.eigvalsh(np.cov(rows.T).reshape(rows.shape[1], -1))[::-1].clip(min=0)
    if not variances.sum() > (ROUNDING * np.abs(rows).max()) ** 2:
        raise ValueError(f"`states` must vary. Received: {len(rows)} times the same state.")
    return np.asarray(variances / variances.sum())


def transition_spectra(network: object, readout: object = None) -> TransitionSpectra:
    """Singular values of every symbol's matrix, and how well each output is aligned with the direction stretched most.

    Args:
        network, readout: as `contributions`.

    Returns:
        `TransitionSpectra`.

    Raises:
        ValueError: as `contributions`.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 4), keras.layers.Dense(4)])
        >>> analysis.transition_spectra(model).values.shape
        (4, 5)

    Reference: Foerster et al., 2016, version 1, section 4.4.
    """
    reading = AffineReading(network)
    kernel, head = reading.weights().kernel, reading.readout(readout)
    left, values, right = np.linalg.svd(kernel)
    read, written = left[:, :, 0], right[:, 0, :]
    columns = head.matrix / np.maximum(np.linalg.norm(head.matrix, axis=0), 1e-300)
    radius = np.abs(np.linalg.eigvals(kernel)).max(axis=1)
    return TransitionSpectra(values, read, written, np.abs(read @ columns), radius, reading.names)
