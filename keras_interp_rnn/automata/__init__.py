"""Finite automata: exact operations on them, and their extraction from state-regularized networks."""

from typing import Any

from keras_interp_rnn._deprecation import warn_of_name
from keras_interp_rnn.automata.certificate import Certificate, certify, largest_temperature
from keras_interp_rnn.automata.compilation import compile
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Agreement, Extraction, Fidelity, extract
from keras_interp_rnn.automata.languages import tomita
from keras_interp_rnn.automata.learning import train_recognizer
from keras_interp_rnn.automata.recognizer import Recognizer, TrainingReport
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding
from keras_interp_rnn.automata.weighted import WeightedAutomaton
from keras_interp_rnn.automata.words import WordEncoding

__all__ = [
    "DFA",
    "Agreement",
    "Certificate",
    "Extraction",
    "Fidelity",
    "Recognizer",
    "SymbolEmbedding",
    "TrainingReport",
    "WeightedAutomaton",
    "WordEncoding",
    "certify",
    "compile",
    "extract",
    "largest_temperature",
    "tomita",
    "train_recognizer",
]


def __getattr__(name: str) -> Any:
    if name == "Verdict":
        warn_of_name("automata.Verdict", "TrainingReport")
        return TrainingReport
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
