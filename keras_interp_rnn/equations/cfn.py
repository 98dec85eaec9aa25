r"""Chaos-free networks: Laurent and von Brecht, ICLR 2017, arXiv:1612.06212; eq. 2 of Chen, 2017, arXiv:1711.06788.

States are rows (docs/conventions.md). With kernel [V_u, V_i, W_x] (features, 3n), recurrent kernel [U_u, U_i] (n, 2n),

    eq. 2    [u_t, i_t] = sigmoid(h_{t-1} U + x_t V + b)
             h_t = u_t * tanh(h_{t-1}) + i_t * c_t,                  c_t = tanh(x_t W_x + b_x)

             dh_t/dh_{t-1} = D_{u (1 - tanh(h)^2)} + D_{tanh(h) u (1 - u)} U_u^T + D_{c i (1 - i)} U_i^T

(Chen gives eq. 2 without its gates, which are theta and eta in Laurent and von Brecht.)
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive, Patch, scaled
from keras_interp_rnn.equations._gated import GatedEquations


@dataclass(frozen=True)
class CFN(GatedEquations):
    """The equations of a CFN, eq. 2; the latent is the candidate c_t."""

    gate_names = ("u", "i")
    patched = (*gate_names, "candidate")

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        [drive] = super().drive(xp, inputs)
        gate_part = self.recurrent_kernel.shape[1]
        return xp.tanh(drive[..., gate_part:]), drive[..., :gate_part]

    def patched_drive(self, xp: ArrayModule, drive: Drive, patch: Patch) -> Drive:
        return patch("candidate", drive[0]), drive[1]

    @staticmethod
    def next_state(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> Tensor:
        update, input_gate = xp.split(gates, 2, axis=-1)
        return update * xp.tanh(state) + input_gate * latent

    @staticmethod
    def slopes(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
        update, _ = xp.split(gates, 2, axis=-1)
        squashed = xp.tanh(state)
        return update * (1 - squashed * squashed), xp.concatenate([squashed, latent], axis=-1) * gates * (1 - gates)

    @staticmethod
    def input_derivative(xp: ArrayModule, gates: Tensor) -> Tensor:
        return xp.split(gates, 2, axis=-1)[1]

    def quantities(self, xp: ArrayModule, gates: Tensor, latent: Tensor) -> dict[str, Tensor]:
        update, input_gate = xp.split(gates, 2, axis=-1)
        return {"u": update, "i": input_gate, "candidate": latent}

    def into_input(self, xp: ArrayModule, drive: Drive, pulled: tuple[Tensor, ...]) -> Tensor:
        candidate_part, gate_part = pulled
        through_tanh = scaled(candidate_part, 1 - drive[0] * drive[0])
        return super().into_input(xp, drive, (xp.concatenate([gate_part, through_tanh], axis=-1),))
