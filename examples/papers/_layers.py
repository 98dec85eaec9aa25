"""An activation and a layer that only the papers' experiments use.

They are registered with Keras under the package name `examples.papers`, when this module is imported: a model that has
one of them is loaded after that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import layers


@keras.saving.register_keras_serializable(package="examples.papers")  # type: ignore[untyped-decorator]
def hard_sigmoid(x: Any) -> Any:
    """Theano's, 0.2 x + 0.5 between 0 and 1; that of Keras 3 has the slope 1/6."""
    return ops.clip(0.2 * x + 0.5, 0.0, 1.0)


@keras.saving.register_keras_serializable(package="examples.papers")
class SharedPeepholeLSTMCell(layers.PeepholeLSTMCell):
    """The cell of the code that Wang, Lawrence and Niepert, 2022, published: p_i takes the place of p_f in eq. 23."""

    def equations(self, read: Callable[[Any], Any]) -> Any:
        own = super().equations(read)
        shared, _, of_output = ops.unstack(own.peepholes)
        return dataclasses.replace(own, peepholes=ops.stack([shared, shared, of_output]))


@keras.saving.register_keras_serializable(package="examples.papers")
class SRSharedPeepholeLSTM(layers.SRPeepholeLSTM):
    """`SRPeepholeLSTM` over a `SharedPeepholeLSTMCell`."""

    inner = SharedPeepholeLSTMCell
