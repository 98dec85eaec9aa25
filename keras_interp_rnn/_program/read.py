"""A Keras model, read once, as a program: the list of layers that are understood. Any other call is `Opaque`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._backend.keras_quirks import mask_of, nodes_of, operation_name
from keras_interp_rnn._program.affine_layers import reads_symbols, registered
from keras_interp_rnn._program.along import output_size
from keras_interp_rnn._program.graph import evaluate, makes_mask, runs_its_graph
from keras_interp_rnn._program.operations import (
    PROBABILITIES,
    Affine,
    Cast,
    Elementwise,
    Join,
    Lookup,
    Mean,
    Normalize,
    NotEqual,
    OneHot,
    Opaque,
    Operation,
    Read,
    Recur,
    Reshape,
    Scale,
    Shape,
    Sum,
    Unmasked,
    Value,
    Windows,
)
from keras_interp_rnn._types import Tensor

L = keras.layers

RECURRENT = (L.RNN, L.Bidirectional)

IDENTITIES = (
    *(L.InputLayer, L.Identity, L.ActivityRegularization),
    *(L.Dropout, L.SpatialDropout1D, L.AlphaDropout),
    *(L.GaussianDropout, L.GaussianNoise),
)
"""Layers whose output is their input, outside training."""

NAMES = ("keras_interp_rnn>AlphabetLayer", "keras_interp_rnn>OutputsLayer")
"""The registered names of layers that carry names and pass on what they read."""

WORD_DROPOUT = "keras_interp_rnn>WordDropout"
"""The registered name of a layer that changes nothing outside training."""

RESHAPING = ("Flatten", "Reshape", "Squeeze", "ExpandDims")
"""Layers and operations that change the shape alone."""

OPERATIONS = {
    ops.sigmoid: keras.activations.sigmoid,
    ops.tanh: keras.activations.tanh,
    ops.relu: keras.activations.relu,
    ops.softmax: keras.activations.softmax,
}
"""Function of keras.ops -> the activation that it is."""


@dataclass(eq=False)
class Program:
    """The operations of a model, each after those that make what it reads.

    Attributes:
        name: of the model. inputs, outputs: values.
    """

    name: str
    inputs: list[Value]
    operations: list[Operation]
    outputs: list[Value]


def read(model: keras.Model) -> Program:
    """The program of a Sequential or functional model.

    Raises:
        ValueError: of a model that has no graph.
    """
    return _read(model, _Reader([]))


def read_opaque(model: keras.Model, *, but_activations: bool = False, but_recurrences: bool = False) -> Program:
    """The program of a model in which Keras computes everything: each call is opaque.

    Args:
        but_activations: whether activations that make probabilities of logits are not. but_recurrences: whether cells
            along the steps are not.

    Raises:
        ValueError: as `read`.
    """
    return _read(model, _OpaqueReader([], but_activations, but_recurrences))


def _read(model: keras.Model, reader: _Reader) -> Program:
    if not runs_its_graph(model):
        raise ValueError(
            f"A model must be Sequential or functional and know its inputs. Received: {model.name}, a "
            f"{type(model).__name__}. Begin a Sequential model with keras.Input, or rebuild a subclass by keras.Model."
        )
    inputs = [_value_of(tensor) for tensor in model.inputs]
    outputs = evaluate(model, inputs, reader.call)
    return Program(model.name, inputs, needed(reader.operations, outputs), outputs)


def read_layer(layer: Any, shape: Shape, dtype: str) -> Program:
    """The program of a layer that reads one tensor of a shape, or of a model, as they are called in a cell.

    Raises:
        ValueError: as `read`.
    """
    if isinstance(layer, keras.Model):
        return read(layer)
    tensor = keras.KerasTensor(shape, dtype)
    node = _Alone(layer, [tensor], [layer.compute_output_spec(tensor)])
    operations: list[Operation] = []
    value = _value_of(tensor)
    outputs = _Reader(operations).call(layer, node, {id(tensor): value})
    return Program(str(layer.name), [value], needed(operations, outputs), outputs)


def needed(operations: Sequence[Operation], outputs: Sequence[Value]) -> list[Operation]:
    """The operations on which the outputs depend. Keras draws masks that it also passes on by itself."""
    needed, kept = set(outputs), []
    for operation in reversed(operations):
        if needed.intersection(operation.makes):
            kept.append(operation)
            needed.update(operation.reads, (mask for mask in operation.masks if mask is not None))
    return kept[::-1]


def _value_of(tensor: keras.KerasTensor, mask: Value | None = None) -> Value:
    return Value(tuple(tensor.shape), keras.backend.standardize_dtype(tensor.dtype), mask)


class _Alone:
    """A call of a layer that is in no graph, as a node of one."""

    def __init__(self, layer: object, inputs: list[keras.KerasTensor], outputs: list[keras.KerasTensor]) -> None:
        self.operation, self.input_tensors, self.output_tensors = layer, inputs, outputs
        self.arguments = self
        self.args, self.kwargs = tuple(inputs), dict[str, Any]()

    def fill_in(self, tensors: dict[int, Tensor]) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
        return tuple(tensors[id(x)] for x in self.args), self.kwargs


@dataclass
class _Call:
    """A call in a model's graph: its layer or operation, its node, the values that it reads, and its mask."""

    operation: Any
    node: Any
    reads: list[Value]
    mask: Value | None

    def makes(self, place: int = 0) -> Value:
        """The value of an output, with the mask that Keras passes on with it."""
        tensor = self.node.output_tensors[place]
        layer = self.node.operation
        passes_on = isinstance(layer, L.Layer) and layer.supports_masking and len(tensor.shape) > 2
        return _value_of(tensor, self.mask if passes_on else None)


