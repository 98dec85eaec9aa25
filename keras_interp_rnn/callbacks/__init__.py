"""Callbacks for `fit`: state carried over long texts, and runs that survive a kill."""

from keras_interp_rnn.callbacks.carried_state import CarriedState
from keras_interp_rnn.callbacks.resumable import Resumable

__all__ = ["CarriedState", "Resumable"]
