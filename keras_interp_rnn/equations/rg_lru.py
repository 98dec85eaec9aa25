r"""The real-gated linear recurrent unit of Griffin: De et al., 2024, arXiv:2402.19427, section 2.4.

States are rows (docs/conventions.md). With kernel [W_a, W_x] (n, 2n), and c = 8,

    eq. 1    r_t = sigmoid(u_t W_a + b_a)
    eq. 2    i_t = sigmoid(u_t W_x + b_x)
    eq. 3    a_t = a^(c r_t),                         a = sigmoid(Lambda)
    eq. 4    h_t = a_t * h_{t-1} + sqrt(1 - a_t^2) * (i_t * u_t)

where u_t is the input x_t if it has n features, otherwise x_t P, by the linear map that precedes the unit in Griffin.
(Eq. 6 of the appendix has softplus(Lambda) in log a_t, which belongs to 1 - a; eq. 3 requires softplus(-Lambda).)
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive, scaled, times
from keras_interp_rnn.equations._diagonal import DiagonalEquations

C = 8.0


@dataclass(frozen=True)
class RGLRU(DiagonalEquations):
    """A cell with the drive (r_t, i_t, u_t).

    Attributes:
        kernel: [W_a, W_x] (n, 2n). bias: [b_a, b_x] (2n,). decay: Lambda (n,).
        input_kernel: P (features, n), or None.
    """

    kernel: Tensor
    bias: Tensor
    decay: Tensor
    input_kernel: Tensor | None

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        candidate = inputs if self.input_kernel is None else xp.matmul(inputs, self.input_kernel)
        gates = xp.sigmoid(xp.matmul(candidate, self.kernel) + self.bias)
        return (*xp.split(gates, 2, axis=-1), candidate)

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor]:
        input_kernel = xp.eye(self.decay.shape[0]) if self.input_kernel is None else self.input_kernel
        return {2: inputs[..., None] * input_kernel}

    def log_decay(self, xp: ArrayModule, recurrence_gate: Tensor) -> Tensor:
        """The logarithm of a_t, at most zero."""
        return -C * xp.softplus(-self.decay) * recurrence_gate

    def coefficients(self, xp: ArrayModule, drive: Drive) -> tuple[Tensor, Tensor]:
        recurrence_gate, input_gate, candidate = drive
        log_decay = self.log_decay(xp, recurrence_gate)
        return xp.exp(log_decay), _root(xp, log_decay) * input_gate * candidate

    def quantities(self, xp: ArrayModule, drive: Drive) -> dict[str, Tensor]:
        return {"r": drive[0], "i": drive[1], "a": xp.exp(self.log_decay(xp, drive[0]))}

    def into_input(self, xp: ArrayModule, by_decay: Tensor, by_addend: Tensor, drive: Drive) -> Tensor:
        recurrence_gate, input_gate, candidate = drive
        log_decay = self.log_decay(xp, recurrence_gate)
        decay, root = xp.exp(log_decay), _root(xp, log_decay)
        # d sqrt(1 - a^2) / d log a = -a^2 / sqrt(1 - a^2)
        slope = -decay * decay / xp.where(root > 0, root, 1.0)
        by_log = scaled(by_decay, decay) + scaled(by_addend, slope * input_gate * candidate)
        by_recurrence = scaled(by_log, log_decay * (1 - recurrence_gate))
        by_input = scaled(by_addend, root * candidate * input_gate * (1 - input_gate))
        through = times(xp, xp.concatenate([by_recurrence, by_input], axis=-1), xp.transpose(self.kernel))
        pulled = scaled(by_addend, root * input_gate) + through
        return pulled if self.input_kernel is None else times(xp, pulled, xp.transpose(self.input_kernel))


def _root(xp: ArrayModule, log_decay: Tensor) -> Tensor:
    """The root sqrt(1 - a^2) from log a; at a = 1 its gradient is zero instead of infinite."""
    square = -xp.expm1(2 * log_decay)
    inside = square > 0
    return xp.where(inside, xp.sqrt(xp.where(inside, square, 1.0)), 0.0)
