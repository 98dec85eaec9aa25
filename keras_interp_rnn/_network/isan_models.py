"""A model of symbols, derived along its graph: which ISAN reads them, and which head reads the states.

A tensor of the model holds the symbols, an ISAN's states, their logits or probabilities, or something else. The rules
are a closed list of exact types: a subclass, a quantized layer, a mask or an unknown operation gives "other", with the
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import keras
from keras import tree

from keras_interp_rnn._backend.keras_quirks import mask_of, operation_name, walk_layers
from keras_interp_rnn._network.graph import evaluate, runs_its_graph
from keras_interp_rnn._network.parts import Activation, Linear, Mean, Zeroed, parts_of, registered

_OURS = "keras_interp_rnn>"


@dataclass(frozen=True)
class Value:
    """The content of a tensor: "symbols", "vectors" of symbols, "states", "logits", "activated logits" or "other".

    Attributes:
        embedding: of vectors the Embedding that makes them.
        head: of logits the affine parts that make them of the states, one after the other.
        activation: that the logits went through, if they are activated.
        layer: of states and logits the layer whose states they are.
        mask: of what is read further on, whether steps are masked: "" for none, "zero" where the symbol is 0, "states"
            for any others, "lost" where a layer did not pass it on.
        pooled: of states and logits, whether they are the mean over the steps that are not masked.
        reason: of "other", its cause, for the error.
    """

    kind: str
    head: tuple[Any, ...] = ()
    activation: Any = None
    reason: str = ""
    embedding: Any = None
    layer: Any = None
    mask: str = ""
    pooled: bool = False


SYMBOLS = Value("symbols")


class SymbolFlow(NamedTuple):
    """Every call of a layer of `reads_symbols` in a model, with the value that it reads, and those of the outputs."""

    isans: list[tuple[Any, Value]]
    outputs: list[Value]


def is_isan_cell(cell: Any) -> bool:
    """Whether it is an ISAN's cell over a vocabulary: a cell of this package that is affine in its state."""
    affine = registered(cell).startswith(_OURS) and getattr(cell, "is_affine", False)
    return affine and cell.vocabulary_size is not None


def is_isan(layer: Any) -> bool:
    """Whether it is a recurrent layer over such a cell, of this package or `keras.layers.RNN` itself."""
    of_its_own = registered(layer).startswith(_OURS) and hasattr(layer, "cell_class")
    return (of_its_own or type(layer) is keras.layers.RNN) and is_isan_cell(layer.cell)


def is_linear_recurrence(layer: Any) -> bool:
    """Whether it is a layer of this package, or its cell, whose state is affine in the one before, given vectors."""
    cell = getattr(layer, "cell", layer)
    ours = registered(layer).startswith(_OURS) and registered(cell).startswith(_OURS)
    return ours and getattr(cell, "is_linear_recurrence", False)


def reads_symbols(layer: Any) -> bool:
    """Whether its state is affine in the one before, given symbols or their vectors."""
    return is_isan(layer) or is_linear_recurrence(layer)


def is_two_way(layer: Any) -> bool:
    """Whether it is a Bidirectional of such layers whose outputs are concatenated or added."""
    if type(layer) is not keras.layers.Bidirectional or layer.merge_mode not in ("concat", "sum", "ave"):
        return False
    ways = (layer.forward_layer, layer.backward_layer)
    same = all(is_linear_recurrence(way) for way in ways) or all(is_isan(way) for way in ways)
    return same and ways[0].go_backwards is False and ways[1].go_backwards is True


def follow_symbols(model: keras.Model) -> SymbolFlow:
    """The inputs of each ISAN of a Sequential or functional model, and its outputs; nested models are entered.

    Raises:
        ValueError: if the model has no graph.
    """
    if not runs_its_graph(model):
        raise ValueError(
            f"A model must be Sequential or functional and know its inputs. Received: {model.name}, a "
            f"{type(model).__name__}. Pass the ISAN layer and readout=(matrix, bias); or begin a Sequential model with "
            "keras.Input((None,), dtype='int32')."
        )
    if len(model.inputs) > 1:
        raise ValueError(
            f"A model must have one input, its symbols. Received: {model.name}, with {len(model.inputs)} inputs. Pass "
            "the ISAN layer and readout=(matrix, bias), the rows of the head that read its states."
        )
    isans: list[tuple[Any, Value]] = []
    return SymbolFlow(isans, _outputs(model, [SYMBOLS] * len(model.inputs), isans))


def has_isan(network: Any) -> bool:
    """Whether there is an ISAN over a vocabulary in a network, readable or not."""
    layers = walk_layers(network) if isinstance(network, keras.Model) else [network]
    return any(reads_symbols(layer) or is_isan_cell(layer) for layer in layers)


