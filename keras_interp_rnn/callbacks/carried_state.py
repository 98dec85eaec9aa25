"""The state that `stateful=True` layers carry from batch to batch, and where it is reset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_interp_rnn._backend import keras_quirks


class CarriedState(keras.callbacks.Callback):
    """Resets the carried states before each epoch and each validation; training continues from its own states.

    Without it a `stateful=True` layer starts an epoch from the state at the end of the text, so its states may grow
    through all epochs to values that no fresh text reaches; it starts the validation text from the state of the
    training text, and continues training from that of the validation text.

    Args:
        across_epochs: bool. True carries the states from one epoch to the next, for data where each epoch continues
            the text of the one before, such as `Windows(text, ..., num_windows=epochs * steps)` with
            `steps_per_epoch=steps`.

    Example:

        model.fit(windows, validation_data=held_out, shuffle=False, callbacks=[CarriedState()])
    """

    def __init__(self, across_epochs: bool = False) -> None:
        super().__init__()
        self.across_epochs = across_epochs

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if not self.across_epochs:
            for layer in _stateful_layers(self.model):
                layer.reset_state()

    def on_test_begin(self, logs: Any = None) -> None:
        self._kept = contextlib.ExitStack()
        self._kept.enter_context(from_the_start(self.model))

    def on_test_end(self, logs: Any = None) -> None:
        self._kept.close()


@contextlib.contextmanager
def from_the_start(model: keras.Model) -> Iterator[None]:
    """What is read within is read from the initial states; afterwards all layers carry what they carried before."""
    carried = read(model)
    # These begin with their learned initial state, whatever it will be then.
    at_start = [layer for layer in _stateful_layers(model) if getattr(layer, "at_start", False)]
    for layer in _stateful_layers(model):
        layer.reset_state()
    try:
        yield
    finally:
        write(model, carried)
        for layer in at_start:
            layer.reset_state()


def read(model: keras.Model) -> list[np.ndarray]:
    """Copies of all carried states, layer by layer."""
    return [keras.ops.convert_to_numpy(v).copy() for layer in _stateful_layers(model) for v in _states(layer)]


def write(model: keras.Model, values: list[np.ndarray]) -> None:
    """Puts back what `read` returned: the next batch begins with these states."""
    remaining = iter(values)
    for layer in _stateful_layers(model):
        states = [next(remaining) for _ in _states(layer)]
        if hasattr(layer, "set_states"):
            layer.set_states(states)
        else:
            for variable, value in zip(_states(layer), states, strict=True):
                variable.assign(value)


def _states(layer: keras.layers.RNN) -> list[keras.Variable]:
    return keras.tree.flatten(layer.states)


def _stateful_layers(model: keras.Model) -> list[keras.layers.RNN]:
    layers = keras_quirks.walk_layers(model)
    return [layer for layer in layers if isinstance(layer, keras.layers.RNN) and layer.stateful and layer.states]
