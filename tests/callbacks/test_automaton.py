"""The events of Automaton, read back from the files."""

import json

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, layers
from keras_interp_rnn.automata import tomita
from keras_interp_rnn.automata.machines import accepted_words, short_words
from keras_interp_rnn.callbacks import Automaton, TemperatureSchedule
from keras_interp_rnn.datasets import Alphabet
from tests.automata.networks import network_of
from tests.automata.test_extraction import other_model
from tests.automata.test_stacks import stack
from tests.callbacks.events import described, look, points

WORDS = short_words("01", 63)


def table_in(folder):
    return json.loads(points(folder / "automaton", "automaton")[-1][1].item())


def scalars_in(folder, *names):
    return {name: points(folder / "automaton", f"automaton_{name}")[0][1].item() for name in names}


def compiled(model: keras.Model, rate: float = 0.0) -> keras.Model:
    model.compile(keras.optimizers.SGD(rate), keras.losses.BinaryCrossentropy(from_logits=True), run_eagerly=True)
    return model


def train(model: keras.Model, *callbacks, epochs: int = 1):
    ids = np.zeros((len(WORDS), 6), "int32")
    for row, word in zip(ids, WORDS, strict=True):
        row[: len(word) + 1] = [1, *(2 + int(symbol) for symbol in word)]
    labels = np.array([tomita(4).accepts(word) for word in WORDS], "float32")
    return model.fit(ids, labels, 16, epochs, verbose=0, callbacks=list(callbacks))


def test_the_automaton_and_what_it_agrees_with(tmp_path):
    model = compiled(network_of(tomita(4)))
    train(model, Automaton(tmp_path, tomita(4)))
    [(first, written), (last, _)] = points(tmp_path / "automaton", "automaton")
    assert (first, last) == (0, 4)
    table = json.loads(written.item())
    found = automata.DFA(table["transitions"], table["accepting"], start=table["start"], alphabet="01")
    assert found.minimize() == tomita(4)
    assert len(table["centroids"]) == len(found)
    assert np.min(table["confidence"]) > 0.99
    assert sum(table["visits"]) == pytest.approx(1, abs=1e-5)
    assert 0 <= table["entropy"] < 0.05
    assert scalars_in(tmp_path, "entropy")["entropy"] == pytest.approx(table["entropy"])
    assert (table["equivalent"], table["counterexample"]) == (True, None)
    expected = {"states": 4, "centroids": 4, "agreement": 1, "distance": 0, "equivalent": 1}
    assert scalars_in(tmp_path, *expected) == expected
    content = described(tmp_path / "automaton", "automaton")
    assert content["symbols"] == ["0", "1"]
    assert content["reference"]["transitions"] == [list(row) for row in tomita(4).transitions]


def test_the_distance_counts_both_labels_of_the_reference_alike(tmp_path):
    look(network_of(tomita(5)), Automaton(tmp_path, tomita(4), num_words=40))
    labels = [accepted_words(label, 20) for label in (tomita(4), tomita(4).complement())]
    assert [len(words) for words in labels] == [20, 20]
    apart = np.mean([tomita(4).accepts(word) != tomita(5).accepts(word) for words in labels for word in words])
    assert 0.1 < apart < 0.9
    assert scalars_in(tmp_path, "distance", "equivalent") == {"distance": pytest.approx(apart), "equivalent": 0}
    table = table_in(tmp_path)
    assert table["equivalent"] is False
    assert tuple(table["counterexample"]) == tomita(5).difference(tomita(4))


def test_a_network_that_rejects_all_is_far_from_a_language_of_long_words(tmp_path):
    # All short words are rejected by the reference too.
    reference = automata.DFA.from_regex("(0|1)*111111(0|1)*")
    network = automata.DFA([[0, 0]], [])
    look(network_of(network), Automaton(tmp_path, reference, num_words=40))
    expected = {"distance": 0.5, "equivalent": 0, "agreement": 1}
    assert scalars_in(tmp_path, *expected) == expected
    assert table_in(tmp_path)["counterexample"] == ["1"] * 6


