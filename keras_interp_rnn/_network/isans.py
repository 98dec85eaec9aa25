"""ISAN layers and models made of arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._alphabet import Alphabet, distinct_names
from keras_interp_rnn._network.affine_network import AffineReading
from keras_interp_rnn._types import Array

MAX_VALUES = {"float16": 65_504.0, "float32": float(np.finfo(np.float32).max), "bfloat16": 3.3895e38}
"""Largest number of each dtype."""


def isan_like(network: object, kernel: Array, bias: Array, initial_state: Array, dtype: str) -> Any:
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
    kernel: Array,
    bias: Array,
    initial_state: Array,
    readout: tuple[Array, Array],
    names: Sequence[str] | None = None,
    *,
    dtype: str = "float64",
    return_sequences: bool = False,
) -> keras.Model:
    """A model of an ISAN with these weights, whose last state, or every state, a Dense layer reads.

    Args:
        readout: the matrix and the bias of the Dense layer. names: of the symbols.

    Raises:
        ValueError: if a weight is too large for the dtype.
    """
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (kernel, bias, initial_state, *readout))
    policy = keras.dtype_policies.get(dtype)
    bound = min(MAX_VALUES.get(kind, np.inf) for kind in (policy.compute_dtype, policy.variable_dtype))
    if largest > bound:
        raise ValueError(
            f"Weights of dtype {dtype} must be at most {bound:.3g}. Received: {largest:.3g}. Pass "
            'dtype="float64", or scale the automaton.'
        )
    named = [] if names is None else [Alphabet(distinct_names(names)).layer()]
    wide = _backend.double_precision() if dtype == "float64" else contextlib.nullcontext()
    with wide:
        layer = isan_of(kernel, bias, initial_state, dtype=dtype, return_sequences=return_sequences)
        head = keras.layers.Dense(readout[1].size, dtype=dtype)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), *named, layer, head])
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
