r"""GRU: Cho et al., 2014, arXiv:1406.1078; eq. 1 of Chen, 2017, arXiv:1711.06788.

States are rows (docs/conventions.md). The kernels are concatenated in Keras's order, update, reset, candidate; a_t is
x_t K + b, split in the same way.

    eq. 1    [u_t, r_t] = sigmoid(h_{t-1} [U_u, U_r] + a_t)
             c_t = tanh((r_t * h_{t-1}) U_c + a_t)                   reset before the product, as in the papers
             c_t = tanh(r_t * (h_{t-1} U_c + b_h) + a_t)             after it, as in Keras by default and in cuDNN
             h_t = u_t * h_{t-1} + (1 - u_t) * c_t

With the reset after the product the gates have the bias b_h too. The derivative with the reset before the product is

    eq. 5    D_u + D_{(h - c) u (1 - u)} U_u^T + D_{(1 - u)(1 - c^2)} U_c^T (D_r + D_{h r (1 - r)} U_r^T)

(The paper's eq. 5 has D_{(1 - u)(1 - c^2) r} W_h R_h as the last term, without the derivative of the reset gate.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import (
    DenseEquations,
    Drive,
    Patch,
    PulledBack,
    States,
    Step,
    between,
    scaled,
    times,
    unchanged,
)


@dataclass(frozen=True)
class GRU(DenseEquations):
    """The equations of a GRU, eq. 1.

    Attributes:
        kernel: (features, 3n). recurrent_kernel: (n, 3n). bias: (3n,), or None.
        reset_after: whether the reset gate multiplies after the product with U_c.
        recurrent_bias: b_h (3n,), with reset_after; or None.
        activation, recurrent_activation: in place of tanh and sigmoid, or None.
    """

    added_part = None
    patched: ClassVar[tuple[str, ...]] = ("u", "r", "candidate")

    reset_after: bool = False
    recurrent_bias: Tensor | None = None
    activation: Callable[[Tensor], Tensor] | None = None
    recurrent_activation: Callable[[Tensor], Tensor] | None = None

    @property
    def has_derivative(self) -> bool:
        return self.activation is None and self.recurrent_activation is None

    @property
    def multiplies_once(self) -> bool:
        return self.reset_after

    @property
    def step_weights(self) -> tuple[str, ...]:
        return ("recurrent_kernel",) if self.recurrent_bias is None else ("recurrent_kernel", "recurrent_bias")

    def step_weight_gradients(
        self, xp: ArrayModule, before: States, after: States, product_gradient: Tensor
    ) -> tuple[Tensor, ...]:
        kernel = super().step_weight_gradients(xp, before, after, product_gradient)
        return kernel if self.recurrent_bias is None else (*kernel, xp.sum(product_gradient, axis=0))

    def step_given_product(
        self, xp: ArrayModule, states: States, product: Tensor, drive: Drive, patch: Patch | None = None
    ) -> Step:
        [state] = states
        update, reset, candidate, _ = self._parts(xp, state, product, drive[0], patch or unchanged)
        return Step((between(update, state, candidate),), {"u": update, "r": reset, "candidate": candidate})

    def _parts(
        self, xp: ArrayModule, state: Tensor, product: Tensor, drive: Tensor, patch: Patch = unchanged
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The quantities u_t, r_t, c_t, and h_{t-1} U_c + b_h, which is unused if the reset comes first."""
        both = 2 * self.recurrent_kernel.shape[-2]
        if self.recurrent_bias is not None:
            product = product + self.recurrent_bias
        arguments = product[..., :both] + drive[..., :both]
        if self.recurrent_activation is None:
            gates = xp.split(xp.sigmoid(arguments), 2, axis=-1)
        else:  # gate by gate: it may mix the units of a gate, as softmax does
            gates = [self.recurrent_activation(gate) for gate in xp.split(arguments, 2, axis=-1)]
        update, reset = (patch(name, gate) for name, gate in zip("ur", gates, strict=True))
        inner = product[..., both:]
        mixed = reset * inner if self.reset_after else xp.matmul(reset * state, self.recurrent_kernel[..., both:])
        candidate = patch("candidate", (self.activation or xp.tanh)(mixed + drive[..., both:]))
        return update, reset, candidate, inner

    def pull_back(self, xp: ArrayModule, states: States, drive: Drive, kept: Tensor) -> Callable[[Tensor], PulledBack]:
        [state] = states
        update, reset, candidate, inner = self._parts(xp, state, kept, drive[0])
        through_update = (state - candidate) * update * (1 - update)
        through_candidate = (1 - update) * (1 - candidate * candidate)
        candidate_kernel = xp.transpose(self.recurrent_kernel[:, 2 * state.shape[-1] :])

        def pull(left: Tensor) -> PulledBack:
            direct, update_part = scaled(left, update), scaled(left, through_update)
            candidate_part = scaled(left, through_candidate)
            if self.reset_after:
                reset_part = scaled(candidate_part, inner * reset * (1 - reset))
                inner_part = scaled(candidate_part, reset)
            else:
                mixed_part = times(xp, candidate_part, candidate_kernel)
                direct = direct + scaled(mixed_part, reset)
                reset_part, inner_part = scaled(mixed_part, state * reset * (1 - reset)), xp.zeros_like(candidate_part)
            gates = [update_part, reset_part]
            return PulledBack(
                direct,
                xp.concatenate([*gates, inner_part], axis=-1),
                (xp.concatenate([*gates, candidate_part], axis=-1),),
            )

        return pull
