"""Proofs that a network follows an automaton: repeated with NumPy alone, made with Keras. What other folders import."""

from typing import TYPE_CHECKING

from keras_interp_rnn.automata._on_first_use import on_first_use
from keras_interp_rnn.automata.certificates.proof import assumptions, described, read

if TYPE_CHECKING:
    from keras_interp_rnn.automata.certificates.certificate import Certificate, certify, largest_temperature

__all__ = ["Certificate", "assumptions", "certify", "described", "largest_temperature", "read"]

__getattr__, __dir__ = on_first_use(
    __name__, dict.fromkeys(("Certificate", "certify", "largest_temperature"), "certificate")
)
