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
    check_batched,
    check_finite,
    check_own_mask,
    without_unread,
)
from keras_interp_rnn._network.graph import (
    Masked,
    call_of,
    check_ids,
    evaluate,
    run_with_masks,
    warn_of_lost_masks,
)

RECURRENT = (keras.layers.RNN, keras.layers.Bidirectional)


def has_many_states(network: Any) -> bool:
    """Whether a network has several recurrent layers, or one in both directions: no one state moves step by step."""
    parts = [layer for _, layer in _recurrent_parts(network)] if isinstance(network, keras.Model) else [network]
    return len(parts) > 1 or any(isinstance(part, keras.layers.Bidirectional) for part in parts)


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


def recurrent_layers(network: Any, inputs: Any, mask: Any = None) -> list[tuple[str, Any, Any, Any]]:
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


def recurrent_layer_inputs(model: keras.Model, inputs: Any, name: str | None = None) -> tuple[Any, Any, Any]:
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
        elif isinstance(part, keras.Model) and getattr(part, "inputs", None):
            found += [(f"{part.name}/{path}", layer) for path, layer in _recurrent_parts(part)]
    return found


def _reads(model: Any, inputs: Any, paths: Sequence[str]) -> list[tuple[str, Any, Any, Any]]:
    """(path, layer, what it reads, its mask) for the recurrent layers at some paths, in one run of the layers before.

    Raises:
        ValueError: as `recurrent_layer_inputs`.
    """
    if not getattr(model, "inputs", None):
        raise ValueError(
            "A model must be Sequential or functional, for what a layer in it reads to be known. Received: "
            f"{model.name}, a {type(model).__name__}. Pass the layer and its own inputs."
        )
    several = isinstance(inputs, dict) or len(model.inputs) > 1
    inputs = inputs if several else as_array("The inputs", inputs)
    check_batched(model, inputs)
    check_ids(model, [as_array("The inputs", x) for x in tree.flatten(inputs)] if several else [inputs])
    # Its `call`: a Sequential model without an Input has that of its first batch, which `__call__` insists on.
    as_read = keras.Model(model.input if several else model.inputs[0], list(model.inputs)).call(inputs)
    warn_of_lost_masks(model)
    with carried_states.from_the_start(model):
        return _reads_inside(model, [*map(Masked, tree.flatten(as_read))], paths)


def _reads_inside(
    model: keras.Model, inputs: Sequence[Masked], paths: Sequence[str]
) -> list[tuple[str, Any, Any, Any]]:
    """As `_reads`, for the values of the inputs of a model, which may be nested."""
    names = list(dict.fromkeys(path.split("/")[0] for path in paths))
    calls = [call_of(model, model.get_layer(name)) for name in names]
    tensors = [tensor for call in calls for tensor in call.input_tensors]
    known = dict(zip(map(id, tensors), evaluate(model, inputs, run_with_masks, tensors), strict=True))
    found = []
    for name, call in zip(names, calls, strict=True):
        part, inner = model.get_layer(name), [path.partition("/")[2] for path in paths if path.split("/")[0] == name]
        first, *others = [known[id(tensor)] for tensor in call.input_tensors]
        masks = [read.tensor for read in others if _is_mask(read.tensor)]
        own = first._replace(mask=masks[0]) if masks else first
        if isinstance(part, keras.Model):
            starts = [own, *others][: len(part.inputs)]
            found += [(f"{name}/{path}", *read) for path, *read in _reads_inside(part, starts, inner)]
        elif len(masks) < len(others):
            raise ValueError(
                "A recurrent layer must begin with its own initial state. Received: "
                f"{part.name}, to which {model.name} passes another state. Pass the layer and its own inputs."
            )
        else:
            found.append((name, part, *own))
    return found


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
            f"A network must have one output. Received: {model.name}, with {len(outputs)}. Make a model of one of "
            "them, keras.Model(model.input, model.outputs[0])."
        )


def apply_head(model: keras.Model, layer: keras.layers.RNN, states: NDArray[Any]) -> NDArray[Any]:
    """The outputs of a model where its recurrent layer outputs these states: (rows, n) -> (rows, classes).

    For a layer that returns sequences every state is a sequence of one step.

    Raises:
        ValueError: if the model's output does not follow from the layer's alone, or if it has several.
    """
    check_one_output(model)
    rule = "The head must read the states alone to be applied to a centroid."
    if layer.return_state:
        raise ValueError(f"{rule} Received: {layer.name}, which returns its last states too.")
    of_layer = ops.cast(states[:, None, :] if layer.return_sequences else states, layer.compute_dtype)
    beyond = f"{rule} Received: {model.name}, whose output depends on more than that of {layer.name}."
    outputs = np.asarray(ops.convert_to_numpy(_above(model, layer, model.outputs[0], of_layer, beyond)))
    return outputs[:, -1] if outputs.ndim == 3 else outputs


def _above(model: keras.Model, layer: keras.layers.RNN, tensor: Any, outputs: Any, beyond: str) -> Any:
    """A tensor of a model's graph where a layer has these outputs; nested models are entered.

    Raises:
        ValueError: with the message `beyond`, if the tensor depends on more, or on two calls of the layer.
    """
    # Layers above, such as a mean over time, may read the mask that the layer passes on.
    every_step = ops.ones(outputs.shape[:2], "bool") if layer.return_sequences else None
    calls = []

    def call(operation: Any, node: Any, known: dict[int, Masked | None]) -> list[Masked | None]:
        if operation is layer:
            calls.append(node)
            return [Masked(outputs, every_step), *[None] * (len(node.output_tensors) - 1)]
        masks = [part for each in calls for part in each.input_tensors[1:] if _is_mask(part)]
        own_masks = list(map(id, masks)) if layer.return_sequences else []
        known = known | dict.fromkeys(own_masks, Masked(every_step))
        reads = [known[id(x)] for x in node.input_tensors]
        if isinstance(operation, keras.Model) and getattr(operation, "inputs", None):
            return evaluate(operation, reads[: len(operation.inputs)], call)
        if any(read is None for read in reads):
            return [None] * len(node.output_tensors)
        return [*run_with_masks(operation, node, {key: read for key, read in known.items() if read is not None})]

    unknown: list[Masked | None] = [None] * len(model.inputs)
    [read] = evaluate(model, unknown, call, [tensor])
    if read is None or len(calls) != 1:
        raise ValueError(beyond)
    return read.tensor


def regularized_stack(model: Any) -> list[Any]:
    """A model's state-regularized layers in the order of the model, if they are several and its only recurrent ones."""
    recurrent = [part for part in getattr(model, "layers", ()) if isinstance(part, RECURRENT)]
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
        f"A layer of a stack must read the states of the one below alone. Received: {above.name} of {model.name}, "
        f"whose input depends on more than {layer.name}. Leave the rest out."
    )

    def run(given: Any) -> NDArray[Any]:
        given = ops.cast(given, layer.compute_dtype)
        return np.asarray(ops.convert_to_numpy(_above(model, layer, tensor, given, beyond)))

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


def centroids_of(layer: Any) -> NDArray[Any]:
    """The centroids (k, n) of a state-regularized layer."""
    return np.asarray(ops.convert_to_numpy(layer.cell.centroids))


def _is_mask(tensor: Any) -> bool:
    return bool(keras.backend.standardize_dtype(tensor.dtype) == "bool")
