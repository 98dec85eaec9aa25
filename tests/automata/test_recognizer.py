"""Training of recognizers: networks, reports, and the reasons for failures."""

import dataclasses
import math
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import SymbolEmbedding, learning, tomita
from keras_interp_rnn.automata.inference import sample_of
from keras_interp_rnn.automata.learning import _curriculum, _with_reason, report_of
from keras_interp_rnn.automata.networks import TrainingReport
from tests.automata.machines import words
from tests.automata.networks import LABELS, MODULO_3, network_of


def by_machine(machine, some):
    return [machine.output(word) for word in some]


@pytest.mark.matrix
def test_learns_extracts_and_certifies_a_language(tmp_path, capsys):
    truth = tomita(1)
    some = words("01", 6)
    model = automata.train_recognizer(some, [truth.accepts(word) for word in some], alphabet="01", seed=1)
    assert model.report.learned, model.report
    assert model.report.automaton_accuracy == model.report.network_accuracy == 1
    assert automata.extract(model).dfa.minimize() == truth
    assert automata.certify(model, truth).holds
    np.testing.assert_array_equal(model.classify(words("01", 9)), [truth.accepts(word) for word in words("01", 9)])
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert re.match(r"learned from 127 .*: automaton of 2 states, balanced accuracy 100.00%.*; 1 attempt, \d+ s", last)
    # Everything needs the model alone, in whatever process.
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert automata.extract(again).dfa.minimize() == truth
    assert automata.certify(again, truth).holds
    assert again.report == model.report


@pytest.mark.matrix
@pytest.mark.parametrize("labels", [(False, True), LABELS], ids=["DFA", "MooreMachine"])
def test_reports_what_cannot_be_learned(labels, capsys, monkeypatch):
    monkeypatch.setattr(learning, "UNITS", 2)
    rng = np.random.default_rng(0)
    some = words("01", 5)
    model = automata.train_recognizer(
        some,
        [labels[i] for i in rng.integers(len(labels), size=len(some))],
        alphabet="01",
        num_centroids=2,
        num_attempts=1,
    )
    assert not model.report.learned
    assert model.report.automaton_accuracy < 1
    assert model.report.num_held_out == 6
    printed = capsys.readouterr().out
    assert re.search(
        r"NOT learned from 63 different words, as the mean loss of the plain cell stays at \d\.\d+ nats, above 0\.\d",
        printed,
    )
    assert "plain cell, words to length 5: loss " in printed  # no terminal: a line after each phase
    assert "To try next: more centroids" in printed.splitlines()[-1]
    assert len(automata.extract(model).machine) <= 2


@pytest.mark.matrix
def test_learns_three_labels(monkeypatch):
    monkeypatch.setattr(learning, "UNITS", 16)
    some = words("01", 7)
    model = automata.train_recognizer(some, by_machine(MODULO_3, some), alphabet="01", num_attempts=2, verbose=0)
    assert model.labels == LABELS
    assert model.report.learned, model.report
    assert automata.extract(model).machine.equivalent(MODULO_3)
    assert model.classify(words("01", 9)).tolist() == by_machine(MODULO_3, words("01", 9))


@pytest.mark.parametrize("some", [{"input_dim": 9}, {"mask_zero": False}])
def test_an_embedding_is_as_large_as_its_alphabet_and_masks_padding(some):
    [(name, value)] = some.items()
    with pytest.raises(
        ValueError, match=f"`{name}` must be .* follows from the alphabet. Received: {name}={value}. Leave it"
    ):
        SymbolEmbedding("abc", 4, **some)
    assert SymbolEmbedding("abc", 4, input_dim=5, mask_zero=True).input_dim == 5


def test_classifies_words_only_with_an_alphabet():
    plain = automata.Recognizer([keras.layers.Embedding(4, 3, mask_zero=True), keras.layers.GRU(2)])
    for model in (plain, automata.Recognizer()):
        with pytest.raises(
            ValueError, match="must be a SymbolEmbedding, which knows.*Received: .*Build it with automata"
        ):
            model.classify(["01"])


def test_the_curriculum_grows_from_the_first_length_with_words_of_both_labels():
    some = words("01", 8)
    lengths = np.array([len(word) for word in some])
    for number in range(1, 8):
        labels = np.array([tomita(number).accepts(word) for word in some])
        steps = _curriculum(lengths, labels)
        assert steps == sorted(set(steps))
        assert steps[-1] == 8
        first = labels[lengths <= steps[0]]
        assert min(first.sum(), (~first).sum()) >= 2
    of_three = np.array([2 if word[-4:] == ("1",) * 4 else len(word) % 2 for word in some])
    assert _curriculum(lengths, of_three)[0] == 5  # it waits for the rarest label: of length 4 and 5 there are three


