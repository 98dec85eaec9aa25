"""Automata from words, without a network: NumPy and SciPy alone. What other folders import."""

from keras_interp_rnn.automata.inference._evidence import Evidence, carried, evidence_of, interval
from keras_interp_rnn.automata.inference._frequencies import stochastic
from keras_interp_rnn.automata.inference._sample import Sample, sample_of
from keras_interp_rnn.automata.inference.from_words import Inference, infer

__all__ = [
    "Evidence",
    "Inference",
    "Sample",
    "carried",
    "evidence_of",
    "infer",
    "interval",
    "sample_of",
    "stochastic",
]
