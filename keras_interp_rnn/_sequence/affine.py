r"""Affine recurrences with one matrix a symbol: the trajectory, its adjoint, and the choice of the path for ISAN.

One step is $h_t = h_{t-1} W_{x_t} + b_{x_t}$. The adjoint of an affine recurrence is an affine recurrence, transposed
and run backwards (docs/notes/affine-adjoint.md), so no path stores anything but the states, and the gradient of all
matrices is a few large products over all steps at once instead of one small one per step. The paths:

- "grouped": sequences that read the same symbol share a product, one file a backend (`grouped_torch`, ...). On CPUs.
- "static":  the same mathematics in `keras.ops` with sizes fixed in advance. Every backend, XLA, GPUs.
- "stepwise": the cell in `scan`, differentiated by the backend. Distributions as inputs, `unroll=True`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.masks import zero_where_masked
from keras_interp_rnn._sequence.scan import Path, scan, whole_or_stepwise
from keras_interp_rnn._sequence.sizes import BLOCK, SLOTS, SMALLEST_GROUPED_UNITS
from keras_interp_rnn._types import Tensor


def choose_path(fused: bool | str, units: int, vocabulary_size: int, batch: Any, reads_ids: bool, unroll: bool) -> Path:
    """Which path runs.

    Args:
        fused: "auto", True or False, as the layer was told.
        units, vocabulary_size: n, K.
        batch: number of sequences, where it is known.
        reads_ids: False if the input is a distribution over symbols.
        unroll: as in `keras.layers.RNN`.

    Raises:
        ValueError: fused is True and no whole-sequence path can run; the message says why.
    """
    obstacle = None
    if not reads_ids:
        obstacle = "the input is a distribution over symbols, which mixes all matrices at every step: pass integer ids"
    elif unroll:
        obstacle = "unroll=True asks for the cell step by step: pass unroll=False"
    stepwise = whole_or_stepwise(fused, obstacle)
    if stepwise is not None:
        return stepwise
    smallest = SMALLEST_GROUPED_UNITS[_backend.name()]["few" if vocabulary_size <= SLOTS else "many"]
    if smallest is None:
        obstacle = f"with {vocabulary_size} symbols a pass over all matrices costs more than it saves"
    elif units < smallest:
        obstacle = f"below {smallest} units, with {vocabulary_size} symbols, grouping costs more than it saves"
    obstacle = obstacle or _backend.why_not_grouped(batch, vocabulary_size)
    if obstacle:
        return Path("static", obstacle)
    return Path("grouped", f"{_backend.title()} on CPU")


def switched_affine_states(
    path: str, kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None = None
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, differentiable in kernel, bias and start.

    Args:
        path: "grouped" or "static".
        kernel: (K, n, n). bias: (K, n). start: (batch, n).
        symbols: int (batch, time) in [0, K).
        mask: bool (batch, time), False keeps the state; or None.

    Returns:
        (batch, time, n)
    """
    grouped = importlib.import_module(f"{__package__}.grouped_{_backend.name()}") if path == "grouped" else None

    # One tensor out, ids and mask from outside: what the custom gradients of all three backends accept.
    @_backend.custom_gradient
    def run(kernel: Tensor, bias: Tensor, start: Tensor) -> tuple[Tensor, Callable[..., tuple[Tensor, ...]]]:
        trajectory = grouped.trajectory if grouped and not _backend.differentiates_again() else _static_trajectory
        states, adjoint = trajectory(kernel, bias, start, symbols, mask)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            return adjoint(args[0] if upstream is None else upstream)

        return states, gradient

    return run(kernel, bias, start)


