r"""Recurrences whose state is a matrix for each head, diagonal plus rank one, over whole sequences, with their adjoint.

One step is $S_t = A_t + w_t^\top u_t$ with $A_t = \operatorname{diag}(\alpha_t) S_{t-1}$, where $u_t = v_t$, or
$u_t = v_t - k_t A_t$ where a step erases what it writes over; it puts out $o_t = q_t S_t$. With the gradient $\bar o_t$
of the loss by each output and $G_t = q_t^\top \bar o_t + \bar S_t$ by each state, the adjoint is

$$\bar w_t = G_t u_t^\top, \quad \bar u_t = w_t G_t, \quad \bar v_t = \bar u_t, \quad
  \bar q_t = S_t \bar o_t^\top, \quad \bar A_t = G_t, \quad
  \bar\alpha_t = \textstyle\sum_v \bar A_t \odot S_{t-1}, \quad \bar S_{t-1} = \operatorname{diag}(\alpha_t) \bar A_t,$$

and, where a step erases, $\bar k_t = -A_t \bar u_t^\top$ and $\bar A_t = G_t - k_t^\top \bar u_t$. The states are
computed once more on the way back, so that nothing is kept between.
"""

from __future__ import annotations

import math
from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.scan import scan
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import MatrixStateEquations


def matrix_outputs(
    equations: type[MatrixStateEquations],
    start: Tensor,
    entries: tuple[Tensor, ...],
    read: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Outputs o_1, ..., o_T of all heads, and the last states, differentiable in all tensors but the mask.

    Args:
        equations: whether a step erases what it writes over.
        start: (batch, H d_k d_v); its dtype is that of the states.
        entries: q, k and w (time, batch, H, d_k), v (time, batch, H, d_v), and alpha (time, batch, H, d_k), or
            (time, batch, H, 1) for one a head.
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
    matrices, numbers = (batch, heads, keys, values), heads * keys * values

    def flat(x: Tensor) -> Tensor:
        """(batch, ...) -> (batch, width)."""
        return ops.reshape(x, (-1, math.prod(x.shape[1:])))

    def forward(state: Tensor, now: tuple[Tensor, ...]) -> Tensor:
        """S_t, from S_{t-1} in rows."""
        return equations.next_matrices(ops, ops.reshape(state, matrices), *now)

    # One tensor out, outputs and last states side by side: what the custom gradients of all three backends accept.
    @_backend.custom_gradient
    def run(start: Tensor, query: Tensor, key: Tensor, written: Tensor, value: Tensor, decay: Tensor) -> Any:
        entries = (key, written, value, decay)

        def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
            query, *entries = now
            after = forward(state, tuple(entries))
            return flat(after), (flat(ops.matmul(query[..., None, :], after)),)

        last, [outputs] = scan(step, start, (query, *entries), (heads * values,))
        packed = ops.concatenate([ops.reshape(ops.swapaxes(outputs, 0, 1), (batch, -1)), last], axis=1)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            upstream = args[0] if upstream is None else upstream
            by_outputs = ops.reshape(upstream[:, :-numbers], (batch, steps, heads, values))
            by_outputs = ops.swapaxes(by_outputs, 0, 1)

            def again(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
                return flat(forward(state, now)), (state,)

            _, [before] = scan(again, start, entries, (numbers,))

            def back(by_state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
                before, by_output, query, key, written, value, decay = now
                before = ops.reshape(before, matrices)
                kept, new = equations.kept_and_new(ops, before, key, value, decay)
                after = kept + written[..., None] * new[..., None, :]
                by_query = ops.matmul(after, by_output[..., None])
                by_after = ops.reshape(by_state, matrices) + query[..., None] * by_output[..., None, :]
                by_written = ops.matmul(by_after, new[..., None])
                by_value = ops.matmul(written[..., None, :], by_after)
                by_kept, by_key = by_after, ops.zeros_like(by_query)
                if equations.erases:
                    by_key = -ops.matmul(kept, ops.swapaxes(by_value, -1, -2))
                    by_kept = by_after - key[..., None] * by_value
                by_decay = ops.sum(by_kept * before, axis=-1)
                if decays == 1:
                    by_decay = ops.sum(by_decay, axis=-1)
                parts = (by_query, by_key, by_written, by_value, by_decay)
                return flat(decay[..., None] * by_kept), tuple(flat(part) for part in parts)

            sequences = (before, by_outputs, query, *entries)
            widths = (heads * keys, heads * keys, heads * keys, heads * values, heads * decays)
            by_start, parts = scan(back, upstream[:, -numbers:], sequences, widths, reverse=True)
            inputs = (query, key, written, value, decay)
            return by_start, *(ops.reshape(part, ops.shape(x)) for part, x in zip(parts, inputs, strict=True))

        return packed, gradient

    packed = run(start, query, key, written, value, decay)
    return ops.reshape(packed[:, :-numbers], (batch, steps, heads * values)), packed[:, -numbers:]
