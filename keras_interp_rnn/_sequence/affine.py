r"""Affine recurrences with one matrix per symbol: trajectory, adjoint, and the choice of a path for ISAN.

One step is $h_t = h_{t-1} W_{x_t} + b_{x_t}$. The adjoint of an affine recurrence is an affine recurrence, transposed
and run backwards (docs/notes/affine-adjoint.md), so every path stores only the states, and the gradient of all
matrices is a few large products over all steps instead of a small one per step. The paths:

- "grouped": sequences that read the same symbol share a product, one file per backend (`grouped_torch`, ...). On CPUs.
- "static": `keras.ops` with static sizes, where every sequence copies its matrix. Every backend, XLA.
- "blocks": static sizes, where sequences that read the same symbol share products in blocks (`blocks`). On
  accelerators, and under XLA on CPUs.
- "dense": static sizes, where every sequence is multiplied by all matrices. On accelerators, with few symbols.
- "stepwise": the cell in `scan`, differentiated by the backend. Distributions as inputs, `unroll=True`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.blocks import grouped_gradients, into_blocks, number_of_blocks, product_in_blocks
from keras_interp_rnn._sequence.masks import zero_where_masked
from keras_interp_rnn._sequence.scan import UNROLLED, Path, scan, whole_or_stepwise
from keras_interp_rnn._sequence.sizes import (
    DENSE_SYMBOLS,
    LEAST_SAVED,
    ROWS_OF_BLOCK,
    SLOTS,
    SMALLEST_GROUPED_UNITS,
    USUAL_BATCH,
)
from keras_interp_rnn._types import Tensor


def choose_path(
    fused: bool | str, units: int, vocabulary_size: int, batch: object, reads_ids: bool, unroll: bool
) -> Path:
    """Chooses the path.

    Args:
        fused: "auto", True or False, as in the layer.
        units, vocabulary_size: n, K.
        batch: number of sequences, if known.
        reads_ids: False if the input is a distribution over symbols.
        unroll: as in `keras.layers.RNN`.

    Raises:
        ValueError: if fused is True and no whole-sequence path can run, with the reason.
    """
    obstacle = None
    if not reads_ids:
        obstacle = "the input is a distribution over symbols, which mixes all matrices at every step: pass integer ids"
    elif unroll:
        obstacle = UNROLLED
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
        return _static_path(obstacle, units, vocabulary_size, batch)
    return Path("grouped", f"{_backend.title()} on CPU")


def _static_path(obstacle: str, units: int, vocabulary_size: int, batch: object) -> Path:
    """Chooses among the paths with static sizes, given the obstacle to the grouped one.

    A step copies one matrix per sequence, or one per block of sequences with more operations, or none if every sequence
    is multiplied by all matrices.
    """
    accelerator = bool(_backend.accelerator())
    if accelerator and vocabulary_size <= DENSE_SYMBOLS:
        return Path("dense", f"{obstacle}; all {vocabulary_size} products of a sequence cost less than sorting")
    is_symbolic = not (batch is None or isinstance(batch, int))  # in an export of JAX
    if is_symbolic or not (accelerator or _backend.compiles_by_xla()):
        return Path("static", obstacle)
    if _backend.spreads_batches():
        return Path("static", f"{obstacle}; the batch may be spread over several devices, and sorting would collect it")
    sequences = USUAL_BATCH if batch is None else batch
    blocks = number_of_blocks(sequences, vocabulary_size, ROWS_OF_BLOCK)
    instead = f"{blocks} matrices a step instead of {sequences}"
    saved = (sequences - blocks) * units**2
    if 2 * blocks > sequences or saved < LEAST_SAVED["accelerator" if accelerator else "CPU"]:
        return Path("static", f"{obstacle}; to copy {instead} would save less than sorting costs")
    return Path("blocks", f"{obstacle}; blocks of {ROWS_OF_BLOCK} sequences copy {instead}")


def switched_affine_states(
    path: str, kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None = None
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, differentiable in kernel, bias and start.

    Args:
        path: "grouped", "static", "blocks" or "dense".
        kernel: (K, n, n). bias: (K, n). start: (batch, n).
        symbols: int (batch, time) in [0, K).
        mask: bool (batch, time), False keeps the state; or None.

    Returns:
        (batch, time, n)
    """
    grouped = importlib.import_module(f"{__package__}.grouped_{_backend.name()}") if path == "grouped" else None

    # Custom gradients of all three backends accept one output tensor, with ids and mask from the closure.
    @_backend.custom_gradient
    def run(kernel: Tensor, bias: Tensor, start: Tensor) -> Any:
        if grouped and not _backend.differentiates_again():
            return grouped.trajectory(kernel, bias, start, symbols, mask)
        return _static_trajectory(path, kernel, bias, start, symbols, mask)

    trajectory: tuple[Tensor, ...] = run(kernel, bias, start)
    return trajectory


