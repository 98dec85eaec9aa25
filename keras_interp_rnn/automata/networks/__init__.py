"""Networks as automata: compiled from automata, and read as automata. The names that other folders import."""

from keras_interp_rnn.automata.networks._acceptor import (
    Acceptor,
    open_acceptor,
    open_reader,
    require_memoryless,
)
from keras_interp_rnn.automata.networks._reader import WordReader
from keras_interp_rnn.automata.networks.compilation import compile
from keras_interp_rnn.automata.networks.extraction import Extraction, extract, extract_exactly
from keras_interp_rnn.automata.networks.fidelity import Agreement, Fidelity, OfNetwork, drawn_words, mutated
from keras_interp_rnn.automata.networks.recognizer import Recognizer, TrainingReport
from keras_interp_rnn.layers.alphabets import SymbolEmbedding

__all__ = [
    "Acceptor",
    "Agreement",
    "Extraction",
    "Fidelity",
    "OfNetwork",
    "Recognizer",
    "SymbolEmbedding",
    "TrainingReport",
    "WordReader",
    "compile",
    "drawn_words",
    "extract",
    "extract_exactly",
    "mutated",
    "open_acceptor",
    "open_reader",
    "require_memoryless",
]
