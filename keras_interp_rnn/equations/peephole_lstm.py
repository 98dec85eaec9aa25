r"""LSTM whose gates read the memory: Gers and Schmidhuber, 2000; eqs. 23 to 25 of Wang, Lawrence and Niepert, 2022.

As `equations.lstm`, with peepholes p_i, p_f, p_o (n,):

    i_t = sigmoid(a_i + p_i * c_{t-1})        f_t = sigmoid(a_f + p_f * c_{t-1})        o_t = sigmoid(a_o + p_o * c_t)
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations.lstm import LSTM


@dataclass(frozen=True)
class PeepholeLSTM(LSTM):
    """The equations of a peephole LSTM.

    Attributes:
        peepholes: [p_i, p_f, p_o] (3, n).
    """

    peepholes: Tensor = None

    def peephole(self, gate: int) -> Tensor:
        return self.peepholes[gate]
