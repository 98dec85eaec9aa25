"""A model as a chain of recurrent layers and a head, run and differentiated in float64.

A chain is a function of the vectors that the model reads, or that its Embedding makes of ids. Each layer before the
first recurrent one must treat every step by itself. A stack of cells is a chain of layers of one cell each, under one
mask. Cells run as in `along`. Layers and operations that are not on the list of `parts` run, and are differentiated, by
Keras in their dtype. What a chain computes is compared with what Keras computes, so that a model that is read wrongly
is refused.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import operation_name, walk_layers
from keras_interp_rnn._backend.network_runs import own_outputs
from keras_interp_rnn._network.agreement import Absent, difference, nothing, runs_of
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
    in_rank,
    without_unread,
)
from keras_interp_rnn._network.graph import (
    Masked,
    evaluate,
    makes_mask,
    run_with_masks,
    vocabulary_sizes,
    warn_of_lost_masks,
)
from keras_interp_rnn._network.parts import EACH_STEP, RESHAPING, ByKeras, Mask, Part, Reshaped, activation_of, parts_of
from keras_interp_rnn._network.recurrent import RECURRENT
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
        inputs: (batch, time, ...), float64. mask: bool (batch, time), the steps that the first recurrent layer reads.
        parts: layers that treat steps one by one, recurrent layers and the head, in order.
        masks: for each part the mask (batch, time) that the network itself gives it; None where it gives none.
        output: (batch, outputs), the network's own, in its dtype; of a sequence of outputs that of `step`.
        reads_symbols: whether the inputs are one-hot vectors of symbols, or distributions over them.
        step: of a sequence of outputs the one that is computed; negative from the end.
    """

    inputs: Array
    mask: Mask
    parts: Sequence[Part]
    masks: Sequence[Mask | None]
    output: Array
    reads_symbols: bool = False
    step: int = -1

    def run(self, x: Array, rows: Rows) -> Array:
        """(rows, outputs) in float64 for rows (rows, time, ...), each read with the mask of a sequence."""
        x = self._forward(x, rows, last=True)
        return x[:, self.step] if x.ndim == 3 and x.shape[1] > 1 else x.reshape(len(x), -1)

    @property
    def activation(self) -> str | None:
        """The activation at the end, where that makes probabilities of logits: "softmax" or "sigmoid"."""
        return activation_of(self.parts[self._end])

    @property
    def _end(self) -> int:
        """The last part that computes something."""
        after = itertools.takewhile(lambda part: isinstance(part, Reshaped), reversed(self.parts))
        return len(self.parts) - 1 - len(list(after))

    def before_activation(self) -> Chain:
        """The same network without that activation."""
        if self.activation is None:
            return self
        parts, masks = list(self.parts), list(self.masks)
        del parts[self._end], masks[self._end]
        return dataclasses.replace(self, parts=parts, masks=masks)

    def gradient(self, x: Array, rows: Rows, outputs: NDArray[np.int64]) -> Array:
        """The gradient of one output of each row by the row."""
        x = self._forward(x, rows)
        each, gradient = np.arange(len(x)), np.zeros_like(x)
        gradient[(each, self.step, outputs) if x.ndim == 3 else (each, outputs)] = 1
        return self._pulled_back(gradient)

    def recurrent_part(self) -> Chain:
        """The parts from the lowest recurrent layer to the uppermost one, and what they read."""
        places = [i for i, part in enumerate(self.parts) if isinstance(part, _Recurrent | _Both)]
        first, last = min(places), max(places)
        below = self._between(0, first)._forward(self.inputs, np.arange(len(self.inputs)))
        return dataclasses.replace(self._between(first, last + 1), inputs=below)

    def _between(self, start: int, end: int) -> Chain:
        return dataclasses.replace(self, parts=self.parts[start:end], masks=self.masks[start:end])

    def first(self, count: int) -> Chain:
        """The same network on the first sequences."""
        masks = [None if mask is None else mask[:count] for mask in self.masks]
        return dataclasses.replace(self, inputs=self.inputs[:count], mask=self.mask[:count], masks=masks)

    def outputs_by_inputs(self) -> Iterator[tuple[Array, Mask]]:
        """For each sequence dy/dx (n, time, features), and which steps are read.

        y is the output; of a sequence of outputs the one after the last step read.
        """
        for row, (x, mask) in enumerate(zip(self.inputs, self.mask, strict=True)):
            units = self._forward(x[None], np.array([row])).shape[-1]
            output = self._forward(np.repeat(x[None], units, axis=0), np.full(units, row))
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

    def mask_of(self, cell: _Recurrent) -> Mask:
        """The steps (batch, time) that a cell reads."""
        given = next(x for part, x in zip(self.parts, self.masks, strict=True) if cell in getattr(part, "cells", ()))
        return np.ones(self.mask.shape, bool) if given is None else given

    @property
    def is_closed(self) -> bool:
        """Whether all derivatives come from equations."""
        functions = [part for part in self.parts if isinstance(part, ByKeras)]
        return all(cell.is_closed for cell in self.cells) and all(getattr(each, "closed", None) for each in functions)

    def _forward(self, x: Array, rows: Rows, *, last: bool = False) -> Array:
        """All steps; with `last`, only the one that counts where the following parts treat steps alike."""
        for i, (part, given) in enumerate(zip(self.parts, self.masks, strict=True)):
            if last and x.ndim == 3 and all(isinstance(later, EACH_STEP) for later in self.parts[i:]):
                x, last = x[:, self.step][:, None], False
            before, x = x, part.forward(x, None if given is None else given[rows])
            if isinstance(part, ByKeras) and x.ndim == 3 and (before.ndim > 2, before.shape[1]) != (True, x.shape[1]):
                raise _refusal(f"{part.name}, which changes the number of steps")
        return x


