"""Networks as automata: compiled from automata, and read as automata. The names that other folders import."""

from keras_interp_rnn.automata.networks._acceptor import Acceptor, given_encoding, open_acceptor, require_memoryless
from keras_interp_rnn.automata.networks.compilation import compile
from keras_interp_rnn.automata.networks.extraction import Agreement, Extraction, Fidelity, extract, extract_exactly
from keras_interp_rnn.automata.networks.recognizer import Recognizer, TrainingReport
from keras_interp_rnn.automata.networks.symbol_embedding import SymbolEmbedding

__all__ = [
    "Acceptor",
    "Agreement",
    "Extraction",
    "Fidelity",
    "Recognizer",
    "SymbolEmbedding",
    "TrainingReport",
    "compile",
    "extract",
    "extract_exactly",
    "given_encoding",
    "open_acceptor",
    "require_memoryless",
]
