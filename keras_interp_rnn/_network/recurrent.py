"""The recurrent layer of a network: which one it is, its inputs, one step of its cell, and the head on its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._arrays import (
    as_array,
    as_mask,
    as_sequences,
    check_batched,
    check_finite,
    check_own_mask,
    without_unread,
)
from keras_interp_rnn._network import carried_states
from keras_interp_rnn._network.inputs import as_declared, listed_inputs
from keras_interp_rnn._network.interface import check_ids
from keras_interp_rnn._network.lost_masks import warn_of_lost_masks
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import state_sizes
from keras_interp_rnn._program.graph import inputs_of, runs_its_graph, symbolic_inputs, traced
from keras_interp_rnn._program.read import RECURRENT, Program, needed, read_opaque
from keras_interp_rnn._program.values import Known, forward, in_dtype, with_functions
from keras_interp_rnn._types import AnyArray


def has_many_states(network: object) -> bool:
    """Whether a network has several recurrent layers, or one in both directions: no one state moves step by step."""
    parts = [layer for _, layer in _recurrent_parts(network)] if isinstance(network, keras.Model) else [network]
    return len(parts) > 1 or any(isinstance(part, keras.layers.Bidirectional) for part in parts)


def resolve_recurrent_layer(
    network: object, inputs: object, mask: object = None
) -> tuple[Any, AnyArray, NDArray[np.bool_]]:
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
            f"A network must have one state that moves from step to step. Received: {layer.name}, a Bidirectional "
            "layer, whose last outputs come from both ends of the sequence. Pass its forward_layer or its "
            "backward_layer."
        )
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(
            "`network` must be a recurrent layer, keras.layers.RNN or a subclass, or a model with one. Received: "
            f"{layer!r}. Pass the layer itself, or keras.layers.RNN(cell)."
        )
    sequences = as_sequences(inputs)
    if np.issubdtype(sequences.dtype, np.floating):
        sequences = sequences.astype(layer.variable_dtype)
    read = as_mask(mask, sequences.shape[:2])
    sequences = without_unread(sequences, read, f"The inputs of {layer.name}")
    if layer.go_backwards:
        sequences, read = sequences[:, ::-1], read[:, ::-1]
    if not layer.cell.built:
        layer(sequences)
    check_finite(layer)
    return layer, sequences, read


def recurrent_layers(network: object, inputs: object, mask: object = None) -> list[tuple[str, Any, Any, Any]]:
    """Every recurrent layer of a network, the two of a Bidirectional one apart, in the order of the model.

    Args:
        network: a recurrent layer, Bidirectional too; or a model with some, whose inputs are then the model's.
        inputs: (batch, time, ...).
        mask: bool (batch, time), or None.

    Returns:
        [(prefix, layer, its inputs, its mask), ...]. The prefix tells the layers apart: "" for a single one, "forward/"
        and "backward/" for two directions, the layer's path in front where a model has several.

    Raises:
        ValueError: as `recurrent_layer_inputs`.
    """
    check_own_mask(network, mask)
    if not isinstance(network, keras.Model):
        return _directions("", network, inputs, mask)
    _build_on(network, inputs)
    names = [path for path, _ in _recurrent_parts(network)]
    if len(names) < 2:
        return _directions("", *recurrent_layer_inputs(network, inputs))
    return [part for path, *read in _reads(network, inputs, names) for part in _directions(f"{path}/", *read)]


def _build_on(model: keras.Model, inputs: object) -> None:
    """Builds a Sequential model that was not told its input yet, on zeros: ids are checked once it is built."""
    if not inputs_of(model):
        model(np.zeros_like(as_array("The inputs", inputs)))


def _directions(prefix: str, layer: object, inputs: object, mask: object) -> list[tuple[str, Any, Any, Any]]:
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
    sizes = [tuple(np.atleast_1d(size).tolist()) for size in state_sizes(layer.cell)]
    found = {}
    if not isinstance(given, Mapping):
        raise ValueError(f"`set` must be a dict {{step: state}}. Received: {given!r}. Pass a dict.")
    for step, states in given.items():
        if isinstance(step, bool) or not hasattr(step, "__index__") or not 0 <= int(step) < num_steps:
            raise ValueError(
                f"Steps of `set` must be integers in [0, {num_steps - 1}]. Received: {step!r}. Count steps from 0, in "
                "reading order."
            )
        listed = list(states) if isinstance(states, (list, tuple)) and len(sizes) > 1 else [states]
        arrays = [np.asarray(state, np.float64) for state in listed]
        shapes = [array.shape for array in arrays]
        right = len(arrays) == len(sizes) and all(
            shape in (size, (batch_size, *size)) for shape, size in zip(shapes, sizes, strict=True)
        )
        if not right or not all(np.isfinite(array).all() for array in arrays):
            raise ValueError(
                f"`set` must hold {len(sizes)} finite arrays per step, of shape {', '.join(map(str, sizes))}, with or "
                f"without the batch of {batch_size} in front. Received: {', '.join(map(str, shapes))} for set[{step}]. "
                f"Pass the states of {layer.name}."
            )
        found[int(step)] = [
            ops.cast(np.broadcast_to(array, (batch_size, *size)), layer.variable_dtype)
            for array, size in zip(arrays, sizes, strict=True)
        ]
    return found


def recurrent_layer_inputs(model: keras.Model, inputs: object, name: str | None = None) -> tuple[Any, Any, Any]:
    """A model's recurrent layer, what it reads when the model reads `inputs`, and its mask.

    Args:
        model: Sequential or functional; nested models are entered.
        inputs: the model's, read from the initial states of all layers.
        name: of the layer; None, if it is the only one. One that is called twice is read where it was called first.

    Raises:
        ValueError: if the model has no such layer, or several and no name was given, if the model gives it an initial
            state, or if the inputs hold ids that the model does not have.
    """
    if not isinstance(model, keras.layers.Layer):
        raise ValueError(f"`model` must be a Keras model. Received: model={model!r}. Pass the model.")
    _build_on(model, inputs)
    [(_, layer, reads, mask)] = _reads(model, inputs, [only_recurrent_part(model, name)[0]])
    return layer, reads, mask


def only_recurrent_part(model: keras.Model, name: str | None = None) -> tuple[str, Any]:
    """The path and the layer of a model's recurrent layer of this name, or of its only one.

    Raises:
        ValueError: if the model has no such layer, or several and no name was given.
    """
    parts = _recurrent_parts(model)
    candidates = [(path, layer) for path, layer in parts if name in (None, path, layer.name)]
    if len(candidates) != 1:
        raise ValueError(
            "One recurrent layer of a model must be chosen. Received: "
            f"{model.name} with {[path for path, _ in parts]}, {'no name' if name is None else f'the name {name!r}'}. "
            "Pass the layer and its own inputs; or its name, to a callback."
        )
    return candidates[0]


def _recurrent_parts(model: keras.Model) -> list[tuple[str, Any]]:
    """(path, layer) for each recurrent layer of a model, in its order.

    A path is the layer's name, after those of the nested models that hold it: "encoder/lstm".
    """
    found = []
    for part in model.layers:
        if isinstance(part, RECURRENT):
            found.append((str(part.name), part))
        elif isinstance(part, keras.Model) and inputs_of(part):
            found += [(f"{part.name}/{path}", layer) for path, layer in _recurrent_parts(part)]
    return found


def _reads(model: Any, inputs: Any, paths: Sequence[str]) -> list[tuple[str, Any, Any, Any]]:
    """(path, layer, what it reads, its mask) for the recurrent layers at some paths, as Keras computes it.

    Raises:
        ValueError: as `recurrent_layer_inputs`.
    """
    if not inputs_of(model):
        raise ValueError(
            "A model must be Sequential or functional, for what a layer in it reads to be known. Received: "
            f"{model.name}, a {type(model).__name__}. Pass the layer and its own inputs."
        )
    several = isinstance(inputs, dict) or len(model.inputs) > 1
    inputs = inputs if several else as_array("The inputs", inputs)
    check_batched(model, inputs)
    arrays = [as_array("The inputs", x) for x in listed_inputs(model, inputs)]
    graph = model if runs_its_graph(model) else traced(model, symbolic_inputs(model))  # what a subclass itself calls
    if graph is None:
        raise ValueError(
            f"The call of a model must be layers and operations of Keras. Received: {model.name}, a "
            f"{type(model).__name__}. Pass the layer and its own inputs."
        )
    check_ids(graph, arrays)
    program, layers = read_opaque(graph), dict(_recurrent_parts(model))
    calls = [_call_of(program, layers[path], path, model) for path in paths]
    needs = [value for call in calls for value in (call.reads[0], _mask_of(call)) if value is not None]
    known = dict(zip(program.inputs, map(as_declared, arrays, model.inputs), strict=True))
    warn_of_lost_masks(model)
    with carried_states.from_the_start(model):
        forward(with_functions(needed(program.operations, needs)), known)
    found = []
    for path, call in zip(paths, calls, strict=True):
        mask = _mask_of(call)
        reads = in_dtype(known[call.reads[0]], call.reads[0].dtype)
        found.append((path, layers[path], reads, None if mask is None else known[mask]))
    return found


def _call_of(program: Program, layer: Any, path: str, model: keras.Model) -> o.Opaque:
    """The first call of a recurrent layer; raises ValueError where it is given a state."""
    calls = [call for call in program.operations if isinstance(call, o.Opaque) and call.layer is layer]
    if not calls:
        raise ValueError(
            f"A layer must be one of those that make the output of a model. Received: {path}, on which nothing depends "
            f"in {model.name}. Pass the layer and its own inputs."
        )
    call = min(calls, key=lambda each: each.place)
    if len(call.reads) > 1:
        raise ValueError(
            "A recurrent layer must begin with its own initial state. Received: "
            f"{layer.name}, to which {model.name} passes another state. Pass the layer and its own inputs."
        )
    return call


def _mask_of(call: o.Opaque) -> o.Value | None:
    """The mask that a recurrent layer is given."""
    return call.given[0] if call.given else call.reads[0].mask


def check_one_output(model: Any) -> None:
    """Raises ValueError for a model with several outputs."""
    outputs = tree.flatten(getattr(model, "outputs", None) or [])
    if len(outputs) > 1:
        raise ValueError(
            f"A network must have one output. Received: {model.name}, with {len(outputs)}. Make a model of one of "
            "them, keras.Model(model.input, model.outputs[0])."
        )


def apply_head(model: keras.Model, layer: keras.layers.RNN, states: AnyArray) -> AnyArray:
    """The outputs of a model where its recurrent layer outputs these states: (rows, n) -> (rows, classes).

    For a layer that returns sequences every state is a sequence of one step.

    Raises:
        ValueError: if the model's output does not follow from the layer's alone, or if it has several.
    """
    check_one_output(model)
    rule = "The head must read the states alone to be applied to a centroid."
    if layer.return_state:
        raise ValueError(f"{rule} Received: {layer.name}, which returns its last states too.")
    of_layer = np.asarray(states[:, None, :] if layer.return_sequences else states, np.float64)
    beyond = f"{rule} Received: {model.name}, whose output depends on more than that of {layer.name}."
    outputs = _above(model, layer, None, of_layer, beyond)
    return np.asarray(outputs[:, -1] if outputs.ndim == 3 else outputs)


def _above(model: keras.Model, layer: keras.layers.RNN, above: Any, outputs: AnyArray, beyond: str) -> Any:
    """The output of a model where a layer has these outputs, or the inputs of a layer above.

    Raises:
        ValueError: with the message `beyond`, if that depends on more, or on two calls of the layer.
    """
    program = read_opaque(model)
    calls = [call for call in program.operations if isinstance(call, o.Opaque) and call.layer is layer]
    sought = program.outputs[0] if above is None else _call_of(program, above, above.name, model).reads[0]
    known: Known = {}
    if len(calls) == 1:
        [call] = calls
        known[call.makes[0]] = outputs
        if layer.return_sequences:  # layers above, such as a mean over time, may read the mask that is passed on
            every_step = np.ones(outputs.shape[:2], bool)
            known.update({mask: every_step for mask in (call.makes[0].mask, _mask_of(call)) if mask is not None})
        elif call.makes[0].mask is not None:
            known[call.makes[0].mask] = None
    for operation in needed(program.operations, [sought]):
        read = [value for value in (*operation.reads, *operation.masks) if value is not None]
        if read and all(value in known for value in read) and not all(value in known for value in operation.makes):
            forward(with_functions([operation]), known)
    if sought not in known:
        raise ValueError(beyond)
    return known[sought]


def regularized_stack(model: object) -> list[Any]:
    """A model's state-regularized layers in the order of the model, if they are several and its only recurrent ones."""
    recurrent = [part for part in getattr(model, "layers", ()) if isinstance(part, RECURRENT)]
    is_stack = len(recurrent) > 1 and all(hasattr(getattr(part, "cell", None), "centroids") for part in recurrent)
    return recurrent if is_stack else []


