r"""What minGRU, minLSTM, LRU and RG-LRU share: unit by unit, the next state is affine in the state.

    h_t = a_t * h_{t-1} + b_t

The decay a_t and the addend b_t are functions of the input alone, so a state is one term for each step that was read,

    h_T = h_0 * (a_1 ... a_T) + sum_s b_s * (a_{s+1} ... a_T),

and whole sequences can be computed at once (`_sequence.diagonal`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import CellEquations, LinearStep, States, Step, scaled


class DiagonalEquations(CellEquations):
    """A cell with one state (batch, n), whose drive are gates and candidates.

    Attributes:
        is_complex: whether states, decays and addends are complex, [real | imaginary parts] (batch, 2n).
    """

    is_complex: ClassVar[bool] = False

    @abstractmethod
    def coefficients(self, xp: Any, drive: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Decay a_t and addend b_t, each (..., n)."""

    @abstractmethod
    def into_input(self, xp: Any, by_decay: Tensor, by_addend: Tensor, drive: tuple[Tensor, ...]) -> Tensor:
        """P by a_t and P by b_t, each (batch, r, n), taken on to the input."""

    def feature_drives(self, xp: Any, inputs: Tensor) -> dict[int, Tensor] | None:
        """Of each entry of the drive that is linear in the input, the parts of its features (..., features, width).

        The other entries are the gates. None where what is added to the state is not linear in the input, given these.
        """
        return None

    def quantities(self, xp: Any, drive: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Gates and candidates by the papers' names."""
        return {}

    def step(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Step:
        decay, addend = self.coefficients(xp, drive)
        return Step((states[0] * decay + addend,), self.quantities(xp, drive))

    def linearization(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> LinearStep:
        decay, _ = self.coefficients(xp, drive)
        return LinearStep(
            lambda product: scaled(product, decay),
            lambda product: self.into_input(xp, scaled(product, states[0]), product, drive),
        )
