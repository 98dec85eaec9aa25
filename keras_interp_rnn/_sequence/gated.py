"""Gated recurrences whose units mix inside the gates only, over whole sequences: MinimalRNN and CFN."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.scan import scan
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import GatedEquations


def gated_states(
    equations: GatedEquations,
    start: Tensor,
    drive: Tensor,
    latent: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    unroll: bool = False,
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, time-major, differentiable in all tensors but the masks.

    The adjoint of a step is the transpose of its Jacobian, a diagonal and one scaled matrix per gate, so the backward
    pass is as cheap as the forward pass, and the gradient of the recurrent kernel is one product over all steps.

    Args:
        equations: with G gates; products h U have the dtype of their recurrent kernel U (n, G n).
        start: (batch, n), in the dtype of the states.
        drive: (time, batch, G n), the other terms inside the gates.
        latent: (time, batch, n).
        mask: bool (time, batch), False keeps the state; or None.
        dropout_mask: (batch, n), factors of the state where it enters the gates; or None.
        unroll: whether the graph repeats the step instead of looping.

    Returns:
        (time, batch, n)
    """
    recurrent_kernel = equations.recurrent_kernel
    precise, product = start.dtype, recurrent_kernel.dtype
    units, width = recurrent_kernel.shape
    masks = () if mask is None else (mask[:, :, None],)

    def entering(state: Tensor) -> Tensor:
        return ops.cast(state if dropout_mask is None else state * ops.cast(dropout_mask, precise), product)

    @_backend.custom_gradient
    def run(recurrent_kernel: Tensor, start: Tensor, drive: Tensor, latent: Tensor) -> Any:
        def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            drive, latent, *read = now
            gates = equations.gates(ops, ops.cast(ops.matmul(entering(state), recurrent_kernel), precise), drive)
            new = equations.next_state(ops, state, gates, latent)
            if read:
                new = ops.where(read[0], new, state)
            return new, (new, gates)

        _, (states, gates) = scan(step, start, (drive, latent, *masks), (units, width), unroll=unroll)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            upstream = args[0] if upstream is None else upstream
            before = ops.concatenate([start[None], states[:-1]], axis=0)
            transposed = ops.transpose(recurrent_kernel)

            # Step by step, though only g is sequential: small arrays stay in the processor's cache.
            def back(after: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
                upstream, state, gates, latent, *read = now
                g = after + upstream
                diagonal, slopes = equations.slopes(ops, state, gates, latent)
                into_gates = ops.concatenate([g] * (width // units), axis=-1) * slopes
                into_latent = g * equations.input_derivative(ops, gates)
                if read:
                    into_gates = ops.where(read[0], into_gates, ops.zeros_like(into_gates))
                    into_latent = ops.where(read[0], into_latent, ops.zeros_like(into_latent))
                    diagonal = ops.where(read[0], diagonal, ops.ones_like(diagonal))
                mixed = ops.cast(ops.matmul(ops.cast(into_gates, product), transposed), precise)
                if dropout_mask is not None:
                    mixed = mixed * ops.cast(dropout_mask, precise)
                return g * diagonal + mixed, (into_gates, into_latent)

            sequences = (upstream, before, gates, latent, *masks)
            into_start, (into_gates, into_latent) = scan(
                back, ops.zeros_like(start), sequences, (width, units), reverse=True, unroll=unroll
            )
            rows = ops.reshape(entering(before), (-1, units))
            columns = ops.reshape(ops.cast(into_gates, product), (-1, width))
            return ops.matmul(ops.transpose(rows), columns), into_start, into_gates, into_latent

        return states, gradient

    return run(recurrent_kernel, start, ops.cast(drive, precise), ops.cast(latent, precise))
