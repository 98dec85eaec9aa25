r"""Networks whose weights follow from an automaton: nothing is trained, and all weights can be trained further.

An ISAN is a deterministic automaton if its states are one-hot vectors: $W_a[i, \delta(i, a)] = 1$, else 0, b = 0.

A state-regularized network has a unit for each pair (j, a) of a state and a symbol that leads to it, saturated at +1
when symbol a has just led to state j and at -1 otherwise; one for the start token; and one that is always near +1.
Centroid $s_j$ is $\beta$ at the units that lead to j and 0 at the others, so that centroids are orthogonal there; in
the last unit it has $\beta N_j$, with $N_j$ the number of units that lead to j, less a number that is the same for all
j. Of a state u = +-1 the score of the right centroid then exceeds all others by $2 \beta$,

    u s_j = sum over the units of j of +-beta + beta N_j = 2 beta [j is the new state] + a constant,

and $s_i / (\beta N_i)$, over those units, reads from the next state whether it is i. The cell is then

    u_{(j, a)} = tanh(2 sharp ([reads a] + [the state is one that a leads to j] - 3/2)).

A GRU does the same with its update gate closed and its reset gate open.
"""

from __future__ import annotations

import math

import keras
import numpy as np

from keras_interp_rnn import layers
from keras_interp_rnn._checks import choice, invalid
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.machines import DFA, MooreMachine, checked_labels, checked_symbols
from keras_interp_rnn.automata.networks.recognizer import Recognizer
from keras_interp_rnn.layers.alphabets import SymbolEmbedding

LEAD = 12.0
"""Nats by which the score of the next state, over tau, exceeds the log-sum-exp of all others."""

SHARP = 4.0
"""Units saturate at tanh(4) = 0.9993."""

CLOSED = 12.0
"""Bias of the gates of a GRU: they are within 1e-5 of 0 or 1."""

MAX_BYTES = 1e9
"""Memory that a network's weights may take."""

LAYERS = ("ISAN", "SRSimpleRNN", "SRGRU")
DTYPES = ("float32", "float64")


def compile(
    dfa: MooreMachine,
    layer: str = "SRGRU",
    *,
    temperature: float = 0.0625,
    transition: object = "mixture",
    dtype: str = "float32",
) -> keras.Model:
    r"""A network that classifies words as an automaton does, with weights computed from the automaton.

    `certify` proves that a state-regularized network agrees with the automaton. Every network can be trained further.

    Args:
        dfa: the automaton, or a Moore machine of three labels or more.
        layer: "ISAN" for one-hot states and matrices of zeros and ones, which is exact and reads the ids 0 to K - 1
            without padding; "SRSimpleRNN" or "SRGRU" for a `Recognizer` whose centroids are the states.
        temperature: $\tau > 0$ of the state-regularized layers. The centroids grow with it, so that the probabilities
            $\alpha$ of the transitions are the same at every temperature, at least $1 - e^{-12}$. At the default the
            entries of the centroids are below 1/2, which keeps the bounds on rounding small.
        transition: of the state-regularized layers.
        dtype: "float32" or "float64".

    Returns:
        The model, with the states of the minimal automaton. It outputs a logit for each word, above 0 if the automaton
        accepts the word; an ISAN outputs 1 or -1. For a Moore machine it has an output for each of
        `MooreMachine.labels`, the largest of which belongs to the word's label: a softmax of logits near 1 and 0, with
        the labels in `Recognizer.labels`; an ISAN outputs 1 and 0.

    Raises:
        ValueError: if `dfa` is neither a `DFA` nor a `MooreMachine` of three labels or more; for another layer or
            dtype; if a symbol or a label is neither an int nor a string, which a `Recognizer` needs for saving; if the
            weights take more than 1 GB.

    Exactness: an ISAN is exact, as `analysis.equivalent` shows. The outputs of a state-regularized network are
        approximate; `certify` proves that it classifies every word as the automaton does.
    Cost: an ISAN has K n^2 weights for n states and K symbols. The others have one unit for each pair of a symbol and a
        state to which it leads, at most K n, plus two. Their number of weights is the square of the number of units, or
        three times the square for a GRU.

    Example:

    >>> from keras_interp_rnn import automata
    >>> model = automata.compile(automata.tomita(4), "SRSimpleRNN")
    >>> automata.certify(model, automata.tomita(4)).holds
    True
    >>> model.classify(["1001", "10001"])
    array([ True, False])
    >>> np.array(automata.compile(automata.tomita(4), "ISAN")(np.array([[1, 0, 0, 1], [0, 0, 0, 1]])))
    array([[ 1.],
           [-1.]], dtype=float32)
    >>> ones_modulo_3 = automata.MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "one", "two"])
    >>> automata.compile(ones_modulo_3).classify(["10110", "11"])
    array(['none', 'two'], dtype='<U4')
    """
    if not isinstance(dfa, MooreMachine):
        raise invalid("dfa", "a DFA or a MooreMachine", dfa)
    choice("layer", layer, LAYERS)
    choice("dtype", dtype, DTYPES)
    automaton = dfa.minimize()
    if not isinstance(automaton, DFA) and len(automaton.labels) < 3:
        raise ValueError(
            "A network must have one output, or one for each of three labels or more. Received: a Moore machine of the "
            f"labels {', '.join(map(repr, automaton.labels))}. Compile `DFA.from_moore` of one of them."
        )
    return _isan(automaton, dtype) if layer == "ISAN" else _recognizer(automaton, layer, temperature, transition, dtype)


