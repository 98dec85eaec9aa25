"""The affine network with a factorised switch, by literal loops in float64 (Foerster et al., ICML 2017, section 5.2).

States are columns: h_t = W(x_t) @ h_{t-1} + b(x_t), where

  W(x)[i, j] = W_0[i, j] + sum_m U[i, m] g(x)[m] V[m, j],   g(x) = P @ x,   b(x) = B @ x + c.

Symbols are read as the unit vectors. Entry by entry.
"""

from typing import NamedTuple

import numpy as np


class Network(NamedTuple):
    """W_0 (n, n) or None, U (n, f), V (f, n), P (f, features), B (n, features), c (n,), h0 (n,)."""

    W_0: np.ndarray | None
    U: np.ndarray
    V: np.ndarray
    P: np.ndarray
    B: np.ndarray
    c: np.ndarray
    h0: np.ndarray


def affine_map(network: Network, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W(x) and b(x) of one input (features,)."""
    n, f = network.U.shape
    kind = np.result_type(x, *(array for array in network if array is not None))
    g, b = np.zeros(f, kind), np.zeros(n, kind)
    for m in range(f):
        for a in range(len(x)):
            g[m] += network.P[m, a] * x[a]
    for i in range(n):
        b[i] = network.c[i]
        for a in range(len(x)):
            b[i] += network.B[i, a] * x[a]
    W = np.zeros((n, n), kind)
    for i in range(n):
        for j in range(n):
            if network.W_0 is not None:
                W[i, j] = network.W_0[i, j]
            for m in range(f):
                W[i, j] += network.U[i, m] * g[m] * network.V[m, j]
    return W, b


def states(network: Network, inputs, start=None, mask=None, go_backwards: bool = False) -> np.ndarray:
    """After each step, (batch, time, n), in the order in which the steps are read.

    inputs (batch, time, features); start (batch, n) in place of h0; a step that the mask hides keeps the state.
    """
    batch, time = inputs.shape[:2]
    kind = np.result_type(
        inputs, *(array for array in network if array is not None), *([] if start is None else [start])
    )
    result = np.zeros((batch, time, len(network.c)), kind)
    for sequence in range(batch):
        h = network.h0 if start is None else start[sequence]
        for position in range(time):
            step = time - 1 - position if go_backwards else position
            if mask is None or mask[sequence, step]:
                W, b = affine_map(network, inputs[sequence, step])
                h = W @ h + b
            result[sequence, position] = h
    return result


def unit_vectors(symbols, vocabulary_size: int) -> np.ndarray:
    """(batch, time, K) for symbols (batch, time)."""
    result = np.zeros((*symbols.shape, vocabulary_size))
    for place in np.ndindex(symbols.shape):
        result[place][symbols[place]] = 1
    return result
