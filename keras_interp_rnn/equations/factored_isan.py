r"""Affine networks switched by few factors: the tensor factorisation that Foerster et al. name as future work.

States are rows (docs/conventions.md). With shared kernel $W_0$ (n, n), factors $U$ (n, f) and $V$ (f, n), what the
input makes of itself, $g$ (f,) and $b$ (n,), and a readout as in `equations.isan`:

    h_t = h_{t-1} W(x_t) + b(x_t),   W(x) = W_0 + U diag(g(x)) V,   g(x) = x P,   b(x) = x B + c

A symbol has a row of P for its g and a row of B for its b: x is one-hot, and c is left out. W_0 may be left out too.
Each step is affine in the state, so what holds for `equations.isan` holds here with the kernel W(x) and the bias b(x).

The adjoint is a recurrence of the same form: with q_t the gradient that reaches h_t and u_t the one that reaches
output t,

    q_{t-1} = u_{t-1} + q_t W(x_t)^T,   W(x)^T = W_0^T + V^T diag(g(x)) U^T,

and dL/db_t = q_t, dL/dg_t = (h_{t-1} U) * (q_t V^T).

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 5.2; the factorisation is that of Sutskever, Martens
and Hinton, "Generating Text with Recurrent Neural Networks", ICML 2011.
"""

from __future__ import annotations

from typing import Any

Array = Any


def projections(
    xp: Any, inputs: Array, switch_kernel: Array, kernel: Array, bias: Array | None = None
) -> tuple[Array, Array]:
    """Both linear maps of inputs (..., features): g = x P (..., f) and b = x B + c (..., n); c (n,) or None."""
    addends = xp.matmul(inputs, kernel)
    return xp.matmul(inputs, switch_kernel), addends if bias is None else addends + bias


def joint_kernel(xp: Any, shared: Array | None, into_factors: Array) -> Array:
    """[W_0 | U], so that a state takes part in one product: (n, n + f); U alone without W_0."""
    return into_factors if shared is None else xp.concatenate([shared, into_factors], axis=1)


def moved(xp: Any, joint: Array, out_of_factors: Array, state: Array, gains: Array) -> tuple[Array, Array]:
    """What becomes of the state, h W(x) = h W_0 + ((h U) * g) V, and its factors h U.

    The next state is that plus b.

    Args:
        xp: NumPy or keras.ops.
        joint: [W_0 | U] (n, n + f), or U (n, f). out_of_factors: V (f, n).
        state: (batch, n). gains: g (batch, f).

    Returns:
        (batch, n) and (batch, f).
    """
    factors, units = out_of_factors.shape
    product = xp.matmul(state, joint)
    entered = product[:, -factors:]
    switched = xp.matmul(entered * gains, out_of_factors)
    return (switched if joint.shape[1] == factors else product[:, :units] + switched), entered


def kernels(xp: Any, shared: Array | None, into_factors: Array, out_of_factors: Array, gains: Array) -> Array:
    """W(x) = W_0 + U diag(g) V: g (..., f) -> (..., n, n)."""
    switched = xp.matmul(into_factors * gains[..., None, :], out_of_factors)
    return switched if shared is None else switched + shared
