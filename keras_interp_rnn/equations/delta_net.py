r"""DeltaNet: Yang et al., NeurIPS 2024, arXiv:2406.06484. Gated DeltaNet: Yang, Kautz, Hatamizadeh, arXiv:2412.06464.

States are rows (docs/conventions.md); the recurrence is that of `_matrix_state`, which erases what it writes over:
section 2.2 of the first paper, eq. 10 of the second. With kernel [W_q, W_k, W_v, W_beta], 2 H d_k + H d_v + H wide,

    q_t = l2(silu(x_t W_q))      k_t = l2(silu(x_t W_k))      v_t = silu(x_t W_v)      beta_t = sigmoid(x_t W_beta)

where l2 brings each head's vector to the length of one. Gated:

    alpha_t = exp(-exp(A) * softplus(x_t W_a + b_a))           one a head
    gate_t = silu(x_t W_g)

(The papers' short convolution over time, between projection and silu, is left out: it is a layer before.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._matrix_state import MatrixStateEquations, silu

SMALLEST_SQUARE = 1e-6
"""Added to the sum of squares under the root of l2."""


@dataclass(frozen=True)
class DeltaNet(MatrixStateEquations):
    """kernel, and, gated, decay_kernel W_a (features, H), log_rate A (H,), decay_bias b_a (H,), gate_kernel W_g."""

    kernel: Tensor
    decay_kernel: Tensor | None
    log_rate: Tensor | None
    decay_bias: Tensor | None

    erases = True

    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        values = self.output_kernel.shape[0]
        keys = (self.kernel.shape[1] - values - self.num_heads) // 2
        product = xp.matmul(inputs, self.kernel)
        active = silu(xp, product[..., : 2 * keys + values])
        query, key = (self._unit(xp, x) for x in (active[..., :keys], active[..., keys : 2 * keys]))
        strength = xp.sigmoid(product[..., 2 * keys + values :])
        decay = xp.ones_like(strength) if self.decay_kernel is None else self._decay(xp, inputs)
        drive = (query, key, active[..., 2 * keys :], decay, strength)
        return drive if self.gate_kernel is None else (*drive, silu(xp, xp.matmul(inputs, self.gate_kernel)))

    def feature_drives(self, xp: Any, inputs: Tensor) -> dict[int, Tensor]:
        """The parts of v = u sigmoid(u), u = x W_v, given the sigmoid."""
        values = self.output_kernel.shape[0]
        of_value = self.kernel[:, -values - self.num_heads : -self.num_heads]
        return {2: inputs[..., None] * of_value * xp.sigmoid(xp.matmul(inputs, of_value))[..., None, :]}

    def _decay(self, xp: Any, inputs: Tensor) -> Tensor:
        return xp.exp(-xp.exp(self.log_rate) * xp.softplus(xp.matmul(inputs, self.decay_kernel) + self.decay_bias))

    def _unit(self, xp: Any, x: Tensor) -> Tensor:
        heads = self.heads(xp, x)
        return xp.reshape(heads / xp.sqrt(xp.sum(heads * heads, axis=-1, keepdims=True) + SMALLEST_SQUARE), xp.shape(x))
