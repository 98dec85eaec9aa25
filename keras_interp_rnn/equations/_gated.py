r"""Gated cells whose units mix inside the gates only: MinimalRNN and CFN.

With G gates, $[u_t, \dots] = \sigma(h_{t-1} U + d_t)$, the next state is an elementwise
function of h_{t-1}, the gates and a latent. So its Jacobian is a diagonal and one scaled matrix per gate (Chen, 2017,
eq. 4),

    dh_t/dh_{t-1} = D_{diagonal} + sum_g D_{slopes_g} U_g^T,        dh_t/dlatent_t = D_{input_derivative}.

The gradients of the layers use the same vectors (`_sequence.dense`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import DenseEquations, Drive, Patch, PulledBack, States, Step, scaled


@dataclass(frozen=True)
class GatedEquations(DenseEquations):
    """A cell whose drive has two parts: the latent (..., n), and the terms inside the gates (..., G n).

    Attributes:
        gate_names: the papers' names of the G gates.
    """

    added_part = 1
    gate_names: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    @abstractmethod
    def next_state(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> Tensor:
        """h_t from h_{t-1} (..., n), gates (..., G n) and latent (..., n)."""

    @staticmethod
    @abstractmethod
    def slopes(xp: ArrayModule, state: Tensor, gates: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
        """The diagonal (..., n) and the slopes (..., G n) of eq. 4."""

    @staticmethod
    @abstractmethod
    def input_derivative(xp: ArrayModule, gates: Tensor) -> Tensor:
        """The diagonal (..., n) of dh_t/dlatent_t at fixed gates."""

    @abstractmethod
    def quantities(self, xp: ArrayModule, gates: Tensor, latent: Tensor) -> dict[str, Tensor]:
        """Gates and latent by the papers' names."""

    def patched_drive(self, xp: ArrayModule, drive: Drive, patch: Patch) -> Drive:
        """The drive with the latent that `patch` returns."""
        return drive

    @staticmethod
    def gates(xp: ArrayModule, product: Tensor, drive: Tensor) -> Tensor:
        """sigmoid(h U + d): both (..., G n)."""
        return xp.sigmoid(product + drive)

    def step_given_product(
        self, xp: ArrayModule, states: States, product: Tensor, drive: Drive, patch: Patch | None = None
    ) -> Step:
        latent, gate_part = drive if patch is None else self.patched_drive(xp, drive, patch)
        gates = self.gates(xp, product, gate_part)
        if patch is not None:
            each = zip(self.gate_names, xp.split(gates, len(self.gate_names), axis=-1), strict=True)
            gates = xp.concatenate([patch(name, gate) for name, gate in each], axis=-1)
        return Step((self.next_state(xp, states[0], gates, latent),), self.quantities(xp, gates, latent))

    def kept(self, xp: ArrayModule, product: Tensor, step: Step) -> Tensor:
        gates = [step.quantities[name] for name in self.gate_names]
        return gates[0] if len(gates) == 1 else xp.concatenate(gates, axis=-1)

    def pull_back(self, xp: ArrayModule, states: States, drive: Drive, kept: Tensor) -> Callable[[Tensor], PulledBack]:
        [state], [latent, _] = states, drive
        diagonal, slopes = self.slopes(xp, state, kept, latent)
        input_derivative = self.input_derivative(xp, kept)
        count = slopes.shape[-1] // state.shape[-1]

        def pull(left: Tensor) -> PulledBack:
            gate_part = scaled(xp.concatenate([left] * count, axis=-1), slopes)
            return PulledBack(scaled(left, diagonal), gate_part, (scaled(left, input_derivative), gate_part))

        return pull
