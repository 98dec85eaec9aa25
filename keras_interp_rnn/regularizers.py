r"""Penalties that pull the switches of small networks towards simple ones.

The penalties of Keras pull every weight to 0, and a decay of 0 forgets everything at once. The penalties here pull a
switch towards leaving the state unchanged, or towards the switches of other subjects.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_interp_rnn._checks import integer, invalid, non_negative
from keras_interp_rnn._types import Tensor

__all__ = ["FromIdentity", "FromMean"]


class _Deviation(keras.regularizers.Regularizer):
    """The sum of absolute values and squares of how far weights are from where they are pulled."""

    def __init__(self, l1: float, l2: float) -> None:
        self.l1, self.l2 = non_negative("l1", l1), non_negative("l2", l2)

    def _deviation(self, w: Tensor) -> Tensor:
        """How far each weight is off."""
        raise NotImplementedError

    def __call__(self, w: Tensor) -> Tensor:
        apart = self._deviation(ops.convert_to_tensor(w))
        return self.l1 * ops.sum(ops.abs(apart)) + self.l2 * ops.sum(ops.square(apart))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"l1": self.l1, "l2": self.l2}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FromIdentity(_Deviation):
    r"""Makes switches slow or sparse: $\sum_a \lambda_1 |W_a - I|_1 + \lambda_2 \lVert W_a - I \rVert_F^2$.

    Squares make a network slow: a unit forgets only what it must. Absolute values make its switches sparse: most
    symbols leave most units unchanged. `bias_regularizer="l1"` does the same for the biases that symbols add.

    Args:
        l1, l2: float >= 0, $\lambda_1$ and $\lambda_2$.

    Call arguments:
        w: (K, n, n), the kernel of an `ISAN`; or (K, n / m, m, m), the kernel of a `DiagonalISAN`.

    Returns: a scalar.
    Raises: ValueError, if a factor is negative, or the matrices are not square.
    Example:

    >>> float(FromIdentity(l1=1.0)(np.array([[[[0.5]], [[1.0]]]])))
    0.5

    Reference: the prior of Ji-An, Benna and Mattar, Nature 644, 2025, is |W|_1 on the step h' - h.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        super().__init__(l1, l2)

    def _deviation(self, w: Tensor) -> Tensor:
        if len(w.shape) < 2 or w.shape[-1] != w.shape[-2]:
            raise invalid("w", "square matrices, such as the kernel of an ISAN", tuple(w.shape))
        return w - ops.eye(w.shape[-1], dtype=w.dtype)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FromMean(_Deviation):
    r"""Pulls the weights of each subject towards the mean over the subjects.

    With subjects $s$, each with its own switch over K symbols (the layer reads the symbol $K s + a$),

    $$\lambda_2 \sum_{s, a} \lVert W_{s, a} - \bar W_a \rVert^2
      = \min_V \lambda_2 \sum_{s, a} \lVert W_{s, a} - V_a \rVert^2.$$

    The weights of a subject are thus a shared part V plus a deviation with a Gaussian prior.

    Args:
        num_groups: int > 0, the number of subjects.
        l1, l2: float >= 0, factors of absolute values and of squares.

    Call arguments:
        w: (num_groups K, ...), one subject after the other.

    Returns: a scalar.
    Raises: ValueError, if an argument is out of range, or the first axis is not a multiple of `num_groups`.
    Example:

    >>> float(FromMean(2, l2=1.0)(np.array([1.0, 5.0, 3.0, 5.0])))  # two subjects, two symbols
    2.0
    """

    def __init__(self, num_groups: int, l1: float = 0.0, l2: float = 0.0) -> None:
        super().__init__(l1, l2)
        self.num_groups = integer("num_groups", num_groups)

    def _deviation(self, w: Tensor) -> Tensor:
        if w.shape[0] % self.num_groups:
            raise invalid("num_groups", f"a divisor of {w.shape[0]}, the rows of the weight", self.num_groups)
        groups = ops.reshape(w, (self.num_groups, -1, *w.shape[1:]))
        # The mean of keras.ops goes through float32 on JAX and torch (Keras 3.15), whatever it is given.
        return groups - ops.sum(groups, axis=0, keepdims=True) / self.num_groups

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"num_groups": self.num_groups, **super().get_config()}
