r"""Gated linear attention: Yang, Wang, Shen, Panda and Kim, ICML 2024, arXiv:2312.06635.

States are rows (docs/conventions.md); the recurrence of `_matrix_state` is eq. 3 of the paper. With kernel
[W_q, W_k, W_v] (features, 2 H d_k + H d_v), and tau = 16, section 4.4 has

    alpha_t = sigmoid(x_t W_1 W_2 + b)^(1 / tau)       per dimension of each key (..., H d_k)
    gate_t = silu(x_t W_r + b_r)

With one decay per head, alpha_t = sigmoid(x_t W_2 + b)^(1 / tau) (..., H), it is the recurrence of Mamba-2 (Dao and Gu,
2024, arXiv:2405.21060).
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive
from keras_interp_rnn.equations._matrix_state import MatrixStateEquations, silu

TEMPERATURE = 16.0
"""tau: larger values bring the initial decays closer to one."""


@dataclass(frozen=True)
class GatedLinearAttention(MatrixStateEquations):
    """The equations of gated linear attention.

    Attributes:
        kernel: [W_q, W_k, W_v]. decay_kernel: W_2 (rank or features, H d_k or H). decay_bias: b.
        low_rank_kernel: W_1 (features, rank), or None. gate_bias: b_r (H d_v,), or None.
    """

    kernel: Tensor
    decay_kernel: Tensor
    decay_bias: Tensor
    low_rank_kernel: Tensor | None
    gate_bias: Tensor | None

    erases = False

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        values = self.output_kernel.shape[0]
        keys = (self.kernel.shape[1] - values) // 2
        product = xp.matmul(inputs, self.kernel)
        query, key, value = product[..., :keys], product[..., keys : 2 * keys], product[..., 2 * keys :]
        reduced = inputs if self.low_rank_kernel is None else xp.matmul(inputs, self.low_rank_kernel)
        argument = xp.matmul(reduced, self.decay_kernel) + self.decay_bias
        decay = xp.exp(-xp.softplus(-argument) / TEMPERATURE)
        if self.gate_kernel is None:
            return query, key, value, decay
        return query, key, value, decay, silu(xp, xp.matmul(inputs, self.gate_kernel) + self.gate_bias)

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor]:
        return {2: inputs[..., None] * self.kernel[:, -self.output_kernel.shape[0] :]}
