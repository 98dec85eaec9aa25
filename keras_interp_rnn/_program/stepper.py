"""A model that reads symbols, run one symbol at a time.

A program whose operations are known is run by their equations (`step`). The graph of any other model is followed
operation by operation. A recurrent layer's cell is run from states that are carried from call to call, whatever batch
size, length or `stateful` the layer was made with; its own carried states are neither read nor written. All other
operations must treat every time step by itself, which is checked on a few symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import with_mask
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.agreement import computed_in
from keras_interp_rnn._program.along import along, output_size, step_cell
from keras_interp_rnn._program.arrays import MAX_DIFFERENCE, as_float64, check_finite
from keras_interp_rnn._program.interface import check_logits, ends_in_softmax, predict_on_batch
from keras_interp_rnn._program.lost_masks import warn_of_lost_masks
from keras_interp_rnn._program.read import RECURRENT, read_opaque
from keras_interp_rnn._program.step import steps_of
from keras_interp_rnn._types import Tensor

States = list[list[Tensor]]

CHECKED = 16
"""Symbols on which running step by step is compared with running all steps at once."""


class Stepper:
    """Logits of the next symbol, symbol by symbol.

    Args:
        model: Sequential or functional, from ids (batch, time) to logits or probabilities of the next symbol.
        begin: int (time,), at least one symbol, on which a Sequential model without an input is built.

    Attributes:
        outputs: number of logits.

    Raises:
        ValueError: for any other model.
    """

    def __init__(self, model: keras.Model, begin: NDArray[np.integer[Any]]) -> None:
        if not isinstance(model, keras.Model):
            raise ValueError(
                f"`network` must be a model, from ids to logits, to continue a text. Received: {model!r}. Put the "
                "layer and its head into a keras.Sequential."
            )
        if not hasattr(model, "inputs"):
            model(begin[None])  # a Sequential model that was not told its input yet
        inputs, outputs = (tree.flatten(getattr(model, side, None)) for side in ("inputs", "outputs"))
        ranks = [len(x.shape) for x in (*inputs, *outputs) if x is not None]
        if ranks not in ([2, 3], [2, 2]):
            raise ValueError(
                "A model must be Sequential or functional, read ids (batch, time), and output logits of the next "
                f"symbol, (batch, time, symbols) or (batch, symbols), to continue a text. Received: {model.name}, a "
                f"{type(model).__name__} with inputs and outputs of {ranks} axes. Build such a model of its layers."
            )
        check_finite(model)
        check_logits(model)
        warn_of_lost_masks(model)
        self.outputs = int(outputs[0].shape[-1])
        self._runner, self._steps = _Runner(model), steps_of(model)
        self._log = ends_in_softmax(model)
        self._states: States | None = None

    def read(self, symbol: int) -> NDArray[np.float64]:
        """Reads one more symbol and returns the logits (symbols,) of the next one."""
        [output] = self._array(self._output(symbol))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(output) if self._log else output)

    def check(self, begin: NDArray[np.integer[Any]]) -> None:
        """Compares running step by step with running all steps at once, on at most `CHECKED` symbols.

        For all steps at once the model itself runs, if it takes one text of any length; else its graph.

        Args:
            begin: int (time,), the beginning of the text.

        Raises:
            ValueError: if they differ by more than rounding.
        """
        more = np.random.default_rng(0).integers(0, self.outputs, CHECKED)
        known = np.unique(begin)
        # The text may use fewer symbols than there are logits, as where rare ones are read as one.
        probe = np.concatenate([begin, known[more % len(known)]])[:CHECKED]
        steps = np.concatenate([self._array(self._output(int(symbol))) for symbol in probe])
        self._states = None
        if self._steps is not None:
            self._steps.reset()
        ids, network = probe[None].astype(np.int32), self._runner.network
        takes_any = set(network.inputs[0].shape) == {None}
        given = ids if isinstance(network, keras.Sequential) else tree.pack_sequence_as(network.input, [ids])
        output = network(given, training=False) if takes_any else self._runner.run(ids, None)[0]
        whole = self._array(tree.flatten(output)[0])
        steps = steps[-len(whole) :]
        finite = np.abs(whole)[np.isfinite(whole)].max(initial=1e-30)
        differ = (whole != steps) & ~(np.isnan(whole) & np.isnan(steps))
        apart = float(np.abs(whole[differ] - steps[differ]).max(initial=0.0))
        dtypes = {computed_in(str(layer.compute_dtype)) for layer in network.layers}
        if not apart <= max(MAX_DIFFERENCE.get(dtype, 0) for dtype in dtypes) * finite:
            raise ValueError(
                "Only recurrent layers must look back, and no layer must draw noise, for a model to continue a text "
                f"symbol by symbol. Received: {network.name}, whose outputs are {apart:.2g} apart when it reads symbol "
                "by symbol and when it reads all at once. Leave out layers that mix time steps or draw noise."
            )

    def _output(self, symbol: int) -> Tensor:
        if self._steps is not None:
            return self._steps.read(symbol)
        ids = np.array([[symbol]], np.int32)
        if self._states is None:
            output, self._states = self._runner.run(ids, None)
        else:
            output, self._states = predict_on_batch(self._runner, [ids, self._states], 1)
        return output

    def _array(self, output: Tensor) -> NDArray[np.float64]:
        return as_float64(output).reshape(-1, self.outputs)


class _Runner(keras.Model):
    """Runs a model's graph, compiled by `predict_on_batch`; never called on symbolic tensors, it leaves no trace."""

    def __init__(self, network: keras.Model) -> None:
        super().__init__(name="step_by_step", autocast=False)  # states keep their dtype
        self.network, self.program = network, read_opaque(network)

    def call(self, inputs: Any, training: bool = False) -> tuple[Tensor, States]:
        ids, states = inputs
        return self.run(ids, states)

    def run(self, ids: Tensor, states: States | None) -> tuple[Tensor, States]:
        """Logits (1, time, symbols) or (1, symbols), and the states of every call of a recurrent layer."""
        walk = _Walk(None if states is None else iter(states), [])
        program = self.program
        [given], [dtype] = program.inputs, [x.dtype for x in self.network.inputs]
        known: dict[o.Value, Any] = {given: ops.cast(ops.convert_to_tensor(ids), dtype)}
        for operation in program.operations:
            assert isinstance(operation, o.Opaque)
            tensors = [known[value] for value in operation.reads]
            masks = [None if mask is None else known[mask] for mask in operation.masks]
            if isinstance(operation.layer, RECURRENT):
                given_mask = next((mask for mask in masks[::-1] if mask is not None), None)
                made = _recurrent(operation, tensors[0], given_mask, walk)
            else:
                read = [with_mask(x, mask) for x, mask in zip(tensors, masks, strict=False)]
                made = operation.call(read, masks[len(read) :])
            known.update(zip(operation.makes, made, strict=True))
        return known[program.outputs[0]], walk.after


