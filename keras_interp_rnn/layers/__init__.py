"""Interpretable recurrent layers: a cell and a layer for each family.

`WordDropout` goes before the Embedding of a model of words.

Keras itself has the baselines of the papers: the vanilla RNN, and the IRNN (Le, Jaitly and Hinton, 2015,
arXiv:1504.00941).

    keras.layers.SimpleRNN(units, recurrent_initializer="orthogonal")
    keras.layers.SimpleRNN(units, activation="relu", recurrent_initializer="identity")
"""

from keras_interp_rnn.layers.cfn import CFN, CFNCell
from keras_interp_rnn.layers.delta_net import DeltaNet, DeltaNetCell
from keras_interp_rnn.layers.diagonal_isan import DiagonalISAN, DiagonalISANCell
from keras_interp_rnn.layers.factored_isan import FactoredISAN, FactoredISANCell
from keras_interp_rnn.layers.gated_linear_attention import GatedLinearAttention, GatedLinearAttentionCell
from keras_interp_rnn.layers.isan import ISAN, ISANCell
from keras_interp_rnn.layers.lru import LRU, LRUCell
from keras_interp_rnn.layers.min_gru import MinGRU, MinGRUCell, MinLSTM, MinLSTMCell
from keras_interp_rnn.layers.minimal_rnn import MinimalRNN, MinimalRNNCell
from keras_interp_rnn.layers.peephole_lstm import PeepholeLSTM, PeepholeLSTMCell
from keras_interp_rnn.layers.rg_lru import RGLRU, RGLRUCell
from keras_interp_rnn.layers.state_regularized import SRGRU, SRLSTM, SRPeepholeLSTM, SRSimpleRNN
from keras_interp_rnn.layers.state_regularized_cell import StateRegularizedCell
from keras_interp_rnn.layers.state_regularized_rnn import StateRegularizedRNN
from keras_interp_rnn.layers.word_dropout import WordDropout

__all__ = [
    "CFN",
    "CFNCell",
    "DeltaNet",
    "DeltaNetCell",
    "DiagonalISAN",
    "DiagonalISANCell",
    "FactoredISAN",
    "FactoredISANCell",
    "GatedLinearAttention",
    "GatedLinearAttentionCell",
    "ISAN",
    "ISANCell",
    "LRU",
    "LRUCell",
    "MinGRU",
    "MinGRUCell",
    "MinLSTM",
    "MinLSTMCell",
    "MinimalRNN",
    "MinimalRNNCell",
    "PeepholeLSTM",
    "PeepholeLSTMCell",
    "RGLRU",
    "RGLRUCell",
    "SRGRU",
    "SRLSTM",
    "SRPeepholeLSTM",
    "SRSimpleRNN",
    "StateRegularizedCell",
    "StateRegularizedRNN",
    "WordDropout",
]
