r"""Diagonal linear recurrences (minGRU, minLSTM, LRU, RG-LRU): each unit is an affine function of its last value.

    h_t = a_t * h_{t-1} + b_t

The decay a_t and the addend b_t are functions of the input alone, so a state is a sum of one term per step,

    h_T = h_0 * (a_1 ... a_T) + sum_s b_s * (a_{s+1} ... a_T),

and whole sequences can be computed at once (`_sequence.diagonal`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step, scaled


class DiagonalEquations(CellEquations):
    """A cell with one state (batch, n), and a drive of gates and candidates.

    Attributes:
        is_complex: whether states, decays and addends are complex, [real | imaginary parts] (batch, 2n).
    """

    is_complex: ClassVar[bool] = False

    @abstractmethod
    def coefficients(self, xp: ArrayModule, drive: Drive) -> tuple[Tensor, Tensor]:
        """Decay a_t and addend b_t, each (..., n)."""

    @abstractmethod
    def into_input(self, xp: ArrayModule, by_decay: Tensor, by_addend: Tensor, drive: Drive) -> Tensor:
        """P times the derivative by the input, from those by a_t and b_t, each (batch, r, n)."""

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor] | None:
        """Contributions of the features to each entry of the drive that is linear in the input: (..., features, width).

        The other entries are the gates. None if the addend is not linear in the input, given the gates.
        """
        return None

    def quantities(self, xp: ArrayModule, drive: Drive) -> dict[str, Tensor]:
        """Gates and candidates by the papers' names."""
        return {}

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        decay, addend = self.coefficients(xp, drive)
        return Step((states[0] * decay + addend,), self.quantities(xp, drive))

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        decay, _ = self.coefficients(xp, drive)
        return LinearStep(
            lambda product: scaled(product, decay),
            lambda product: self.into_input(xp, scaled(product, states[0]), product, drive),
        )
