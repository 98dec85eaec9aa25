"""The grouped affine scan for JAX on CPUs, with static sizes of groups.

It computes the same as `grouped_tensorflow`. At each step the batch is sorted by symbol. The first `ROWS` rows of every
symbol are one batched product with all K matrices, so these are not copied; the other rows are cut into blocks of
`ROWS` rows that read one symbol, and `BLOCKS` blocks at a time fetch their matrices, for as many rounds as a step
needs. Conditions skip the other rounds at run time. A loop of dynamic length could not be differentiated twice.

It is not for many symbols, as every step visits all matrices, nor for accelerators, which conditions stall.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import lax
from jax import numpy as jnp

from keras_interp_rnn._sequence.blocks import grouped_gradients
from keras_interp_rnn._sequence.masks import zero_where_masked
from keras_interp_rnn._sequence.sizes import BLOCKS, ROWS
from keras_interp_rnn._types import Tensor


class Order(NamedTuple):
    """The order of the rows of the batch at each of T steps, sorted by symbol, and their blocks."""

    symbols: Tensor  # (T, B) symbol of each sorted row
    lanes: Tensor  # (T, B) sequence in each sorted row
    places: Tensor  # (T, B) row of each sequence
    read: Tensor | None  # (T, B, 1) bool, in sorted order
    first: Tensor  # (T, K) first row of each symbol
    rank: Tensor  # (T, B) number of rows of its symbol before each row
    blocks: Tensor  # (T, K) blocks before those of each symbol, of rows beyond the first `ROWS`
    number: Tensor  # (T,) of blocks


def sort_by_symbol(symbols: Tensor, vocabulary_size: int, mask: Tensor | None) -> Order:
    """Order of the batch at every step. symbols: int (B, T) in [0, vocabulary_size); mask: bool (B, T) or None."""
    lanes = jnp.argsort(symbols.T, axis=1)
    symbols = jnp.take_along_axis(symbols.T, lanes, axis=1)
    ends = jax.vmap(lambda row: jnp.searchsorted(row, jnp.arange(vocabulary_size), side="right"))(symbols)
    first = jnp.concatenate([jnp.zeros_like(ends[:, :1]), ends[:, :-1]], axis=1)
    blocks = jnp.cumsum(-(jnp.maximum(ends - first - ROWS, 0) // -ROWS), axis=1)
    return Order(
        symbols,
        lanes,
        jnp.argsort(lanes, axis=1),
        None if mask is None else jnp.take_along_axis(mask.T, lanes, axis=1)[:, :, None],
        first,
        jnp.arange(symbols.shape[1]) - jnp.take_along_axis(first, symbols, axis=1),
        jnp.concatenate([jnp.zeros_like(blocks[:, :1]), blocks[:, :-1]], axis=1),
        blocks[:, -1],
    )


def scan(kernel: Tensor, order: Order, addends: Tensor, start: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor]:
    """The recurrence h_t = h_{t-1} W_{x_t} + a_t, from the first step to the last, or in reverse.

    Args:
        kernel: (K, n, n).
        order: from `sort_by_symbol`.
        addends: a (T, B, n), in sorted order.
        start: (B, n), in the order of the batch.

    Returns:
        The states before and after each step, (T, B, n), in the order of that step.
    """
    units, batch = kernel.shape[1], start.shape[0]
    if not batch:  # no rows to gather from
        return addends, addends
    places = order.places
    unsorted = jnp.arange(batch)[None]
    came = jnp.concatenate([places[1:], unsorted] if reverse else [unsorted, places[:-1]])
    moves = jnp.take_along_axis(came, order.lanes, axis=1)
    # c rows of a symbol make ceil(c / ROWS) - 1 <= (c - 1) / ROWS blocks.
    rounds = -(-((batch - 1) // ROWS) // BLOCKS)

    def product(rows: Tensor, first: Tensor, matrices: Tensor) -> Tensor:
        """Products of `ROWS` rows from each first row with one matrix each: (number * ROWS, n)."""
        places = jnp.minimum(first[:, None] + jnp.arange(ROWS), batch - 1)
        return jnp.matmul(rows[places], matrices).reshape(-1, units)

    def step(state: Tensor, now: tuple[Any, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        move, addends, (symbols, _, _, read, first, rank, blocks, number) = now
        rows = state[move]
        moved = product(rows, first, kernel)[symbols * ROWS + jnp.minimum(rank, ROWS - 1)]
        block = jnp.where(rank < ROWS, -1, blocks[symbols] + rank // ROWS - 1)

        def further(moved: Tensor, begin: Tensor) -> Tensor:
            which = begin + jnp.arange(BLOCKS)
            owner = jnp.searchsorted(blocks, which, side="right") - 1
            of_round = product(rows, first[owner] + ROWS * (which - blocks[owner] + 1), kernel[owner])
            at = block - begin
            here = (block >= 0) & (at >= 0) & (at < BLOCKS)
            return jnp.where(here[:, None], of_round[jnp.clip(at, 0, BLOCKS - 1) * ROWS + rank % ROWS], moved)

        def round_of(moved: Tensor, begin: Tensor) -> tuple[Tensor, None]:
            return lax.cond(begin < number, further, lambda moved, _: moved, moved, begin), None

        moved, _ = lax.scan(round_of, moved, jnp.arange(rounds) * BLOCKS)
        new = (moved if read is None else jnp.where(read, moved, rows)) + addends
        return new, (rows, new)

    _, (before, after) = lax.scan(step, start, (moves, addends, order), reverse=reverse)
    return before, after


def trajectory(
    kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """As `grouped_tensorflow.trajectory`."""
    vocabulary_size, units = bias.shape
    order = sort_by_symbol(symbols, vocabulary_size, mask)

    def in_order(x: Tensor, rows: Tensor) -> Tensor:
        return jnp.take_along_axis(x, rows[:, :, None], axis=1)

    before, states = scan(kernel, order, zero_where_masked(bias[order.symbols], order.read), start)

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        upstream = jnp.swapaxes(upstream, 0, 1)
        # The gradient of output t - 1 enters before step t; there is no output before the first step.
        earlier = jnp.concatenate([jnp.zeros_like(upstream[:1]), upstream[:-1]])
        after, into_start = scan(
            jnp.swapaxes(kernel, 1, 2), order, in_order(earlier, order.lanes), upstream[-1], reverse=True
        )
        of_kernel, of_bias = grouped_gradients(
            order.symbols.flatten(),
            before.reshape(-1, units),
            zero_where_masked(after, order.read).reshape(-1, units),
            vocabulary_size,
        )
        return of_kernel, of_bias, into_start[0][order.places[0]]

    return jnp.swapaxes(in_order(states, order.places), 0, 1), adjoint
