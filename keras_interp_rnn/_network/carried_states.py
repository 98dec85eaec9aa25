"""The states that `stateful=True` layers carry from batch to batch: read, written, kept as they are by analyses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._network import copies
from keras_interp_rnn._program.graph import inputs_of, symbolic_inputs


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


def copy_without(model: keras.Model) -> copies.Copy:
    """A copy of a Sequential or functional model that carries no states, and reads texts of any number and length.

    Of any length if its layers can. It has the weights that the model has now, and `copy_weights` gives it later ones.
    Another model is returned as it is. Random numbers go on as if no copy had been made.

    Raises:
        ValueError: if a copy computes something else, or a layer cannot be made again.
    """
    if not inputs_of(model):
        return copies.Copy(model, [])

    def copied(first: int) -> copies.Copy:
        shapes = [(*[None] * first, *x.shape[1 + first :]) for x in keras.tree.flatten(model.inputs)]
        like = zip(shapes, keras.tree.flatten(model.inputs), strict=True)
        inputs = [keras.Input(shape, dtype=x.dtype, name=x.name) for shape, x in like]
        given = keras.tree.pack_sequence_as(symbolic_inputs(model), inputs)
        copy = copies.copy_of(model, _stateless, given)
        copy_weights(model, copy)
        if first and any(x.shape[1:2] not in ((), (None,)) for x in model.inputs):
            copy.model(copies.some_inputs(model, more=1), training=False)
        return copy

    with copies.same_draws(model):
        try:
            copy = copied(1)
        except Exception:  # a layer or a model in it needs the length; if not, the second attempt raises
            copy = copied(0)
        given = copies.some_inputs(model)
        with from_the_start(model):
            expected = copies.outputs_of(model, given)
        copies.check_computes(model, copies.outputs_of(copy.model, given), expected)
    return copy


_OF_RECURRENT = {"return_sequences", "return_state", "go_backwards", "stateful", "unroll"}
"""Keys that the configuration of each recurrent layer has."""


def _stateless(config: object) -> Any:
    """The configuration of a layer, and of those in it, without `stateful`, and whose initializers draw nothing."""
    if isinstance(config, list):
        return [_stateless(part) for part in config]
    if not isinstance(config, dict):
        return config
    changed = {key: _stateless(part) for key, part in config.items()}
    if config.keys() >= _OF_RECURRENT:
        changed["stateful"] = False
    drawn = [key for key, part in config.items() if str(key).endswith("_initializer") and part is not None]
    return changed | dict.fromkeys(drawn, "zeros")


def copy_weights(model: keras.Model, copy: copies.Copy) -> None:
    """Gives a copy of `copy_without` the weights that its model has now."""
    carried = [variable for layer in stateful_layers(model) for variable in keras.tree.flatten(layer.states)]
    copies.give_weights(copy, carried)


def _states(layer: keras.layers.RNN) -> list[Any]:
    return [copy for variable in keras.tree.flatten(layer.states) for copy in _backend.copies(variable)]


def stateful_layers(model: keras.Model) -> list[keras.layers.RNN]:
    """Those of a model that have states to carry."""
    layers = keras_quirks.walk_layers(model)
    return [layer for layer in layers if isinstance(layer, keras.layers.RNN) and layer.stateful and layer.states]
