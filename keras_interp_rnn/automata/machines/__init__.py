"""Automata as tables, and their words as ids, with NumPy alone. The names that other folders import."""

from keras_interp_rnn.automata.machines._sampling import accepted_words, random_word, short_words
from keras_interp_rnn.automata.machines.dfa import DFA, automaton_of
from keras_interp_rnn.automata.machines.drawing import CIRCLE, RING, State, label_of_edge, numbered_states, picture
from keras_interp_rnn.automata.machines.edits import MIN_WORDS, Edit, smallest_edit
from keras_interp_rnn.automata.machines.graphs import MISSING, breadth_first
from keras_interp_rnn.automata.machines.languages import DESCRIPTIONS, tomita
from keras_interp_rnn.automata.machines.moore import MooreMachine, counts_of_transitions, unsupported
from keras_interp_rnn.automata.machines.showing import Transitions
from keras_interp_rnn.automata.machines.showing import in_words as transitions_in_words
from keras_interp_rnn.automata.machines.words import (
    Word,
    checked_labels,
    checked_symbols,
    checked_words,
    labels_and_classes,
    names_of_states,
    optional_alphabet,
    ordered,
)

__all__ = [
    "CIRCLE",
    "DESCRIPTIONS",
    "DFA",
    "MIN_WORDS",
    "MISSING",
    "RING",
    "Edit",
    "MooreMachine",
    "State",
    "Transitions",
    "Word",
    "accepted_words",
    "automaton_of",
    "breadth_first",
    "checked_labels",
    "checked_symbols",
    "checked_words",
    "counts_of_transitions",
    "label_of_edge",
    "labels_and_classes",
    "names_of_states",
    "numbered_states",
    "optional_alphabet",
    "ordered",
    "picture",
    "random_word",
    "short_words",
    "smallest_edit",
    "tomita",
    "transitions_in_words",
    "unsupported",
]