class _Reader:
    """Appends the operations of each call to a list."""

    def __init__(self, operations: list[Operation]) -> None:
        self.operations, self.place = operations, tuple[int, ...]()

    def call(self, operation: Any, node: Any, known: dict[int, Value]) -> list[Value]:
        given = node.arguments.kwargs.get("mask")
        tensors = [x for x in node.input_tensors if x is not given and not _is_mask_of(x, node.input_tensors)]
        reads = [known[id(x)] for x in tensors]
        if isinstance(operation, keras.Model) and runs_its_graph(operation) and not _others(node):
            before, self.place = self.place, (*self.place, _number(node))
            made = evaluate(operation, reads, self.call)
            self.place = before
            return made
        mask = reads[0].mask if reads else None
        if id(given) in known and (mask is None or given is not mask_of(tensors[0])):
            mask = known[id(given)]
        by_name = bool(node.arguments.kwargs) and not isinstance(operation, L.Layer)
        constant = not (given is None or isinstance(given, keras.KerasTensor))
        is_read = not (by_name or constant or _others(node))
        found = self.understood(_Call(operation, node, reads, mask)) if is_read else None
        return self.opaque(operation, node, known) if found is None else found

    def understood(self, call: _Call) -> list[Value] | None:
        """The values that a call makes; None of a call that is on none of the lists."""
        operation, kind = call.operation, type(call.operation)
        if kind in IDENTITIES or registered(operation) in (*NAMES, WORD_DROPOUT):
            return call.reads
        rule = RULES.get(kind) or NAMED.get(operation_name(operation))
        if rule is None and isinstance(operation, L.Embedding) and kind.call is L.Embedding.call:
            rule = _embedding  # of this package, with names for its ids
        if rule is None and isinstance(operation, RECURRENT):
            rule = _recurrent
        added = None if rule is None else rule(call)
        if added is None:
            return None
        if not added:  # it changes nothing
            return call.reads
        self.operations += added
        states = [state for each in added if isinstance(each, Recur) for state in each.makes[1:]]
        return [added[-1].makes[0], *states]

    def opaque(self, operation: Any, node: Any, known: dict[int, Value]) -> list[Value]:
        """Any call of Keras."""
        masks = _masks_of(node)
        inputs = [x for x in node.input_tensors if not any(x is mask for mask in masks)]
        passes_on = isinstance(operation, L.Layer) and (operation.supports_masking or makes_mask(operation))

        def run(tensors: list[Tensor], given: list[Tensor]) -> list[Tensor | None]:
            places = {id(x): tensor for x, tensor in zip([*inputs, *masks], [*tensors, *given], strict=True)}
            args, kwargs = node.arguments.fill_in(places)
            found: list[Tensor | None] = tree.flatten(operation(*args, **kwargs))
            return [*found, *map(mask_of, found)] if passes_on else found

        makes = [_value_of(x) for x in node.output_tensors]
        for value in makes if passes_on else []:
            value.mask = Value(value.shape[:2], "bool")
        self.operations.append(
            Opaque(
                layer=operation,
                reads=[known[id(x)] for x in inputs],
                makes=[*makes, *(value.mask for value in makes if value.mask is not None)],
                call=run,
                given=[known[id(x)] for x in masks],
                others=_others(node),
                place=(*self.place, _number(node)),
            )
        )
        return makes


