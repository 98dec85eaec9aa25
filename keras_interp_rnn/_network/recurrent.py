"""The recurrent layer of a network: which one it is, its inputs, one step of its cell, and the head on its states."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._network import carried_states
from keras_interp_rnn._network.arrays import (
    as_array,
    as_mask,
    as_sequences,
    check_finite,
    check_id_range,
    check_own_mask,
)
from keras_interp_rnn._network.graph import call_of, vocabulary_sizes

_RECURRENT = (keras.layers.RNN, keras.layers.Bidirectional)


def resolve_recurrent_layer(network: Any, inputs: Any, mask: Any = None) -> tuple[Any, NDArray[Any], NDArray[np.bool_]]:
    """The recurrent layer, the sequences it reads, in reading order, and which of their steps it reads.

    Args:
        network: an RNN layer; or a model with exactly one, whose inputs are then the model's.
        inputs: (batch, time, ...).
        mask: bool (batch, time), or None.

    Raises:
        ValueError: if there is no such layer, if there are several, or if the layer has two directions.
    """
    layer = network
    check_own_mask(network, mask)
    if isinstance(layer, keras.Model):
        layer, inputs, mask = recurrent_layer_inputs(layer, inputs)
    if isinstance(layer, keras.layers.Bidirectional):
        raise ValueError(
            "A Bidirectional layer has no one state that moves from step to step: its last outputs come from both ends "
            f"of the sequence. Received: {layer.name}. Pass its forward_layer or its backward_layer."
        )
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(
            "Steps are read off a recurrent layer, keras.layers.RNN or a subclass, whose cell can be run one by one. "
            f"Received: {layer!r}. Pass the layer itself, or keras.layers.RNN(cell)."
        )
    sequences = as_sequences(inputs)
    if np.issubdtype(sequences.dtype, np.floating):
        sequences = sequences.astype(layer.variable_dtype)
    read = as_mask(mask, sequences.shape[:2])
    if layer.go_backwards:
        sequences, read = sequences[:, ::-1], read[:, ::-1]
    if not layer.cell.built:
        layer(sequences)
    check_finite(layer)
    return layer, sequences, read


def recurrent_layers(network: Any, inputs: Any, mask: Any = None) -> list[tuple[str, Any, Any, Any]]:
    """Every recurrent layer of a network, the two of a Bidirectional one apart, in the order of the model.

    Args:
        network: a recurrent layer, Bidirectional too; or a model with some, whose inputs are then the model's.
        inputs: (batch, time, ...).
        mask: bool (batch, time), or None.

    Returns:
        [(prefix, layer, its inputs, its mask), ...]. The prefix tells the layers apart: "" for a single one, "forward/"
        and "backward/" for two directions, the layer's name in front where a model has several.

    Raises:
        ValueError: as `recurrent_layer_inputs`.
    """
    check_own_mask(network, mask)
    if not isinstance(network, keras.Model):
        return _directions("", network, inputs, mask)
    _build_on(network, inputs)
    names = [part.name for part in network.layers if isinstance(part, _RECURRENT)]
    if len(names) < 2:
        return _directions("", *recurrent_layer_inputs(network, inputs))
    return [part for name in names for part in _directions(f"{name}/", *recurrent_layer_inputs(network, inputs, name))]


def _build_on(model: keras.Model, inputs: Any) -> None:
    """Builds a Sequential model that was not told its input yet, on zeros: ids are checked once it is built."""
    if not hasattr(model, "inputs"):
        model(np.zeros_like(as_array("The inputs", inputs)))


def _directions(prefix: str, layer: Any, inputs: Any, mask: Any) -> list[tuple[str, Any, Any, Any]]:
    if not isinstance(layer, keras.layers.Bidirectional):
        return [(prefix, layer, inputs, mask)]
    both = (("forward/", layer.forward_layer), ("backward/", layer.backward_layer))
    return [(f"{prefix}{name}", one, inputs, mask) for name, one in both]


def states_to_set(layer: Any, given: Any, batch_size: int, num_steps: int) -> dict[int, list[Any]]:
    """Step -> the states of a layer, tensors (batch, ...), from what a user gives for it.

    Args:
        given: {step: state (n,) or (batch, n)}, or a list of states where the cell has several.

    Raises:
        ValueError: if a step is outside the sequence, or a state has another shape or is not finite.
    """
    sizes = [tuple(np.atleast_1d(size).tolist()) for size in tree.flatten(layer.cell.state_size)]
    found = {}
    if not isinstance(given, Mapping):
        raise ValueError(f"States are set as {{step: state}}. Received: {given!r}. Pass a dict.")
    for step, states in given.items():
        if isinstance(step, bool) or not hasattr(step, "__index__") or not 0 <= int(step) < num_steps:
            raise ValueError(f"A state is set after a step, an int in [0, {num_steps - 1}]. Received: {step!r}.")
        listed = list(states) if isinstance(states, (list, tuple)) and len(sizes) > 1 else [states]
        arrays = [np.asarray(state, np.float64) for state in listed]
        shapes = [array.shape for array in arrays]
        right = len(arrays) == len(sizes) and all(
            shape in (size, (batch_size, *size)) for shape, size in zip(shapes, sizes, strict=True)
        )
        if not right or not all(np.isfinite(array).all() for array in arrays):
            raise ValueError(
                f"The states of {layer.name} are {len(sizes)}, finite, of shape {', '.join(map(str, sizes))}, with or "
                f"without the batch of {batch_size} in front. Received: {', '.join(map(str, shapes))} for step {step}."
            )
        found[int(step)] = [
            ops.cast(np.broadcast_to(array, (batch_size, *size)), layer.variable_dtype)
            for array, size in zip(arrays, sizes, strict=True)
        ]
    return found


def recurrent_layer_inputs(model: keras.Model, inputs: Any, name: str | None = None) -> tuple[Any, Any, Any]:
    """A model's recurrent layer, what it reads when the model reads `inputs`, and its mask.

    Args:
        model: Sequential or functional.
        inputs: the model's, read from the initial states of all layers.
        name: of the layer; None, if it is the only one. One that is called twice is read where it was called first.

    Raises:
        ValueError: if the model has no such layer, or several and no name was given, if the model gives it an initial
            state, or if the inputs hold ids that the model does not have.
    """
    if not isinstance(model, keras.layers.Layer):
        raise ValueError(f"What a layer reads is known of a Keras model. Received: {model!r}. Pass the model.")
    _build_on(model, inputs)
    if not getattr(model, "inputs", None):
        raise ValueError(
            "What a layer reads is known of Sequential and functional models. Received: "
            f"{model.name}, a {type(model).__name__}. Pass the layer and its own inputs."
        )
    layer = only_recurrent_layer(model, name)
    # What a layer was called on: the sequences first, then the mask, if there is one, and initial states.
    called_on = list(call_of(model, layer).input_tensors)
    if len(called_on) == 1:
        mask = keras_quirks.mask_of(called_on[0])
        called_on += [] if mask is None else [mask]
    several = isinstance(inputs, dict) or len(model.inputs) > 1
    for given, size in zip(tree.flatten(inputs) if several else [inputs], vocabulary_sizes(model), strict=True):
        if size is not None:
            check_id_range(given, size)
    read_by_model = model.input if several else model.inputs[0]
    with carried_states.from_the_start(model):
        # Its `call`: a Sequential model without an Input has that of its first batch, which `__call__` insists on.
        reads, *others = tree.flatten(keras.Model(read_by_model, called_on).call(inputs))
    masks = [read for read, part in zip(others, called_on[1:], strict=True) if _is_mask(part)]
    if len(masks) < len(others):
        raise ValueError(
            f"Sequences are read from the layer's own initial state. Received: {layer.name}, to which {model.name} "
            "gives another one. Pass the layer and its own inputs."
        )
    return layer, reads, masks[0] if masks else None


def only_recurrent_layer(model: keras.Model, name: str | None = None) -> Any:
    """A model's recurrent layer of this name, or its only one.

    Raises:
        ValueError: if the model has no such layer, or several and no name was given.
    """
    candidates = [part for part in model.layers if isinstance(part, _RECURRENT) and name in (None, part.name)]
    if len(candidates) != 1:
        raise ValueError(
            "One recurrent layer of a model is read at a time. Received: "
            f"{model.name} with {[part.name for part in model.layers if isinstance(part, _RECURRENT)]}, "
            f"{'no name' if name is None else f'the name {name!r}'}. Pass the layer and its own inputs; or its "
            "name, to a callback."
        )
    return candidates[0]


def step_cell(cell: Any, inputs: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The output of any Keras cell, and its states as one list, after a step outside training, as in a layer."""
    arguments = {"training": False} if "training" in inspect.signature(cell.call).parameters else {}
    given = tree.pack_sequence_as(cell.state_size, list(states)) if hasattr(cell, "cells") else list(states)

    def step(inputs: Any) -> Any:
        return cell(inputs, given, **arguments)

    output, new = keras_quirks.as_in_a_layer(cell, step)(inputs)
    return output, tree.flatten(new)


