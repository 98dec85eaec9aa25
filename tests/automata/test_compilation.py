"""Networks compiled from automata: they are the automaton, provably, and they can be trained."""

import itertools
import re

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, automata
from keras_interp_rnn.automata import DFA, WeightedAutomaton, tomita
from tests.automata.networks import drawn

REGULARIZED = ("SRSimpleRNN", "SRGRU")


def automaton(seed: int) -> DFA:
    """A random automaton of 1 to 12 states and 1 to 4 symbols."""
    rng = np.random.default_rng(seed)
    states, symbols = int(rng.integers(1, 13)), tuple("abcd")[: rng.integers(1, 5)]
    if states == 1:
        return DFA([[0] * len(symbols)], {0} if seed % 2 else set(), alphabet=symbols)
    if len(symbols) == 1:  # a tail into a ring: the minimal automata of one symbol
        rows = [[state + 1] for state in range(states - 1)] + [[int(rng.integers(states))]]
        return DFA(rows, {states - 1}, alphabet=symbols)
    return drawn(rng, states, symbols)


def random_words(dfa: DFA, seed: int, number: int = 200, longest: int = 60) -> list[tuple]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, number)
    return [tuple(rng.choice(dfa.alphabet, length)) for length in lengths]


def isan_values(model: keras.Model, dfa: DFA, words: list[tuple]) -> list[float]:
    rows = [[dfa.alphabet.index(symbol) for symbol in word] for word in words]
    return [float(ops.convert_to_numpy(model(np.array([row])))[0, 0]) for row in rows]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("layer", REGULARIZED)
def test_a_compiled_network_is_certified(layer, seed):
    truth = automaton(seed)
    model = automata.compile(truth, layer)
    certificate = automata.certify(model, truth)
    assert certificate.holds, certificate.failure
    assert certificate.check(model)
    extraction = automata.extract(model)
    assert extraction.dfa == truth.minimize()
    assert extraction.confidence.min() > 1 - 1e-5
    words = random_words(truth, seed)
    np.testing.assert_array_equal(model.classify(words), [truth.accepts(word) for word in words])


@pytest.mark.parametrize("seed", range(6))
def test_a_compiled_isan_is_exact(seed):
    truth = automaton(seed)
    model = automata.compile(truth, "ISAN")
    cell = model.get_layer("recurrent").cell
    for weight in (cell.recurrent_kernel, cell.initial_state, cell.bias):
        assert set(np.unique(ops.convert_to_numpy(weight))) <= {0, 1}
    signs = WeightedAutomaton.from_dfa(truth).scale(2)
    ones = WeightedAutomaton([1], np.ones((len(truth.alphabet), 1, 1)), [-1], truth.alphabet)
    assert analysis.equivalent(model, signs.sum(ones)).bound == 0
    words = [word for word in random_words(truth, seed, 20) if word]
    assert isan_values(model, truth, words) == [1 if truth.accepts(word) else -1 for word in words]


@pytest.mark.parametrize("temperature", [0.01, 1.0])
@pytest.mark.parametrize("layer", REGULARIZED)
def test_the_probabilities_are_the_same_at_every_temperature(layer, temperature):
    truth = automaton(3)
    alphas = [
        automata.extract(automata.compile(truth, layer, temperature=tau, dtype="float64")).confidence
        for tau in (0.0625, temperature)
    ]
    np.testing.assert_allclose(*alphas, atol=1e-7)
    certificate = automata.certify(automata.compile(truth, layer, temperature=temperature), truth)
    assert certificate.holds
    assert certificate.temperature == np.float32(temperature)


@pytest.mark.parametrize("layer", REGULARIZED)
def test_other_transitions_and_float64(layer):
    truth = tomita(5)
    for settings in ({"transition": "soft_argmax"}, {"transition": "gumbel"}, {"dtype": "float64"}):
        assert automata.certify(automata.compile(truth, layer, **settings), truth).holds, settings


def test_states_that_do_not_count_are_left_out():
    """Missing transitions, equal states and states that no word reaches."""
    dfa = DFA([[1, -1], [2, -1], [1, -1], [0, 0]], {1, 2}, alphabet="ab")
    model = automata.compile(dfa, "SRSimpleRNN")
    assert model.layers[1].cell.num_centroids == 3
    assert automata.certify(model, dfa).holds
    assert automata.compile(dfa, "ISAN").layers[0].units == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32", None])
@pytest.mark.parametrize("layer", ["ISAN", *REGULARIZED])
def test_other_dtypes_are_refused(layer, dtype):
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64'. Received: dtype="):
        automata.compile(tomita(1), layer, dtype=dtype)


@pytest.mark.matrix
@pytest.mark.parametrize("layer", REGULARIZED)
def test_a_compiled_network_is_saved_and_trained(layer, tmp_path):
    """What is known goes in before training: tomita(1) is told here that the empty word is rejected."""
    model = automata.compile(tomita(1), layer)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert automata.certify(again, tomita(1)).holds
    words = [word for length in range(5) for word in itertools.product("01", repeat=length)]
    labels = np.array([bool(word) and tomita(1).accepts(word) for word in words], "float32")
    ids = again.layers[0].encoding.ids(words)
    again.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True))
    before = [ops.convert_to_numpy(weight).copy() for weight in again.trainable_variables]
    first = float(again.evaluate(ids, labels, verbose=0))
    again.fit(ids, labels, epochs=12, batch_size=31, verbose=0)
    assert float(again.evaluate(ids, labels, verbose=0)) < 0.7 * first
    moved = [np.abs(a - ops.convert_to_numpy(b)).max() for a, b in zip(before, again.trainable_variables, strict=True)]
    assert all(move > 0 for move in moved)


@pytest.mark.matrix
def test_a_compiled_isan_is_trained():
    model = automata.compile(tomita(1), "ISAN")
    ids = np.array(list(itertools.product(range(2), repeat=4)))
    labels = (ids.sum(axis=1) > 3).astype("float32")
    labels[3] = 1
    model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True))
    losses = model.fit(ids, labels, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("dfa", "settings", "sentence"),
    [
        ("(01)*", {}, r"compiled from a DFA\. Received: dfa='\(01\)\*'"),
        (tomita(1), {"layer": "LSTM"}, "layer must be one of 'ISAN', 'SRSimpleRNN', 'SRGRU'. Received: 'LSTM'"),
        (DFA([[0]], {0}, alphabet=[1.5]), {"layer": "SRGRU"}, "different ints or strings. Received: alphabet=(1.5,)"),
        (tomita(1), {"temperature": 0}, "temperature must be a number > 0. Received: temperature=0"),
        (tomita(1), {"transition": "none"}, "transition must be one of"),
        (
            DFA([[i + 1] for i in range(9999)] + [[0]], {0}, alphabet="a"),
            {"layer": "SRGRU"},
            "may take 1 GB. Received: an automaton of 10000 states and 1 symbols, which takes 1.2 GB. Compile a",
        ),
        (
            DFA([[i + 1] for i in range(19999)] + [[0]], {0}, alphabet="a"),
            {"layer": "ISAN"},
            "may take 1 GB. Received: an automaton of 20000 states and 1 symbols, which takes 1.6 GB. Compile a",
        ),
    ],
)
def test_what_cannot_be_compiled(dfa, settings, sentence):
    with pytest.raises(ValueError, match=sentence if "\\" in sentence else re.escape(sentence)):
        automata.compile(dfa, **settings)