class _OpaqueReader(_Reader):
    """As `_Reader`; but understands no call, or activations alone, or recurrences alone."""

    def __init__(self, operations: list[Operation], activations: bool, recurrences: bool) -> None:
        super().__init__(operations)
        self.activations, self.recurrences = activations, recurrences

    def understood(self, call: _Call) -> list[Value] | None:
        kind = type(call.operation)
        recurrence = self.recurrences and isinstance(call.operation, RECURRENT)
        if kind in IDENTITIES or recurrence or (self.activations and kind in (L.Activation, L.Softmax)):
            return super().understood(call)
        return self._dense(call) if self.activations and kind is L.Dense else None

    def _dense(self, call: _Call) -> list[Value] | None:
        """A Dense layer whose product is computed by Keras, and the activation that makes probabilities of it."""
        layer = call.operation
        if _plain(layer.activation) not in PROBABILITIES or layer.quantization_mode:
            return None

        def product(tensors: list[Tensor], _: list[Tensor]) -> list[Tensor | None]:
            [x], dtype = tensors, layer.compute_dtype
            found = ops.matmul(ops.cast(x, dtype), ops.cast(layer.kernel, dtype))
            return [found if layer.bias is None else ops.add(found, ops.cast(layer.bias, dtype))]

        logits = call.makes()
        before = Opaque(layer=layer, reads=call.reads, makes=[logits], call=product, given=[], others=[])
        self.operations += _then(layer.activation, call, before)
        return self.operations[-1].makes


def _number(node: Any) -> int:
    """The number of a call among those of its layer; 0 of a call in no graph."""
    return next((i for i, each in enumerate(nodes_of(node.operation)) if each is node), 0)


def _masks_of(node: Any) -> list[keras.KerasTensor]:
    """The tensors that a call reads as masks: arguments by the name of one."""
    given = dict(node.arguments.kwargs)
    with contextlib.suppress(TypeError):  # of a function whose arguments are not known
        given |= inspect.signature(node.operation.call).bind(*node.arguments.args, **given).arguments
    masks = tree.flatten([x for name, x in given.items() if name.endswith("mask")])
    return [x for x in masks if isinstance(x, keras.KerasTensor)]


def _others(node: Any) -> list[str]:
    """The names of arguments of a layer's call besides its input, its mask, and `training` where it changes nothing."""
    layer, arguments = node.operation, node.arguments
    if not isinstance(layer, L.Layer):
        return []
    harmless = ("mask", "training") if reads_symbols(layer) else ("mask",)
    further = [f"a second input of type {type(x).__name__}" for x in arguments.args[1:] if x is not None]
    given = [name for name, value in arguments.kwargs.items() if value is not None and value is not False]
    return [*further, *(name for name in given if name not in harmless)]


def _is_mask_of(tensor: keras.KerasTensor, tensors: Sequence[keras.KerasTensor]) -> bool:
    return any(mask_of(x) is tensor for x in tensors)


# The list of layers. A rule gives the operations of a call, one after the other; None where the layer is another one
# than it seems.

Rule = Callable[[_Call], list[Operation] | None]


def _one(kind: type[Operation], call: _Call, **fields: object) -> Operation:
    return kind(layer=call.operation, reads=call.reads, makes=[call.makes()], mask=call.mask, **fields)


