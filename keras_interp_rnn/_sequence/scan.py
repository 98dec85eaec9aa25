"""One loop for all backends, and the name of a layer's path along a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._types import Tensor


class Path(NamedTuple):
    """The path on which a sequence is computed, and the reason."""

    name: str
    reason: str


UNROLLED = "unroll=True asks for the cell step by step: pass unroll=False"
"""The obstacle of layers that have no whole-sequence path to unroll."""


def whole_or_stepwise(fused: bool | str, obstacle: str | None) -> Path | None:
    """The stepwise path if it is requested or the only one; None if a whole-sequence path can run.

    Args:
        fused: "auto", True or False, as in the layer.
        obstacle: why no whole-sequence path can run, with the remedy; None if one can.

    Raises:
        ValueError: if fused is True and no whole-sequence path can run, with the reason.
    """
    if fused is True and obstacle:
        raise ValueError(f"fused=True cannot run here: {obstacle}, or fused='auto'.")
    if fused is False:
        return Path("stepwise", "fused=False")
    return Path("stepwise", obstacle) if obstacle else None


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    start: object,
    sequences: tuple[Tensor, ...],
    widths: tuple[int, ...],
    reverse: bool = False,
    unroll: bool = False,
) -> tuple[Any, tuple[Tensor, ...]]:
    """Like `jax.lax.scan`: the last state, and the stacked outputs of all steps.

    Args:
        step: `step(state, entries)` returns the next state and its outputs.
        start: (batch, n), or a list of such. sequences: each (time, ...).
        widths: last axes of the outputs, each (batch, width) in the dtype of the (first) state.
        unroll: whether the graph repeats the step, which needs a static number of steps.
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
