"""The input-switched affine network by literal loops, in float64 (Foerster et al., ICML 2017).

The paper's convention throughout: states are columns, so eq. 1 is h_t = W[x_t] @ h_{t-1} + b[x_t], with
W (K, n, n), b (K, n) and h0 (n,) for all sequences or (batch, n) for each. `logits` is eq. 3, before the
softmax of eq. 2. `contributions` is eq. 6 with b_{x_0} = h0 and the product of eq. 4, whose later matrices
stand to the left; eq. 5 sums it to the logits less b_ro. (The text after eq. 6 gives kappa_t^t as b_{x_t};
by eq. 6 itself it is W_ro @ b_{x_t}, which is what is computed here.)

`loss_gradients` is back-propagation through eq. 1 for L = sum(cotangent * states), where g_t = dL/dh_t:
  g_t = cotangent_t + W[x_{t+1}]^T g_{t+1}, without the second term at t = T; a masked step has W = 1, b = 0.
  dL/dW[k] and dL/db[k] sum g_t h_{t-1}^T and g_t over the unmasked steps where x_t = k.
  h0 enters through step 1 alone: dL/dh0 = W[x_1]^T g_1, or g_1 if step 1 is masked.
"""

from typing import NamedTuple

import numpy as np


def _initial_state(h0, sequence: int) -> np.ndarray:
    """The initial state of one sequence, a copy."""
    h0 = np.array(h0)
    return h0 if h0.ndim == 1 else h0[sequence]


def _dtype(*arrays) -> np.dtype:
    """float64, or complex128 for a complex step."""
    return np.result_type(np.float64, *arrays)


def _read(mask: np.ndarray | None, sequence: int, step: int) -> bool:
    """Whether this step is read; a step that is not leaves the state as it was."""
    return mask is None or bool(mask[sequence][step])


def states(W, b, h0, symbols, mask=None, go_backwards: bool = False) -> np.ndarray:
    """Eq. 1 after each step: (batch, time, n), in the order in which the steps are read."""
    W, b, h0, symbols = (np.asarray(array) for array in (W, b, h0, symbols))
    kind = _dtype(W, b, h0)
    W, b, h0 = W.astype(kind), b.astype(kind), h0.astype(kind)
    batch, time = symbols.shape
    result = np.zeros((batch, time, b.shape[1]), kind)
    for sequence in range(batch):
        h = _initial_state(h0, sequence)
        steps = reversed(range(time)) if go_backwards else range(time)
        for position, step in enumerate(steps):
            if _read(mask, sequence, step):
                x = symbols[sequence, step]
                h = W[x] @ h + b[x]
            result[sequence, position] = h
    return result


def expected_states(W, b, h0, distributions, mask=None) -> np.ndarray:
    """Eq. 1 averaged over a distribution at each step, sum_k p_k (W_k h + b_k): (batch, time, n)."""
    W, b, h0, distributions = (np.asarray(array) for array in (W, b, h0, distributions))
    kind = _dtype(W, b, h0, distributions)
    W, b, h0, distributions = (array.astype(kind) for array in (W, b, h0, distributions))
    batch, time, vocabulary_size = distributions.shape
    result = np.zeros((batch, time, b.shape[1]), kind)
    for sequence in range(batch):
        h = _initial_state(h0, sequence)
        for step in range(time):
            if _read(mask, sequence, step):
                p = distributions[sequence, step]
                h = sum(p[k] * (W[k] @ h + b[k]) for k in range(vocabulary_size))
            result[sequence, step] = h
    return result


def logits(W_ro, b_ro, h) -> np.ndarray:
    """Eq. 3 on the last axis of h: W_ro (outputs, n), h (..., n), result (..., outputs)."""
    W_ro, b_ro, h = (np.asarray(array, np.float64) for array in (W_ro, b_ro, h))
    return np.einsum("oj,...j->...o", W_ro, h) + b_ro


def contributions(W, b, h0, W_ro, symbols) -> np.ndarray:
    """Eq. 6 for one sequence (time,): kappa_s^t at [s, t - 1], s = 0..T, t = 1..T, 0 if s > t."""
    W, b, h0, W_ro = (np.asarray(array, np.float64) for array in (W, b, h0, W_ro))
    T, n = len(symbols), b.shape[1]
    kappa = np.zeros((T + 1, T, W_ro.shape[0]))
    for t in range(1, T + 1):
        for s in range(t + 1):
            product = np.eye(n)
            for later in range(s + 1, t + 1):
                product = W[symbols[later - 1]] @ product
            source = h0 if s == 0 else b[symbols[s - 1]]
            kappa[s, t - 1] = W_ro @ product @ source
    return kappa


class Switch(NamedTuple):
    """Eq. 1 as a step of h and x, where x is one symbol (1,)."""

    W: np.ndarray
    b: np.ndarray

    def step(self, h, x):
        symbol = int(x[0])
        return self.W[symbol] @ h + self.b[symbol]


def loss_gradients(W, b, h0, symbols, cotangent, mask=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of sum(cotangent * states) with respect to W, b and each sequence's h0 (batch, n)."""
    W, b, cotangent = (np.asarray(array, np.float64) for array in (W, b, cotangent))
    symbols = np.asarray(symbols)
    batch, time = symbols.shape
    h = states(W, b, h0, symbols, mask)
    dW, db, dh0 = np.zeros(W.shape), np.zeros(b.shape), np.zeros((batch, b.shape[1]))
    for sequence in range(batch):
        from_later = np.zeros(b.shape[1])
        for step in reversed(range(time)):
            g = cotangent[sequence, step] + from_later
            from_later = g
            if _read(mask, sequence, step):
                x = symbols[sequence, step]
                previous = h[sequence, step - 1] if step > 0 else _initial_state(h0, sequence)
                dW[x] += np.outer(g, previous)
                db[x] += g
                from_later = W[x].T @ g
        dh0[sequence] = from_later
    return dW, db, dh0
