"""Networks made by hand for any automaton: nothing is trained, and what they do is known."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import layers
from keras_interp_rnn.automata import DFA, MooreMachine, Recognizer, SymbolEmbedding


def weights_of(dfa: DFA, scale: float = 3.0, sharp: float = 6.0) -> tuple[Any, list[Any], Any, list[Any]]:
    """Weights of a state-regularized SimpleRNN that is this automaton: embeddings, cell, centroids, head.

    There is a unit for each pair of a state and a symbol, which is +1 when the network was in that state and read that
    symbol and -1 otherwise, one for the start token, and one that is always +1. The centroid of a state has +1 at the
    pairs that lead there; the last unit makes up for some states being reached by more pairs than others.
    """
    states, symbols = len(dfa), dfa.alphabet
    pairs = list(itertools.product(range(states), range(len(symbols))))
    n = len(pairs) + 2
    centroids = -np.ones((states, n))
    for unit, (state, column) in enumerate(pairs):
        centroids[dfa.transitions[state][column], unit] = 1
    centroids[dfa.start, n - 2] = 1
    centroids[:, n - 1] = (centroids[:, : n - 1] == 1).sum(axis=1) * 2
    centroids *= scale
    which = np.linalg.pinv(centroids)  # h @ which: the indicator of the state
    recurrent, kernel, bias = np.zeros((n, n)), np.zeros((len(symbols) + 2, n)), np.zeros(n)
    for unit, (state, column) in enumerate(pairs):
        recurrent[:, unit] = sharp * which[:, state]
        kernel[column + 2, unit] = sharp
        bias[unit] = -1.5 * sharp
    kernel[1, n - 2], bias[n - 2], bias[n - 1] = 2 * sharp, -sharp, 4 * sharp
    accepting = np.array([1.0 if state in dfa.accepting else -1.0 for state in range(states)])
    head = [(which @ accepting)[:, None], np.zeros(1)]
    return np.eye(len(symbols) + 2), [kernel, recurrent, bias], centroids, head


def network_of(dfa: DFA, scale: float = 3.0, sharp: float = 6.0, **component: Any) -> Recognizer:
    """The network of these weights."""
    embeddings, cell, centroids, head = weights_of(dfa, scale, sharp)
    embedding = SymbolEmbedding(dfa.alphabet, len(embeddings))
    layer = layers.SRSimpleRNN(centroids.shape[1], len(dfa), name="recurrent", **component)
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, layer, keras.layers.Dense(1)])
    embedding.set_weights([embeddings])
    layer.cell.cell.set_weights(cell)
    layer.cell.centroids.assign(centroids)
    model.layers[-1].set_weights(head)
    return model


LABELS = ("no", "perhaps", "yes")
MODULO_3 = MooreMachine([[0, 1], [1, 2], [2, 0]], LABELS)


def drawn(rng: np.random.Generator, states: int, alphabet: Sequence[Hashable], labels: Sequence[Any] = ()) -> Any:
    """A random automaton, minimal, of about so many states; a Moore machine with all of these labels, if there are."""
    while True:
        table = rng.integers(states, size=(states, len(alphabet))).tolist()
        if labels:
            outputs = [labels[i] for i in rng.integers(len(labels), size=states)]
            machine = MooreMachine(table, outputs, alphabet=alphabet).minimize()
        else:
            machine = DFA(table, np.flatnonzero(rng.random(states) < 0.5).tolist(), alphabet=alphabet).minimize()
        if len(machine) >= max(2, states - 2) and (not labels or len(machine.labels) == len(labels)):
            return machine


def turned(machine: MooreMachine) -> MooreMachine:
    """The machine with its labels moved by one."""
    others = dict(zip(machine.labels, (*machine.labels[1:], machine.labels[0]), strict=True))
    return MooreMachine(machine.transitions, [others[o] for o in machine.outputs], alphabet=machine.alphabet)


def dfa_of(machine: Any, alphabet: Iterable[Hashable] = "01") -> DFA:
    """The automaton that a search has found, over these symbols."""
    return DFA(machine.table.tolist(), np.flatnonzero(machine.outputs).tolist(), alphabet=alphabet)


def long_words(rng, truth, number, shortest=20, longest=29):
    """Words, half of them in the language, and their labels."""
    words = []
    for label, language in ((True, truth), (False, truth.complement())):
        lengths = [length for length in range(shortest, longest + 1) if language.count(length)]
        for length in rng.choice(lengths, number // 2):
            words.append((language.sample(int(length), int(rng.integers(2**31))), label))
    rng.shuffle(words)
    return [word for word, _ in words], np.array([label for _, label in words])


def places(words, alphabet):
    return [tuple(alphabet.index(symbol) for symbol in word) for word in words]
