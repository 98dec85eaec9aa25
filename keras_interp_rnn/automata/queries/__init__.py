"""Automata of any network, by queries: words that it is asked to label."""

from keras_interp_rnn.automata.queries.labels import Learned, learn
from keras_interp_rnn.automata.queries.values import LearnedValues, learn_values

__all__ = ["Learned", "LearnedValues", "learn", "learn_values"]