def _affine_scan(
    kernel: Tensor, symbols: Tensor, read: Tensor | None, addends: Tensor, start: Tensor, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """h_t = h_{t-1} W_{x_t} + a_t, time-major: symbols (T, B), read (T, B, 1) bool or None, addends (T, B, n)."""
    units = kernel.shape[1]
    # Rows of two axes: what torch looks up in three has no counterpart in ONNX (Keras 3.15).
    rows = ops.reshape(kernel, (-1, units * units))

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
        symbols, addends, *read = now
        matrices = ops.reshape(ops.take(rows, symbols, axis=0), (-1, units, units))
        new = ops.matmul(state[:, None, :], matrices)[:, 0, :]
        if read:
            new = ops.where(read[0], new, state)
        new = new + addends
        return new, (new,)

    masks = () if read is None else (read,)
    state, [states] = scan(step, start, (symbols, addends, *masks), (units,), reverse)
    return state, states


def _static_trajectory(
    kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """As `_sequence.grouped_tensorflow.trajectory`, with sizes that do not depend on the values."""
    symbols = ops.transpose(symbols)
    read = None if mask is None else ops.transpose(mask)[:, :, None]
    addends = ops.take(bias, symbols, axis=0)
    addends = zero_where_masked(addends, read)
    _, states = _affine_scan(kernel, symbols, read, addends, start)

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        upstream = ops.transpose(upstream, (1, 0, 2))
        # g_{t-1} = u_{t-1} + g_t W_{x_t}^T from g_T = u_T; u_0 = 0, so the last one is the gradient of start.
        earlier = ops.concatenate([ops.zeros_like(upstream[:1]), upstream[:-1]], axis=0)
        into_start, backward = _affine_scan(
            ops.transpose(kernel, (0, 2, 1)), symbols, read, earlier, upstream[-1], reverse=True
        )
        gradients = ops.concatenate([backward[1:], upstream[-1:]], axis=0)
        gradients = zero_where_masked(gradients, read)
        before = ops.concatenate([start[None], states[:-1]], axis=0)
        units = kernel.shape[1]
        kernel_gradient, bias_gradient = grouped_gradients(
            ops.reshape(symbols, (-1,)),
            ops.reshape(before, (-1, units)),
            ops.reshape(gradients, (-1, units)),
            kernel.shape[0],
        )
        return kernel_gradient, bias_gradient, into_start

    return ops.transpose(states, (1, 0, 2)), adjoint


def grouped_gradients(
    symbols: Tensor, before: Tensor, gradients: Tensor, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """For every symbol the sum over its rows of before^T gradient, and of gradient. Rows: (R, n).

    The rows of each symbol are padded with zeros to whole blocks, one product per block, then summed by symbol: at
    most R / BLOCK + K blocks, whatever the data.
    """
    rows, units = ops.shape(symbols)[0], before.shape[1]
    order = ops.argsort(symbols)
    sorted_symbols = ops.take(symbols, order, axis=0)
    # Not ops.bincount: on JAX its length depends on the values.
    counts = ops.segment_sum(ops.ones_like(symbols), symbols, num_segments=vocabulary_size)
    blocks_of = (counts + BLOCK - 1) // BLOCK
    first_row = ops.cumsum(counts) - counts
    first_block = ops.cumsum(blocks_of) - blocks_of
    rank = ops.arange(rows, dtype="int32") - ops.take(first_row, sorted_symbols, axis=0)
    place = BLOCK * ops.take(first_block, sorted_symbols, axis=0) + rank
    number_of_blocks = (rows + BLOCK - 1) // BLOCK + vocabulary_size

    def in_blocks(values: Tensor) -> Tensor:
        padded = ops.scatter(place[:, None], ops.take(values, order, axis=0), (number_of_blocks * BLOCK, units))
        return ops.reshape(padded, (-1, BLOCK, units))

    left, right = in_blocks(before), in_blocks(gradients)
    block_ends = ops.cumsum(blocks_of)
    owner = ops.searchsorted(block_ends, ops.arange(number_of_blocks, dtype="int32"), side="right")
    owner = ops.minimum(ops.cast(owner, "int32"), vocabulary_size - 1)
    products = ops.matmul(ops.transpose(left, (0, 2, 1)), right)
    kernel_gradient = ops.segment_sum(products, owner, num_segments=vocabulary_size)
    bias_gradient = ops.segment_sum(ops.sum(right, axis=1), owner, num_segments=vocabulary_size)
    return kernel_gradient, bias_gradient
