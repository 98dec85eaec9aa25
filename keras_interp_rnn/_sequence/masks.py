"""The mask rule of `keras.layers.RNN`.

A masked step keeps the state and repeats the last output; before the first unmasked step the output is zero.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn._types import Tensor


def last_read(mask: Tensor | None, steps: Any) -> Tensor:
    """A bool array (time, batch) or (time, 1), True at the last step that each sequence reads.

    Args:
        mask: bool (time, batch), or None. steps: their number.
    """
    if mask is None:
        return (ops.arange(steps) == steps - 1)[:, None]
    after = ops.flip(ops.cumsum(ops.cast(ops.flip(mask, axis=0), "int32"), axis=0), axis=0)
    return ops.logical_and(mask, after == 1)


def outputs_under_mask(states: Tensor, mask: Tensor | None, zero_output: bool) -> Tensor:
    """The outputs of an RNN layer, from states (batch, time, n) that repeat at masked steps."""
    if mask is None:
        return states
    has_output = mask if zero_output else ops.cumsum(ops.cast(mask, "int32"), axis=1) > 0
    return ops.where(has_output[:, :, None], states, ops.zeros_like(states))


def repeated_under_mask(outputs: Tensor, mask: Tensor) -> Tensor:
    """Outputs (batch, time, n) that repeat the last unmasked one at masked steps.

    It is needed for readouts of state and input; states repeat already.
    """
    steps = ops.shape(mask)[1]
    number_read = ops.cumsum(ops.cast(mask, "int32"), axis=1)
    # Unmasked steps first, in order, then the others.
    order = ops.argsort(ops.arange(steps) + ops.where(mask, 0, steps), axis=1)
    source = ops.take_along_axis(order, ops.maximum(number_read - 1, 0), axis=1)
    return ops.take_along_axis(outputs, source[:, :, None], axis=1)


def zero_where_masked(x: Tensor, read: Tensor | None) -> Tensor:
    """Zeros at masked steps: `read` is a bool that broadcasts with x, or None."""
    return x if read is None else ops.where(read, x, ops.zeros_like(x))
