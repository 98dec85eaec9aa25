"""What the layers share whose cells run step by step: a loop with more at every step than the input, and its states."""

from __future__ import annotations

import inspect
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import _recurrence
from keras_interp_rnn.layers._whole_sequence import WholeSequenceRNN

Tensor = Any


class SteppedRNN(WholeSequenceRNN):
    """Runs `self.advance` along the sequence; states keep their dtypes."""

    def per_step(self, steps: Any, batch: Any, mask: Tensor | None, training: bool) -> tuple[Tensor, ...]:
        """What a step is given besides its input: tensors (time, batch or 1, ...), time in reading order."""
        return ()

    def advance(
        self, inputs: Tensor, states: list[Tensor], extras: tuple[Tensor, ...], training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """One step: the output (batch, n) and the new states."""
        return run_cell(self.cell, inputs, states, training)

    def inner_loop(
        self, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        sequences = ops.swapaxes(sequences, 0, 1)
        steps, batch = ops.shape(sequences)[:2]
        masks = () if mask is None else (ops.transpose(mask)[:, :, None],)
        extras = self.per_step(steps, batch, None if mask is None else ops.transpose(mask), training)
        draw_dropout(self.cell, sequences[0], initial_state[0], training)

        def step(states: list[Tensor], now: tuple[Tensor, ...]) -> tuple[list[Tensor], tuple[Tensor]]:
            inputs, *rest = now
            read, extras = rest[: len(masks)], tuple(rest[len(masks) :])
            _, new = self.advance(inputs, states, extras, training)
            new = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
            if read:
                new = [ops.where(read[0], x, old) for x, old in zip(new, states, strict=True)]
            return new, (new[0],)

        width = initial_state[0].shape[-1]
        last, [outputs] = _recurrence.scan(
            step, list(initial_state), (sequences, *masks, *extras), (width,), unroll=self.unroll
        )
        forget_dropout(self.cell)
        if mask is None and not self.return_sequences:
            return last[0], outputs, last
        outputs = _recurrence.outputs_under_mask(ops.swapaxes(outputs, 0, 1), mask, self.zero_output_for_mask)
        return outputs[:, -1], outputs, last


def run_cell(cell: Any, inputs: Tensor, states: list[Tensor], training: bool) -> tuple[Tensor, list[Tensor]]:
    """One step of any Keras cell: its output, and its new states as a list."""
    arguments = {"training": training} if "training" in inspect.signature(cell.call).parameters else {}
    output, new = cell(inputs, list(states), **arguments)
    return output, list(new) if isinstance(new, (list, tuple)) else [new]


def three_axes(layer: keras.layers.Layer, sequences: Tensor) -> Tensor:
    """The sequences (batch, time, features); raises ValueError on others."""
    sequences = sequences if hasattr(sequences, "shape") else ops.convert_to_tensor(sequences)
    check_three_axes(layer, sequences.shape)
    return sequences


def check_three_axes(layer: keras.layers.Layer, shape: Any) -> None:
    """Raises ValueError unless sequences of this shape are (batch, time, features), of a known number of features."""
    if len(shape) != 3 or shape[2] is None:
        raise ValueError(
            f"{type(layer).__name__} reads sequences (batch, time, features). Received: shape={tuple(shape)}. "
            f"{'Give the Input its last axis' if len(shape) == 3 else 'Add the missing axis'}; ids need an Embedding "
            "before."
        )


def draw_dropout(cell: Any, inputs: Tensor, state: Tensor, training: bool) -> None:
    """Has the Keras cells within draw their dropout masks outside the loop, once for all steps.

    Keras's SimpleRNNCell (3.15) draws masks outside training too, and does not use them: in JAX's loop that would leave
    a tracer in its seed.
    """
    for part in _dropout_cells(cell):
        if not training and not isinstance(part, keras.layers.SimpleRNNCell):
            continue
        part.get_dropout_mask(ops.cast(inputs, part.compute_dtype))
        part.get_recurrent_dropout_mask(ops.cast(state, part.compute_dtype))


def forget_dropout(cell: Any) -> None:
    """Has them draw anew for the next batch."""
    for part in _dropout_cells(cell):
        part.reset_dropout_mask()
        part.reset_recurrent_dropout_mask()


def _dropout_cells(cell: Any) -> list[keras.layers.Layer]:
    parts = [cell, *_dropout_cells(cell.cell)] if hasattr(cell, "cell") else [cell]
    return [part for part in parts if hasattr(part, "get_dropout_mask")]
