r"""LSTM: Hochreiter and Schmidhuber, 1997, with the forget gate of Gers, Schmidhuber and Cummins, 2000.

States are rows, h and the memory c (docs/conventions.md). The kernels are concatenated in Keras's order i, f, c, o;
a_t is x_t K + b + h_{t-1} U, split in the same way.

    i_t = sigmoid(a_i)        f_t = sigmoid(a_f)        o_t = sigmoid(a_o)        g_t = tanh(a_c)
    c_t = f_t * c_{t-1} + i_t * g_t                     h_t = o_t * tanh(c_t)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import DenseEquations, Drive, Patch, PulledBack, States, Step, scaled, unchanged


@dataclass(frozen=True)
class LSTM(DenseEquations):
    """The equations of an LSTM.

    Attributes:
        kernel: (features, 4n). recurrent_kernel: (n, 4n). bias: (4n,), or None.
        activation, recurrent_activation: in place of tanh and sigmoid, or None.
    """

    patched: ClassVar[tuple[str, ...]] = ("i", "f", "o", "candidate")

    activation: Callable[[Tensor], Tensor] | None = None
    recurrent_activation: Callable[[Tensor], Tensor] | None = None

    @property
    def has_derivative(self) -> bool:
        return self.activation is None and self.recurrent_activation is None

    def peephole(self, gate: int) -> Tensor | None:
        """The weights (n,) of the memory in the input (0), forget (1) or output (2) gate; None without peepholes."""
        return None

    def step_given_product(
        self, xp: ArrayModule, states: States, product: Tensor, drive: Drive, patch: Patch | None = None
    ) -> Step:
        _, memory = states
        tanh, sigmoid = self.activation or xp.tanh, self.recurrent_activation or xp.sigmoid
        input_part, forget_part, candidate_part, output_part = xp.split(drive[0] + product, 4, axis=-1)
        patch = patch or unchanged
        i = patch("i", sigmoid(self._with_peephole(input_part, 0, memory)))
        f = patch("f", sigmoid(self._with_peephole(forget_part, 1, memory)))
        candidate = patch("candidate", tanh(candidate_part))
        memory = f * memory + i * candidate
        o = patch("o", sigmoid(self._with_peephole(output_part, 2, memory)))
        return Step((o * tanh(memory), memory), {"i": i, "f": f, "o": o, "candidate": candidate})

    def _with_peephole(self, argument: Tensor, gate: int, memory: Tensor) -> Tensor:
        peephole = self.peephole(gate)
        return argument if peephole is None else argument + peephole * memory

    def kept(self, xp: ArrayModule, product: Tensor, step: Step) -> Tensor:
        return xp.concatenate([step.quantities[name] for name in ("i", "f", "o", "candidate")], axis=-1)

    def pull_back(self, xp: ArrayModule, states: States, drive: Drive, kept: Tensor) -> Callable[[Tensor], PulledBack]:
        before = states[1]
        i, f, o, candidate = xp.split(kept, 4, axis=-1)
        squashed = xp.tanh(f * before + i * candidate)

        def pull(left: Tensor) -> PulledBack:
            state_part, memory_part = xp.split(left, 2, axis=-1)
            output_part = scaled(state_part, squashed * o * (1 - o))
            memory_part = memory_part + scaled(state_part, o * (1 - squashed * squashed))
            memory_part = self._through(memory_part, output_part, 2)
            input_part = scaled(memory_part, candidate * i * (1 - i))
            forget_part = scaled(memory_part, before * f * (1 - f))
            candidate_part = scaled(memory_part, i * (1 - candidate * candidate))
            direct = self._through(self._through(scaled(memory_part, f), input_part, 0), forget_part, 1)
            both = xp.concatenate([input_part, forget_part, candidate_part, output_part], axis=-1)
            return PulledBack(xp.concatenate([xp.zeros_like(state_part), direct], axis=-1), both, (both,))

        return pull

    def _through(self, memory_part: Tensor, gate_part: Tensor, gate: int) -> Tensor:
        """P by the memory, including the path through a gate's peephole."""
        peephole = self.peephole(gate)
        return memory_part if peephole is None else memory_part + gate_part * peephole
