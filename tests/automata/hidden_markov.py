"""Hidden Markov models as weighted automata."""

import numpy as np

from keras_interp_rnn.automata import WeightedAutomaton


def hidden_markov(initial, move, emit, stop=None, alphabet=None):
    """Its value is the probability of a word; without `stop`, that an endless text begins with it.

    State i stops with probability stop[i], or emits x with probability emit[i, x] and moves to j with move[i, j].
    """
    ends = np.zeros(len(initial)) if stop is None else np.asarray(stop, float)
    matrices = np.einsum("i,ix,ij->xij", 1 - ends, emit, move)
    return WeightedAutomaton(initial, matrices, np.ones(len(initial)) if stop is None else ends, alphabet)
