r"""Affine networks switched by few factors: the tensor factorisation named as future work by Foerster et al.

States are rows (docs/conventions.md). With shared kernel $W_0$ (n, n), factors $U$ (n, f) and $V$ (f, n), the
gains $g$ (f,) and offset $b$ (n,) computed from the input, and a readout as in `equations.isan`:

    h_t = h_{t-1} W(x_t) + b(x_t),   W(x) = W_0 + U diag(g(x)) V,   g(x) = x P,   b(x) = x B + c

For symbols x is one-hot, so that g and b are rows of P and B, and there is no c. W_0 is optional. Each step is affine
in the state, so all results of `equations.isan` hold with the kernel W(x) and the bias b(x).

The adjoint is a recurrence of the same form: with q_t the gradient that reaches h_t and u_t the one that reaches
output t,

    q_{t-1} = u_{t-1} + q_t W(x_t)^T,   W(x)^T = W_0^T + V^T diag(g(x)) U^T,

and dL/db_t = q_t, dL/dg_t = (h_{t-1} U) * (q_t V^T).

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 5.2; the factorisation follows Sutskever, Martens
and Hinton, "Generating Text with Recurrent Neural Networks", ICML 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._checks import integers
from keras_interp_rnn._types import AnyArray, ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step, times


@dataclass(frozen=True)
class FactoredISAN(CellEquations):
    """The step above, for real-valued inputs (..., features) or symbols, int (...).

    Attributes:
        shared: W_0 (n, n), or None. into_factors: U (n, f). out_of_factors: V (f, n).
        switch_kernel: P (features or K, f). kernel: B (features or K, n). bias: c (n,), or None.
    """

    shared: Tensor | None
    into_factors: Tensor
    out_of_factors: Tensor
    switch_kernel: Tensor
    kernel: Tensor
    bias: Tensor | None

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        """The gains g (..., f) and the biases b (..., n)."""
        if "int" in str(inputs.dtype):
            return xp.take(self.switch_kernel, inputs, axis=0), xp.take(self.kernel, inputs, axis=0)
        return projections(xp, inputs, self.switch_kernel, self.kernel, self.bias)

    def maps(self, inputs: ArrayLike | None = None) -> tuple[AnyArray, AnyArray]:
        """The affine maps of inputs, in NumPy: matrices W(x) (..., n, n) and biases b(x) (..., n).

        Args:
            inputs: symbols, int (...), by default all K in their order; otherwise real-valued (..., features).

        Raises:
            ValueError: if the inputs are not symbols of the vocabulary or have another number of features, or if
                real-valued inputs are missing.
        """
        rows = len(self.switch_kernel)
        if self.bias is None:
            remedy = "Map the text with the alphabet that the layer was trained on."
            x = integers("inputs", np.arange(rows) if inputs is None else inputs, below=rows, remedy=remedy)
        else:
            x = np.asarray([] if inputs is None else inputs, np.float64)
            if x.shape[-1:] != (rows,):
                raise ValueError(
                    f"`inputs` must be real-valued (..., {rows}). Received: {None if inputs is None else x.shape}. "
                    "Pass the inputs whose maps you need."
                )
        gains, addends = self.drive(np, x)
        return kernels(np, self.shared, self.into_factors, self.out_of_factors, gains), addends

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        gains, addends = drive
        joint = joint_kernel(xp, self.shared, self.into_factors)
        switched, _ = apply_kernel(xp, joint, self.out_of_factors, states[0], gains)
        return Step((switched + addends,), {})

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        gains, _ = drive
        factors = xp.matmul(states[0], self.into_factors)
        into_factors, out_of_factors = xp.transpose(self.into_factors), xp.transpose(self.out_of_factors)

        def before(product: Tensor) -> Tensor:
            switched = times(xp, times(xp, product, out_of_factors) * gains[:, None, :], into_factors)
            return switched if self.shared is None else switched + times(xp, product, xp.transpose(self.shared))

        def into_input(product: Tensor) -> Tensor:
            gain_part = times(xp, product, out_of_factors) * factors[:, None, :]
            switched = times(xp, gain_part, xp.transpose(self.switch_kernel))
            return switched + times(xp, product, xp.transpose(self.kernel))

        return LinearStep(before, into_input)


def projections(
    xp: ArrayModule, inputs: Tensor, switch_kernel: Tensor, kernel: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Both linear maps of inputs (..., features): g = x P (..., f) and b = x B + c (..., n); c (n,) or None."""
    addends = xp.matmul(inputs, kernel)
    return xp.matmul(inputs, switch_kernel), addends if bias is None else addends + bias


def joint_kernel(xp: ArrayModule, shared: Tensor | None, into_factors: Tensor) -> Tensor:
    """[W_0 | U] (n, n + f), so that a step has one product with the state; U without W_0."""
    return into_factors if shared is None else xp.concatenate([shared, into_factors], axis=1)


def apply_kernel(
    xp: ArrayModule, joint: Tensor, out_of_factors: Tensor, state: Tensor, gains: Tensor
) -> tuple[Tensor, Tensor]:
    """Applies the switched kernel: h W(x) = h W_0 + ((h U) * g) V, and h U. Add b for the next state.

    Args:
        xp: NumPy or keras.ops.
        joint: [W_0 | U] (n, n + f), or U (n, f). out_of_factors: V (f, n).
        state: (batch, n). gains: g (batch, f).

    Returns:
        (batch, n) and (batch, f).
    """
    factors, units = out_of_factors.shape
    product = xp.matmul(state, joint)
    factor_states = product[:, -factors:]
    switched = xp.matmul(factor_states * gains, out_of_factors)
    return (switched if joint.shape[1] == factors else product[:, :units] + switched), factor_states


def kernels(
    xp: ArrayModule, shared: Tensor | None, into_factors: Tensor, out_of_factors: Tensor, gains: Tensor
) -> Tensor:
    """W(x) = W_0 + U diag(g) V: g (..., f) -> (..., n, n)."""
    switched = xp.matmul(into_factors * gains[..., None, :], out_of_factors)
    return switched if shared is None else switched + shared
