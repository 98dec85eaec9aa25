r"""Affine maps of row vectors, $h \mapsto h A + b$, and their composition.

The maps of an input-switched affine network compose to a map of the same kind: a word is one matrix and one vector
(Foerster et al., ICML 2017, section 5.1). Only Python's own operators are used, so the parts may be NumPy arrays or the
tensors of any Keras backend.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._checks import invalid
from keras_interp_rnn._results import short_repr
from keras_interp_rnn._types import Tensor


@short_repr
class AffineMap(NamedTuple):
    r"""The map $h \mapsto h A + b$ on row vectors.

    Args:
        matrix: $A$, shape (..., n, m).
        offset: $b$, shape (..., m).

    Example:

    >>> from keras_interp_rnn import analysis
    >>> double, shift = analysis.AffineMap(2 * np.eye(2), np.zeros(2)), analysis.AffineMap(np.eye(2), np.ones(2))
    >>> double.then(shift).apply(np.array([1.0, 3.0]))
    array([3., 7.])
    """

    matrix: Tensor
    offset: Tensor

    def apply(self, state: Tensor) -> Tensor:
        """$h A + b$ for rows `state`, shape (..., n).

        Raises:
            ValueError: if `state` is not an array or a tensor.
        """
        if getattr(state, "shape", ()) == ():
            raise invalid("state", "an array or tensor (..., n)", state)
        # As (..., 1, n), since TensorFlow does not multiply a vector by a matrix.
        return (state[..., None, :] @ self.matrix)[..., 0, :] + self.offset

    def then(self, following: AffineMap) -> AffineMap:
        """This map first, `following` second: $(A, b)$ then $(A', b')$ is $(A A', b A' + b')$."""
        return AffineMap(self.matrix @ following.matrix, following.apply(self.offset))

    @classmethod
    def identity(cls, units: int) -> AffineMap:
        """The identity on rows of length `units`, in float64."""
        return cls(np.eye(units), np.zeros(units))

    @classmethod
    def compose(cls, maps: Iterable[AffineMap], units: int) -> AffineMap:
        """The composition of maps in reading order; the identity if there are none."""
        composed = cls.identity(units)
        for following in maps:
            composed = composed.then(following)
        return composed
