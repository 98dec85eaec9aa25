"""The peephole LSTM of the published code: its forget gate reads the peephole of the input gate.

Wang, Lawrence and Niepert, 2022, eq. 23, give each gate a peephole of its own, as `layers.PeepholeLSTM` has it. The
code that they published multiplies the memory by p_i in both gates, so that p_f has no effect.

Registered with Keras under `examples.papers`, the package name of what only the papers' experiments use:
`import keras_interp_rnn` does not register it, so a model that has it needs this module imported before it is loaded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import layers


@keras.saving.register_keras_serializable(package="examples.papers")
class SharedPeepholeLSTMCell(layers.PeepholeLSTMCell):
    """`PeepholeLSTMCell` with p_i in the place of p_f."""

    def equations(self, read: Callable[[Any], Any]) -> Any:
        own = super().equations(read)
        shared, _, of_output = ops.unstack(own.peepholes)
        return dataclasses.replace(own, peepholes=ops.stack([shared, shared, of_output]))


@keras.saving.register_keras_serializable(package="examples.papers")
class SRSharedPeepholeLSTM(layers.SRPeepholeLSTM):
    """`SRPeepholeLSTM` over a `SharedPeepholeLSTMCell`."""

    inner = SharedPeepholeLSTMCell
