"""The graph of a Keras model: whether it has one, how it is made of a subclass, and how it is followed."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import keras
from keras import tree

from keras_interp_rnn._backend.keras_quirks import made_by, walk_layers

Value = TypeVar("Value")


def evaluate(
    model: keras.Model,
    inputs: Sequence[Value],
    call: Callable[[Any, Any, dict[int, Value]], Sequence[Value]],
    tensors: Sequence[keras.KerasTensor] | None = None,
) -> list[Value]:
    """The values of a model's outputs, or of other tensors of its graph, given those of its inputs.

    Args:
        model: Sequential or functional; nested models are operations like others.
        inputs: a value for each tensor of `model.inputs`.
        call: takes an operation, the node of this call, and the values known so far by the id of their tensor; returns
            a value for each output tensor of the node.
        tensors: whose values are returned; by default the outputs. Only the operations that they depend on are called.
    """
    known = {id(tensor): value for tensor, value in zip(tree.flatten(model.inputs), inputs, strict=True)}
    outputs = tree.flatten(model.outputs if tensors is None else list(tensors))
    waiting = list(outputs)
    while waiting:
        if id(waiting[-1]) in known:
            waiting.pop()
            continue
        operation, node = made_by(waiting[-1])
        missing = [tensor for tensor in node.input_tensors if id(tensor) not in known]
        if missing:
            waiting += missing
            continue
        values = call(operation, node, known)
        known.update((id(tensor), value) for tensor, value in zip(node.output_tensors, values, strict=True))
    return [known[id(tensor)] for tensor in outputs]


def inputs_of(model: object) -> list[Any]:
    """The inputs of a model; none of a Sequential model that was not told its input yet, and of a subclass."""
    found: list[Any] = tree.flatten(getattr(model, "inputs", None) or [])
    return found


def is_stateful(network: object) -> bool:
    """Whether a layer, in a nested model too, carries its states from call to call."""
    parts = walk_layers(network) if isinstance(network, keras.layers.Layer) else []
    return any(getattr(part, "stateful", False) for part in parts)


def runs_its_graph(model: keras.Model) -> bool:
    """Whether the model has a graph and runs nothing else: a subclass may override training, but not the call."""
    if not inputs_of(model):
        return False
    for name in ("call", "__call__"):
        owner = next(part for part in type(model).__mro__ if name in vars(part))
        if owner.__module__.split(".")[0] != "keras":
            return False
    return True


def symbolic_inputs(model: keras.Model) -> object:
    """The inputs of a model in the structure that its call takes; a Sequential model may have none as `input`."""
    return model.inputs[0] if isinstance(model, keras.Sequential) else model.input


def traced(model: keras.Model, symbolic: object) -> keras.Model | None:
    """A functional model of what a subclass calls; None where its call is not made of layers and operations of Keras.

    Args:
        symbolic: the inputs, as `keras.Input` makes them.
    """
    training = {"training": False} if takes_training(model) else {}
    for call in (model.call, model):
        with contextlib.suppress(Exception):  # whatever a call raises that is no graph
            return functional(symbolic, call(symbolic, **training), model.name)
    return None


def functional(inputs: object, outputs: object, name: str) -> keras.Model:
    """`keras.Model`, whose tensors need not have the names of a dict of inputs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="When providing `inputs` as a dict")
        return keras.Model(inputs, outputs, name=name)


def takes_training(model: Any) -> bool:
    """Whether the call of a model is told that it is not in training."""
    return "training" in inspect.signature(model.call).parameters


def takes_mask(operation: object) -> bool:
    """Whether an operation reads the mask of its first argument."""
    return isinstance(operation, keras.Layer) and "mask" in inspect.signature(operation.call).parameters


def computing_layers(network: keras.Layer) -> list[keras.Layer]:
    """The layers of a network in whose dtype numbers are computed: neither models nor their inputs."""
    return [layer for layer in walk_layers(network) if not isinstance(layer, (keras.Model, keras.layers.InputLayer))]


def makes_mask(layer: Any) -> bool:
    """Whether a layer may make a mask of what it reads: an Embedding, a Masking, a user's layer."""
    own = type(layer).compute_mask.__module__.split(".")[0] not in ("keras", __name__.split(".")[0])
    return own or bool(getattr(layer, "mask_zero", False)) or isinstance(layer, keras.layers.Masking)
