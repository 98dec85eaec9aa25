"""Training of recognisers: what comes out, what it carries, and what is said when it does not learn."""

import dataclasses
import itertools
import math
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import SymbolEmbedding, _searches, learning, tomita
from keras_interp_rnn.automata._sample import sample_of
from keras_interp_rnn.automata.learning import _balanced_accuracy, _curriculum, _report, _with_reason
from keras_interp_rnn.automata.recognizer import TrainingReport
from tests.automata.networks import network_of


def words(longest: int, alphabet: str = "01") -> list[tuple]:
    return [word for n in range(longest + 1) for word in itertools.product(alphabet, repeat=n)]


@pytest.mark.matrix
def test_a_language_is_learned_extracted_and_certified(tmp_path, capsys):
    truth = tomita(1)
    given = words(6)
    model = automata.train_recognizer(given, [truth.accepts(word) for word in given], alphabet="01", seed=1)
    assert model.report.learned, model.report
    assert model.report.automaton_accuracy == model.report.network_accuracy == 1
    assert automata.extract(model).dfa.minimize() == truth
    assert automata.certify(model, truth).holds
    np.testing.assert_array_equal(model.classify(words(9)), [truth.accepts(word) for word in words(9)])
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert re.match(r"learned from 127 .*: automaton of 2 states, balanced accuracy 100.00%.*; 1 attempt, \d+ s", last)
    # Everything needs the model alone, in whatever process.
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert automata.extract(again).dfa.minimize() == truth
    assert automata.certify(again, truth).holds
    assert again.report == model.report


@pytest.mark.matrix
def test_what_cannot_be_learned_is_said(capsys):
    rng = np.random.default_rng(0)
    given = words(5)
    model = automata.train_recognizer(
        given,
        rng.random(len(given)) < 0.5,
        alphabet="01",
        units=2,
        num_centroids=2,
        num_attempts=1,
        hold_out=0.0,
        time_budget=None,
        method="training",
    )
    assert not model.report.learned
    assert model.report.automaton_accuracy < 1
    assert np.isnan(model.report.held_out_accuracy)
    printed = capsys.readouterr().out
    assert re.search(
        r"NOT learned from 63 different words, as the plain cell keeps a mean loss of 0\.\d+ nats, above 0\.2: auto",
        printed,
    )
    assert "plain cell, words to length 5: loss " in printed  # no terminal: a line after each phase
    assert "To try next: more units" in printed.splitlines()[-1]
    assert len(automata.extract(model).dfa) <= 2


def test_the_embedding_carries_the_alphabet(tmp_path):
    model = network_of(tomita(4))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.layers[0].alphabet == ("0", "1")
    assert again.layers[0].symbol_ids == {"0": 2, "1": 3}
    assert automata.extract(again).dfa.minimize() == tomita(4)


def test_the_embedding_reads_padding_start_and_symbols():
    layer = SymbolEmbedding("abc", 4)
    assert layer.input_dim == 5
    assert layer.start_id == 1
    np.testing.assert_array_equal(layer.compute_mask(np.array([[1, 4, 0]])), [[True, True, False]])
    assert SymbolEmbedding.from_config(layer.get_config()).symbol_ids == {"a": 2, "b": 3, "c": 4}


@pytest.mark.parametrize("alphabet", ["00", "", [1.5], [0, 1, 0], None, 3])
def test_an_embedding_of_no_alphabet(alphabet):
    with pytest.raises(ValueError, match="An alphabet holds different ints or strings. Received: alphabet="):
        SymbolEmbedding(alphabet, 4)


@pytest.mark.parametrize("given", [{"input_dim": 9}, {"mask_zero": False}])
def test_an_embedding_is_as_large_as_its_alphabet_and_masks_padding(given):
    [(name, value)] = given.items()
    with pytest.raises(ValueError, match=f"{name} of a SymbolEmbedding follows.*Received: {name}={value}. Leave it"):
        SymbolEmbedding("abc", 4, **given)
    assert SymbolEmbedding("abc", 4, input_dim=5, mask_zero=True).input_dim == 5


def test_words_are_classified_by_a_model_that_knows_their_alphabet():
    plain = automata.Recognizer([keras.layers.Embedding(4, 3, mask_zero=True), keras.layers.GRU(2)])
    for model in (plain, automata.Recognizer()):
        with pytest.raises(ValueError, match="Words are read by a SymbolEmbedding.*Received: .*Build it with automata"):
            model.classify(["01"])


def test_the_curriculum_grows_from_the_first_length_with_words_of_both_labels():
    given = words(10)
    lengths = np.array([len(word) for word in given])
    for number in range(1, 8):
        labels = np.array([tomita(number).accepts(word) for word in given])
        steps = _curriculum(lengths, labels)
        assert steps == sorted(set(steps))
        assert steps[-1] == 10
        first = labels[lengths <= steps[0]]
        assert min(first.sum(), (~first).sum()) >= 2


REPORT = TrainingReport(True, 1.0, 0.75, 0.5, 0.99, 1, 2, 3.5)


def test_a_report_is_saved_with_its_model(tmp_path):
    model = network_of(tomita(4))
    assert model.report is None
    for report in (REPORT, None):
        model.report = report
        model.save(tmp_path / "model.keras")
        assert keras.models.load_model(tmp_path / "model.keras").report == report


