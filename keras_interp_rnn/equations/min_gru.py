r"""minGRU and minLSTM: Feng, Tung, Ahmed, Bengio, Hajimirsadeghi, "Were RNNs All We Needed?", 2024, arXiv:2410.01201.

States are rows (docs/conventions.md). Gates and candidates read the input alone. With kernel [W_z, W_h] (features, 2n),

    minGRU     z_t = sigmoid(x_t W_z + b_z)       c_t = g(x_t W_h + b_h)
               h_t = (1 - z_t) * h_{t-1} + z_t * c_t

and with kernel [W_f, W_i, W_h] (features, 3n), and gates normalized to sum one,

    minLSTM    f_t = sigmoid(x_t W_f + b_f)       i_t = sigmoid(x_t W_i + b_i)       c_t = g(x_t W_h + b_h)
               h_t = f_t / (f_t + i_t) * h_{t-1} + i_t / (f_t + i_t) * c_t

The function g of the candidate is the identity, or the `positive_part` of the paper's log-space form (appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive, scaled, times
from keras_interp_rnn.equations._diagonal import DiagonalEquations


def positive_part(xp: ArrayModule, x: Tensor) -> Tensor:
    """The paper's g: x + 1/2 for x >= 0, otherwise sigmoid(x)."""
    return xp.where(x >= 0, x + 0.5, xp.sigmoid(x))


@dataclass(frozen=True)
class MinGRU(DiagonalEquations):
    """A cell with the drive (z_t, c_t).

    Attributes:
        kernel: (features, 2n), of the gate and of the candidate. bias: (2n,).
        positive: whether g is `positive_part` rather than the identity.
    """

    kernel: Tensor
    bias: Tensor
    positive: bool = False

    num_parts: ClassVar[int] = 2

    def arguments(self, xp: ArrayModule, inputs: Tensor) -> list[Tensor]:
        """The arguments of the gates and of the candidate, each (..., n)."""
        product = xp.matmul(inputs, self.kernel) + self.bias
        return list(xp.split(product, self.num_parts, axis=-1))

    def candidate(self, xp: ArrayModule, argument: Tensor) -> Tensor:
        return positive_part(xp, argument) if self.positive else argument

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        gate_argument, candidate_argument = self.arguments(xp, inputs)
        return xp.sigmoid(gate_argument), self.candidate(xp, candidate_argument)

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor] | None:
        candidate_kernel = xp.split(self.kernel, self.num_parts, axis=1)[-1]
        return None if self.positive else {1: inputs[..., None] * candidate_kernel}

    def coefficients(self, xp: ArrayModule, drive: Drive) -> tuple[Tensor, Tensor]:
        update, candidate = drive[:2]
        return 1 - update, update * candidate

    def quantities(self, xp: ArrayModule, drive: Drive) -> dict[str, Tensor]:
        return {"z": drive[0], "candidate": drive[1]}

    def gate_slopes(self, drive: Drive) -> list[Tensor]:
        """Derivatives of z by the arguments of the gates."""
        update = drive[0]
        return [update * (1 - update)]

    def into_input(self, xp: ArrayModule, by_decay: Tensor, by_addend: Tensor, drive: Drive) -> Tensor:
        update, candidate = drive[:2]
        by_update = scaled(by_addend, candidate) - by_decay
        slope = xp.where(candidate < 0.5, candidate * (1 - candidate), 1.0) if self.positive else 1.0
        pulled = [scaled(by_update, slope) for slope in self.gate_slopes(drive)]
        pulled.append(scaled(by_addend, update * slope))
        return times(xp, xp.concatenate(pulled, axis=-1), xp.transpose(self.kernel))


@dataclass(frozen=True)
class MinLSTM(MinGRU):
    """A cell with the drive (i_t / (f_t + i_t), c_t, f_t, i_t); kernel (features, 3n), bias (3n,).

    The first is computed as sigmoid(log i_t - log f_t), which is accurate even if both gates underflow.
    """

    num_parts = 3

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        forget_argument, input_argument, candidate_argument = self.arguments(xp, inputs)
        update = xp.sigmoid(xp.softplus(-forget_argument) - xp.softplus(-input_argument))
        return update, self.candidate(xp, candidate_argument), xp.sigmoid(forget_argument), xp.sigmoid(input_argument)

    def quantities(self, xp: ArrayModule, drive: Drive) -> dict[str, Tensor]:
        return {"f": drive[2], "i": drive[3], "candidate": drive[1]}

    def gate_slopes(self, drive: Drive) -> list[Tensor]:
        update, _, forget, input_gate = drive
        slope = update * (1 - update)
        return [slope * (forget - 1), slope * (1 - input_gate)]