REPORT = TrainingReport(
    learned=True,
    network_accuracy=1.0,
    automaton_accuracy=0.75,
    held_out_accuracy=0.5,
    confidence=0.99,
    num_states=1,
    num_attempts=2,
    seconds=3.5,
)


@pytest.mark.core
@pytest.mark.parametrize("changed", [{"report": 3}, {"report": {"contradicted": 3}}, {"report": {}}, {"labels": 3}])
def test_rejects_another_configuration(changed):
    model = network_of(tomita(1))
    config = automata.Recognizer(model.layers).get_config()
    with pytest.raises(ValueError, match="must be what get_config returned. Received: labels="):
        automata.Recognizer.from_config({**config, **changed})
    with pytest.raises(ValueError, match="must be what get_config returned. Received: one with the parts"):
        automata.Recognizer.from_config({"name": "r"})


def test_a_report_and_the_alphabet_are_saved_with_their_model(tmp_path):
    model = network_of(tomita(4))
    assert model.report is None
    for report in (REPORT, None):
        model.report = report
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.report == report
    assert again.layers[0].alphabet == model.layers[0].alphabet
    assert automata.extract(again).dfa.minimize() == tomita(4)


@pytest.mark.parametrize(("confidence", "flipped"), [(0.99, 0), (0.99, 3), (1.1, 0)])
def test_a_report_states_why_nothing_was_learned(confidence, flipped, monkeypatch):
    some = words("01", 5)
    labels = np.array([tomita(4).accepts(word) for word in some])
    labels[:flipped] ^= True
    monkeypatch.setattr(learning, "MIN_CONFIDENCE", confidence)
    report = report_of(network_of(tomita(4)), sample_of(some, labels, "01", 0, consistent=True, hold_out=0))
    assert math.isnan(report.held_out_accuracy)
    assert report.network_accuracy == report.automaton_accuracy
    reasons = {(0.99, 0): "", (0.99, 3): "as 3 of 63 words are misclassified"}
    expected = reasons.get(
        (confidence, flipped), f"as a transition has a probability of {report.confidence:.4f}, below 1.1"
    )
    assert report.reason == expected
    head = "learned from 63 different words"
    assert str(report).startswith(f"NOT {head}, {expected}: automaton" if expected else f"{head}: automaton")
    assert str(_with_reason("as it is", report)).startswith(f"NOT {head}, as it is:" if expected else f"{head}:")


def failed(accuracy, **fields):
    report = dataclasses.replace(REPORT, learned=False, automaton_accuracy=accuracy, num_attempts=1, **fields)
    return report, network_of(tomita(4))


def train(monkeypatch, attempts, **settings):
    """Trains with what attempts return, or raise."""
    remaining = iter(attempts)

    def attempt(*_):
        outcome = next(remaining)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(learning, "_attempt", attempt)
    return automata.train_recognizer(["0", "1", "00", "11"], [True, False] * 2, **settings)


def test_counts_all_attempts_whichever_is_best(monkeypatch, capsys):
    attempts = [failed(accuracy) for accuracy in (0.7, 0.9, 0.8)]
    best = train(monkeypatch, attempts, num_attempts=3)
    assert best is attempts[1][1]
    assert (best.report.num_attempts, best.report.certified) == (3, False)
    *lines, last, advice = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *("attempt 1 of 3", "Ctrl-C now returns the network of attempt 1"),
        *("attempt 2 of 3", "Ctrl-C now returns the network of attempt 2"),
        "attempt 3 of 3",
    ]
    assert "balanced accuracy 90.00%." in lines[3]
    assert "NOT learned" in last
    assert "; 3 attempts, " in last
    assert "automata.infer finds an automaton" in advice


def test_an_automaton_that_is_right_is_offered_to_compile(monkeypatch, capsys):
    train(monkeypatch, [failed(0.9), failed(1.0), failed(0.9)], num_attempts=3)
    lines = capsys.readouterr().out.splitlines()
    offered = "automata.compile(automata.extract(network).dfa) is a network of the same automaton"
    assert [offered in line for line in lines] == [False, False, False, True, False, False, True]
    assert lines[3].startswith("Ctrl-C now returns the network of attempt 2")


