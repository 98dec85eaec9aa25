"""Finite automata: operations, automata found from words or by queries, and networks that are automata, with proofs.

Each name is imported on first use, because automata and the proofs of certificates need no Keras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keras_interp_rnn.automata._on_first_use import on_first_use

if TYPE_CHECKING:
    from keras_interp_rnn.automata.certificates import Certificate, certify, largest_temperature
    from keras_interp_rnn.automata.inference import infer
    from keras_interp_rnn.automata.learning import train_recognizer
    from keras_interp_rnn.automata.machines import DFA, MooreMachine, smallest_edit, tomita
    from keras_interp_rnn.automata.networks import Recognizer, SymbolEmbedding, compile, extract
    from keras_interp_rnn.automata.queries import learn
    from keras_interp_rnn.automata.weighted import WeightedAutomaton

__all__ = [
    "DFA",
    "Certificate",
    "MooreMachine",
    "Recognizer",
    "SymbolEmbedding",
    "WeightedAutomaton",
    "certify",
    "compile",
    "extract",
    "infer",
    "largest_temperature",
    "learn",
    "smallest_edit",
    "tomita",
    "train_recognizer",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        **dict.fromkeys(("DFA", "MooreMachine", "smallest_edit", "tomita"), "machines"),
        **dict.fromkeys(("Recognizer", "SymbolEmbedding", "compile", "extract"), "networks"),
        **dict.fromkeys(("Certificate", "certify", "largest_temperature"), "certificates"),
        "infer": "inference",
        "learn": "queries",
        "train_recognizer": "learning",
        "WeightedAutomaton": "weighted",
    },
)
