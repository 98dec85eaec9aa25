"""The grouped affine scan for TensorFlow on CPUs.

The recurrence, states as rows, is

    h_t = h_{t-1} W_{x_t} + a_t        (masked steps: h_t = h_{t-1} + a_t).

In a naive loop every sequence copies its own matrix of n^2 numbers for the product of one row. Here the batch is sorted
by symbol at each step, so that all sequences reading the same symbol share one matrix product, and the matrices are
never copied. Rows stay sorted from one step to the next: one gather moves them from the order of step t-1 to the order
of step t.

The gradient follows from one identity: with g_t the gradient reaching h_t and u_t the one reaching output t,

    g_{t-1} = u_{t-1} + g_t W_{x_t}^T,

which is the same recurrence, transposed and run backwards. The gradient of W_k is the sum, over all places where k
was read, of h_{t-1}^T g_t: one large product per symbol, over all steps at once.

With more than `SLOTS` symbols only the most frequent of the current window have a shared product. The rows of the
others fetch their matrices one by one, and gradients are computed for the symbols that occur: absent symbols cost only
the zeros of the dense gradient.

It is not for XLA, as the sizes of groups depend on the data, nor for GPUs, which many small products starve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_interp_rnn._sequence.sizes import SLOTS
from keras_interp_rnn._types import Tensor


class Order(NamedTuple):
    """The order of the rows of the batch at each of T steps, sorted by slot. All int32."""

    symbols: Tensor  # (T, B) symbol of each sorted row
    lanes: Tensor  # (T, B) sequence in each sorted row
    places: Tensor  # (T + 1, B) row of each sequence; entry 0 before the first step, unsorted
    sizes: Tensor  # (T, slots) rows in each slot; the last slot has the rest of more than SLOTS symbols
    slot_symbols: Tensor | None  # (SLOTS,) symbol of each slot; None if slots are symbols
    mask: Tensor | None  # (T, B) bool, in sorted order

    def backwards(self) -> Order:
        """The same rows from the last step to the first."""
        places = tf.concat([self.places[:1], tf.reverse(self.places[1:], [0])], 0)
        flip = [None if x is None else tf.reverse(x, [0]) for x in (self.symbols, self.lanes, self.sizes, self.mask)]
        return Order(flip[0], flip[1], places, flip[2], self.slot_symbols, flip[3])


def sort_by_symbol(symbols: Tensor, vocabulary_size: int, mask: Tensor | None) -> Order:
    """Order of the batch at every step. symbols: int32 (B, T) in [0, vocabulary_size); mask: bool (B, T) or None."""
    symbols = tf.transpose(symbols)
    if vocabulary_size <= SLOTS:
        slot_symbols, slots, number_of_slots = None, symbols, vocabulary_size
        key = symbols
    else:
        frequency = tf.math.bincount(tf.reshape(symbols, [-1]), minlength=vocabulary_size, maxlength=vocabulary_size)
        slot_symbols = tf.math.top_k(frequency, SLOTS).indices
        slot_of = tf.tensor_scatter_nd_update(
            tf.fill([vocabulary_size], SLOTS), slot_symbols[:, None], tf.range(SLOTS, dtype=tf.int32)
        )
        slots, number_of_slots = tf.gather(slot_of, symbols), SLOTS + 1
        key = tf.where(slots < SLOTS, slots, SLOTS + symbols)
    lanes = tf.argsort(key, axis=1, stable=True)
    batch = tf.shape(symbols)[1]
    places = tf.concat([tf.range(batch)[None], tf.argsort(lanes, axis=1)], 0)
    offsets = tf.range(tf.shape(symbols)[0])[:, None] * number_of_slots
    sizes = tf.math.bincount(
        tf.reshape(slots + offsets, [-1]),
        minlength=tf.size(offsets) * number_of_slots,
        maxlength=tf.size(offsets) * number_of_slots,
    )
    return Order(
        symbols=tf.gather(symbols, lanes, batch_dims=1),
        lanes=lanes,
        places=places,
        sizes=tf.reshape(sizes, [-1, number_of_slots]),
        slot_symbols=slot_symbols,
        mask=None if mask is None else tf.gather(tf.transpose(mask), lanes, batch_dims=1),
    )


def scan(
    kernel: Tensor, order: Order, addend: Callable[[Tensor], Tensor], start: Tensor, transposed: bool = False
) -> Tensor:
    """The states (T + 1, B, n): entry 0 is `start`, entry t + 1 the state after step t, in the row order of step t.

    Args:
        kernel: (K, n, n).
        order: from `sort_by_symbol`.
        addend: step t -> a_t, (B, n), in the row order of step t.
        start: (B, n), in the order of the batch.
        transposed: multiply by W^T instead of W.
    """
    slots = order.sizes.shape[1]
    if order.slot_symbols is None:
        matrices, rest = tf.unstack(kernel, num=slots), False
    else:
        matrices, rest = tf.unstack(tf.gather(kernel, order.slot_symbols), num=SLOTS), True
    steps = tf.shape(order.lanes)[0]
    moves = tf.gather(order.places[:-1], order.lanes, batch_dims=1)

    def body(t: Tensor, state: Tensor, states: tf.TensorArray) -> tuple[Tensor, Tensor, tf.TensorArray]:
        state = tf.gather(state, moves[t])
        groups = tf.split(state, order.sizes[t], num=slots)
        products = [tf.matmul(g, w, transpose_b=transposed) for g, w in zip(groups, matrices, strict=False)]
        if rest:
            matrices_of_rest = tf.gather(kernel, order.symbols[t, tf.shape(state)[0] - order.sizes[t, SLOTS] :])
            products.append(tf.matmul(groups[SLOTS][:, None, :], matrices_of_rest, transpose_b=transposed)[:, 0, :])
        new = tf.concat(products, 0)
        if order.mask is not None:
            new = tf.where(order.mask[t][:, None], new, state)
        # The parts of a split have unknown lengths, which TensorFlow does not resolve in sums.
        new = tf.ensure_shape(new + addend(t), start.shape)
        return t + 1, new, states.write(t, new)

    states = tf.TensorArray(start.dtype, size=steps, element_shape=start.shape)
    _, _, states = tf.while_loop(lambda t, *_: t < steps, body, [0, start, states], parallel_iterations=1)
    # Written at t, not at t + 1 after the start: the conversion to ONNX supports no other loop.
    return tf.concat([start[None], states.stack()], 0)


def kernel_gradient(kernel: Tensor, order: Order, before: Tensor, gradient: Tensor) -> Tensor:
    """The gradient (K, n, n): for every k the sum of (state before)^T (gradient after) over its occurrences.

    Args:
        kernel: (K, n, n), for its shape.
        order: from `sort_by_symbol`.
        before: function of indices (T * B,) into time-major sorted rows -> rows (T * B, n), the states before.
        gradient: the same, of the gradients after.
    """
    sizes = tf.reduce_sum(order.sizes, 0)
    slots = order.sizes.shape[1]
    vocabulary = kernel.shape[0]
    key = tf.reshape(order.symbols, [-1])
    if order.slot_symbols is not None:
        slot_of = tf.tensor_scatter_nd_update(
            tf.range(SLOTS, SLOTS + vocabulary), order.slot_symbols[:, None], tf.range(SLOTS, dtype=tf.int32)
        )
        key = tf.gather(slot_of, key)
    rows = tf.argsort(key, stable=True)
    left, right = tf.split(before(rows), sizes, num=slots), tf.split(gradient(rows), sizes, num=slots)
    common = tf.stack([tf.matmul(a, g, transpose_a=True) for a, g in zip(left[:SLOTS], right[:SLOTS], strict=True)])
    if order.slot_symbols is None:
        return common
    rest = rows[tf.size(rows) - sizes[SLOTS] :]
    symbols, _, counts = tf.unique_with_counts(tf.gather(tf.reshape(order.symbols, [-1]), rest))
    ends = tf.cumsum(counts)
    present = tf.size(symbols)
    left_rest, right_rest = left[SLOTS], right[SLOTS]

    def body(i: Tensor, out: tf.TensorArray) -> tuple[Tensor, tf.TensorArray]:
        part = slice(ends[i] - counts[i], ends[i])
        return i + 1, out.write(i, tf.matmul(left_rest[part], right_rest[part], transpose_a=True))

    out = tf.TensorArray(kernel.dtype, size=present, element_shape=kernel.shape[1:])
    _, out = tf.while_loop(lambda i, _: i < present, body, [0, out])
    products = tf.concat([common, out.stack()], 0)
    return tf.scatter_nd(tf.concat([order.slot_symbols, symbols], 0)[:, None], products, tf.shape(kernel))


def trajectory(
    kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """States of the whole sequence and their adjoint.

    Args:
        kernel: (K, n, n). bias: (K, n). start: (B, n), the state before the first step.
        symbols: int32 (B, T). mask: bool (B, T), False keeps the state, or None.

    Returns:
        states (B, T, n), and a function of their gradient (B, T, n) that returns those of kernel, bias and start.
    """
    symbols = tf.ensure_shape(symbols, [start.shape[0], None])
    order = sort_by_symbol(symbols, kernel.shape[0], mask)
    batch, steps, units = tf.shape(symbols)[0], tf.shape(symbols)[1], kernel.shape[1]

    def read_bias(t: Tensor) -> Tensor:
        rows = tf.gather(bias, order.symbols[t])
        return rows if order.mask is None else tf.where(order.mask[t][:, None], rows, tf.zeros_like(rows))

    states = scan(kernel, order, read_bias, start)
    step_rows = tf.range(steps + 1)[:, None] * batch
    flat_states = tf.reshape(states, [-1, units])
    after = tf.transpose((step_rows + order.places)[1:])

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat_upstream = tf.reshape(upstream, [-1, units])
        backwards = order.backwards()
        # a_t of the backward run is the gradient of output t - 1; there is no output before the first, so a_0 = 0.
        outputs = backwards.lanes * steps + tf.maximum(tf.range(steps - 2, -2, -1), 0)[:, None]

        def read_upstream(i: Tensor) -> Tensor:
            return tf.gather(flat_upstream, outputs[i]) * tf.cast(i < steps - 1, upstream.dtype)

        gradients = scan(kernel, backwards, read_upstream, upstream[:, -1], transposed=True)
        flat_gradients = tf.reshape(gradients, [-1, units])
        # For row r of step t in sorted order: the state before, and the gradient of the state after.
        before_rows = tf.gather((step_rows + order.places)[:-1], order.lanes, batch_dims=1)
        gradient_rows = tf.gather(tf.reverse((step_rows + backwards.places)[:-1], [0]), order.lanes, batch_dims=1)
        before_rows, gradient_rows = tf.reshape(before_rows, [-1]), tf.reshape(gradient_rows, [-1])

        def gradient_after(rows: Tensor) -> Tensor:
            values = tf.gather(flat_gradients, tf.gather(gradient_rows, rows))
            if order.mask is None:
                return values
            return tf.where(tf.gather(tf.reshape(order.mask, [-1]), rows)[:, None], values, tf.zeros_like(values))

        kernel_grad = kernel_gradient(
            kernel, order, lambda rows: tf.gather(flat_states, tf.gather(before_rows, rows)), gradient_after
        )
        every_row = tf.range(steps * batch)
        bias_grad = tf.math.unsorted_segment_sum(
            gradient_after(every_row), tf.reshape(order.symbols, [-1]), kernel.shape[0]
        )
        start_grad = tf.gather(gradients[-1], backwards.places[-1])
        return kernel_grad, bias_grad, start_grad

    return tf.gather(flat_states, after), adjoint
