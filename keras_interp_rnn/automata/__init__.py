"""Finite automata: exact operations on them, and their extraction from state-regularized networks."""

from keras_interp_rnn.automata.certificate import Certificate, certify, largest_temperature
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Agreement, Extraction, Fidelity, extract
from keras_interp_rnn.automata.languages import tomita
from keras_interp_rnn.automata.recognizer import Recognizer, Verdict, train_recognizer
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding
from keras_interp_rnn.automata.words import WordEncoding

__all__ = [
    "DFA",
    "Agreement",
    "Certificate",
    "Extraction",
    "Fidelity",
    "Recognizer",
    "SymbolEmbedding",
    "Verdict",
    "WordEncoding",
    "certify",
    "extract",
    "largest_temperature",
    "tomita",
    "train_recognizer",
]
