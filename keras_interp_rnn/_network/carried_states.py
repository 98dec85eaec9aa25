"""The states that `stateful=True` layers carry from batch to batch: read, written, kept as they are by analyses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._backend import keras_quirks


@contextlib.contextmanager
def from_the_start(model: keras.Model) -> Iterator[None]:
    """Within, all is read from the initial states; afterwards all layers carry what they carried before."""
    carried = read(model)
    # These begin with their learned initial state, whatever it will be then.
    at_start = [layer for layer in stateful_layers(model) if getattr(layer, "at_start", False)]
    for layer in stateful_layers(model):
        layer.reset_state()
    try:
        yield
    finally:
        write(model, carried)
        for layer in at_start:
            layer.reset_state()


def read(model: keras.Model) -> list[np.ndarray]:
    """Copies of all carried states, layer by layer, and of each state those of all replicas."""
    return [keras.ops.convert_to_numpy(v).copy() for layer in stateful_layers(model) for v in _states(layer)]


def write(model: keras.Model, values: list[np.ndarray]) -> None:
    """Puts back what `read` returned: the next batch begins with these states.

    Raises:
        ValueError: if they are those of another number of layers or replicas.
    """
    layers = stateful_layers(model)
    copies = [copy for layer in layers for copy in _states(layer)]
    if len(copies) != len(values):
        raise ValueError(
            "Carried states must be put back into as many layers, on as many replicas. Received: "
            f"{len(values)} states for {len(copies)} places. Use as many devices as before, or call `reset_state` of "
            "the layers."
        )
    for layer in layers:
        if hasattr(layer, "set_states"):  # the layer notes that it is not at its start
            layer.set_states([variable.value for variable in layer.states])
    for copy, value in zip(copies, values, strict=True):
        copy.assign(value)


def _states(layer: keras.layers.RNN) -> list[Any]:
    return [copy for variable in keras.tree.flatten(layer.states) for copy in _backend.copies(variable)]


def stateful_layers(model: keras.Model) -> list[keras.layers.RNN]:
    """Those of a model that have states to carry."""
    layers = keras_quirks.walk_layers(model)
    return [layer for layer in layers if isinstance(layer, keras.layers.RNN) and layer.stateful and layer.states]
