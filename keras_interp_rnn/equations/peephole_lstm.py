r"""LSTM whose gates read the memory: Gers and Schmidhuber, 2000; eqs. 23 to 25 of Wang, Lawrence and Niepert, 2022.

As `equations.lstm`, with peepholes p_i, p_f, p_o (n,):

    i_t = sigmoid(a_i + p_i * c_{t-1})        f_t = sigmoid(a_f + p_f * c_{t-1})        o_t = sigmoid(a_o + p_o * c_t)
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import States
from keras_interp_rnn.equations.lstm import LSTM


@dataclass(frozen=True)
class PeepholeLSTM(LSTM):
    """The equations of a peephole LSTM.

    Attributes:
        peepholes: [p_i, p_f, p_o] (3, n).
    """

    peepholes: Tensor = None

    @property
    def step_weights(self) -> tuple[str, ...]:
        return ("recurrent_kernel", "peepholes")

    def step_weight_gradients(
        self, xp: ArrayModule, before: States, after: States, product_gradient: Tensor
    ) -> tuple[Tensor, ...]:
        kernel = super().step_weight_gradients(xp, before, after, product_gradient)
        into_input, into_forget, _, into_output = xp.split(product_gradient, 4, axis=-1)
        read = ((into_input, before[1]), (into_forget, before[1]), (into_output, after[1]))
        return (*kernel, xp.stack([xp.sum(gate * memory, axis=0) for gate, memory in read]))

    def peephole(self, gate: int) -> Tensor:
        return self.peepholes[gate]
