r"""What MinimalRNN and CFN share: the state is mixed inside the gates alone.

With G gates, $[u_t, \dots] = \sigma(h_{t-1} U + d_t)$, the next state is a function of h_{t-1}, the gates and a latent,
entry by entry. So its Jacobian is a diagonal and one scaled matrix per gate (Chen, 2017, eq. 4),

    dh_t/dh_{t-1} = D_{diagonal} + sum_g D_{slopes_g} U_g^T,        dh_t/dlatent_t = D_{input_derivative}.

The layers' gradients run on the same vectors (`_sequence.gated`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import DenseEquations, PulledBack, States, Step, scaled


@dataclass(frozen=True)
class GatedEquations(DenseEquations):
    """A drive has two parts: the latent (..., n), and what enters the gates (..., G n)."""

    @staticmethod
    @abstractmethod
    def next_state(xp: Any, state: Tensor, gates: Tensor, latent: Tensor) -> Tensor:
        """h_t from h_{t-1} (..., n), gates (..., G n) and latent (..., n)."""

    @staticmethod
    @abstractmethod
    def slopes(xp: Any, state: Tensor, gates: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
        """Eq. 4's diagonal (..., n) and slopes (..., G n), before the gates act on the latent."""

    @staticmethod
    @abstractmethod
    def input_derivative(xp: Any, gates: Tensor) -> Tensor:
        """dh_t/dlatent_t with the gates held, a diagonal (..., n)."""

    @abstractmethod
    def quantities(self, xp: Any, gates: Tensor, latent: Tensor) -> dict[str, Tensor]:
        """Gates and latent by the papers' names."""

    @staticmethod
    def gates(xp: Any, product: Tensor, drive: Tensor) -> Tensor:
        """sigmoid(h U + d): both (..., G n)."""
        return xp.sigmoid(product + drive)

    def step_given_product(self, xp: Any, states: States, product: Tensor, drive: tuple[Tensor, ...]) -> Step:
        latent, of_gates = drive
        gates = self.gates(xp, product, of_gates)
        return Step((self.next_state(xp, states[0], gates, latent),), self.quantities(xp, gates, latent))

    def pull_back(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Callable[[Tensor], PulledBack]:
        [state], (latent, of_gates) = states, drive
        gates = self.gates(xp, xp.matmul(state, self.recurrent_kernel), of_gates)
        diagonal, slopes = self.slopes(xp, state, gates, latent)
        input_derivative = self.input_derivative(xp, gates)
        count = slopes.shape[-1] // state.shape[-1]

        def pull(product: Tensor) -> PulledBack:
            of_gates = scaled(xp.concatenate([product] * count, axis=-1), slopes)
            return PulledBack(scaled(product, diagonal), of_gates, (scaled(product, input_derivative), of_gates))

        return pull
