"""One loop for all backends, and how a layer's path along a sequence is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._types import Tensor


class Path(NamedTuple):
    """How a sequence will be computed, and why."""

    name: str
    reason: str


def whole_or_stepwise(fused: bool | str, obstacle: str | None) -> Path | None:
    """The stepwise path where it was asked for or nothing else can run; None where a whole-sequence path may run.

    Args:
        fused: "auto", True or False, as the layer was told.
        obstacle: why no whole-sequence path can run, with what to do about it; None if one can.

    Raises:
        ValueError: fused is True and no whole-sequence path can run; the message says why.
    """
    if fused is True and obstacle:
        raise ValueError(f"fused=True cannot run here: {obstacle}, or fused='auto'.")
    if fused is False:
        return Path("stepwise", "fused=False")
    return Path("stepwise", obstacle) if obstacle else None


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    start: Any,
    sequences: tuple[Tensor, ...],
    widths: tuple[int, ...],
    reverse: bool = False,
    unroll: bool = False,
) -> tuple[Any, tuple[Tensor, ...]]:
    """As `jax.lax.scan`: the last state, and the outputs of all steps, stacked.

    Args:
        step: `step(state, entries)` returns the next state and its outputs.
        start: (batch, n), or a list of such. sequences: each (time, ...).
        widths: last axes of the outputs, each (batch, width) of the (first) state's dtype.
        unroll: whether the graph repeats the step; the number of steps is known then.
    """
    if not unroll:
        return _backend.scan(step, start, sequences, widths, reverse)
    state, outputs = start, []
    order = range(sequences[0].shape[0])
    for t in reversed(order) if reverse else order:
        state, output = step(state, tuple(x[t] for x in sequences))
        outputs.append(output)
    outputs = outputs[::-1] if reverse else outputs
    return state, tuple(ops.stack(parts) for parts in zip(*outputs, strict=True))