def test_without_a_reference_there_is_nothing_to_compare_with(tmp_path):
    look(network_of(tomita(4)), Automaton(tmp_path))
    table = table_in(tmp_path)
    assert [table[name] for name in ("distance", "equivalent", "counterexample")] == [None, None, None]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"reference": "x"},
            r"`reference` must be an automata\.DFA or MooreMachine\. Received: reference='x'. Pass",
        ),
        ({"num_words": 0}, "`num_words` must be a positive integer. Received: num_words=0"),
        ({"data": 3}, "Words must be a list of sequences of symbols. Received: 3"),
        ({"data": "0101"}, "Words must be a list of sequences of symbols. Received: '0101'. Give .word. for one word"),
        ({"num_words": "a"}, "`num_words` must be a positive integer. Received: num_words='a'"),
    ],
)
def test_rejects_invalid_arguments(tmp_path, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Automaton(tmp_path, **arguments)


MODULO_3 = automata.MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "one", "<two>"])


def test_a_network_with_labels_is_a_moore_machine(tmp_path):
    look(automata.compile(MODULO_3), Automaton(tmp_path, MODULO_3, num_words=60))
    table = table_in(tmp_path)
    assert "accepting" not in table
    found = automata.MooreMachine(table["transitions"], table["outputs"], start=table["start"])
    assert found.minimize() == MODULO_3.minimize()
    assert (table["equivalent"], table["counterexample"], table["agreement"]) == (True, None, 1)
    content = described(tmp_path / "automaton", "automaton")
    assert content["reference"]["outputs"] == ["none", "one", "<two>"]


def test_the_distance_of_machines_counts_every_label_alike(tmp_path):
    reference = automata.MooreMachine([[0, 1], [1, 1]], ["none", "one"])  # one "1" or more
    look(automata.compile(MODULO_3), Automaton(tmp_path, reference, num_words=40))
    table = table_in(tmp_path)
    groups = [accepted_words(automata.DFA.from_moore(reference, label), 20) for label in reference.labels]
    apart = [np.mean([MODULO_3.output(word) != reference.output(word) for word in words]) for words in groups]
    assert apart[0] == 0 < apart[1] < 1
    assert table["distance"] == pytest.approx(np.mean(apart))
    assert table["counterexample"] == ["1", "1"]


def test_states_of_a_stack_keep_their_numbers_and_the_least_confidence_is_logged(tmp_path):
    model = stack(3)
    found = automata.extract(model)
    look(model, Automaton(tmp_path))
    table = table_in(tmp_path)
    assert table["centroids"] == [4 * lower + upper for lower, upper in found.centroids]  # of 3 and 4
    assert table["names"] == [str(centroid) for centroid in found.centroids]
    assert np.ptp(found.confidence) > 0.001
    assert scalars_in(tmp_path, "confidence") == {"confidence": pytest.approx(found.confidence.min())}


def test_nothing_is_written_while_the_centroids_are_not_the_states(tmp_path):
    model = compiled(network_of(tomita(4)))
    slide = TemperatureSchedule(strength=lambda epoch: epoch / 2)
    train(model, slide, Automaton(tmp_path), epochs=3)
    assert [step for step, _ in points(tmp_path / "automaton", "automaton")] == [0, 12]


def test_a_network_with_a_memory_is_counted_on_data(tmp_path):
    model = compiled(other_model(layers.SRLSTM(4, 3)), 0.1)
    train(model, Automaton(tmp_path, data=WORDS, method="counts", alphabet=Alphabet.with_tokens("01", start=True)))
    assert len(points(tmp_path / "automaton", "automaton")) == 2
    with pytest.raises(ValueError, match="has a further state"):
        train(model, Automaton(tmp_path, alphabet=Alphabet.with_tokens("01", start=True)))


def test_data_without_a_symbol_show_no_transition(tmp_path):
    look(network_of(tomita(4)), Automaton(tmp_path, data=[""], method="counts"))
    table = table_in(tmp_path)
    assert (table["transitions"], table["confidence"], table["entropy"]) == ([[-1, -1]], [[None, None]], None)


@pytest.mark.parametrize(("network", "reference"), [(MODULO_3, tomita(1)), (tomita(1), MODULO_3)])
def test_rejects_a_reference_of_another_kind(network, reference, tmp_path):
    callback = Automaton(tmp_path, reference)
    callback.set_model(automata.compile(network))
    with pytest.raises(ValueError, match=r"`reference` must be a DFA for .* Received: a .*\. Pass an automaton"):
        callback.measure()
