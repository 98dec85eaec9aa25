r"""minGRU and minLSTM: Feng, Tung, Ahmed, Bengio, Hajimirsadeghi, "Were RNNs All We Needed?", 2024, arXiv:2410.01201.

States are rows (docs/conventions.md). Gates and candidates read the input alone. With kernel [W_z, W_h] (features, 2n),

    minGRU     z_t = sigmoid(x_t W_z + b_z)       c_t = g(x_t W_h + b_h)
               h_t = (1 - z_t) * h_{t-1} + z_t * c_t

and with kernel [W_f, W_i, W_h] (features, 3n), the gates normalized to the sum of one,

    minLSTM    f_t = sigmoid(x_t W_f + b_f)       i_t = sigmoid(x_t W_i + b_i)       c_t = g(x_t W_h + b_h)
               h_t = f_t / (f_t + i_t) * h_{t-1} + i_t / (f_t + i_t) * c_t

The function g of the candidate is the identity, or the `positive_part` of the paper's log-space form (appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import scaled, times
from keras_interp_rnn.equations._diagonal import DiagonalEquations


def positive_part(xp: Any, x: Tensor) -> Tensor:
    """The paper's g: x + 1/2 from zero on, sigmoid(x) below."""
    return xp.where(x >= 0, x + 0.5, xp.sigmoid(x))


@dataclass(frozen=True)
class MinGRU(DiagonalEquations):
    """A drive is (z_t, c_t).

    Attributes:
        kernel: (features, 2n), of the gate and of the candidate. bias: (2n,).
        positive: whether g is `positive_part`, else the identity.
    """

    kernel: Tensor
    bias: Tensor
    positive: bool = False

    num_parts: ClassVar[int] = 2

    def arguments(self, xp: Any, inputs: Tensor) -> list[Tensor]:
        """The arguments of the gates and of the candidate, each (..., n)."""
        product = xp.matmul(inputs, self.kernel) + self.bias
        return list(xp.split(product, self.num_parts, axis=-1))

    def candidate(self, xp: Any, argument: Tensor) -> Tensor:
        return positive_part(xp, argument) if self.positive else argument

    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        of_gate, of_candidate = self.arguments(xp, inputs)
        return xp.sigmoid(of_gate), self.candidate(xp, of_candidate)

    def feature_drives(self, xp: Any, inputs: Tensor) -> dict[int, Tensor] | None:
        of_candidate = xp.split(self.kernel, self.num_parts, axis=1)[-1]
        return None if self.positive else {1: inputs[..., None] * of_candidate}

    def coefficients(self, xp: Any, drive: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        update, candidate = drive[:2]
        return 1 - update, update * candidate

    def quantities(self, xp: Any, drive: tuple[Tensor, ...]) -> dict[str, Tensor]:
        return {"z": drive[0], "candidate": drive[1]}

    def gate_slopes(self, drive: tuple[Tensor, ...]) -> list[Tensor]:
        """By how much z moves with the argument of each gate."""
        update = drive[0]
        return [update * (1 - update)]

    def into_input(self, xp: Any, by_decay: Tensor, by_addend: Tensor, drive: tuple[Tensor, ...]) -> Tensor:
        update, candidate = drive[:2]
        by_update = scaled(by_addend, candidate) - by_decay
        slope = xp.where(candidate < 0.5, candidate * (1 - candidate), 1.0) if self.positive else 1.0
        pulled = [scaled(by_update, slope) for slope in self.gate_slopes(drive)]
        pulled.append(scaled(by_addend, update * slope))
        return times(xp, xp.concatenate(pulled, axis=-1), xp.transpose(self.kernel))


@dataclass(frozen=True)
class MinLSTM(MinGRU):
    """A drive is (i_t / (f_t + i_t), c_t, f_t, i_t); kernel (features, 3n), bias (3n,).

    The first is sigmoid(log i_t - log f_t), which stays right where both gates are too small for their sum.
    """

    num_parts = 3

    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        of_forget, of_input, of_candidate = self.arguments(xp, inputs)
        update = xp.sigmoid(xp.softplus(-of_forget) - xp.softplus(-of_input))
        return update, self.candidate(xp, of_candidate), xp.sigmoid(of_forget), xp.sigmoid(of_input)

    def quantities(self, xp: Any, drive: tuple[Tensor, ...]) -> dict[str, Tensor]:
        return {"f": drive[2], "i": drive[3], "candidate": drive[1]}

    def gate_slopes(self, drive: tuple[Tensor, ...]) -> list[Tensor]:
        update, _, forget, input_gate = drive
        slope = update * (1 - update)
        return [slope * (forget - 1), slope * (1 - input_gate)]