class Products(NamedTuple):
    """The products of the rows h of a batch with their matrices W_x, at all steps."""

    sequences: tuple[Tensor, ...]  # each (T, ...), inputs of the steps
    of: Callable[[Tensor], Callable[..., Tensor]]  # from the kernel to a function of (B, n) and the inputs of the step


def _products(path: str, symbols: Tensor, vocabulary_size: int) -> Products:
    """The products of a path. symbols: (T, B)."""
    # Accelerators do not check the range of ids, and no sequence may affect others.
    in_range = ops.mod(symbols, vocabulary_size)
    if path == "dense":
        return Products((in_range,), _product_of_all)
    if path == "blocks":
        blocks = into_blocks(in_range, vocabulary_size, ROWS_OF_BLOCK)
        return Products((blocks.owners, blocks.rows, blocks.places), lambda w: product_in_blocks(w, ROWS_OF_BLOCK))
    return Products((symbols,), _product_of_copies)


def _product_of_copies(kernel: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Products of every row with a copy of its matrix."""
    units = kernel.shape[1]
    # Two axes: ONNX has no equivalent of a lookup in three axes by torch (Keras 3.15).
    rows = ops.reshape(kernel, (-1, units * units))

    def product(state: Tensor, symbols: Tensor) -> Tensor:
        matrices = ops.reshape(ops.take(rows, symbols, axis=0), (-1, units, units))
        return ops.matmul(state[:, None, :], matrices)[:, 0, :]

    return product


def _product_of_all(kernel: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Products of every row with all matrices side by side, of which that of its symbol is taken."""
    symbols, units = kernel.shape[:2]
    side_by_side = ops.reshape(ops.transpose(kernel, (1, 0, 2)), (units, symbols * units))

    def product(state: Tensor, read: Tensor) -> Tensor:
        every = ops.reshape(ops.matmul(state, side_by_side), (-1, units))
        return ops.take(every, symbols * ops.arange(ops.shape(read)[0], dtype="int32") + read, axis=0)

    return product


def _affine_scan(
    product: Callable[..., Tensor],
    sequences: tuple[Tensor, ...],
    read: Tensor | None,
    addends: Tensor,
    start: Tensor,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """The states h_t = h_{t-1} W_{x_t} + a_t, time-major: read (T, B, 1) bool or None, addends (T, B, n)."""
    masks = () if read is None else (read,)

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
        addends, *rest = now
        new = product(state, *rest[len(masks) :])
        if masks:
            new = ops.where(rest[0], new, state)
        new = new + addends
        return new, (new,)

    state, [states] = scan(step, start, (addends, *masks, *sequences), (start.shape[1],), reverse)
    return state, states


def _static_trajectory(
    path: str, kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """As `_sequence.grouped_tensorflow.trajectory`, with sizes independent of the values."""
    symbols = ops.transpose(symbols)
    read = None if mask is None else ops.transpose(mask)[:, :, None]
    products = _products(path, symbols, kernel.shape[0])
    addends = ops.take(bias, symbols, axis=0)
    addends = zero_where_masked(addends, read)
    _, states = _affine_scan(products.of(kernel), products.sequences, read, addends, start)

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        upstream = ops.transpose(upstream, (1, 0, 2))
        # g_{t-1} = u_{t-1} + g_t W_{x_t}^T from g_T = u_T; u_0 = 0, so the last is the gradient of start.
        earlier = ops.concatenate([ops.zeros_like(upstream[:1]), upstream[:-1]], axis=0)
        transposed = products.of(ops.transpose(kernel, (0, 2, 1)))
        into_start, backward = _affine_scan(transposed, products.sequences, read, earlier, upstream[-1], reverse=True)
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
