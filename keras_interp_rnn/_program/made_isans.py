"""ISAN layers and models made of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._program.affine_reading import AffineReading
from keras_interp_rnn._types import Array


def isan_like(network: Any, kernel: Array, bias: Array, initial_state: Array, dtype: str) -> Any:
    """A built ISAN layer with the arguments of the one in `network`, and these weights.

    Raises:
        ValueError: if the network has no `layers.ISAN`.
    """
    template = AffineReading(network).layer
    if type(template).__name__ != "ISAN":
        raise ValueError(
            f"`network` must have a `layers.ISAN`. Received: {template!r}. Pass an ISAN layer, and its readout."
        )
    config = {**template.get_config(), "units": len(initial_state), "dtype": dtype, "stateful": False}
    return _built(type(template).from_config(config), kernel, bias, initial_state)


def isan_of(
    kernel: Array, bias: Array, initial_state: Array, *, dtype: str, return_sequences: bool = False
) -> keras.Layer:
    """A built `layers.ISAN` with these weights; of no unit, one with a unit that stays 0."""
    if not len(initial_state):
        kernel, bias, initial_state = np.zeros((len(kernel), 1, 1)), np.zeros((len(kernel), 1)), np.zeros(1)
    # By its registered name: this package does not import `layers`.
    make = keras.saving.get_registered_object("keras_interp_rnn>ISAN")
    layer = make(
        len(initial_state), len(kernel), recurrent_constraint=None, return_sequences=return_sequences, dtype=dtype
    )
    return _built(layer, kernel, bias, initial_state)


def isan_model(
    kernel: Array, bias: Array, initial_state: Array, readout: tuple[Array, Array], names: Sequence[str]
) -> keras.Model:
    """A model in float64 of an ISAN with these weights, whose last state a Dense layer reads.

    Args:
        readout: the matrix and the bias of the Dense layer. names: of the symbols.
    """
    registered = keras.saving.get_registered_object
    alphabet = registered("keras_interp_rnn>AlphabetLayer")(registered("keras_interp_rnn>Alphabet")(list(names)))
    with _backend.double_precision():
        layer = isan_of(kernel, bias, initial_state, dtype="float64")
        head = keras.layers.Dense(readout[1].size, dtype="float64")
        model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet, layer, head])
        head.set_weights([*readout])
    return model


def _built(layer: Any, kernel: Array, bias: Array, initial_state: Array) -> Any:
    layer.build((None, None))
    for variable, value in zip(
        (layer.cell.recurrent_kernel, layer.cell.bias, layer.cell.initial_state),
        (kernel, bias, initial_state),
        strict=True,
    ):
        variable.assign(value)
    return layer
