"""One step of a network's cell as a function of its state, under one input, and its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
from keras import tree

from keras_interp_rnn._arrays import check_finite
from keras_interp_rnn._network.recurrent import only_recurrent_part
from keras_interp_rnn._program.along import CellAlong, States, draws_noise, innermost, read_by_equations
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY


class CellMap(NamedTuple):
    """A step of a cell under one input, of whole states (rows, s).

    Attributes:
        step: the states after it. jacobian: (rows, s, s). size: s.
        is_closed: whether both are by the cell's equations, in float64; else by the cell's own code, in its dtype.
    """

    step: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    size: int
    is_closed: bool


def cell_map(network: object, held: Array) -> CellMap:
    """The step of a network's cell under one input (features,).

    Raises:
        ValueError: if the network is no recurrent layer over vectors, or has other features.
    """
    layer = network if not isinstance(network, keras.Model) else only_recurrent_part(network)[1]
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(
            f"`network` must be a recurrent layer, or a model with one. Received: {layer!r}. Pass an RNN of the cell."
        )
    if not layer.cell.built:
        raise ValueError(f"The layer must have its weights. Received: {layer.name}. Call it on sequences once.")
    check_finite(layer)
    if draws_noise(layer.cell):
        raise ValueError(
            f"The cell must compute the same state from the same state. Received: {layer.name}, which draws noise. "
            "Rebuild it with another transition, and give it the same weights."
        )
    features = getattr(innermost(layer.cell), "kernel", None)
    if features is not None and tuple(features.shape)[:1] != held.shape and not hasattr(layer.cell, "encode"):
        raise ValueError(
            f"`inputs` must have the {features.shape[0]} features that the cell reads. Received: inputs of shape "
            f"{held.shape}. Pass one vector."
        )
    recurrent = CellAlong(layer)
    if not recurrent.is_closed:
        recurrent.equations = None  # steps and derivatives are those of one code
    sizes = [int(size) for size in tree.flatten(layer.cell.state_size)]
    inputs = read_by_equations(layer.cell, held[None, None])
    drive = (inputs,) if recurrent.equations is None else recurrent.equations.drive(NUMPY, inputs)
    ends = np.cumsum(sizes)[:-1].tolist()

    def split(state: Array) -> tuple[States, tuple[Array, ...]]:
        return tuple(np.split(state, ends, axis=-1)), tuple(np.repeat(x[:, 0], len(state), axis=0) for x in drive)

    def step(state: Array) -> Array:
        return np.concatenate(recurrent._step(recurrent._by, *split(state))[1:], axis=-1)

    def jacobian(state: Array) -> Array:
        read, product = np.repeat(inputs[:, 0], len(state), axis=0), np.tile(np.eye(sum(sizes)), (len(state), 1, 1))
        return np.asarray(recurrent._linear(recurrent._by, *split(state), read, False).before(product))

    return CellMap(step, jacobian, sum(sizes), recurrent.equations is not None)