@pytest.mark.parametrize("temperature", [3.0, 20.0])
def test_a_network_whose_automaton_is_right_is_sharpened(temperature):
    some = words("01", 7)
    sample = sample_of(some, [tomita(4).accepts(word) for word in some], "01", 0, consistent=True)
    model = network_of(tomita(4), transition="gumbel")
    model.layers[1].cell.set_temperature(temperature)
    before = report_of(model, sample)
    assert not before.learned
    assert before.automaton_accuracy == 1
    found = learning._sharpened(model, sample, before)
    assert found.learned
    assert found.confidence >= 0.99
    assert float(model.layers[1].cell.current_temperature()) < temperature
    assert automata.extract(model).dfa.minimize() == tomita(4)
    assert automata.certify(model, tomita(4)).holds


def test_a_network_that_cannot_be_sharpened_keeps_its_temperature(monkeypatch):
    some = words("01", 7)
    sample = sample_of(some, [tomita(4).accepts(word) for word in some], "01", 0, consistent=True)
    model = network_of(tomita(4))
    model.layers[1].cell.set_temperature(2.0)
    monkeypatch.setattr(learning, "MIN_CONFIDENCE", 1.1)
    before = report_of(model, sample)
    assert learning._sharpened(model, sample, before) is before
    assert float(model.layers[1].cell.current_temperature()) == 2.0


def test_training_ends_with_the_attempt_that_learns(monkeypatch):
    learned = dataclasses.replace(REPORT, num_attempts=1), network_of(tomita(4))
    best = train(monkeypatch, [failed(1.0), learned], verbose=0)
    assert best is learned[1]
    assert (best.report.num_attempts, best.report.certified, best.report.reason) == (2, True, "")


def test_an_interrupted_training_returns_the_best_so_far(monkeypatch):
    reason = "as it was interrupted and this is the best so far"
    attempts = [failed(0.9), failed(0.7), KeyboardInterrupt()]
    best = train(monkeypatch, attempts, verbose=0)
    assert best is attempts[0][1]
    assert (best.report.num_attempts, best.report.reason) == (2, reason)
    # Within an attempt, which then ends with what there is.
    attempts = [failed(0.9), failed(0.7, reason=reason), None]
    best = train(monkeypatch, attempts, verbose=0)
    assert best is attempts[0][1]
    assert (best.report.num_attempts, best.report.reason) == (2, reason)
    with pytest.raises(KeyboardInterrupt):
        train(monkeypatch, [KeyboardInterrupt()], verbose=0)


def test_an_attempt_may_be_interrupted(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(learning._Training, "learn", interrupted)
    model = automata.train_recognizer(words("ab", 3), [True, False, False] * 5, num_centroids=2, verbose=0)
    assert "NOT learned from 15 different words, as it was interrupted and this is the best so far: " in str(
        model.report
    )
    assert model.report.num_attempts == 1


def test_balanced_accuracy_counts_every_label_alike():
    for counts in ((2, 98), (90, 6, 4)):
        labels = np.repeat(np.arange(len(counts)), counts)
        sample = sample_of([("a",) * n for n in range(100)], labels.tolist(), None, 0, consistent=True)
        assert sample.balanced_accuracy(np.zeros(100, int)) == pytest.approx(1 / len(counts))
        assert sample.balanced_accuracy(sample.labels) == 1


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        ([0, 1, 0, 1], {"num_attempts": 0}, "`num_attempts` must be a positive integer. Received: num_attempts=0"),
        ([0, 1, 0, 1], {"num_centroids": 0}, "`num_centroids` must be a positive integer. Received: num_centroids=0"),
        ([0, 1, 0, 1], {"alphabet": [("0",), "1"]}, r"must be ints or strings. Received: \('0',\)"),
        ([0, 1, 0, 1], {"alphabet": "00"}, "must hold at least one symbol, each once. Received: '0' 2 times"),
        ([0.1, 0.2, 0.3, 0.1], {}, "Labels that are saved must be ints or strings. Received: 0.1. Name the labels"),
        ([True, False, (1,), True], {}, r"Labels that are saved must be ints or strings. Received: \(1,\)"),
        ([0, 1, 0], {}, "Every word must have a label. Received: 4 words and 3 labels"),
    ],
)
def test_rejects_invalid_arguments(labels, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.train_recognizer(["0", "1", "00", "11"], labels, **options)
    with pytest.raises(ValueError, match="Remove the wrong ones, or pass label_noise to `infer`"):
        automata.train_recognizer(["0", "1", "00", "0"], [0, 1, 0, 1])
