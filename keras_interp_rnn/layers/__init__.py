"""Recurrent layers whose workings can be read exactly: a cell and a layer for each family."""

from keras_interp_rnn.layers.cfn import CFN, CFNCell
from keras_interp_rnn.layers.isan import ISAN, ISANCell
from keras_interp_rnn.layers.minimal_rnn import MinimalRNN, MinimalRNNCell

__all__ = ["CFN", "CFNCell", "ISAN", "ISANCell", "MinimalRNN", "MinimalRNNCell"]