def open_chain(
    network: Any,
    inputs: Any,
    mask: Any = None,
    step: int = -1,
    *,
    absent: Absent = nothing,
    own: Callable[[Any], Any] | None = None,
) -> Chain:
    """The chain of a network.

    Args:
        network: a Sequential or functional model that is one chain of layers; a recurrent layer, Bidirectional too.
        inputs: (batch, time, ...), of the network.
        mask: bool (batch, time), of a layer; a model makes its own.
        step: as of `Chain`.
        absent: what takes the place of the inputs: differences from the network are measured against what that changes.
        own: what the chain is compared with, if the network was made of it.

    Raises:
        NotAChain: if the network has other layers, several inputs or outputs, or if the chain does not compute what the
            network does.
        ValueError: if it has no recurrent layer; if a weight, an input or an output is not finite; if its layers carry
            states or draw noise, or mix the sequences of a batch; if there is no such step.
    """
    check_own_mask(network, mask)
    if len(getattr(network, "inputs", None) or [0]) > 1:
        raise NotAChain(
            f"A model must have one input. Received: {network.name}, with {len(network.inputs)}. Pass the part that "
            "reads the sequences, keras.Model(model.inputs[i], layer.output).",
            f"{network.name}, which has {len(network.inputs)} inputs",
        )
    given = as_sequences(inputs)
    check_batched(network, given)
    given = in_rank(given, network.inputs[0]) if getattr(network, "inputs", None) else given
    if not isinstance(network, (keras.Model, *RECURRENT)):
        raise ValueError(
            f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {network!r}. Pass "
            "keras.layers.RNN(cell) for a cell."
        )
    if isinstance(network, keras.Model) and not hasattr(network, "inputs"):
        network(given)
    calls = calls_of(network)
    sizes = vocabulary_sizes(network) if isinstance(network, keras.Model) else [None]
    for size in sizes:
        if size is not None:
            check_id_range(given, size)
    first = next((i for i, call in enumerate(calls) if isinstance(call.operation, RECURRENT)), None)
    if first is None:
        raise without_recurrent_layer(network)
    check_repeatable(network)
    for call in calls:
        _check_order(call.operation)
    check_finite(network)
    masked = {} if mask is None else {"mask": as_mask(mask, given.shape[:2])}
    if masked:  # before others take their places: an id that is no id must not come where it is read
        given = without_unread(given, masked["mask"])

    outputs = own_outputs(network)

    def run(arrays: list[NDArray[Any]]) -> Array:
        of_rows = {name: np.resize(value, (len(arrays[0]), *value.shape[1:])) for name, value in masked.items()}
        found = outputs(arrays[0], **of_rows) if own is None else own(arrays)
        return at_step(network, as_float64(tree.flatten(found)[0]), step)

    runs = runs_of(network, run, [given], 0, sizes[0])
    [both] = runs.with_others()
    x = _as_declared(network, both, sizes[0])
    if masked:
        masked["mask"] = np.resize(masked["mask"], both.shape[:2])
    masks = _masks_given(network, calls, x, masked.get("mask"))
    steps = masks[first]
    steps = np.ones(both.shape[:2], bool) if steps is None or steps.shape != both.shape[:2] else steps
    if "float" in keras.backend.standardize_dtype(x.dtype):
        x = ops.convert_to_tensor(without_unread(ops.convert_to_numpy(x), steps), dtype=x.dtype)
    start, vectors = first, x
    for i, call in enumerate(calls[:first]):
        if start == first and are_vectors(x):
            start, vectors = i, x
        x = _run_by_steps(call, x)
    if start == first:
        vectors = x
    layer = calls[first].operation
    kind = keras.backend.standardize_dtype(x.dtype)
    size = vocabulary_of(getattr(layer, "forward_layer", layer).cell)
    if size is not None and "int" in kind and tuple(x.shape[2:]) in ((), (1,)):
        x = without_unread(ops.convert_to_numpy(x), steps)
        as_symbols(x.ravel(), size)
        vectors = ops.one_hot(ops.reshape(x, x.shape[:2]), size, dtype=layer.variable_dtype)
    elif len(x.shape) != 3 or "float" not in kind:
        if are_vectors(x):
            raise _refusal(f"{layer.name}, which reads {len(x.shape)} axes")
        raise ValueError(
            "The recurrent layer must read vectors (batch, time, features), one for each step. Received: "
            f"{kind} of shape {tuple(x.shape)} for {layer.name}. Put an Embedding before it."
        )
    parts = [(part, read) for call, read in zip(calls[start:], masks[start:], strict=True) for part in _parts(call)]
    reads_symbols = size is not None and start == first
    steps = as_mask(masks[first], tuple(both.shape[:2]))
    each, of_each = [part for part, _ in parts], [read for _, read in parts]
    chain = Chain(as_float64(vectors), steps, each, of_each, runs.output, reads_symbols, step)
    if (apart := difference(chain, runs, absent)) is not None:
        received = (
            f"{network.name}, whose output is {apart[0]:.2g} from that of its layers run one after the other, where "
            f"the inputs change it by {apart[1]:.2g}"
        )
        raise _refusal(received)
    warn_of_lost_masks(network)
    return chain.first(len(given))


