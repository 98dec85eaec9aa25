"""Networks compiled from automata are certified, saved and trained."""

import re

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, automata
from keras_interp_rnn.automata import DFA, MooreMachine, WeightedAutomaton, tomita
from tests.automata.machines import KINDS, drawn_words, words
from tests.automata.networks import LABELS, MODULO_3, drawn

REGULARIZED = ("SRSimpleRNN", "SRGRU")


def machine(kind, seed):
    """A random machine of 1 to 12 states and 1 to 4 symbols."""
    rng = np.random.default_rng(seed)
    states, symbols = int(rng.integers(1, 13)), tuple("abcd")[: rng.integers(1, 5)]
    if kind is MooreMachine:
        labels = ((0, 1, 2), LABELS, ("a", 1, "b", True + 1, "c"))[seed % 3]
        return drawn(rng, max(states, 5), symbols if len(symbols) > 1 else "ab", labels)
    if states == 1:
        return DFA([[0] * len(symbols)], {0} if seed % 2 else set(), alphabet=symbols)
    if len(symbols) == 1:  # a tail into a ring: the minimal automata of one symbol
        rows = [[state + 1] for state in range(states - 1)] + [[int(rng.integers(states))]]
        return DFA(rows, {states - 1}, alphabet=symbols)
    return drawn(rng, states, symbols)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("layer", REGULARIZED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_network_is_certified(kind, layer, seed):
    truth = machine(kind, seed)
    model = automata.compile(truth, layer)
    certificate = automata.certify(model, truth)
    assert certificate.holds, certificate.failure
    assert certificate.check(model)
    assert certificate.machine == truth
    extraction = automata.extract(model)
    assert extraction.machine == truth.minimize()
    assert extraction.confidence.min() > 1 - 1e-5
    if kind is MooreMachine:
        assert certificate.decision_margins.min() > 0.9
        assert extraction.margins.min() > 0.2
    some = drawn_words(truth.alphabet, 200, 60, seed)
    assert model.classify(some).tolist() == [truth.output(word) for word in some]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_isan_is_exact(kind, seed):
    truth = machine(kind, seed)
    model = automata.compile(truth, "ISAN")
    cell = model.get_layer("recurrent").cell
    for weight in (cell.recurrent_kernel, cell.initial_state, cell.bias):
        assert set(np.unique(ops.convert_to_numpy(weight))) <= {0, 1}
    values = WeightedAutomaton.from_dfa(truth)
    if kind is MooreMachine:
        assert analysis.equivalent(model, truth).bound == 0
    else:
        values = values.scale(2).sum(WeightedAutomaton([1], np.ones((len(truth.alphabet), 1, 1)), [-1], truth.alphabet))
    assert analysis.equivalent(model, values).bound == 0
    for length in (1, 2, 60):
        rows = np.random.default_rng(seed).integers(len(truth.alphabet), size=(6, length))
        outputs = [truth.output([truth.alphabet[symbol] for symbol in row]) for row in rows]
        if kind is MooreMachine:
            expected = [[float(output == each) for each in truth.labels] for output in outputs]
        else:
            expected = [[1 if accepted else -1] for accepted in outputs]
        assert ops.convert_to_numpy(model(rows)).tolist() == expected


@pytest.mark.parametrize("temperature", [0.01, 1.0])
@pytest.mark.parametrize("layer", REGULARIZED)
def test_probabilities_are_the_same_at_every_temperature(layer, temperature):
    truth = drawn(np.random.default_rng(3), 8, "ab")
    alphas = [
        automata.extract(automata.compile(truth, layer, temperature=tau, dtype="float64")).confidence
        for tau in (0.0625, temperature)
    ]
    np.testing.assert_allclose(*alphas, atol=1e-7)
    certificate = automata.certify(automata.compile(truth, layer, temperature=temperature), truth)
    assert certificate.holds
    assert certificate.temperature == np.float32(temperature)


@pytest.mark.parametrize("settings", [{"transition": "soft_argmax"}, {"transition": "gumbel"}, {"dtype": "float64"}])
@pytest.mark.parametrize("layer", REGULARIZED)
@pytest.mark.parametrize("truth", [tomita(5), MODULO_3], ids=["DFA", "MooreMachine"])
def test_other_transitions_and_float64_are_certified(truth, layer, settings):
    assert automata.certify(automata.compile(truth, layer, **settings), truth).holds


def test_equal_and_unreachable_states_are_left_out():
    dfa = DFA([[1, -1], [2, -1], [1, -1], [0, 0]], {1, 2}, alphabet="ab")
    model = automata.compile(dfa, "SRSimpleRNN")
    assert model.layers[1].cell.num_centroids == 3
    assert automata.certify(model, dfa).holds
    assert automata.compile(dfa, "ISAN").layers[0].units == 3


def test_a_model_with_labels_is_saved_with_them_and_gives_probabilities(tmp_path):
    model = automata.compile(MODULO_3)
    outputs = ops.convert_to_numpy(model(model.layers[0].alphabet.encode_batch(["101"])))
    np.testing.assert_allclose(outputs.sum(), 1, rtol=1e-6)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.labels == LABELS
    assert automata.certify(model, MODULO_3).check(again)
    assert automata.Recognizer.from_config(model.get_config()).labels == LABELS
    assert "labels" not in automata.compile(tomita(1)).get_config()


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("truth", "layer"),
    [(tomita(1), "ISAN"), *((tomita(1), layer) for layer in REGULARIZED), (MODULO_3, "SRSimpleRNN")],
    ids=["ISAN", *REGULARIZED, "labels"],
)
def test_all_weights_of_a_compiled_network_are_trained(truth, layer):
    """Tomita's language 1 is trained to reject the word 1111, or the empty word, and the other machine as it is."""
    model, some = automata.compile(truth, layer), words("01", 4)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    if truth is MODULO_3:
        ids, labels = (
            model.layers[0].alphabet.encode_batch(some),
            np.array([LABELS.index(truth.output(w)) for w in some]),
        )
        loss = keras.losses.SparseCategoricalCrossentropy()
    elif layer == "ISAN":
        ids = np.array(words(range(2), 4)[-16:])
        labels = np.arange(16) == 3
    else:
        ids, labels = (
            model.layers[0].alphabet.encode_batch(some),
            np.array([bool(w) and truth.accepts(w) for w in some]),
        )
    before = [ops.convert_to_numpy(weight).copy() for weight in model.trainable_variables]
    model.compile(keras.optimizers.Adam(0.01), loss)
    losses = model.fit(ids, labels.astype("float32"), epochs=16, batch_size=31, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    assert all((ops.convert_to_numpy(a) != b).any() for a, b in zip(model.trainable_variables, before, strict=True))


@pytest.mark.parametrize(
    ("machine", "settings", "sentence"),
    [
        *(
            (tomita(1), {"dtype": d}, "`dtype` must be one of 'float32', 'float64'. Received:")
            for d in ("float16", None)
        ),
        ("(01)*", {}, "`dfa` must be a DFA or a MooreMachine. Received: dfa='(01)*'"),
        (tomita(1), {"layer": "LSTM"}, "`layer` must be one of 'ISAN', 'SRSimpleRNN', 'SRGRU'. Received: layer='LSTM'"),
        (DFA([[0]], {0}, alphabet=[1.5]), {"layer": "SRGRU"}, "must be ints or strings. Received: 1.5"),
        (tomita(1), {"temperature": 0}, "`temperature` must be a positive number. Received: temperature=0"),
        (tomita(1), {"transition": "none"}, "`transition` must be one of"),
        *(
            (
                DFA([[i + 1] for i in range(states - 1)] + [[0]], {0}, alphabet="a"),
                {"layer": layer},
                f"at most 1 GB. Received: an automaton of {states} states and 1 symbols, which takes {size} GB. ",
            )
            for layer, states, size in (("SRGRU", 10_000, 1.2), ("ISAN", 20_000, 1.6))
        ),
        (
            MooreMachine([[0, 1], [1, 1]], [False, True]),
            {},
            "three labels or more. Received: a Moore machine of the labels False, True",
        ),
        (
            MooreMachine([[0], [1], [2]], LABELS, alphabet="a"),
            {},
            "of the labels 'no'. Compile `DFA.from_moore` of one of them",
        ),
        (MooreMachine([[1], [2], [0]], ["a", "b", (1,)], alphabet="a"), {}, "must be ints or strings. Received: (1,)"),
    ],
)
def test_rejects_automata_and_settings_that_cannot_be_compiled(machine, settings, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        automata.compile(machine, **settings)