def _outputs(model: keras.Model, inputs: Sequence[Value], isans: list[tuple[Any, Value]]) -> list[Value]:
    def call(operation: Any, node: Any, known: dict[int, Value]) -> list[Value]:
        # Keras passes masks on itself, as an argument; `_extra_arguments` has those that a user passes.
        masks = [mask_of(node.input_tensors[0]), *tree.flatten(node.arguments.kwargs.get("mask"))]
        read = [known[id(x)] for x in node.input_tensors if not any(x is mask for mask in masks)]
        return _derive(operation, node, read, isans)

    return evaluate(model, inputs, call)


def _derive(operation: Any, node: Any, read: list[Value], isans: list[tuple[Any, Value]]) -> list[Value]:
    """A value for each output tensor of an operation, from the values of what it reads."""
    recurrent = reads_symbols(operation) or is_two_way(operation)
    count, extra = len(node.output_tensors), _extra_arguments(node, recurrent)
    called = _other(f"{operation.name}, which is called with {extra}") if extra else None
    obstacle = next((value for value in read if value.reason), None)
    if recurrent:
        takes = ("symbols",) if is_isan(getattr(operation, "forward_layer", operation)) else ("symbols", "vectors")
        changed = None if read[0].kind in takes else _other(f"{operation.name}, which reads {read[0].kind}")
        isans.append((operation, called or obstacle or changed or read[0]))
        return [Value("states", layer=operation, mask=_passed_on(operation, read[0]))] * count
    if obstacle is not None:
        return [obstacle] * count
    if isinstance(operation, keras.Model) and runs_its_graph(operation):
        return [called] * count if called else _outputs(operation, read, isans)
    value = _rule(operation, read[0], len(node.input_tensors[0].shape))
    value = None if value is None else replace(value, mask=_passed_on(operation, value))
    return [called or value if value else _other(f"{describe(operation)}, on its {read[0].kind}")] * count


def _passed_on(operation: Any, value: Value) -> str:
    """The mask of what comes after an operation."""
    return value.mask if getattr(operation, "supports_masking", False) or not value.mask else "lost"


def _other(reason: str) -> Value:
    return Value("other", reason=reason)


def _rule(operation: Any, read: Value, rank: int) -> Value | None:
    """The closed list, for an operation with one input of this rank; None for operations that are not on it."""
    if read.kind == "symbols":
        if type(operation) is keras.layers.Embedding and rank == 2 and operation.quantization_mode is None:
            return Value("vectors", embedding=operation, mask="zero" if operation.mask_zero else "")
        if rank == 2 and _keeps_symbols(operation):
            return read
    value: Value | None = read
    parts = parts_of(operation)
    for part in [None] if parts is None else parts:
        value = None if value is None else _passed(part, value, rank)
    return value


def _passed(part: Any, read: Value, rank: int) -> Value | None:
    """The values after a part of a layer: an affine map of states or logits, their mean, an activation at the end."""
    affine = read.kind in ("states", "logits")
    if isinstance(part, Linear) and affine:
        return replace(read, kind="logits", head=(*read.head, part))
    if isinstance(part, Activation) and read.kind == "logits":
        return replace(read, kind="activated logits", activation=part.function)
    if isinstance(part, Mean) and affine and rank == 3 and read.mask not in ("states", "lost"):
        return replace(read, pooled=True)
    if isinstance(part, Zeroed) and read.kind == "states":
        return replace(read, mask="states")
    return None


def _keeps_symbols(operation: Any) -> bool:
    """Whether it only rewrites ids (batch, time): with one more axis, in another integer type, one-hot."""
    if type(operation) is keras.layers.Reshape:
        return len(operation.target_shape) == 2 and operation.target_shape[-1] == 1
    name = operation_name(operation)
    return (
        (name == "ExpandDims" and operation.axis in (-1, 2))
        or (name == "Cast" and keras.backend.standardize_dtype(operation.dtype) in ("int32", "int64"))
        or (name == "OneHot" and operation.axis == -1)
    )


def _extra_arguments(node: Any, isan: bool) -> str:
    """The names of arguments of a call besides its input; for an ISAN `training` makes no difference."""
    arguments, mask = node.arguments, mask_of(node.input_tensors[0])
    harmless = {"training"} if isan else set()
    harmless |= {"mask"} if arguments.kwargs.get("mask") is mask else set()
    given = [f"a second input of type {type(x).__name__}" for x in tree.flatten(arguments.args)[1:] if x is not None]
    given += [k for k, v in arguments.kwargs.items() if v is not None and v is not False and k not in harmless]
    return ", ".join(given)


def describe(thing: Any) -> str:
    """A layer or an operation, for an error: its name, its type and what is unusual about it."""
    if not hasattr(thing, "name"):
        return repr(thing)
    name = f"{thing.name} ({type(thing).__name__}"
    if isinstance(thing, keras.layers.RNN):
        return f"{name} over {type(thing.cell).__name__})"
    if getattr(thing, "quantization_mode", None) is not None:
        return f"{name}, quantized to {thing.quantization_mode})"
    activation = getattr(thing, "activation", keras.activations.linear)
    if activation is not keras.activations.linear:
        return f"{name} with the activation {getattr(activation, '__name__', activation)!r})"
    return f"{name})"
