"""Finite automata: exact operations on them, and their extraction from state-regularized networks.

Each name is imported on first use: automata and the proofs of certificates need NumPy alone, networks Keras.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_interp_rnn.automata.certificate import Certificate, certify, largest_temperature
    from keras_interp_rnn.automata.compilation import compile
    from keras_interp_rnn.automata.dfa import DFA
    from keras_interp_rnn.automata.extraction import extract
    from keras_interp_rnn.automata.languages import tomita
    from keras_interp_rnn.automata.learning import train_recognizer
    from keras_interp_rnn.automata.moore import MooreMachine
    from keras_interp_rnn.automata.recognizer import Recognizer
    from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding
    from keras_interp_rnn.automata.weighted import WeightedAutomaton
    from keras_interp_rnn.automata.words import WordEncoding

__all__ = [
    "DFA",
    "Certificate",
    "MooreMachine",
    "Recognizer",
    "SymbolEmbedding",
    "WeightedAutomaton",
    "WordEncoding",
    "certify",
    "compile",
    "extract",
    "largest_temperature",
    "tomita",
    "train_recognizer",
]

MODULES = {
    "Certificate": "certificate",
    "certify": "certificate",
    "largest_temperature": "certificate",
    "compile": "compilation",
    "DFA": "dfa",
    "extract": "extraction",
    "tomita": "languages",
    "train_recognizer": "learning",
    "MooreMachine": "moore",
    "Recognizer": "recognizer",
    "SymbolEmbedding": "symbol_embedding",
    "WeightedAutomaton": "weighted",
    "WordEncoding": "words",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