def _embedding(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if layer.quantization_mode is not None:
        return None
    lookup = _one(Lookup, call, table=lambda read: read(layer.embeddings), adapted=layer.lora_enabled)
    if not layer.mask_zero:
        return [lookup]
    [ids], [rows] = lookup.reads, lookup.makes
    rows.mask = Value(ids.shape, "bool")
    return [NotEqual(layer=layer, reads=[ids], makes=[rows.mask], value=0), lookup]


def _dense(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if layer.quantization_mode is not None:
        return None

    def arrays(read: Read) -> tuple[Tensor, Tensor | None]:
        return read(layer.kernel), None if layer.bias is None else read(layer.bias)

    return _then(layer.activation, call, _one(Affine, call, arrays=arrays, adapted=layer.lora_enabled))


def _then(function: Any, call: _Call, *before: Operation) -> list[Operation]:
    """Operations, and an activation of the last one's value."""
    function = _plain(function)
    if function is keras.activations.linear:
        return [*before]
    reads = before[-1].makes if before else call.reads
    return [
        *before,
        Elementwise(layer=call.operation, reads=reads, makes=[call.makes()], mask=call.mask, function=function),
    ]


def _plain(function: Any) -> Any:
    """A function that is equal to itself alone: interpreters have tables of functions."""
    kind: Any = type(function)
    if kind.__eq__ is object.__eq__:
        return OPERATIONS.get(function, function)
    return lambda x: function(x)


def _time_distributed(call: _Call) -> list[Operation] | None:
    inner = call.operation.layer
    rule = RULES.get(type(inner)) if type(inner) in (L.Dense, L.Activation, L.Softmax) else None
    found = None if rule is None else rule(_Call(inner, call.node, call.reads, call.mask))
    return None if found is None else [replace(each, layer=call.operation) for each in found]


def _batch_normalization(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if layer.axis != -1:
        return None

    def arrays(read: Read) -> tuple[Tensor, Tensor, Tensor]:
        factor = 1 / (read(layer.moving_variance) + layer.epsilon) ** 0.5
        factor = factor if layer.gamma is None else factor * read(layer.gamma)
        return read(layer.moving_mean), factor, 0.0 if layer.beta is None else read(layer.beta)

    return [_one(Scale, call, arrays=arrays)]


def _normalization(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if not reads_features(layer):
        return None

    def arrays(_: Read) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance = as_float64(layer.mean).ravel(), as_float64(layer.variance).ravel()
        deviation = np.maximum(np.sqrt(variance), keras.config.epsilon())
        return (0.0, deviation, mean) if layer.invert else (mean, 1 / deviation, 0.0)

    return [_one(Scale, call, arrays=arrays, of_weights=False)]


def _rescaling(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if not reads_features(layer):
        return None
    constants = as_float64(layer.scale).ravel(), as_float64(layer.offset).ravel()
    return [_one(Scale, call, arrays=lambda _: (0.0, *constants), of_weights=False)]


def reads_features(layer: Any) -> bool:
    """Whether a normalization, or a Rescaling, has one constant for all features, or one for each."""
    if isinstance(layer, keras.layers.LayerNormalization):
        last = len((layer.get_build_config() or {}).get("input_shape") or ()) - 1  # as Keras 3.16 writes the axis
        return layer.axis in ([-1], [last]) and not layer.rms_scaling
    if isinstance(layer, keras.layers.Normalization):
        return layer.mean is not None and math.prod(layer.mean.shape[:-1]) == 1
    return np.ndim(layer.scale) < 2 and np.ndim(layer.offset) < 2 and channels_last(layer)


def channels_last(layer: Any) -> bool:
    """Whether a Rescaling multiplies the last axis."""
    return np.ndim(layer.scale) == 0 or keras.config.image_data_format() == "channels_last"


def _layer_normalization(call: _Call) -> list[Operation] | None:
    layer = call.operation
    if not reads_features(layer):
        return None
    return [_one(Normalize, call, epsilon=layer.epsilon, gamma=layer.gamma, beta=layer.beta)]


def _mean(call: _Call) -> list[Operation] | None:
    layer = call.operation
    return [_one(Mean, call)] if layer.data_format == "channels_last" and not layer.keepdims else None


def _masking(call: _Call) -> list[Operation]:
    [x] = call.reads
    made = call.makes()
    made.mask = Value(x.shape[:-1], "bool")
    value = float(call.operation.mask_value)
    return [Unmasked(layer=call.operation, reads=[x], makes=[made, made.mask], mask=call.mask, value=value)]


def _concatenate(call: _Call) -> list[Operation] | None:
    rank, axis = len(call.reads[0].shape), call.operation.axis
    return _merged(Join, call) if axis in (-1, rank - 1) else None


def _sum(call: _Call, factors: Callable[[int], list[float]]) -> list[Operation] | None:
    same = len({x.shape for x in call.reads}) == 1 and len(call.reads) == len(tree.flatten(call.node.arguments.args))
    return _merged(Sum, call, factors=factors(len(call.reads))) if same else None


def _merged(kind: type[Operation], call: _Call, **fields: Any) -> list[Operation] | None:
    """An operation of several values, which reads no mask. Of values with one mask it passes this one on.

    A sum has none where one of its values has none.
    """
    masks = {x.mask for x in call.reads}
    known = masks - {None}
    mask = next(iter(known)) if known and (kind is Join or masks == known) else None
    made = replace(call, mask=mask).makes()
    return [kind(layer=call.operation, reads=call.reads, makes=[made], **fields)] if len(known) < 2 else None


def _with_number(call: _Call) -> list[Operation] | None:
    """The sum, difference, product or quotient of a tensor and a number."""
    args, name = tree.flatten(call.node.arguments.args), operation_name(call.operation)
    numbers = [float(x) for x in args if isinstance(x, (int, float))]
    if len(numbers) != 1 or len(args) != 2 or "float" not in call.reads[0].dtype:
        return None
    [number], first = numbers, isinstance(args[0], (int, float))
    if name in ("Divide", "TrueDivide") and (first or number == 0):
        return None
    factor, offset = {
        "Add": (1.0, number),
        "Subtract": (-1.0, number) if first else (1.0, -number),
        "Multiply": (number, 0.0),
    }.get(name) or (1 / number, 0.0)
    return [_one(Scale, call, arrays=lambda _: (0.0, factor, offset), of_weights=False)]


def _windows(call: _Call, places: Callable[[int], NDArray[np.intp]], lags: tuple[int, ...] | None) -> Operation:
    [x], made = call.reads, call.makes()
    if len(made.shape) == 3:
        made = replace(made, shape=(*made.shape[:2], (x.shape[2] or 0) * places(x.shape[1] or 1).shape[1]))
    return Windows(layer=call.operation, reads=[x], makes=[made], mask=call.mask, places=places, lags=lags)


def _convolution(call: _Call) -> list[Operation] | None:
    layer, last = call.operation, len(call.reads[0].shape) - 1
    known = last == 2 and layer.data_format == "channels_last" and layer.groups == 1
    if not known or layer.quantization_mode is not None or layer.lora_enabled:
        return None
    [size], [stride], [dilation] = layer.kernel_size, layer.strides, layer.dilation_rate
    reach = dilation * (size - 1)

    def places(count: int) -> NDArray[np.intp]:
        """Padding "same" has as many zeros before the steps as after them, or one fewer."""
        made = max(-(-(count - reach if layer.padding == "valid" else count) // stride), 0)
        beyond = max((made - 1) * stride + reach + 1 - count, 0)
        before = {"valid": 0, "same": beyond // 2, "causal": reach}[layer.padding]
        found = np.arange(made)[:, None] * stride - before + dilation * np.arange(size)
        return np.where((found < 0) | (found >= count), -1, found)

    is_causal = stride == 1 and (layer.padding == "causal" or size == 1)
    lags = tuple(range(reach, -1, -dilation)) if is_causal else None
    windows = _windows(call, places, lags)

    def arrays(read: Read) -> tuple[Tensor, Tensor | None]:
        return read(layer.kernel), None if layer.bias is None else read(layer.bias)

    affine = Affine(layer=layer, reads=windows.makes, makes=[call.makes()], mask=call.mask, arrays=arrays)
    return _then(layer.activation, call, windows, affine)


def _chosen_steps(call: _Call) -> list[Operation] | None:
    """Steps by a number or a slice, as x[:, -1] and x[:, 1:]."""
    _, key = call.node.arguments.args
    whole = (slice(None), Ellipsis)
    every, chosen, *others = key if isinstance(key, tuple) and len(key) > 1 else (None, None)
    bounds = (chosen.start, chosen.stop, chosen.step) if isinstance(chosen, slice) else (chosen,)
    numbers = all(type(bound) is int for bound in bounds if bound is not None) and chosen is not None
    known = every == slice(None) and numbers and all(x in whole for x in others)
    if not known or len(others) > 1 or len(call.reads[0].shape) != 3 or "float" not in call.reads[0].dtype:
        return None

    def places(count: int) -> NDArray[np.intp]:
        return np.arange(count)[chosen].reshape(-1, 1)

    return [_windows(call, places, (0,) if chosen == -1 else None)]


def _reshape(call: _Call) -> list[Operation] | None:
    [x], made = call.reads, call.node.output_tensors[0]
    reorders = isinstance(call.operation, L.Flatten) and call.operation.data_format == "channels_first"
    keeps_batch = made.shape[:1] == x.shape[:1] and made.shape[1:].count(None) < 2
    if not isinstance(call.operation, L.Layer):  # it may take rows as steps
        known, same = (math.prod(size for size in shape[1:] if size is not None) for shape in (x.shape, made.shape))
        keeps_batch &= known == same and x.shape.count(None) == made.shape.count(None)
    return [_one(Reshape, call)] if keeps_batch and not reorders else None


def _one_hot(call: _Call) -> list[Operation] | None:
    operation = call.operation
    return [_one(OneHot, call, size=operation.num_classes)] if operation.axis == -1 else None


def _not_equal(call: _Call) -> list[Operation] | None:
    value = call.node.arguments.args[-1]
    is_number = len(call.reads) == 1 and type(value) in (int, float)  # one derived from these may be equal to any
    return [_one(NotEqual, call, value=value)] if is_number else None


def _activation(call: _Call) -> list[Operation]:
    return _then(call.operation.activation, call)


def _softmax(call: _Call) -> list[Operation] | None:
    return _then(keras.activations.softmax, call) if call.operation.axis == -1 and call.mask is None else None


def _recurrent(call: _Call) -> list[Operation] | None:
    layer = call.operation
    both = isinstance(layer, L.Bidirectional)
    if both and layer.merge_mode not in ("concat", "sum", "ave"):
        return None
    ways = [layer.forward_layer, layer.backward_layer] if both else [layer]
    if not all(map(_steps_as_its_class, ways)):
        return None
    found: list[Operation] = []
    numbers = range(1, len(call.node.output_tensors))
    halves = [numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]] if both else [numbers]
    for way, states in zip(ways, halves, strict=True):
        made = [call.makes(), *map(call.makes, states)]
        if both and layer.merge_mode == "concat":
            made[0].shape = (*made[0].shape[:-1], output_size(way.cell))
        flags = {"backwards": way.go_backwards, "sequences": way.return_sequences, "zeros": way.zero_output_for_mask}
        flags |= {"in_order": both, "stateful": way.stateful}
        found.append(Recur(layer=way, reads=call.reads, makes=made, mask=call.mask, cell=way.cell, **flags))
    if both:
        joined = _Call(layer, call.node, [each.makes[0] for each in found], None)
        factors = [0.5 if layer.merge_mode == "ave" else 1.0] * 2
        is_joined = layer.merge_mode == "concat"
        found += (_merged(Join, joined) if is_joined else _merged(Sum, joined, factors=factors)) or []
    return found


def _steps_as_its_class(layer: object) -> bool:
    """Whether a recurrent layer runs its cell as `keras.layers.RNN` does: a subclass may not."""
    if not isinstance(layer, L.RNN):
        return False
    for name in ("call", "__call__", "inner_loop"):
        owner = next(part for part in type(layer).__mro__ if name in vars(part))
        if owner.__module__.split(".")[0] not in ("keras", __name__.split(".")[0]):
            return False
    return True


RULES: dict[type, Rule] = {
    L.Embedding: _embedding,
    L.Dense: _dense,
    L.TimeDistributed: _time_distributed,
    L.BatchNormalization: _batch_normalization,
    L.LayerNormalization: _layer_normalization,
    L.Normalization: _normalization,
    L.Rescaling: _rescaling,
    L.Conv1D: _convolution,
    L.GlobalAveragePooling1D: _mean,
    L.Masking: _masking,
    L.Activation: _activation,
    L.Softmax: _softmax,
    L.Concatenate: _concatenate,
    L.Add: functools.partial(_sum, factors=lambda count: [1.0] * count),
    L.Average: functools.partial(_sum, factors=lambda count: [1.0 / count] * count),
    L.Subtract: functools.partial(_sum, factors=lambda count: [1.0, -1.0]),
}
"""Layer of Keras -> its operations. Types are exact: a subclass may compute something else."""

NAMED: dict[str, Rule] = {
    **dict.fromkeys(RESHAPING, _reshape),
    **dict.fromkeys(("Multiply", "Divide", "TrueDivide"), _with_number),
    "GetItem": _chosen_steps,
    "Cast": lambda call: [_one(Cast, call)],
    "OneHot": _one_hot,
    "NotEqual": _not_equal,
    "Softmax": _softmax,
    "Sigmoid": functools.partial(_then, keras.activations.sigmoid),
    "Tanh": functools.partial(_then, keras.activations.tanh),
    "Relu": functools.partial(_then, keras.activations.relu),
    "Add": lambda call: _with_number(call) or _sum(call, lambda count: [1.0] * count),
    "Subtract": lambda call: _with_number(call) or _sum(call, lambda count: [1.0, -1.0]),
}
"""Operation of `keras.ops` -> the operations of a program."""