def _as_declared(network: Any, given: NDArray[Any], size: int | None) -> Any:
    """The inputs as a tensor of the dtype in which a model reads them, as Keras does it."""
    x = ops.convert_to_tensor(given)
    declared = keras.backend.standardize_dtype((network.inputs[0] if isinstance(network, keras.Model) else x).dtype)
    # A Sequential model without an Input declares floats for ids too.
    reads_ids = size is not None or (given.dtype.kind in "iu" and given.shape[2:] in ((), (1,)))
    return x if reads_ids and "int" not in declared else ops.cast(x, declared)


def _masks_given(network: Any, calls: Sequence[_Call], x: Any, mask: Any) -> list[Mask | None]:
    """For each call the mask (batch, time) that it is given when the network reads x; None where it is given none."""
    if not isinstance(network, keras.Model):
        return [None if mask is None else np.asarray(mask, bool)]
    layers = [layer for layer in walk_layers(network) if layer is not network]
    if not any(isinstance(layer, keras.Model) or makes_mask(layer) for layer in layers) and all(
        len(call.node.input_tensors) == 1 for call in calls
    ):
        return [None] * len(calls)
    found: dict[int, list[Any]] = {}

    def note(operation: Any, node: Any, mask: Any, outputs: list[Masked]) -> None:
        found.setdefault(id(node), []).append(mask)

    def call(operation: Any, node: Any, known: dict[int, Masked]) -> list[Masked]:
        return run_with_masks(operation, node, known, note)

    evaluate(network, [Masked(x)], call)
    given = [found[id(call.node)].pop(0) for call in calls]
    masks = [next((x for x in tree.flatten(each) if x is not None), None) for each in given]
    return [None if mask is None else np.asarray(ops.convert_to_numpy(mask), bool) for mask in masks]


def are_vectors(x: Any) -> bool:
    """Whether a tensor holds floats (batch, time, ...) with features."""
    return len(x.shape) > 2 and "float" in keras.backend.standardize_dtype(x.dtype)


def without_recurrent_layer(network: Any) -> ValueError:
    """The error for a network without one."""
    return ValueError(
        f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {network.name}, which has "
        "no recurrent layer. Pass one that has."
    )


OWN_INPUTS = "Pass the recurrent layer and its own inputs."


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
        # Masks, and tensors made of masks alone, are computed apart from the chain; a layer reads them as its mask.
        if operation_name(operation) == "NotEqual" or not chains:
            return [None] * len(node.output_tensors)
        given = node.arguments.kwargs.get("mask")
        if len(chains) != 1 or any(tensor is not given for tensor in node.input_tensors[1:]):
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
    by_keras = Reshaped if operation_name(layer) in RESHAPING else ByKeras
    return [by_keras(layer.name, call.run, call.dtype)] if parts is None else [*parts]


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
    if any(start.ndim != 1 for start in starts):
        raise _refusal(f"{layer.name}, whose states are no vectors")
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

    def forward(self, x: Array, mask: Mask | None) -> Array:
        self.read = (np.ones(x.shape[:2], bool) if mask is None else mask)[:, self.order]
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

    def forward(self, x: Array, mask: Mask | None) -> Array:
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