def test_a_report_counts_in_plain_english():
    assert "automaton of 1 state, " in str(REPORT)
    assert str(REPORT).endswith("; 2 attempts, 4 s")
    assert str(dataclasses.replace(REPORT, num_states=2, num_attempts=1)).endswith("; 1 attempt, 4 s")


@pytest.mark.parametrize(("confidence", "flipped"), [(0.99, 0), (0.99, 3), (1.1, 0)])
def test_a_report_says_why_nothing_was_learned(confidence, flipped):
    given = words(5)
    labels = np.array([tomita(4).accepts(word) for word in given])
    labels[:flipped] ^= True
    report = _report(network_of(tomita(4)), sample_of(given, labels, "01", 0, 0, consistent=True), confidence)
    reasons = {(0.99, 0): "", (0.99, 3): "as 3 of 63 words are misclassified"}
    expected = reasons.get(
        (confidence, flipped), f"as a transition has a probability of {report.confidence:.4f}, below 1.1"
    )
    assert report.reason == expected
    head = "learned from 63 different words"
    assert str(report).startswith(f"NOT {head}, {expected}: automaton" if expected else f"{head}: automaton")
    assert str(_with_reason("as it is", report)).startswith(f"NOT {head}, as it is:" if expected else f"{head}:")


def test_all_attempts_are_counted_whichever_is_best(monkeypatch, capsys):
    models = [network_of(tomita(4)) for _ in range(3)]
    for model, accuracy in zip(models, (0.7, 0.9, 0.8), strict=True):
        model.report = dataclasses.replace(REPORT, learned=False, automaton_accuracy=accuracy, num_attempts=1)
    remaining = iter(models)
    monkeypatch.setattr(learning, "_train", lambda *_, **settings: next(remaining))
    monkeypatch.setattr(_searches, "SPLITTING_SECONDS", 0.5)
    best = automata.train_recognizer(["0", "1", "00", "11"], [True, False] * 2, alphabet="01", num_attempts=3)
    assert best is models[1]
    assert best.report.num_attempts == 3
    *lines, last, advice = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"attempt {i} of 3" for i in (1, 2, 3)]
    assert "NOT learned" in last
    assert "; 3 attempts, " in last
    assert "run_RPNI" in advice


def test_balanced_accuracy_does_not_reward_rejecting_all():
    labels = np.array([True] * 2 + [False] * 98)
    assert _balanced_accuracy(np.zeros(100, bool), labels) == 0.5
    assert _balanced_accuracy(labels, labels) == 1


@pytest.mark.parametrize(
    ("given", "labels", "alphabet", "sentence"),
    [
        (["0", "1"], [True], "01", "Every word needs a label. Received: 2 words and 1 labels"),
        (["0", "2"], [True, False], "01", r"over the alphabet \('0', '1'\). Received: \('2',\), with '2'"),
        (
            ["0", "1", "00"],
            [True, True, False],
            "01",
            "at least two different ones of each. Received: 2 in it and 1 not",
        ),
        (["0", "1"], [True, False], "00", "different ints or strings. Received: alphabet"),
        (["0", "1"], [True, False], [("0",), "1"], "different ints or strings"),
        ([], [], "01", "at least two different ones of each. Received: none"),
        (["0", "1", "00"], [True] * 3, "01", "at least two different ones of each. Received: the label True alone"),
        (
            ["0", "1"],
            None,
            "01",
            r"alone do not tell it.*\(Gold, 1967\). Received: labels=None. Give words that are not",
        ),
        (["0", "1"], [1.0, float("nan")], "01", "Every word has a label. Received: the label nan. Leave out words"),
        (["0", "1"], np.array([1.0, np.nan]), "01", "Received: the label nan"),
        (["0", "1"], [True, None], "01", "Every word has a label. Received: the label None"),
        (
            ["0", "0", "1", "1", "00", "00", "11", "11"],
            [True, False] * 4,
            "01",
            r"both labels for 4 words: \('0',\), \('1',\), \('0', '0'\), \.\.\.\. Remove one, or pass label_noise",
        ),
    ],
)
def test_what_cannot_be_trained_on(given, labels, alphabet, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        automata.train_recognizer(given, labels, alphabet=alphabet)
    assert "\n" not in str(error.value)


def test_nothing_is_learned_in_no_attempt():
    with pytest.raises(ValueError, match=r"at least one attempt\. Received: num_attempts=0"):
        automata.train_recognizer(["a"], [True], alphabet="a", num_attempts=0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"hold_out": -1}, "hold_out is a fraction of the words, below 1. Received: hold_out=-1"),
        ({"hold_out": math.nan}, "hold_out is a fraction of the words, below 1. Received: hold_out=nan"),
        ({"min_confidence": 2}, "min_confidence is a probability. Received: min_confidence=2"),
        ({"num_attempts": "a"}, "There must be at least one attempt. Received: num_attempts='a'"),
        ({"label_noise": "a"}, "Less than half of the labels may be wrong. Received: label_noise='a'"),
        ({"max_states": 1.5}, "An automaton has at least one state. Received: max_states=1.5"),
        ({"time_budget": "a"}, "time_budget is a number of seconds above 0. Received: time_budget='a'"),
    ],
)
def test_settings_of_train_recognizer_that_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.train_recognizer(["0", "1", "00", "11"], [0, 1, 0, 1], alphabet="01", verbose=0, **options)
