r"""Products of many rows with one matrix per symbol, in blocks of rows that read the same symbol.

The rows are sorted by symbol, and the rows of each symbol are padded to whole blocks. A block is one product, and the
number of blocks depends on the numbers of rows and symbols, not on the data, as accelerators and XLA require. A symbol
with $c > 0$ rows fills $\lceil c / m \rceil \le 1 + (c - 1) / m$ blocks of $m$ rows, so that $R$ rows of $K \le R$
symbols fill at most $K + (R - K) / m$. (A matrix for every row would take $R$ products.)

This runs on accelerators and under XLA. Elsewhere the grouped paths are faster, as they have no empty places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.sizes import BLOCK, BLOCK_ON_ACCELERATORS
from keras_interp_rnn._types import Tensor


class Blocks(NamedTuple):
    """Assignment of R rows to G blocks of m rows, at each of T steps; int32 unless noted."""

    owners: Tensor  # (T, G) symbol of each block
    rows: Tensor  # (T, G m) row in each place; an arbitrary row in empty ones
    filled: Tensor  # bool (T, G m), False in empty places
    places: Tensor  # (T, R) place of each row


def number_of_blocks(rows: Any, vocabulary_size: int, size: int) -> Any:
    """Largest number of blocks that these rows fill; a few more if their number is symbolic."""
    if not isinstance(rows, int):
        return (rows + size - 1) // size + vocabulary_size
    symbols = min(rows, vocabulary_size)
    return symbols + (rows - symbols) // size


def into_blocks(symbols: Tensor, vocabulary_size: int, size: int) -> Blocks:
    """Blocks of `size` rows. symbols: int32 (T, R) in [0, vocabulary_size)."""
    steps, rows = ops.shape(symbols)
    number = number_of_blocks(rows, vocabulary_size, size)

    def numbers(values: Tensor, below: object) -> Tensor:
        """Counts (T, below) of each number at each step."""
        # The length of ops.bincount depends on the values on JAX.
        flat = ops.reshape(values + below * ops.arange(steps, dtype="int32")[:, None], (-1,))
        return ops.reshape(ops.segment_sum(ops.ones_like(flat), flat, num_segments=steps * below), (steps, below))

    counts = numbers(symbols, vocabulary_size)
    row_ends = ops.cumsum(counts, axis=1)
    blocks = (counts + size - 1) // size
    block_ends = ops.cumsum(blocks, axis=1)
    # The symbol of a block is the number of symbols whose blocks ended before it.
    ended = ops.cumsum(numbers(block_ends, number + 1), axis=1)[:, :number]
    owners = ops.minimum(ended, vocabulary_size - 1)
    # From the place of a row to its number in the order of symbols.
    shift = (row_ends - counts) - size * (block_ends - blocks)
    of_place = ops.repeat(owners, size, axis=1)
    numbered = ops.arange(number * size, dtype="int32") + ops.take_along_axis(shift, of_place, axis=1)
    filled = numbered < ops.take_along_axis(row_ends, of_place, axis=1)
    order = ops.cast(ops.argsort(symbols, axis=1), "int32")
    in_order = ops.take_along_axis(symbols, order, axis=1)
    places = ops.arange(rows, dtype="int32") - ops.take_along_axis(shift, in_order, axis=1)
    return Blocks(
        owners=owners,
        rows=ops.take_along_axis(order, ops.where(filled, numbered, 0), axis=1),
        filled=filled,
        places=ops.take_along_axis(places, ops.argsort(order, axis=1), axis=1),
    )


def product_in_blocks(kernel: Tensor, size: int) -> Callable[..., Tensor]:
    """A function from rows h (R, n) and owners, rows and places of one step to h W_x (R, n)."""
    units = kernel.shape[1]
    matrices = ops.reshape(kernel, (-1, units * units))

    def product(state: Tensor, owners: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        # The products of empty places are not used.
        padded = ops.reshape(ops.take(state, rows, axis=0), (-1, size, units))
        of_block = ops.reshape(ops.take(matrices, owners, axis=0), (-1, units, units))
        return ops.take(ops.reshape(ops.matmul(padded, of_block), (-1, units)), places, axis=0)

    return product


def grouped_gradients(
    symbols: Tensor, before: Tensor, gradients: Tensor, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """Sums of before^T gradient and of gradient over the rows of each symbol. symbols: (R,). Rows: (R, n)."""
    size = BLOCK_ON_ACCELERATORS if _backend.accelerator() else BLOCK
    blocks, units = into_blocks(symbols[None], vocabulary_size, size), before.shape[1]

    def in_blocks(values: Tensor) -> Tensor:
        rows = ops.take(values, blocks.rows[0], axis=0)
        return ops.reshape(ops.where(blocks.filled[0][:, None], rows, ops.zeros_like(rows)), (-1, size, units))

    left, right = in_blocks(before), in_blocks(gradients)
    products = ops.matmul(ops.transpose(left, (0, 2, 1)), right)
    kernel_gradient = ops.segment_sum(products, blocks.owners[0], num_segments=vocabulary_size)
    bias_gradient = ops.segment_sum(ops.sum(right, axis=1), blocks.owners[0], num_segments=vocabulary_size)
    return kernel_gradient, bias_gradient
