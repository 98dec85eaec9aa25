"""Affine recurrences switched by few factors, over whole sequences: trajectory, adjoint, and lookups in tables."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.masks import zero_where_masked
from keras_interp_rnn._sequence.scan import scan
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import factored_isan as equations


def rows_of_table(table: object, symbols: Tensor) -> Tensor:
    """Rows of a table (K, width) of weights, int (...) -> (..., width).

    Its gradient is dense, and sums the rows of a symbol that is read several times. TensorFlow lists them separately,
    and Keras's optimizers (3.15) square them before the sum: second moments and clipped norms would be those of the
    single readings (tests/layers/test_factored_isan.py, a symbol read several times).
    """
    if not _backend.lists_rows():
        return ops.take(table, symbols, axis=0)

    @_backend.custom_gradient
    def run(table: Tensor) -> Any:
        def gradient(upstream: Tensor) -> Tensor:
            return ops.segment_sum(_rows(upstream), ops.reshape(symbols, (-1,)), num_segments=table.shape[0])

        return ops.take(table, symbols, axis=0), gradient

    return run(ops.copy(table))


def factored_states(
    joint: Tensor,
    out_of_factors: Tensor,
    start: Tensor,
    gains: Tensor,
    addends: Tensor,
    read: Tensor | None,
    unroll: bool,
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, time-major, differentiable in all tensors but the mask.

    The adjoint is a recurrence of the same form, so only states and factors are stored, and the gradient of a weight is
    one product over all steps.

    Args:
        joint: [W_0 | U] (n, n + f), or U (n, f). out_of_factors: V (f, n).
        start: (batch, n). gains: g (time, batch, f). addends: b (time, batch, n).
        read: bool (time, batch, 1), False keeps the state; or None.
        unroll: whether the graph repeats the step instead of looping.

    Returns:
        (time, batch, n)
    """
    factors, units = out_of_factors.shape
    shared = joint.shape[1] > factors

    @_backend.custom_gradient
    def run(joint: Tensor, out_of_factors: Tensor, start: Tensor, gains: Tensor, addends: Tensor) -> Any:
        _, states, factors_before = _affine_scan(
            joint, out_of_factors, start, gains, zero_where_masked(addends, read), read, unroll
        )

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            transposed = None if not shared else ops.transpose(joint[:, :units])
            back_joint = equations.joint_kernel(ops, transposed, ops.transpose(out_of_factors))
            # From q_T = u_T; u_0 = 0, so the last is the gradient of start.
            earlier = ops.concatenate([ops.zeros_like(upstream[:1]), upstream[:-1]], axis=0)
            grad_start, backward, factor_gradients = _affine_scan(
                back_joint, ops.transpose(joint[:, -factors:]), upstream[-1], gains, earlier, read, unroll, True
            )
            grad_addends = zero_where_masked(ops.concatenate([backward[1:], upstream[-1:]], axis=0), read)
            factor_gradients = zero_where_masked(factor_gradients, read)
            before = ops.concatenate([start[None], states[:-1]], axis=0)
            grad_product = equations.joint_kernel(
                ops, _rows(grad_addends) if shared else None, _rows(factor_gradients * gains)
            )
            grad_joint = ops.matmul(ops.transpose(_rows(before)), grad_product)
            grad_out = ops.matmul(ops.transpose(_rows(factors_before * gains)), _rows(grad_addends))
            return grad_joint, grad_out, grad_start, factors_before * factor_gradients, grad_addends

        return states, gradient

    return run(joint, out_of_factors, start, gains, addends)


def _affine_scan(
    joint: Tensor,
    out_of_factors: Tensor,
    start: Tensor,
    gains: Tensor,
    addends: Tensor,
    read: Tensor | None,
    unroll: bool,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The states h_t = h_{t-1} W_t + a_t, with the identity for W_t at masked steps, and the factors h_{t-1} U."""
    factors, units = out_of_factors.shape

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        gains, addends, *read = now
        switched, factors_before = equations.apply_kernel(ops, joint, out_of_factors, state, gains)
        new = (ops.where(read[0], switched, state) if read else switched) + addends
        return new, (new, factors_before)

    masks = () if read is None else (read,)
    state, [states, factors_before] = scan(
        step, start, (gains, addends, *masks), (units, factors), reverse=reverse, unroll=unroll
    )
    return state, states, factors_before


def _rows(x: Tensor) -> Tensor:
    return ops.reshape(x, (-1, x.shape[-1]))
