r"""Matrix-valued recurrences, diagonal plus rank one, over whole sequences, with their adjoint.

One step is $S_t = A_t + w_t^\top u_t$ with $A_t = \operatorname{diag}(\alpha_t) S_{t-1}$, where $u_t = v_t$, or
$u_t = v_t - k_t A_t$ if a step replaces the old value; its output is $o_t = q_t S_t$. With the gradient $\bar o_t$
of the loss by each output and $G_t = q_t^\top \bar o_t + \bar S_t$ by each state, the adjoint is

$$\bar w_t = G_t u_t^\top, \quad \bar u_t = w_t G_t, \quad \bar v_t = \bar u_t, \quad
  \bar q_t = S_t \bar o_t^\top, \quad \bar A_t = G_t, \quad
  \bar\alpha_t = \textstyle\sum_v \bar A_t \odot S_{t-1}, \quad \bar S_{t-1} = \operatorname{diag}(\alpha_t) \bar A_t,$$

and, if a step erases, $\bar k_t = -A_t \bar u_t^\top$ and $\bar A_t = G_t - k_t^\top \bar u_t$. Only
the state before each `CHUNK` of steps is stored; the backward pass recomputes the others chunk by chunk, so that memory
holds T / CHUNK + CHUNK states instead of T.
"""

from __future__ import annotations

import math
from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.scan import scan
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import MatrixStateEquations

CHUNK = 64
"""Steps between two states stored for the backward pass."""


def matrix_outputs(
    equations: type[MatrixStateEquations],
    start: Tensor,
    entries: tuple[Tensor, ...],
    read: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Outputs o_1, ..., o_T of all heads, and the last states, differentiable in all tensors but the mask.

    Args:
        equations: class that defines the step.
        start: (batch, H d_k d_v), in the dtype of the states.
        entries: q, k and w (time, batch, H, d_k), v (time, batch, H, d_v), and alpha (time, batch, H, d_k), or
            (time, batch, H, 1) for one per head.
        read: bool (time, batch, 1, 1), False keeps the state; or None.

    Returns:
        (batch, time, H d_v) and (batch, H d_k d_v)
    """
    query, key, written, value, decay = (ops.cast(x, start.dtype) for x in entries)
    if read is not None:
        decay, written = ops.where(read, decay, 1.0), ops.where(read, written, 0.0)
    heads, keys = query.shape[2:]
    values, decays = value.shape[3], decay.shape[3]
    steps, batch = ops.shape(query)[:2]
    chunk = CHUNK if query.shape[0] is None else min(CHUNK, query.shape[0])
    matrices, numbers = (batch, heads, keys, values), heads * keys * values

    def flat(x: Tensor) -> Tensor:
        """Flattens (batch, ...) to (batch, width)."""
        return ops.reshape(x, (-1, math.prod(x.shape[1:])))

    def in_chunks(x: Tensor, neutral: float = 0.0) -> Tensor:
        """Splits (time, ...) into (chunks, chunk, ...), padded with neutral steps."""
        padded = ops.pad(x, [[0, -steps % chunk], *[[0, 0]] * (len(x.shape) - 1)], constant_values=neutral)
        return ops.reshape(padded, (-1, chunk, *ops.shape(x)[1:]))

    def in_row(x: Tensor) -> Tensor:
        """The outputs of a chunk in a row: (chunk, batch, width) -> (batch, chunk * width)."""
        return ops.reshape(ops.swapaxes(x, 0, 1), (-1, chunk * x.shape[2]))

    def in_steps(x: Tensor, width: int) -> Tensor:
        """The inverse of `in_row` for all chunks: (chunks, batch, chunk * width) -> (time, batch, width)."""
        parts = ops.swapaxes(ops.reshape(x, (-1, batch, chunk, width)), 1, 2)
        return ops.reshape(parts, (-1, batch, width))[:steps]

    def forward(state: Tensor, now: tuple[Tensor, ...]) -> Tensor:
        """S_t, from S_{t-1} as a row."""
        return equations.next_matrices(ops, ops.reshape(state, matrices), *now)

    # Custom gradients of all three backends accept one output tensor: outputs and last states side by side.
    @_backend.custom_gradient
    def run(start: Tensor, query: Tensor, key: Tensor, written: Tensor, value: Tensor, decay: Tensor) -> Any:
        inputs = (query, key, written, value, decay)
        chunks = (*(in_chunks(x) for x in inputs[:-1]), in_chunks(decay, neutral=1.0))

        def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
            query, *entries = now
            after = forward(state, tuple(entries))
            return flat(after), (flat(ops.matmul(query[..., None, :], after)),)

        def steps_of_chunk(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            last, [outputs] = scan(step, state, now, (heads * values,))
            return last, (state, in_row(outputs))

        last, [starts, outputs] = scan(steps_of_chunk, start, chunks, (numbers, chunk * heads * values))
        in_batch = ops.swapaxes(in_steps(outputs, heads * values), 0, 1)
        packed = ops.concatenate([ops.reshape(in_batch, (batch, -1)), last], axis=1)

        def again(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
            return flat(forward(state, now)), (state,)

        def back(by_state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
            before, by_output, query, key, written, value, decay = now
            before = ops.reshape(before, matrices)
            decayed, new = equations.decayed_and_new(ops, before, key, value, decay)
            after = decayed + written[..., None] * new[..., None, :]
            by_query = ops.matmul(after, by_output[..., None])
            by_after = ops.reshape(by_state, matrices) + query[..., None] * by_output[..., None, :]
            by_written = ops.matmul(by_after, new[..., None])
            by_value = ops.matmul(written[..., None, :], by_after)
            by_decayed, by_key = by_after, ops.zeros_like(by_query)
            if equations.erases:
                by_key = -ops.matmul(decayed, ops.swapaxes(by_value, -1, -2))
                by_decayed = by_after - key[..., None] * by_value
            by_decay = ops.sum(by_decayed * before, axis=-1)
            if decays == 1:
                by_decay = ops.sum(by_decay, axis=-1)
            parts = (by_query, by_key, by_written, by_value, by_decay)
            return flat(decay[..., None] * by_decayed), tuple(flat(part) for part in parts)

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            by_outputs = ops.reshape(upstream[:, :-numbers], (batch, steps, heads, values))
            widths = (heads * keys, heads * keys, heads * keys, heads * values, heads * decays)

            def back_of_chunk(by_state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
                state, *others = now
                _, [before] = scan(again, state, tuple(others[2:]), (numbers,))
                by_state, parts = scan(back, by_state, (before, *others), widths, reverse=True)
                return by_state, tuple(in_row(part) for part in parts)

            sequences = (starts, in_chunks(ops.swapaxes(by_outputs, 0, 1)), *chunks)
            in_rows = tuple(chunk * width for width in widths)
            by_start, parts = scan(back_of_chunk, upstream[:, -numbers:], sequences, in_rows, reverse=True)
            by_inputs = (in_steps(part, width) for part, width in zip(parts, widths, strict=True))
            return by_start, *(ops.reshape(by, ops.shape(x)) for by, x in zip(by_inputs, inputs, strict=True))

        return packed, gradient

    packed = run(start, query, key, written, value, decay)
    return ops.reshape(packed[:, :-numbers], (batch, steps, heads * values)), packed[:, -numbers:]
