"""The papers' equations, one file per cell: pure functions of arrays and their namespace `xp`.

`xp` is `keras.ops` inside layers, and `NUMPY` for exact analysis in float64. The equations of a cell are a
`CellEquations` with its weights. The method `equations(read)` of a cell returns them, where `read(variable)` converts a
weight to an array; docs/architecture.md lists the callers.
"""

from keras_interp_rnn.equations._cell import (
    CellEquations,
    DenseEquations,
    LinearStep,
    PulledBack,
    Step,
    between,
    scaled,
    times,
)
from keras_interp_rnn.equations._diagonal import DiagonalEquations
from keras_interp_rnn.equations._gated import GatedEquations
from keras_interp_rnn.equations._matrix_state import MatrixStateEquations
from keras_interp_rnn.equations._namespace import NUMPY
from keras_interp_rnn.equations.cfn import CFN
from keras_interp_rnn.equations.delta_net import DeltaNet
from keras_interp_rnn.equations.diagonal_isan import DiagonalISAN
from keras_interp_rnn.equations.factored_isan import FactoredISAN
from keras_interp_rnn.equations.gated_linear_attention import GatedLinearAttention
from keras_interp_rnn.equations.gru import GRU
from keras_interp_rnn.equations.isan import ISAN
from keras_interp_rnn.equations.lru import LRU
from keras_interp_rnn.equations.lstm import LSTM
from keras_interp_rnn.equations.min_gru import MinGRU, MinLSTM
from keras_interp_rnn.equations.minimal_rnn import MinimalRNN
from keras_interp_rnn.equations.peephole_lstm import PeepholeLSTM
from keras_interp_rnn.equations.rg_lru import RGLRU
from keras_interp_rnn.equations.simple_rnn import SimpleRNN
from keras_interp_rnn.equations.state_regularized import StateRegularized, StochasticComponent

__all__ = [
    "CFN",
    "CellEquations",
    "DeltaNet",
    "DenseEquations",
    "DiagonalEquations",
    "DiagonalISAN",
    "FactoredISAN",
    "GRU",
    "GatedEquations",
    "GatedLinearAttention",
    "ISAN",
    "LRU",
    "LSTM",
    "LinearStep",
    "MatrixStateEquations",
    "MinGRU",
    "MinLSTM",
    "MinimalRNN",
    "NUMPY",
    "PeepholeLSTM",
    "PulledBack",
    "RGLRU",
    "SimpleRNN",
    "StateRegularized",
    "Step",
    "StochasticComponent",
    "between",
    "scaled",
    "times",
]
