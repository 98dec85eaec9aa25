"""Losses in the units of the papers."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_interp_rnn._types import Tensor

__all__ = ["BitsPerSymbol"]


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class BitsPerSymbol(keras.losses.Loss):
    r"""Cross-entropy of the next symbol in bits, $-\log_2 \mathrm{softmax}(l)_y$ (Foerster et al. 2017, eqs. 2, 3).

    For characters these are the bits per character (bpc) of the papers' tables. Gradients are $1/\ln 2 = 1.44$ times
    as large as with the cross-entropy in nats: scale a clipping norm accordingly.

    Call arguments:
        y_true: int (batch, time).
        y_pred: (batch, time, K), logits.

    Units: bits.
    Example:

    >>> round(float(BitsPerSymbol()(np.array([[0, 3]]), keras.ops.zeros((1, 2, 4)))), 6)  # a uniform guess among four
    2.0
    """

    def __init__(self, name: str = "bits_per_symbol", reduction: str = "sum_over_batch_size", **kwargs: object) -> None:
        super().__init__(name=name, reduction=reduction, **kwargs)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        nats = keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        return ops.divide(nats, math.log(2.0))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "reduction": self.reduction}