def check_one_output(model: Any) -> None:
    """Raises ValueError for a model with several outputs."""
    outputs = tree.flatten(getattr(model, "outputs", None) or [])
    if len(outputs) > 1:
        raise ValueError(
            f"A network has one output. Received: {model.name}, with {len(outputs)}. Make a model of one of them, "
            "keras.Model(model.input, model.outputs[0])."
        )


def apply_head(model: keras.Model, layer: keras.layers.RNN, states: NDArray[Any]) -> NDArray[Any]:
    """The outputs of a model where its recurrent layer outputs these states: (rows, n) -> (rows, classes).

    For a layer that returns sequences every state stands for a sequence of one step.

    Raises:
        ValueError: if the model's output does not follow from the layer's alone, or if it has several.
    """
    check_one_output(model)
    rule = "The head is applied to a centroid where it reads the states alone."
    if layer.return_state:
        raise ValueError(f"{rule} Received: {layer.name}, which returns its last states too.")
    given = ops.cast(states[:, None, :] if layer.return_sequences else states, layer.compute_dtype)
    beyond = f"{rule} Received: {model.name}, whose output depends on more than that of {layer.name}."
    outputs = np.asarray(ops.convert_to_numpy(_above(model, layer, model.outputs[0], given, beyond)))
    return outputs[:, -1] if outputs.ndim == 3 else outputs


