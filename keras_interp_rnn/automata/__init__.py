"""Finite automata: exact operations on them, and their extraction from state-regularized networks."""

from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.languages import tomita

__all__ = ["DFA", "tomita"]
