"""Recurrent layers whose workings can be read exactly: a cell and a layer for each family."""

from keras_interp_rnn.layers.isan import ISAN, ISANCell

__all__ = ["ISAN", "ISANCell"]
