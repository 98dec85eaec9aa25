r"""Chaos-free networks: Laurent and von Brecht, ICLR 2017, arXiv:1612.06212; eq. 2 of Chen, 2017, arXiv:1711.06788.

States are rows (docs/conventions.md). With kernel [V_u, V_i, W_x] (features, 3n), recurrent kernel [U_u, U_i] (n, 2n),

    eq. 2    [u_t, i_t] = sigmoid(h_{t-1} U + x_t V + b)
             h_t = u_t * tanh(h_{t-1}) + i_t * c_t,                  c_t = tanh(x_t W_x + b_x)

             dh_t/dh_{t-1} = D_{u (1 - tanh(h)^2)} + D_{tanh(h) u (1 - u)} U_u^T + D_{c i (1 - i)} U_i^T

(Chen gives eq. 2 without its gates, which are theta and eta in Laurent and von Brecht.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import PulledBack, States, scaled
from keras_interp_rnn.equations._gated import GatedEquations


@dataclass(frozen=True)
class CFN(GatedEquations):
    """The equations of a CFN, eq. 2; the latent is the candidate c_t."""

    def drive(self, xp: ArrayModule, inputs: Tensor) -> tuple[Tensor, ...]:
        [drive] = super().drive(xp, inputs)
        gate_part = self.recurrent_kernel.shape[1]
        return xp.tanh(drive[..., gate_part:]), drive[..., :gate_part]

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

    def pull_back(self, xp: ArrayModule, states: States, drive: tuple[Tensor, ...]) -> Callable[[Tensor], PulledBack]:
        pull = super().pull_back(xp, states, drive)
        slope = 1 - drive[0] * drive[0]  # of the candidate's tanh, to reach the drive before it

        def through_tanh(product: Tensor) -> PulledBack:
            pulled = pull(product)
            return pulled._replace(drive=(scaled(pulled.drive[0], slope), pulled.drive[1]))

        return through_tanh

    def into_input(self, xp: ArrayModule, pulled: tuple[Tensor, ...]) -> Tensor:
        candidate_part, gate_part = pulled
        return super().into_input(xp, (xp.concatenate([gate_part, candidate_part], axis=-1),))