def _above(model: keras.Model, layer: keras.layers.RNN, tensor: Any, given: Any, beyond: str) -> Any:
    """A tensor of a model's graph where a layer outputs `given`; raises ValueError, `beyond`, if it depends on more."""
    call = call_of(model, layer)
    if tensor is call.output_tensors[0]:
        return given
    # What comes after, the mean over time for one, may read the mask that the layer hands on.
    masks = _masks(call) if layer.return_sequences else []
    try:
        graph = keras.Model([call.output_tensors[0], *masks], tensor)
        return graph.call([given, *(ops.ones(given.shape[:2], "bool") for _ in masks)])
    except keras_quirks.CUT_GRAPH:
        raise ValueError(beyond) from None


def regularized_stack(model: Any) -> list[Any]:
    """A model's state-regularized layers in the order of the model, if they are several and its only recurrent ones."""
    recurrent = [part for part in getattr(model, "layers", ()) if isinstance(part, _RECURRENT)]
    is_stack = len(recurrent) > 1 and all(hasattr(getattr(part, "cell", None), "centroids") for part in recurrent)
    return recurrent if is_stack else []


def last_regularized(model: Any) -> str | None:
    """The name of the last layer of `regularized_stack`; None for other models."""
    stack = regularized_stack(model)
    return str(stack[-1].name) if stack else None


def read_above(model: keras.Model, layer: keras.layers.RNN, above: keras.layers.RNN, states: NDArray[Any]) -> Any:
    """The inputs of the recurrent layer above where the one below outputs these states: (rows, n) -> (rows, m).

    Raises:
        ValueError: if it reads anything else, or if what it reads of a step depends on other steps.
    """
    tensor = call_of(model, above).input_tensors[0]
    beyond = (
        f"A layer of a stack reads the states of the one below alone. Received: {above.name} of {model.name}, whose "
        f"input depends on more than {layer.name}. Leave the rest out."
    )

    def run(given: Any) -> NDArray[Any]:
        given = ops.cast(given, layer.compute_dtype)
        return np.asarray(ops.convert_to_numpy(_above(model, layer, tensor, given, beyond)))

    # Each state as a sequence of one step, and all of them, twice, as one sequence.
    alone, [together] = run(states[:, None])[:, 0], run(np.concatenate([states, states])[None])
    if not np.allclose(together, np.concatenate([alone, alone]), rtol=1e-4, atol=1e-6):
        raise ValueError(
            f"What a layer of a stack reads at a step is made of that step. Received: {model.name}, where what "
            f"{above.name} reads depends on other steps too. Leave the layers between out."
        )
    return alone


def decision_threshold(model: keras.Model) -> float:
    """Above it a model's single output means class 1: 0.5 after a sigmoid, else 0, as for a logit."""
    return 0.5 if getattr(model.layers[-1], "activation", None) is keras.activations.sigmoid else 0.0


def predicted_classes(model: keras.Model, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of each row of outputs: the largest entry; of a single entry, whether it exceeds the threshold."""
    if outputs.shape[-1] > 1:
        return outputs.argmax(axis=-1)
    return (outputs[:, 0] > decision_threshold(model)).astype(np.int64)


def centroids_of(layer: Any) -> NDArray[Any]:
    """The centroids (k, n) of a state-regularized layer."""
    return np.asarray(ops.convert_to_numpy(layer.cell.centroids))


def _is_mask(tensor: Any) -> bool:
    return keras.backend.standardize_dtype(tensor.dtype) == "bool"


def _masks(call: Any) -> list[Any]:
    """The symbolic mask that a layer was called with, if there was one."""
    return [part for part in call.input_tensors[1:] if _is_mask(part)]