class _Walk(NamedTuple):
    """States of recurrent layers in the order in which the graph is followed: before, None at the start, and after."""

    before: Iterator[list[Tensor]] | None
    after: States


def _recurrent(operation: o.Opaque, sequences: Tensor, mask: Tensor | None, walk: _Walk) -> list[Tensor | None]:
    """The values that a recurrent layer makes: outputs, its last states where it returns them, and masks."""
    layer = operation.layer
    if isinstance(layer, keras.layers.Bidirectional):
        raise ValueError(
            f"Recurrent layers must read forwards to continue a text. Received: {layer.name}, which also reads "
            "from the end. Use its forward_layer alone."
        )
    with_states = len(operation.reads) > 1
    if with_states or layer.go_backwards or not getattr(layer, "regularize_last_step", True):
        what = "is given an initial state" if with_states else "treats the end of a sequence otherwise"
        raise ValueError(
            "Recurrent layers must read forwards, each step alike, from their own initial state, to continue a "
            f"text. Received: {layer.name}, which {what}. Rebuild it without that."
        )
    cell, ours = layer.cell, hasattr(layer, "checked")
    sequences = layer.checked(sequences) if ours else sequences
    dtype = layer.variable_dtype if ours else cell.compute_dtype
    if walk.before is None:
        starts = [ops.cast(x, dtype) for x in tree.flatten(layer.get_initial_state(batch_size=1))]
        states = [ops.zeros((1, output_size(cell)), layer.compute_dtype), *starts]
    else:
        states = next(walk.before)

    def step(t: int, states: Sequence[Tensor]) -> list[Tensor]:
        output, new = step_cell(cell, sequences[:, t], states[1:])
        return [ops.cast(x, old.dtype) for x, old in zip([output, *new], states, strict=True)]

    outputs, zeroed = [], mask if layer.zero_output_for_mask else None
    for t, (output, *after) in enumerate(along(ops, step, states, mask, sequences.shape[1])):
        outputs.append(output if zeroed is None else ops.where(zeroed[:, t, None], output, 0))
        states = [output, *after]
    walk.after.append(states)
    output = ops.stack(outputs, axis=1) if layer.return_sequences else outputs[-1]
    made = [output, *states[1:]] if layer.return_state else [output]
    passed_on = mask if layer.return_sequences else None
    return [*made, passed_on, *[None] * len(made)][: len(operation.makes)]
