"""The states that `stateful=True` layers carry from batch to batch: read, written, kept as they are by analyses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras
import numpy as np

from keras_interp_rnn._backend import keras_quirks


@contextlib.contextmanager
def from_the_start(model: keras.Model) -> Iterator[None]:
    """What is read within is read from the initial states; afterwards all layers carry what they carried before."""
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
    """Copies of all carried states, layer by layer."""
    return [keras.ops.convert_to_numpy(v).copy() for layer in stateful_layers(model) for v in _states(layer)]


def write(model: keras.Model, values: list[np.ndarray]) -> None:
    """Puts back what `read` returned: the next batch begins with these states."""
    remaining = iter(values)
    for layer in stateful_layers(model):
        states = [next(remaining) for _ in _states(layer)]
        if hasattr(layer, "set_states"):
            layer.set_states(states)
        else:
            for variable, value in zip(_states(layer), states, strict=True):
                variable.assign(value)


def _states(layer: keras.layers.RNN) -> list[keras.Variable]:
    return keras.tree.flatten(layer.states)


def stateful_layers(model: keras.Model) -> list[keras.layers.RNN]:
    """Those of a model that have states to carry."""
    layers = keras_quirks.walk_layers(model)
    return [layer for layer in layers if isinstance(layer, keras.layers.RNN) and layer.stateful and layer.states]
