"""A model as a chain of recurrent layers and a head, run and differentiated in float64.

A chain is a function of the vectors that the model reads, or that its Embedding makes of ids. Each layer before the
first recurrent one must treat every step by itself. A stack of cells is a chain of layers of one cell each, under one
mask. Cells run as in `along`. Layers and operations that are not on the list of `parts` run, and are differentiated, by
Keras in their dtype. What a chain computes is compared with what Keras computes, so that a model that is read wrongly
is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import operation_name, walk_layers
from keras_interp_rnn._network.along import CellAlong, draws_noise, vocabulary_of
from keras_interp_rnn._network.arrays import (
    as_float64,
    as_mask,
    as_sequences,
    as_symbols,
    at_step,
    check_batched,
    check_finite,
    check_id_range,
    check_own_mask,
    check_reads,
)
from keras_interp_rnn._network.graph import evaluate, mask_after, vocabulary_sizes
from keras_interp_rnn._network.parts import EACH_STEP, ByKeras, Mask, Part, parts_of
from keras_interp_rnn._network.recurrent import RECURRENT
from keras_interp_rnn._network.stepper import MAX_DIFFERENCE
from keras_interp_rnn._types import Array

Rows = NDArray[np.intp]
"""For each row of a computation the sequence that it varies."""


class NotAChain(ValueError):
    """Raised for a network that is not one layer after the other, by what `received` names."""

    def __init__(self, message: str, received: str) -> None:
        super().__init__(message)
        self.received = received


@dataclass(frozen=True)
class Chain:
    """A network as a function of the vectors that it reads.

    Attributes:
        inputs: (batch, time, ...), float64. mask: bool (batch, time).
        parts: layers that treat steps one by one, recurrent layers and the head, in order.
        output: (batch, outputs), the network's own, in its dtype; of a sequence of outputs that of `step`.
        reads_symbols: whether the inputs are one-hot vectors of symbols, or distributions over them.
        step: of a sequence of outputs the one that is computed; negative from the end.
    """

    inputs: Array
    mask: Mask
    parts: Sequence[Part]
    output: Array
    reads_symbols: bool = False
    step: int = -1

    def run(self, x: Array, rows: Rows) -> Array:
        """(rows, outputs) in float64 for rows (rows, time, ...), each read with the mask of a sequence."""
        x = self._forward(x, self.mask[rows], last=True)
        return x[:, self.step] if x.ndim == 3 and x.shape[1] > 1 else x.reshape(len(x), -1)

    def gradient(self, x: Array, rows: Rows, outputs: NDArray[np.int64]) -> Array:
        """The gradient of one output of each row by the row."""
        x = self._forward(x, self.mask[rows])
        each, gradient = np.arange(len(x)), np.zeros_like(x)
        gradient[(each, self.step, outputs) if x.ndim == 3 else (each, outputs)] = 1
        return self._pulled_back(gradient)

    def recurrent_part(self) -> Chain:
        """The parts from the lowest recurrent layer to the uppermost one, and what they read."""
        places = [i for i, part in enumerate(self.parts) if isinstance(part, _Recurrent | _Both)]
        first, last = min(places), max(places)
        below = dataclasses.replace(self, parts=self.parts[:first])._forward(self.inputs, self.mask)
        return dataclasses.replace(self, inputs=below, parts=self.parts[first : last + 1])

    def outputs_by_inputs(self) -> Iterator[tuple[Array, Mask]]:
        """For each sequence dy/dx (n, time, features), and which steps are read.

        y is the output; of a sequence of outputs the one after the last step read.
        """
        for x, mask in zip(self.inputs, self.mask, strict=True):
            units = self._forward(x[None], mask[None]).shape[-1]
            output = self._forward(np.repeat(x[None], units, axis=0), np.repeat(mask[None], units, axis=0))
            gradient = np.zeros_like(output)
            each = np.arange(units)
            gradient[(each, np.flatnonzero(mask)[-1], each) if output.ndim == 3 else (each, each)] = 1
            yield self._pulled_back(gradient), mask

    def _pulled_back(self, gradient: Array) -> Array:
        for part in reversed(self.parts):
            gradient = part.backward(gradient)
        return gradient

    @property
    def cells(self) -> list[_Recurrent]:
        """The recurrent cells, from the inputs on; of two directions the forward one first."""
        return [cell for part in self.parts if isinstance(part, _Recurrent | _Both) for cell in part.cells]

    @property
    def is_closed(self) -> bool:
        """Whether all derivatives come from equations."""
        functions = [part for part in self.parts if isinstance(part, ByKeras)]
        return all(cell.is_closed for cell in self.cells) and all(getattr(each, "closed", None) for each in functions)

    def _forward(self, x: Array, mask: Mask, *, last: bool = False) -> Array:
        """All steps; with `last`, only the one that counts where the following parts treat steps alike."""
        for i, part in enumerate(self.parts):
            if last and x.ndim == 3 and all(isinstance(later, EACH_STEP) for later in self.parts[i:]):
                x, last = x[:, self.step][:, None], False
            before, x = x, part.forward(x, mask)
            if isinstance(part, ByKeras) and x.ndim == 3 and x.shape[1] != before.shape[1]:
                raise _refusal(f"{part.name}, which changes the number of steps")
        return x


def open_chain(network: Any, inputs: Any, mask: Any = None, step: int = -1) -> Chain:
    """The chain of a network.

    Args:
        network: a Sequential or functional model that is one chain of layers; a recurrent layer, Bidirectional too.
        inputs: (batch, time, ...), of the network.
        mask: bool (batch, time), of a layer; a model makes its own.
        step: as of `Chain`.

    Raises:
        NotAChain: if the network has other layers, several inputs or outputs, or if the chain does not compute what the
            network does.
        ValueError: if it has no recurrent layer; if a weight or an input is not finite; if its layers carry states or
            draw noise; if there is no such step.
    """
    if len(getattr(network, "inputs", None) or [0]) > 1:
        raise NotAChain(
            f"A model must have one input. Received: {network.name}, with {len(network.inputs)}. Pass the part that "
            "reads the sequences, keras.Model(model.inputs[i], layer.output), and a unit of that layer as target.",
            f"{network.name}, which has {len(network.inputs)} inputs",
        )
    given = as_sequences(inputs)
    check_batched(network, given)
    if not np.isfinite(given.astype(np.float64)).all():
        raise ValueError("The inputs must be finite. Received: NaN or infinity. Remove those sequences.")
    check_own_mask(network, mask)
    if not isinstance(network, (keras.Model, *RECURRENT)):
        raise ValueError(
            f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {network!r}. Pass "
            "keras.layers.RNN(cell) for a cell."
        )
    if isinstance(network, keras.Model) and not hasattr(network, "inputs"):
        network(given)
    calls = calls_of(network)
    for size in vocabulary_sizes(network) if isinstance(network, keras.Model) else ():
        if size is not None:
            check_id_range(given, size)
    layers = [call.operation for call in calls]
    first = next((i for i, layer in enumerate(layers) if isinstance(layer, RECURRENT)), None)
    if first is None:
        raise without_recurrent_layer(network)
    check_repeatable(network)
    for layer in layers:
        _check_order(layer)
    x, read = ops.convert_to_tensor(given), None if mask is None else ops.convert_to_tensor(np.asarray(mask, bool))
    start, vectors = first, x
    for i, call in enumerate(calls[:first]):
        if start == first and are_vectors(x):
            start, vectors = i, x
        read = mask_after(call.operation, x, read)
        x = _run_by_steps(call, x)
    if start == first:
        vectors = x
    own = network(given, training=False) if mask is None else network(given, mask=np.asarray(mask, bool))
    output = at_step(network, as_float64(own), step)
    check_finite(network)
    steps = as_mask(read, given.shape[:2])
    check_reads(steps)
    kind = keras.backend.standardize_dtype(x.dtype)
    size = vocabulary_of(getattr(layers[first], "forward_layer", layers[first]).cell)
    if size is not None and "int" in kind and tuple(x.shape[2:]) in ((), (1,)):
        as_symbols(np.asarray(ops.convert_to_numpy(x)).ravel(), size)
        vectors = ops.one_hot(ops.reshape(x, x.shape[:2]), size, dtype=layers[first].variable_dtype)
    elif len(x.shape) != 3 or "float" not in kind:
        if are_vectors(x):
            raise _refusal(f"{layers[first].name}, which reads {len(x.shape)} axes")
        raise ValueError(
            f"The recurrent layer must read vectors (batch, time, features), one for each step. Received: {kind} of "
            f"shape {tuple(x.shape)} for {layers[first].name}. Put an Embedding before it."
        )
    parts = [part for call in calls[start:] for part in _parts(call)]
    reads_symbols = size is not None and start == first
    chain = Chain(as_float64(vectors), steps, parts, output, reads_symbols, step)
    computed = chain.run(chain.inputs, np.arange(len(steps)))
    apart = float(np.abs(computed - chain.output).max()) if computed.shape == chain.output.shape else np.inf
    allowed = max(MAX_DIFFERENCE.get(call.dtype, 0) for call in calls)
    if not apart <= allowed * max(1.0, float(np.abs(chain.output).max())):
        raise _refusal(f"{network.name}, whose output is {apart:.2g} from that of its layers run one after the other")
    return chain


def are_vectors(x: Any) -> bool:
    """Whether a tensor holds floats (batch, time, ...) with features."""
    return len(x.shape) > 2 and "float" in keras.backend.standardize_dtype(x.dtype)


def without_recurrent_layer(network: Any) -> ValueError:
    """The error for a network without one."""
    return ValueError(
        f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {network.name}, which has "
        "no recurrent layer. Pass one that has."
    )


OWN_INPUTS = "Pass the recurrent layer and its own inputs, and a unit of its state as target."


def _refusal(received: str, remedy: str = OWN_INPUTS) -> NotAChain:
    return NotAChain(
        "A network must be one chain: layers that treat every step by itself, recurrent layers, and a head. Received: "
        f"{received}. {remedy}",
        received,
    )


class _Call(NamedTuple):
    """A layer or an operation of a chain, what it makes of a tensor, the dtype in which it computes, and the node."""

    operation: Any
    run: Callable[..., Any]
    dtype: str
    node: Any


def _call(operation: Any, node: Any = None) -> _Call:
    if isinstance(operation, keras.layers.Layer):
        return _Call(operation, operation, str(operation.compute_dtype), node)
    read = node.input_tensors[0]

    def run(x: Any) -> Any:
        args, kwargs = node.arguments.fill_in({id(read): x})  # the others from the graph
        return operation(*args, **kwargs)

    return _Call(operation, run, str(keras.backend.standardize_dtype(read.dtype)), node)


def calls_of(network: Any) -> list[_Call]:
    """The layers and operations of a network from its inputs on, those of nested models too.

    Raises:
        NotAChain: if one of them reads several tensors, or the network has not one input and one output.
    """
    if not isinstance(network, keras.Model):
        return [_call(network)]
    if not getattr(network, "inputs", None) or len(network.inputs) != 1 or len(network.outputs) != 1:
        raise _refusal(f"{network.name}, which has not exactly one input and one output")

    def call(operation: Any, node: Any, known: dict[int, Any]) -> list[Any]:
        read = [known[id(tensor)] for tensor in node.input_tensors]
        chains = [each for each in read if each is not None]
        # Masks, and tensors made of masks alone, are computed apart from the chain.
        if operation_name(operation) == "NotEqual" or not chains:
            return [None] * len(node.output_tensors)
        if len(chains) != 1 or (len(read) > 1 and not isinstance(operation, keras.layers.Layer)):
            raise _refusal(f"{operation.name}, which reads {len(read)} tensors")
        parts = calls_of(operation) if isinstance(operation, keras.Model) else [_call(operation, node)]
        return [[*chains[0], *parts]] * len(node.output_tensors)

    start: Any = []
    [chain] = evaluate(network, [start], call)
    if chain is None:
        raise _refusal(f"{network.name}, whose output is a mask")
    return list(chain)


def check_repeatable(network: Any) -> None:
    """Raises ValueError if outputs are not a function of the inputs: if a layer is stateful, or draws noise."""
    for layer in walk_layers(network):
        if isinstance(layer, RECURRENT) and layer.stateful:
            raise ValueError(
                f"A network must read each sequence from the start. Received: {layer.name} with stateful=True. Rebuild "
                "it without stateful, and give it the same weights."
            )
        if draws_noise(layer):
            raise ValueError(
                f"A network must compute the same from the same inputs. Received: {layer.name}, which draws noise. "
                "Rebuild it with another transition, and give it the same weights."
            )


def _check_order(layer: Any) -> None:
    if not isinstance(layer, RECURRENT):
        return
    flags = ["return_state"] if layer.return_state else []
    if isinstance(layer, keras.layers.RNN) and layer.go_backwards and layer.return_sequences:
        flags.append("go_backwards")
    if flags:
        raise _refusal(
            f"{layer.name} with {' and '.join(f'{flag}=True' for flag in flags)}",
            f"Rebuild it without {' and '.join(flags)}, and give it the same weights.",
        )


def _parts(call: _Call) -> list[Part]:
    layer = call.operation
    if isinstance(layer, keras.layers.Bidirectional):
        return [_Both(layer)]
    if isinstance(layer, keras.layers.RNN):
        return list(_of_cells(layer, layer.return_sequences))
    parts = parts_of(layer)
    return [ByKeras(layer.name, call.run, call.dtype)] if parts is None else [*parts]


def _run_by_steps(call: _Call, x: Any) -> Any:
    """The output for sequences (batch, time, ...); raises ValueError unless every step is treated by itself."""
    layer = call.operation
    training = {"training": False} if isinstance(layer, keras.layers.Layer) else {}
    together = call.run(x, **training)
    try:
        alone = as_float64(call.run(ops.reshape(x, (-1, 1, *x.shape[2:])), **training)).reshape(together.shape)
    except Exception:  # whatever the backend raises of a layer that needs another number of steps
        alone = np.full(together.shape, np.nan)
    if not np.allclose(as_float64(together), alone, rtol=1e-4, atol=1e-5):
        raise _refusal(
            f"{layer.name} ({type(layer).__name__}) before the first recurrent layer, which mixes steps",
            "Pass keras.Sequential of the layers after it, and what it outputs.",
        )
    return together


def _of_cells(layer: Any, sequences: bool) -> list[_Recurrent]:
    cells = list(getattr(layer.cell, "cells", [layer.cell]))
    starts = [as_float64(ops.cast(x, layer.variable_dtype))[0] for x in tree.flatten(layer.get_initial_state(1))]
    parts = []
    for i, cell in enumerate(cells):
        count = len(tree.flatten(cell.state_size))
        own, starts = starts[:count], starts[count:]
        parts.append(_Recurrent(layer, cell, own, sequences or i < len(cells) - 1))
    return parts


class _Recurrent(CellAlong):
    """One cell along sequences, in the reading order of its layer; outputs in that order too."""

    def __init__(self, layer: Any, cell: Any, starts: list[Array], sequences: bool) -> None:
        super().__init__(layer, cell)
        self.starts, self.sequences = starts, sequences
        self.order = slice(None, None, -1 if layer.go_backwards else 1)
        self.cells = [self]

    def forward(self, x: Array, mask: Mask) -> Array:
        self.read = mask[:, self.order]
        outputs = self.run(x[:, self.order], self.read, [np.tile(start, (len(x), 1)) for start in self.starts])
        if self.layer.zero_output_for_mask:
            outputs = np.where(self.read[..., None], outputs, 0)
        return outputs if self.sequences else outputs[:, -1]

    def backward(self, gradient: Array) -> Array:
        rows, steps = self.read.shape
        if not self.sequences:
            gradient = np.concatenate([np.zeros((rows, steps - 1, gradient.shape[-1])), gradient[:, None]], axis=1)
        width = gradient.shape[-1]
        result = np.zeros(self.inputs.shape)
        # By the output, which a masked step repeats, and by the states.
        carried = np.zeros((rows, 1, width + sum(x.shape[-1] for x in self.before)))
        for t in reversed(range(steps)):
            read = self.read[:, t, None, None]
            passes = read[:, 0] if self.layer.zero_output_for_mask else 1
            carried[:, 0, :width] += gradient[:, t] * passes
            linear = self.linear(t, outputs=True)
            result[:, t] = np.where(read, linear.input(carried), 0)[:, 0]
            before = np.concatenate([np.zeros((rows, 1, width)), linear.before(carried)], axis=-1)
            carried = np.where(read, before, carried)
        return result[:, self.order]


class _Both:
    """A Bidirectional layer."""

    def __init__(self, layer: Any) -> None:
        if layer.merge_mode not in ("concat", "sum", "ave"):
            raise _refusal(f"{layer.name} with merge_mode={layer.merge_mode!r}")
        self.mode, self.sequences = layer.merge_mode, layer.return_sequences
        self.sides = [_of_cells(side, layer.return_sequences) for side in (layer.forward_layer, layer.backward_layer)]
        if any(len(side) > 1 for side in self.sides):
            raise _refusal(f"{layer.name} over a stack of cells")
        self.cells = [cell for side in self.sides for cell in side]

    def forward(self, x: Array, mask: Mask) -> Array:
        first, second = (side[0].forward(x, mask) for side in self.sides)
        second = second[:, ::-1] if self.sequences else second
        self.units = first.shape[-1]
        if self.mode == "concat":
            return np.concatenate([first, second], axis=-1)
        return (first + second) * (0.5 if self.mode == "ave" else 1.0)

    def backward(self, gradient: Array) -> Array:
        scaled = gradient * (0.5 if self.mode == "ave" else 1.0)
        first, second = (scaled, scaled) if self.mode != "concat" else np.split(scaled, [self.units], axis=-1)
        second = second[:, ::-1] if self.sequences else second
        return self.sides[0][0].backward(first) + self.sides[1][0].backward(second)