def last_regularized(model: object) -> str | None:
    """The name of the last layer of `regularized_stack`; None for other models."""
    stack = regularized_stack(model)
    return str(stack[-1].name) if stack else None


def read_above(model: keras.Model, layer: keras.layers.RNN, above: keras.layers.RNN, states: AnyArray) -> Any:
    """The inputs of the recurrent layer above where the one below outputs these states: (rows, n) -> (rows, m).

    Raises:
        ValueError: if it reads anything else, or if what it reads of a step depends on other steps.
    """
    beyond = (
        f"A layer of a stack must read the states of the one below alone. Received: {above.name} of {model.name}, "
        f"whose input depends on more than {layer.name}. Leave the rest out."
    )

    def run(given: AnyArray) -> AnyArray:
        return np.asarray(_above(model, layer, above, np.asarray(given, np.float64), beyond))

    # Each state as a sequence of one step, and all of them, twice, as one sequence.
    alone, [together] = run(states[:, None])[:, 0], run(np.concatenate([states, states])[None])
    if not np.allclose(together, np.concatenate([alone, alone]), rtol=1e-4, atol=1e-6):
        raise ValueError(
            f"The input of a layer of a stack must depend, at each step, on that step alone. Received: {model.name}, "
            f"where the input of {above.name} depends on other steps too. Remove the layers between the recurrent ones."
        )
    return alone


def decision_threshold(model: keras.Model) -> float:
    """Above it a model's single output means class 1: 0.5 after a sigmoid, else 0, as for a logit."""
    return 0.5 if getattr(model.layers[-1], "activation", None) is keras.activations.sigmoid else 0.0


def predicted_classes(model: keras.Model, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of each row of outputs: the largest entry; of a single entry, whether it exceeds the threshold."""
    if outputs.shape[-1] > 1:
        return np.asarray(outputs.argmax(axis=-1))
    return (outputs[:, 0] > decision_threshold(model)).astype(np.int64)


def centroids_of(layer: Any) -> AnyArray:
    """The centroids (k, n) of a state-regularized layer."""
    return np.asarray(ops.convert_to_numpy(layer.cell.centroids))
