r"""MinimalRNN: Chen, "MinimalRNN", 2017, arXiv:1711.06788.

States are rows, so each matrix here is the transpose of the paper's (docs/conventions.md). With a latent
$z_t = \Phi(x_t)$ computed by an encoder,

    eq. 3    u_t = sigmoid(h_{t-1} U_h + z_t U_z + b_u)
             h_t = u_t * h_{t-1} + (1 - u_t) * z_t
    eq. 4    dh_t/dh_{t-1} = D_u + D_{(h - z) u (1 - u)} U_h^T
             dh_t/dz_t = D_{1 - u} + D_{(h - z) u (1 - u)} U_z^T
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive, Patch, between, times
from keras_interp_rnn.equations._gated import GatedEquations


@dataclass(frozen=True)
class MinimalRNN(GatedEquations):
    """The equations of a MinimalRNN, eq. 3, whose inputs are the latents z_t.

    Attributes:
        kernel: U_z (n, n). recurrent_kernel: U_h (n, n). bias: b_u (n,).
    """

    gate_names = ("u",)
    patched = ("z", "u")

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        return inputs, *super().drive(xp, inputs)

    def patched_drive(self, xp: ArrayModule, drive: Drive, patch: Patch) -> Drive:
        return self.drive(xp, patch("z", drive[0]))  # the gate reads the latent

    @staticmethod
    def next_state(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> Tensor:
        return between(gates, state, latent)

    @staticmethod
    def slopes(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
        return gates, (state - latent) * gates * (1 - gates)

    @staticmethod
    def input_derivative(xp: ArrayModule, gates: Tensor) -> Tensor:
        return 1 - gates

    def quantities(self, xp: ArrayModule, gates: Tensor, latent: Tensor) -> dict[str, Tensor]:
        return {"z": latent, "u": gates}

    def into_input(self, xp: ArrayModule, drive: Drive, pulled: tuple[Tensor, ...]) -> Tensor:
        latent_part, gate_part = pulled
        return latent_part + times(xp, gate_part, xp.transpose(self.kernel))
