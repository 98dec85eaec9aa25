"""The grouped affine scan for torch on CPUs.

It computes the same as `grouped_tensorflow`, in eager operations: at each step the batch is sorted by symbol, and all
sequences that read the same symbol share a matrix product. Groups have any size, and only symbols that a step reads
have one, so all alphabets are treated alike. Masked sequences form a group that keeps its states.

The products are added in place: forward to the biases, backward to the gradients of the outputs. Both directions keep
the rows that they multiply, states before and gradients after, in the same order; the gradient of a matrix is one
product of the two over all steps.

It is not for traces, as the sizes of groups depend on the data, nor for GPUs, which many small products starve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from keras_interp_rnn._types import Tensor


class Order(NamedTuple):
    """The order of the rows of the batch at each of T steps, sorted by symbol; masked rows have the symbol K."""

    symbols: Tensor  # (T, B) symbol of each sorted row
    lanes: Tensor  # (T, B) sequence in each sorted row
    places: Tensor  # (T, B) row of each sequence
    groups: list[tuple[list[int], list[int]]]  # for each step the symbols that occur, and their numbers of rows

    def rows(self, x: Tensor) -> Tensor:
        """Sorts the rows of x (T, B, n)."""
        return _taken(x, self.lanes)

    def batch(self, x: Tensor) -> Tensor:
        """Returns sorted rows of x (T, B, n) to the order of the batch."""
        return _taken(x, self.places)


def _taken(x: Tensor, rows: Tensor) -> Tensor:
    """The rows of each step of x (T, B, n) in the order (T, B); `index_select` copies whole rows."""
    steps, batch = rows.shape
    flat = rows + batch * torch.arange(steps)[:, None]
    return x.flatten(0, 1).index_select(0, flat.flatten()).view(x.shape)


def sort_by_symbol(symbols: Tensor, vocabulary_size: int, mask: Tensor | None) -> Order:
    """Order of the batch at every step. symbols: int (B, T) in [0, vocabulary_size); mask: bool (B, T) or None."""
    symbols = symbols.T.long().contiguous()
    if mask is not None:
        symbols = torch.where(mask.T, symbols, vocabulary_size)
    symbols, lanes = torch.sort(symbols, dim=1, stable=True)
    steps, batch = symbols.shape
    # Runs of equal symbols, separately for each step.
    keys = symbols + torch.arange(steps)[:, None] * (vocabulary_size + 1)
    runs, sizes = torch.unique_consecutive(keys, return_counts=True)
    groups: list[tuple[list[int], list[int]]] = [([], []) for _ in range(steps)]
    for run, size in zip(runs.tolist(), sizes.tolist(), strict=True):
        of_symbol, of_size = groups[run // (vocabulary_size + 1)]
        of_symbol.append(run % (vocabulary_size + 1))
        of_size.append(size)
    return Order(symbols, lanes, torch.argsort(lanes, dim=1), groups)


def scan(
    matrices: tuple[Tensor, ...], order: Order, addends: Tensor, start: Tensor, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """The recurrence h_t = h_{t-1} W_{x_t} + a_t, from the first step to the last, or in reverse.

    Args:
        matrices: K of (n, n).
        order: from `sort_by_symbol`.
        addends: a (T, B, n), in sorted order; becomes the states after each step.
        start: (B, n), in the order of the batch.

    Returns:
        The states before and after each step, (T, B, n), in the order of that step.
    """
    before = torch.empty_like(addends)
    state, places = start, None
    steps = range(len(addends))
    for t in reversed(steps) if reverse else steps:
        lanes = order.lanes[t]
        torch.index_select(state, 0, lanes if places is None else places[lanes], out=before[t])
        state, places = addends[t], order.places[t]
        symbols, sizes = order.groups[t]
        for symbol, rows, sums in zip(symbols, before[t].split(sizes), state.split(sizes), strict=True):
            if symbol < len(matrices):
                sums.addmm_(rows, matrices[symbol])
            else:
                sums.add_(rows)
    return before, addends


def trajectory(
    kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """As `grouped_tensorflow.trajectory`; the adjoint cannot be differentiated again."""
    vocabulary_size, units = bias.shape
    order = sort_by_symbol(symbols, vocabulary_size, mask)
    addends = torch.cat([bias, bias.new_zeros(1, units)]).index_select(0, order.symbols.flatten())
    before, states = scan(kernel.unbind(), order, addends.view(*order.symbols.shape, units), start)

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        upstream = upstream.transpose(0, 1)
        # The gradient of output t - 1 enters before step t; there is no output before the first step.
        earlier = torch.cat([torch.zeros_like(upstream[:1]), upstream[:-1]])
        after, into_start = scan(kernel.mT.unbind(), order, order.rows(earlier), upstream[-1], reverse=True)
        return *_kernel_gradients(kernel, order.symbols.flatten(), before, after), into_start[0, order.places[0]]

    return order.batch(states).transpose(0, 1), adjoint


def _kernel_gradients(kernel: Tensor, symbols: Tensor, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of (state before)^T (gradient after) and of the gradients over the rows of each symbol.

    Args:
        kernel: (K, n, n), for its shape.
        symbols: (T B,), of the rows. before, after: (T, B, n), in the same order.
    """
    vocabulary_size, units = kernel.shape[:2]
    of_kernel, of_bias = torch.zeros_like(kernel), kernel.new_zeros(vocabulary_size, units)
    symbols, rows = torch.sort(symbols, stable=True)
    present, sizes = torch.unique_consecutive(symbols, return_counts=True)
    parts = [x.flatten(0, 1).index_select(0, rows).split(sizes.tolist()) for x in (before, after)]
    for symbol, states, gradients in zip(present.tolist(), *parts, strict=True):
        if symbol < vocabulary_size:
            torch.mm(states.T, gradients, out=of_kernel[symbol])
            torch.sum(gradients, 0, out=of_bias[symbol])
    return of_kernel, of_bias