def _isan(dfa: MooreMachine, dtype: str) -> keras.Model:
    n, symbols = len(dfa), len(dfa.alphabet)
    _check_size(dfa, symbols * n * n, dtype)
    isan = layers.ISAN(n, symbols, recurrent_constraint=None, name="recurrent", dtype=dtype)
    decisions = _decisions(dfa)
    head = keras.layers.Dense(decisions.shape[1], name="head", dtype=dtype)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, head])
    isan.cell.recurrent_kernel.assign(np.eye(n)[np.array(dfa.transitions).T])
    isan.cell.bias.assign(np.zeros((symbols, n)))
    isan.cell.initial_state.assign(np.eye(n)[dfa.start])
    head.set_weights([decisions, np.zeros(decisions.shape[1])])
    return model


def _recognizer(dfa: MooreMachine, layer: str, temperature: float, transition: object, dtype: str) -> Recognizer:
    symbols, labels = checked_symbols(dfa.alphabet), checked_labels(dfa.labels) if len(dfa.labels) > 2 else None
    table = np.array(dfa.transitions)
    leads = sorted({(int(target), column) for (_, column), target in np.ndenumerate(table)})
    units = len(leads) + 2
    _check_size(dfa, (3 if layer == "SRGRU" else 1) * units**2, dtype)

    make = layers.SRGRU if layer == "SRGRU" else layers.SRSimpleRNN
    recurrent = make(units, len(dfa), temperature, transition, name="recurrent", dtype=dtype)
    embedding = SymbolEmbedding(symbols, len(symbols) + 1, name="symbols", dtype=dtype)
    decisions = _decisions(dfa)
    activation = None if labels is None else "softmax"
    head = keras.layers.Dense(decisions.shape[1], activation, name="head", dtype=dtype)
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, head])
    model.labels = labels

    beta = temperature * (LEAD + math.log(max(len(dfa) - 1, 1))) / (2 * np.tanh(SHARP))
    arrives = np.zeros((len(dfa), units))  # (states, units): whether a unit leads to a state
    arrives[dfa.start, -2] = 1
    for unit, (target, _) in enumerate(leads):
        arrives[target, unit] = 1
    counts = arrives.sum(axis=1)
    centroids = beta * arrives
    centroids[:, -1] = beta * (counts - (counts.min() + counts.max()) / 2)
    read = arrives.T / (beta * counts)  # (units, states): state @ read is the indicator of the centroid

    kernel, recurrent_kernel = np.zeros((len(symbols) + 1, units)), np.zeros((units, units))
    bias = np.full(units, -3 * SHARP)
    for unit, (target, column) in enumerate(leads):
        kernel[column + 1, unit] = 2 * SHARP
        recurrent_kernel[:, unit] = 2 * SHARP * read[:, table[:, column] == target].sum(axis=1)
    kernel[0, -2], bias[-2], bias[-1] = 2 * SHARP, -SHARP, 2 * SHARP

    embedded = np.zeros((embedding.input_dim, len(symbols) + 1))
    embedded[embedding.alphabet.start_id :] = np.eye(len(symbols) + 1)
    embedding.set_weights([embedded])
    recurrent.cell.centroids.assign(centroids)
    cell = [kernel, recurrent_kernel, bias]
    recurrent.cell.cell.set_weights(_gru(*cell) if layer == "SRGRU" else cell)
    head.set_weights([read @ decisions, np.zeros(decisions.shape[1])])
    return model


def _gru(kernel: Array, recurrent_kernel: Array, bias: Array) -> list[Array]:
    """A GRU whose candidate is the SimpleRNN of these weights, and whose gates leave it alone."""
    kernels = [np.concatenate([np.zeros_like(x), np.zeros_like(x), x], axis=-1) for x in (kernel, recurrent_kernel)]
    gates = np.concatenate([np.full_like(bias, -CLOSED), np.full_like(bias, CLOSED), bias])
    return [*kernels, np.stack([gates, np.zeros_like(gates)])]


def _decisions(dfa: MooreMachine) -> Array:
    """(states, outputs): 1 for accepting states, -1 for the others; or 1 for the label of a state, 0 for the others."""
    if len(dfa.labels) == 2:
        return np.where(np.array(dfa.outputs, bool), 1.0, -1.0)[:, None]
    return np.array([[float(output == label) for label in dfa.labels] for output in dfa.outputs])


def _check_size(dfa: MooreMachine, num_weights: int, dtype: str) -> None:
    size = num_weights * np.dtype(dtype).itemsize
    if size > MAX_BYTES:
        raise ValueError(
            f"The weights of a network must take at most {MAX_BYTES / 1e9:g} GB. Received: an automaton of {len(dfa)} "
            f"states and {len(dfa.alphabet)} symbols, which takes {size / 1e9:.3g} GB. Compile a smaller one."
        )
