"""Finite automata: exact operations on them, and their extraction from state-regularized networks."""

from keras_interp_rnn.automata.certificate import Certificate, certify, largest_temperature
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Agreement, Extraction, Fidelity, extract
from keras_interp_rnn.automata.languages import tomita
from keras_interp_rnn.automata.recognizer import Recognizer, SymbolEmbedding, Verdict, train_recognizer

__all__ = [
    "DFA",
    "Agreement",
    "Certificate",
    "Extraction",
    "Fidelity",
    "Recognizer",
    "SymbolEmbedding",
    "Verdict",
    "certify",
    "extract",
    "largest_temperature",
    "tomita",
    "train_recognizer",
]
