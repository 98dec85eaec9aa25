r"""DeltaNet: Yang et al., NeurIPS 2024, arXiv:2406.06484. Gated DeltaNet: Yang, Kautz, Hatamizadeh, arXiv:2412.06464.

States are rows (docs/conventions.md); the recurrence of `_matrix_state`, with erasure, is section 2.2 of the
first paper and eq. 10 of the second. With kernel [W_q, W_k, W_v, W_beta], 2 H d_k + H d_v + H wide,

    q_t = l2(silu(x_t W_q))      k_t = l2(silu(x_t W_k))      v_t = silu(x_t W_v)      beta_t = sigmoid(x_t W_beta)

where l2 divides each head's vector by the square root of its squared length plus 1e-6. Gated:

    alpha_t = exp(-exp(A) * softplus(x_t W_a + b_a))           one per head
    gate_t = silu(x_t W_g)

(The papers' short convolution over time between projection and silu is left to a layer before this one.)
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive
from keras_interp_rnn.equations._matrix_state import MatrixStateEquations, silu

SMALLEST_SQUARE = 1e-6
"""Added to the sum of squares in l2."""


@dataclass(frozen=True)
class DeltaNet(MatrixStateEquations):
    """The equations of a DeltaNet.

    Attributes:
        kernel: [W_q, W_k, W_v, W_beta].
        decay_kernel, log_rate, decay_bias: W_a (features, H), A (H,), b_a (H,), of a gated one; or None.
    """

    kernel: Tensor
    decay_kernel: Tensor | None
    log_rate: Tensor | None
    decay_bias: Tensor | None

    erases = True

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        values = self.output_kernel.shape[0]
        keys = (self.kernel.shape[1] - values - self.num_heads) // 2
        product = xp.matmul(inputs, self.kernel)
        active = silu(xp, product[..., : 2 * keys + values])
        query, key = (self._unit(xp, x) for x in (active[..., :keys], active[..., keys : 2 * keys]))
        strength = xp.sigmoid(product[..., 2 * keys + values :])
        decay = xp.ones_like(strength) if self.decay_kernel is None else self._decay(xp, inputs)
        drive = (query, key, active[..., 2 * keys :], decay, strength)
        return drive if self.gate_kernel is None else (*drive, silu(xp, xp.matmul(inputs, self.gate_kernel)))

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor]:
        """Contributions to v = u sigmoid(u), u = x W_v, given the sigmoid."""
        values = self.output_kernel.shape[0]
        value_kernel = self.kernel[:, -values - self.num_heads : -self.num_heads]
        return {2: inputs[..., None] * value_kernel * xp.sigmoid(xp.matmul(inputs, value_kernel))[..., None, :]}

    def _decay(self, xp: ArrayModule, inputs: Tensor) -> Tensor:
        return xp.exp(-xp.exp(self.log_rate) * xp.softplus(xp.matmul(inputs, self.decay_kernel) + self.decay_bias))

    def _unit(self, xp: ArrayModule, x: Tensor) -> Tensor:
        heads = self.heads(xp, x)
        return xp.reshape(heads / xp.sqrt(xp.sum(heads * heads, axis=-1, keepdims=True) + SMALLEST_SQUARE), xp.shape(x))
