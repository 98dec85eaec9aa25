"""A model as a function of the vectors of one of its inputs, run and differentiated in float64.

The vectors are that input, or what the model makes of its ids by a table, one-hot or otherwise. They alone vary: other
inputs, ids and masks are those of the original sequences. Cells run by their equations, and layers that are not known
by Keras, in their dtype. What is computed is compared with what Keras computes; where it differs, as it may in half
precision, Keras computes all of it.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._arrays import (
    as_array,
    as_float64,
    as_sequences,
    at_step,
    check_batched,
    check_finite,
    check_own_mask,
    in_rank,
)
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._backend.network_runs import own_outputs
from keras_interp_rnn._network.agreement import Absent, Given, difference, nothing, runs_of
from keras_interp_rnn._network.entering import Entering, is_of_each_step
from keras_interp_rnn._network.inputs import Reading, as_declared, as_model
from keras_interp_rnn._network.interface import check_ids, vocabulary_sizes
from keras_interp_rnn._network.lost_masks import warn_of_lost_masks
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import CellAlong, Mask, draws_noise, vocabulary_of
from keras_interp_rnn._program.graph import inputs_of, runs_its_graph, symbolic_inputs
from keras_interp_rnn._program.read import RECURRENT, Program, needed, read, read_opaque
from keras_interp_rnn._program.values import (
    ByKeras,
    Cells,
    Equation,
    Known,
    Step,
    backward,
    forward,
    with_functions,
)
from keras_interp_rnn._types import AnyArray, Array

Rows = NDArray[np.intp]
"""For each row of a computation the sequence that it varies."""


class Network:
    """A model as a function of the vectors of one of its inputs.

    Attributes:
        inputs: (batch, time, ...), the vectors, of several tables side by side.
        mask: bool (batch, time), the steps that are read.
        output: (batch, outputs), the model's own, in its dtype; of a sequence of outputs that of `step`.
        reads_symbols: whether the vectors are one-hot vectors of symbols, or distributions over them.
        step: of a sequence of outputs the one that is computed; negative from the end.
        steps: the operations that the vectors reach, in order. sources: the values that the vectors take the place of.
        known: all values for the original sequences, and for the changed ones that the network is compared on.
        reason: why Keras computes everything; "" where it does not.
    """

    def __init__(self, entering: Entering, output: Array, step: int) -> None:
        self.output, self.step, self.sources = output, step, entering.sources
        self.inputs, self.mask, self.reads_symbols = entering.inputs(), entering.mask, entering.reads_symbols
        self.known, self._last, self._count = dict(entering.known), entering.output, len(self.inputs)
        self._batch = entering.given.shape[:1]
        self._shapes = [self.known[value].shape[2:] for value in self.sources]
        self.steps = self._with_one_step(entering.steps)
        self.reason = ""

    def _with_one_step(self, steps: Sequence[Step]) -> list[Step]:
        """The operations, of a sequence of outputs those above it that treat steps alike for the one that counts."""
        steps, last = list(steps), self._last
        if self.known[last].ndim < 3:
            return steps
        readers = [value for each in steps for value in each.operation.reads]
        start = len(steps)
        while start and is_of_each_step(steps[start - 1].operation):
            operation = steps[start - 1].operation
            if operation.makes != [last] or readers.count(last) > (start < len(steps)):
                break
            start, last = start - 1, operation.reads[0]
        chosen = o.Value(last.shape, last.dtype)
        self.known[chosen] = self.known[last][:, self.step][:, None]
        above = steps[start:]
        if above:
            first = above[0]
            above[0] = first._replace(operation=dataclasses.replace(first.operation, reads=[chosen]))
        else:
            self._last = chosen
        layer = above[0].operation.layer if above else steps[-1].operation.layer
        picked = o.Operation(layer=layer, reads=[last], makes=[chosen])

        def pull(gradient: Array, y: Array, x: Array) -> list[Array | None]:
            whole = np.zeros(x.shape)
            whole[:, self.step] = gradient[:, 0]
            return [whole]

        return [*steps[:start], Step(picked, Equation(lambda x: x[:, self.step][:, None], pull)), *above]

    def run(self, x: Array, rows: Rows) -> Array:
        """(rows, outputs) in float64 for vectors (rows, time, ...), each in place of those of a sequence."""
        return np.asarray(self.values(x, rows)[self._last], np.float64).reshape(len(x), -1)

    def values(self, x: Array, rows: Rows) -> Known:
        """The values of all operations that the vectors reach, and of those that they read."""
        known = self.start(x, rows)
        forward(self.steps, known)
        return known

    def start(self, x: Array, rows: Rows) -> Known:
        """The values that operations read before any of them has run."""
        known: Known = {value: self.held(value, rows) for value in self._held}
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1]
        parts = np.split(x, ends.tolist(), axis=-1)
        for source, part, shape in zip(self.sources, parts, self._shapes, strict=True):
            known[source] = part.reshape(*part.shape[:2], *shape)
        return known

    def held(self, value: o.Value, rows: Rows) -> Any:
        """A value that the vectors do not reach, for rows; one that is the same for all sequences as it is."""
        array = self.known[value]
        of_sequences = array is not None and value.shape[:1] == self._batch and array.shape[:1] == (self._count,)
        return array[rows] if of_sequences else array

    @functools.cached_property
    def reached(self) -> set[o.Value]:
        """The values that the vectors reach."""
        return {*self.sources, *(value for step in self.steps for value in step.operation.makes)}

    @functools.cached_property
    def _held(self) -> list[o.Value]:
        """The values that are read, and that the vectors do not reach."""
        read = [value for step in self.steps for value in (*step.operation.reads, *step.operation.masks) if value]
        return [value for value in dict.fromkeys([*read, self._last]) if value not in self.reached]

    def gradient(self, x: Array, rows: Rows, outputs: NDArray[np.int64]) -> Array:
        """The gradient of one output of each row by the row."""
        last = self.values(x, rows)[self._last]
        gradient = np.zeros((len(x), int(np.prod(last.shape[1:]))))
        gradient[np.arange(len(x)), outputs] = 1
        return self._pulled_back(gradient.reshape(last.shape), x.shape)

    def _pulled_back(self, gradient: Array, shape: tuple[int, ...]) -> Array:
        gradients = {self._last: gradient}
        backward(self.steps, gradients)
        parts = [
            gradients.get(source, np.zeros((*shape[:2], *of_source))).reshape(*shape[:2], -1)
            for source, of_source in zip(self.sources, self._shapes, strict=True)
        ]
        return np.concatenate(parts, axis=-1).reshape(shape)

    @property
    def activation(self) -> str | None:
        """The activation at the end, where that makes probabilities of logits: "softmax" or "sigmoid"."""
        end = None if self._end is None else self.steps[self._end].operation
        return o.PROBABILITIES[end.function] if isinstance(end, o.Elementwise) else None

    @property
    def _end(self) -> int | None:
        """The place of that activation among the operations."""
        value = self._last
        for i, (operation, _) in reversed([*enumerate(self.steps)]):
            if value in operation.makes:
                if isinstance(operation, o.Elementwise) and operation.function in o.PROBABILITIES:
                    return i
                if not isinstance(operation, o.Reshape) and type(operation) is not o.Operation:
                    return None
                value = operation.reads[0]
        return None

    def before_activation(self) -> Network:
        """The same network without that activation."""
        found, end = copy.copy(self), self._end
        if end is not None:
            left_out = self.steps[end].operation
            same = o.Scale(
                layer=left_out.layer, reads=left_out.reads, makes=left_out.makes, arrays=lambda _: (0.0, 1.0, 0.0)
            )
            found.steps = [*self.steps[:end], *with_functions([same]), *self.steps[end + 1 :]]
        return found

    @property
    def by_keras(self) -> str:
        """The operations that Keras computes, in their own dtype; "" where there are none."""
        if self.reason:
            return f"Keras runs it in its own dtype, as {self.reason}"
        layers = dict.fromkeys(step.operation.layer for step in self.steps if _is_of_keras(step))
        names = ", ".join(f"{layer.name} ({type(layer).__name__})" for layer in layers)
        return f"Keras runs {names} in its own dtype" if names else ""

    @property
    def recurrences(self) -> list[Cells]:
        """The recurrent layers, from the inputs on; of two directions the forward one first."""
        return [step.function for step in self.steps if isinstance(step.function, Cells)]

    @property
    def directions(self) -> set[bool]:
        """In which directions the recurrent layers read: whether backwards."""
        return {each.operation.backwards for each in self.recurrences}

    @property
    def cells(self) -> list[CellAlong]:
        """The recurrent cells, in the order of `recurrences`."""
        return [cell for recurrence in self.recurrences for cell in recurrence.cells]

    def mask_of(self, recurrence: Cells) -> Mask:
        """The steps (batch, time) that a recurrent layer reads."""
        mask = recurrence.operation.mask
        known = None if mask is None else self.known[mask]
        return np.ones(self.mask.shape, bool) if known is None else np.asarray(known[: len(self.mask)], bool)

    def leave_out_unread(self) -> None:
        """Takes from the mask only steps that change nothing: a layer may read steps that are masked for others."""
        masked = ~self.mask
        read, rows = np.ones(masked.shape, bool), np.arange(self._count)
        noise = 3 * np.random.default_rng(0).normal(size=self.inputs.shape)
        whole = self.run(self.inputs, rows)
        for chosen in (masked, *(masked & (np.arange(masked.shape[1]) == t) for t in range(masked.shape[1]))):
            if chosen.any():
                at = chosen.reshape(*masked.shape, *[1] * (self.inputs.ndim - 2))
                # Of both signs, as a rectifier or a maximum may pass one alone.
                changed = [np.where(at, x, self.inputs) for x in (noise, -noise)]
                same = np.all([(self.run(x, rows) == whole).all(axis=1) for x in changed], axis=0)
                read &= ~(chosen & same[:, None])
            if (read == ~masked).all():
                break
        self.mask = read

    def first(self, count: int) -> Network:
        """The same network on the first sequences."""
        found = copy.copy(self)
        found.inputs, found.mask = self.inputs[:count], self.mask[:count]
        return found


def _is_of_keras(step: Step) -> bool:
    cells = step.function.cells if isinstance(step.function, Cells) else []
    return isinstance(step.function, ByKeras) or any(cell.equations is None for cell in cells)


def open_network(
    network: object,
    inputs: Sequence[object],
    varies: int = 0,
    step: int = -1,
    *,
    mask: object = None,
    absent: Absent = nothing,
    own: Callable[[Any], Any] | None = None,
    recurrent: bool = True,
) -> Network:
    """A Sequential or functional model of one output, or a layer, as a function of the vectors of one of its inputs.

    Args:
        inputs: an array for each of its inputs, in their order. varies: the index of the one whose vectors vary.
        step: of a sequence of outputs the one that is computed; negative from the end.
        mask: bool (batch, time), of a layer; a model makes its own.
        absent: what takes the place of the inputs: differences from the network are measured against what that changes.
        own: what the network is compared with, if the model was made of it.
        recurrent: whether it must have a recurrent layer.

    Raises:
        ValueError: if it has no recurrent layer or several outputs, carries states or draws noise; if an input, an
            output or a weight is not finite; if ids are read by an operation that computes more than their vectors, or
            steps are not the second axis of the inputs; if a row depends on others of its batch.
    """
    model, inputs = _as_model(network, inputs, mask)
    _check(model, recurrent)
    arrays = [in_rank(as_array("The inputs", x), tensor) for x, tensor in zip(inputs, model.inputs, strict=True)]
    sizes = vocabulary_sizes(model)
    _check_inputs(model, arrays, varies)
    check_ids(model, arrays)
    check_finite(model)
    given = arrays[varies]
    reads_ids = sizes[varies] is not None or "float" not in model.inputs[varies].dtype
    if given.dtype.kind in "iu" and given.ndim < 3:  # a Sequential model without an Input declares floats for ids
        layers = [x for x in walk_layers(model) if isinstance(x, keras.layers.RNN)]
        reads_ids = reads_ids or any(vocabulary_of(layer.cell) is not None for layer in layers)
    runs = _runs(model, arrays, varies, sizes[varies], step, own)
    both = [as_declared(x, tensor) for x, tensor in zip(runs.with_others(), model.inputs, strict=True)]
    found = _opened(read(model), both, varies, reads_ids, sizes[varies], step, runs)
    apart = difference(found, runs, absent)
    if apart is not None:
        found = _opened(read_opaque(model, but_activations=True), both, varies, reads_ids, sizes[varies], step, runs)
        found.reason = f"its equations give an output that is {apart[0]:.2g} from its own"
        apart = difference(found, runs, absent)
    if apart is not None:
        raise ValueError(
            f"What is explained must be the network itself. Received: {model.name}, whose output is {apart[0]:.2g} "
            f"from that of its operations run one after the other, where the inputs change it by {apart[1]:.2g}. "
            "Build it of layers and operations of Keras that depend on the inputs alone."
        )
    if not found.mask.all():
        found.leave_out_unread()
    warn_of_lost_masks(model)
    return found.first(len(given))


def _as_model(network: Any, inputs: Sequence[object], mask: Any) -> tuple[keras.Model, Sequence[Any]]:
    check_own_mask(network, mask)
    given = list(inputs)
    if len(given) == 1:
        given = [as_sequences(given[0])]
        check_batched(network, given[0])
    if isinstance(network, keras.Model):
        if isinstance(network, keras.Sequential) and not inputs_of(network):
            network(given[0])  # which has a graph from now on
        if runs_its_graph(network) and len(network.inputs) != len(given):
            raise ValueError(
                f"A model must be given an array for each input. Received: {len(given)} for {network.name}, which has "
                f"{len(network.inputs)}. Pass the part that reads the sequences, keras.Model(model.inputs[i], output)."
            )
        return network, given
    if not isinstance(network, RECURRENT):
        raise ValueError(
            f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {network!r}. Pass "
            "keras.layers.RNN(cell) for a cell."
        )
    if network.return_state:
        raise ValueError(
            f"A network must have one output. Received: {network.name} with return_state=True. Rebuild it without "
            "return_state, and give it the same weights."
        )
    return as_model(network, given[0], mask)


def _opened(
    program: Program, both: list[AnyArray], varies: int, reads_ids: bool, size: int | None, step: int, runs: Given
) -> Network:
    entering = Entering(program, both, varies, reads_ids, size)
    network = Network(entering, runs.output, step)
    entering.check(network, len(runs.output))
    return network


def _runs(
    model: keras.Model,
    arrays: list[AnyArray],
    varies: int,
    size: int | None,
    step: int,
    own: Callable[[Any], Any] | None,
) -> Given:
    outputs = own_outputs(model)

    def run(arrays: list[AnyArray]) -> Array:
        values = [ops.cast(x, tensor.dtype) for x, tensor in zip(arrays, model.inputs, strict=True)]
        found = outputs(tree.pack_sequence_as(symbolic_inputs(model), values)) if own is None else own(arrays)
        return at_step(model, as_float64(tree.flatten(found)[0]), step)

    return runs_of(model, run, arrays, varies, size)


def _check_inputs(model: keras.Model, arrays: Sequence[AnyArray], varies: int) -> None:
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(
            "All inputs must have as many rows. Received: "
            f"{', '.join(str(len(array)) for array in arrays)}. Pass a row of each input for each sequence."
        )
    for i, (array, tensor) in enumerate(zip(arrays, model.inputs, strict=True)):
        # Vectors may hold anything at steps that are not read.
        checked = i != varies or "float" not in tensor.dtype
        if checked and not np.isfinite(array.astype(np.float64)).all():
            raise ValueError("The inputs must be finite. Received: NaN or infinity. Remove those sequences.")


def _check(model: keras.Model, recurrent: bool) -> None:
    if not runs_its_graph(model):
        read(model)  # whose error names what a model must be
    if recurrent and not any(isinstance(layer, RECURRENT) for layer in walk_layers(model)):
        raise ValueError(
            f"`network` must be a model with recurrent layers, or a recurrent layer. Received: {model.name}, which has "
            "no recurrent layer. Pass one that has."
        )
    if len(model.outputs) != 1:
        raise ValueError(
            f"A model must have one output. Received: {model.name}, with {len(model.outputs)}. Pass "
            "keras.Model(model.inputs, model.outputs[i])."
        )
    for layer in walk_layers(model):
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


def steps_read(reading: Reading, step: int = -1) -> Mask:
    """The steps (batch, time) that a network reads: all but those that its own masks take from all that read them.

    All of a network that `open_network` refuses, as one that counts its ids: it reads masked steps too.
    """
    read = np.ones(np.shape(reading.arrays[reading.varies])[:2], bool)
    if any(not mask.all() for mask in masks_of(reading)):
        with contextlib.suppress(ValueError):
            network, arrays = reading.network, reading.arrays
            read = open_network(network, arrays, reading.varies, step, own=reading.own, recurrent=False).mask
    return read


def masks_of(reading: Reading) -> list[Mask]:
    """The masks (batch, time) under which the operations of a network read some sequences.

    Raises:
        ValueError: if part of the network is no graph, so that its masks are not known.
    """
    program = read(reading.network)
    for operation in program.operations:
        if isinstance(operation.layer, keras.Model) and not runs_its_graph(operation.layer):
            raise ValueError(f"A network must be a graph for its masks to be known. Received: {operation.name}.")
    starts = map(as_declared, map(np.asarray, reading.arrays), reading.network.inputs)
    known: Known = dict(zip(program.inputs, starts, strict=True))
    masks = [mask for operation in program.operations for mask in operation.masks if mask is not None]
    forward(with_functions(needed(program.operations, masks)), known)
    shape = np.shape(reading.arrays[reading.varies])[:2]
    return [known[mask].astype(bool) for mask in masks if known[mask] is not None and known[mask].shape == shape]
