"""Automata of any network, by queries: words that it is asked to label."""

from keras_interp_rnn.automata.queries.labels import Learned, learn

__all__ = ["Learned", "learn"]
