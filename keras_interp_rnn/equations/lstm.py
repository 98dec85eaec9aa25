r"""LSTM: Hochreiter and Schmidhuber, 1997, with the forget gate of Gers, Schmidhuber and Cummins, 2000.

States are rows, h and the memory c (docs/conventions.md). The kernels stand side by side in Keras's order i, f, c, o;
a_t is x_t K + b + h_{t-1} U, split in the same way.

    i_t = sigmoid(a_i)        f_t = sigmoid(a_f)        o_t = sigmoid(a_o)        g_t = tanh(a_c)
    c_t = f_t * c_{t-1} + i_t * g_t                     h_t = o_t * tanh(c_t)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import DenseEquations, PulledBack, States, Step, scaled


@dataclass(frozen=True)
class LSTM(DenseEquations):
    """kernel (features, 4n), recurrent_kernel (n, 4n); other activations in place of tanh and sigmoid, or None."""

    activation: Callable[[Tensor], Tensor] | None = None
    recurrent_activation: Callable[[Tensor], Tensor] | None = None

    @property
    def has_derivative(self) -> bool:
        return self.activation is None and self.recurrent_activation is None

    def peephole(self, gate: int) -> Tensor | None:
        """By which the memory enters the input (0), forget (1) and output (2) gate, (n,); None: it does not."""
        return None

    def step_given_product(self, xp: Any, states: States, product: Tensor, drive: tuple[Tensor, ...]) -> Step:
        _, memory = states
        tanh, sigmoid = self.activation or xp.tanh, self.recurrent_activation or xp.sigmoid
        of_input, of_forget, of_candidate, of_output = xp.split(drive[0] + product, 4, axis=-1)
        i, f = sigmoid(self._seen(of_input, 0, memory)), sigmoid(self._seen(of_forget, 1, memory))
        candidate = tanh(of_candidate)
        memory = f * memory + i * candidate
        o = sigmoid(self._seen(of_output, 2, memory))
        return Step((o * tanh(memory), memory), {"i": i, "f": f, "o": o, "candidate": candidate})

    def _seen(self, argument: Tensor, gate: int, memory: Tensor) -> Tensor:
        peephole = self.peephole(gate)
        return argument if peephole is None else argument + peephole * memory

    def pull_back(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Callable[[Tensor], PulledBack]:
        before = states[1]
        (_, memory), gates = self.step(xp, states, drive)
        i, f, o, candidate = (gates[name] for name in ("i", "f", "o", "candidate"))
        squashed = xp.tanh(memory)

        def pull(product: Tensor) -> PulledBack:
            of_state, of_memory = xp.split(product, 2, axis=-1)
            of_output = scaled(of_state, squashed * o * (1 - o))
            of_memory = of_memory + scaled(of_state, o * (1 - squashed * squashed))
            of_memory = self._through(of_memory, of_output, 2)
            of_input = scaled(of_memory, candidate * i * (1 - i))
            of_forget = scaled(of_memory, before * f * (1 - f))
            of_candidate = scaled(of_memory, i * (1 - candidate * candidate))
            direct = self._through(self._through(scaled(of_memory, f), of_input, 0), of_forget, 1)
            both = xp.concatenate([of_input, of_forget, of_candidate, of_output], axis=-1)
            return PulledBack(xp.concatenate([xp.zeros_like(of_state), direct], axis=-1), both, (both,))

        return pull

    def _through(self, of_memory: Tensor, of_gate: Tensor, gate: int) -> Tensor:
        """P by the memory, with what reaches it through a gate's peephole."""
        peephole = self.peephole(gate)
        return of_memory if peephole is None else of_memory + of_gate * peephole
