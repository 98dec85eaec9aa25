r"""State-regularized networks: Wang, Lawrence and Niepert, 2022, sections 4 and 4.3.

("State-Regularized Recurrent Neural Networks to Extract Automata and Explain Predictions".)

States are rows (docs/conventions.md), so the k centroids are the rows of S (k, n), the transpose of the paper's. A step
is the recurrent component, any cell, and the stochastic component,

    eq. 13   u_t = f(h_{t-1}, c_{t-1}, x_t)
    eq. 15   alpha = softmax(u_t S^T / tau)                                  the transition probabilities
    eq. 16   sample        j ~ alpha,                     h_t = s_j
    eq. 17   soft_argmax   z = one-hot(argmax alpha),     h_t = z S          gradient: as of alpha S
    eq. 19   gumbel        alpha = softmax((u_t S^T + g) / tau), g_i = -log(-log(uniform)),     h_t = alpha S
    eq. 20   mixture       h_t = alpha S

(Eq. 19 prints the exponent as exp(u s_i + g_i) / tau; it is the whole argument that the temperature divides.)

With a strength lambda below 1 the state keeps a part of the cell's own, h_t = lambda (z S) + (1 - lambda) u_t. That is
this package's, not the paper's: a way from a plain network to a regularized one.

The peephole LSTM (eqs. 23 to 25) has gates that see the memory,

    i_t = sigmoid(x W_i + h_{t-1} R_i + p_i * c_{t-1} + b_i)             f_t likewise
    c_t = f_t * c_{t-1} + i_t * tanh(x W_c + h_{t-1} R_c + b_c)
    o_t = sigmoid(x W_o + h_{t-1} R_o + p_o * c_t + b_o)                 u_t = o_t * tanh(c_t)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any

TRANSITIONS = ("mixture", "soft_argmax", "gumbel", "sample")


def scores(xp: Any, state: Array, centroids: Array) -> Array:
    """Dot products u s_i: state (..., n), centroids (k, n) -> (..., k)."""
    return xp.matmul(state, xp.transpose(centroids))


def transition_probabilities(xp: Any, scores: Array, temperature: Array) -> Array:
    """Eq. 15, and eq. 19 for scores with Gumbel noise: (..., k) -> (..., k), rows that sum to 1."""
    if scores.shape[-1] == 1:  # of which Keras's softmax warns
        return xp.ones_like(scores)
    if hasattr(xp, "softmax"):
        return xp.softmax(scores / temperature, axis=-1)
    weights = xp.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    return weights / weights.sum(axis=-1, keepdims=True)


def gumbel(xp: Any, uniform: Array) -> Array:
    """Noise of the Gumbel(0, 1) distribution from uniform numbers in (0, 1)."""
    return -xp.log(-xp.log(uniform))


def regularized(xp: Any, weights: Array, centroids: Array, state: Array, strength: Array) -> Array:
    """State lambda (z S) + (1 - lambda) u, exact at either end: z (..., k), u (..., n) -> (..., n)."""
    return slid(xp.matmul(weights, centroids), state, strength)


def slid(mixture: Array, state: Array, strength: Array) -> Array:
    """State lambda m + (1 - lambda) u from the centroids' m and the cell's own u, both (..., n)."""
    return strength * mixture + (1 - strength) * state


def peephole_lstm_step(
    activation: Callable[[Array], Array],
    gate: Callable[[Array], Array],
    drives: tuple[Array, Array, Array, Array],
    peephole: Array,
    memory: Array,
) -> tuple[Array, Array, tuple[Array, Array, Array]]:
    """Eqs. 23 to 25: drives of i, f, c, o (..., n) each, peephole [p_i, p_f, p_o] (3, n), c_{t-1} (..., n).

    Returns: u_t (..., n), c_t (..., n), gates (i_t, f_t, o_t), each (..., n).
    """
    of_input, of_forget, of_candidate, of_output = drives
    admit = gate(of_input + peephole[0] * memory)
    keep = gate(of_forget + peephole[1] * memory)
    memory = keep * memory + admit * activation(of_candidate)
    emit = gate(of_output + peephole[2] * memory)
    return emit * activation(memory), memory, (admit, keep, emit)
