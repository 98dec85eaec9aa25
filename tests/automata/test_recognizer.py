"""Training of recognisers: what comes out, what it carries, and what is said when it does not learn."""

import dataclasses
import math
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import MooreMachine, SymbolEmbedding, _searches, learning, tomita
from keras_interp_rnn.automata._sample import sample_of
from keras_interp_rnn.automata.learning import _balanced_accuracy, _curriculum, _report, _with_reason
from keras_interp_rnn.automata.recognizer import TrainingReport
from tests.automata.machines import words
from tests.automata.networks import LABELS, MODULO_3, drawn, network_of


def by_machine(machine, some):
    return [machine.output(word) for word in some]


class NotAvailable:
    """As the NA of pandas: neither equal to anything nor different from it."""

    def __repr__(self):
        return "<NA>"

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError


@pytest.mark.matrix
def test_a_language_is_learned_extracted_and_certified(tmp_path, capsys):
    truth = tomita(1)
    given = words("01", 6)
    model = automata.train_recognizer(given, [truth.accepts(word) for word in given], alphabet="01", seed=1)
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
def test_what_cannot_be_learned_is_said(labels, capsys):
    rng = np.random.default_rng(0)
    given = words("01", 5)
    model = automata.train_recognizer(
        given,
        [labels[i] for i in rng.integers(len(labels), size=len(given))],
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
        r"NOT learned from 63 different words, as the plain cell keeps a mean loss of \d\.\d+ nats, above 0\.\d+: auto",
        printed,
    )
    assert "plain cell, words to length 5: loss " in printed  # no terminal: a line after each phase
    assert "To try next: more units" in printed.splitlines()[-1]
    assert len(automata.extract(model).machine) <= 2


@pytest.mark.matrix
def test_a_network_of_three_labels_is_trained():
    given = words("01", 7)
    model = automata.train_recognizer(
        given,
        by_machine(MODULO_3, given),
        alphabet="01",
        method="training",
        units=16,
        num_attempts=2,
        verbose=0,
        time_budget=None,
    )
    assert model.report.method == "training"
    assert model.labels == LABELS
    assert model.report.learned, model.report
    assert automata.extract(model).machine.equivalent(MODULO_3)
    assert model.classify(words("01", 9)).tolist() == by_machine(MODULO_3, words("01", 9))


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
    given = words("01", 8)
    lengths = np.array([len(word) for word in given])
    for number in range(1, 8):
        labels = np.array([tomita(number).accepts(word) for word in given])
        steps = _curriculum(lengths, labels)
        assert steps == sorted(set(steps))
        assert steps[-1] == 8
        first = labels[lengths <= steps[0]]
        assert min(first.sum(), (~first).sum()) >= 2
    of_three = np.array([2 if word[-4:] == ("1",) * 4 else len(word) % 2 for word in given])
    assert _curriculum(lengths, of_three)[0] == 5  # it waits for the rarest label: of length 4 and 5 there are three


REPORT = TrainingReport(True, 1.0, 0.75, 0.5, 0.99, 1, 2, 3.5)


@pytest.mark.core
@pytest.mark.parametrize("changed", [{"report": 3}, {"report": {"contradicted": 3}}, {"report": {}}, {"labels": 3}])
def test_a_configuration_of_a_stranger_is_refused(changed):
    model = network_of(tomita(1))
    config = automata.Recognizer(model.layers).get_config()
    with pytest.raises(ValueError, match="must be what get_config returned. Received: labels="):
        automata.Recognizer.from_config({**config, **changed})
    with pytest.raises(ValueError, match="must be what get_config returned. Received: one with the parts"):
        automata.Recognizer.from_config({"name": "r"})


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
    given = words("01", 5)
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


def test_balanced_accuracy_counts_every_label_alike():
    for counts in ((2, 98), (90, 6, 4)):
        labels = np.repeat(np.arange(len(counts)), counts)
        assert _balanced_accuracy(np.zeros(100, int), labels) == pytest.approx(1 / len(counts))
        assert _balanced_accuracy(labels, labels) == 1


def test_a_report_of_labels_says_what_is_misclassified():
    given = words("01", 5)
    right = by_machine(MODULO_3, given)
    model = automata.compile(MODULO_3)
    assert _report(model, sample_of(given, right, "01", 0, 0, consistent=True), 0.9).learned
    wrong = [LABELS[(LABELS.index(label) + 1) % 3] for label in right[:3]] + right[3:]
    report = _report(model, sample_of(given, wrong, "01", 0, 0, consistent=True), 0.9)
    assert report.reason == "as 3 of 63 words are misclassified"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.matrix) for seed in (1, 2))])
def test_random_machines_are_found_and_certified(seed, tmp_path):
    truth = drawn(np.random.default_rng(seed), 5, "ab", LABELS)
    given = words("ab", 8)
    model = automata.train_recognizer(given, by_machine(truth, given), alphabet="ab", seed=seed, verbose=0)
    report = model.report
    assert (report.learned, report.certified, report.method) == (True, True, "merging")
    assert report.automaton_accuracy == report.network_accuracy == report.held_out_accuracy == 1
    assert (report.num_states, report.contradicted) == (len(truth), ())
    assert automata.extract(model).machine.equivalent(truth)
    assert automata.certify(model, truth).holds
    longer = words("ab", 10)[-200:]
    assert model.classify(longer).tolist() == by_machine(truth, longer)
    if not seed:
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.report == report
        assert automata.certify(again, truth).holds


def test_labels_may_be_numbers_of_numpy():
    given = words("01", 7)
    labels = np.array([sum(symbol == "1" for symbol in word) % 4 for word in given])
    model = automata.train_recognizer(given, labels, alphabet="01", verbose=0)
    assert model.labels == (0, 1, 2, 3)
    assert model.classify(["0110", "111", ""]).tolist() == [2, 3, 0]
    assert automata.extract(model).machine == MooreMachine([[i, (i + 1) % 4] for i in range(4)], range(4))


def test_a_label_may_be_that_of_a_single_word():
    given = words("01", 6)
    labels = ["empty" if not word else "even" if len(word) % 2 == 0 else "odd" for word in given]
    model = automata.train_recognizer(given, labels, alphabet="01", verbose=0)
    assert model.report.certified
    assert model.classify(["", "0", "01"]).tolist() == ["empty", "odd", "even"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.matrix)])
def test_wrong_labels_are_named(seed):
    truth = drawn(np.random.default_rng(10 + seed), 5, "ab", LABELS)
    rng = np.random.default_rng(100 + seed)  # not that of the words held out
    given = words("ab", 9)
    right = by_machine(truth, given)
    wrong = rng.random(len(given)) < 0.02
    labels = [
        rng.choice([x for x in LABELS if x != label]) if w else label for label, w in zip(right, wrong, strict=True)
    ]
    model = automata.train_recognizer(given, labels, alphabet="ab", label_noise=0.02, verbose=0)
    assert automata.extract(model).machine.equivalent(truth)
    assert model.report.certified
    assert model.report.contradicted == tuple(word for word, w in zip(given, wrong, strict=True) if w)


@pytest.mark.parametrize(
    ("labels", "accepted"),
    [
        ([1, 0, 0], 1),
        ([True, False, False], True),
        ([np.True_, np.False_, np.False_], True),
        (np.array([[1], [0], [0]]), 1),
        ([1.0, 0, 0.0], 1),
        ([1, -1, -1], 1),
        (np.array([2, 1, 1]), 2),
        (["accept", "reject", "reject"], "accept"),
        (["No", "Yes", "Yes"], "Yes"),
        (np.array(["pos", "neg", "neg"]), "pos"),
        (keras.ops.convert_to_tensor([1, -1, -1]), 1),
        (np.array(["valid", "invalid", "invalid"], object), "valid"),
    ],
)
def test_of_two_labels_it_is_known_which_means_accepted(labels, accepted):
    given = [*labels, labels[0]]
    data = sample_of(["0", "1", "00", "11"], given, "01", 0, 0, consistent=True)
    assert data.accepted == accepted
    assert data.labels.tolist() == [label == accepted for label in given]
    assert data.labels.dtype == bool
    assert data.classes == (False, True)


def test_three_labels_are_places_in_their_order():
    data = sample_of(["0", "1", "00"], ["b", "a", "c"], "01", 0, 0, consistent=True)
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [1, 0, 2]


def test_a_language_of_two_named_labels_is_learned(tmp_path):
    given = words("ab", 6)
    labels = ["accept" if "bb" not in "".join(word) else "reject" for word in given]
    model = automata.train_recognizer(given, labels, alphabet="ab", verbose=0, method="search")
    assert model.classify(["ab", "abb"]).tolist() == [True, False]
    assert "automaton of 3 states that accepts 'accept', " in str(model.report)
    model.save(tmp_path / "model.keras")
    assert keras.models.load_model(tmp_path / "model.keras").report.accepted == "accept"


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([True], "Every word needs a label. Received: 3 words and 1 labels"),
        (["a", "b", "c", "d"], "Every word needs a label. Received: 3 words and 4 labels"),
        ([True, True, False], "at least two different ones of each. Received: 2 in it and 1 not"),
        ([2, 1, 1], "at least two different ones of each. Received: 1 in it and 2 not"),
        ([True] * 3, "at least two different ones of each. Received: the label True alone"),
        (["yes"] * 3, "at least two different ones of each. Received: the label 'yes' alone"),
        (None, r"alone do not tell it.*\(Gold, 1967\). Received: labels=None. Give words that are not"),
        ([1.0, 0, float("nan")], "Every word has a label. Received: the label nan. Leave out words"),
        (np.array([1.0, 0, np.nan]), "Received: the label nan"),
        ([True, False, None], "Every word has a label. Received: the label None"),
        ([True, False, NotAvailable()], "Every word has a label. Received: the label <NA>"),
        ([0.1, 0.2, 0.3], "Labels that are saved are ints or strings. Received: 0.1. Name them by strings"),
        ([True, False, (1,)], r"Labels that are saved are ints or strings. Received: \(1,\)"),
        (["ham", "spam", "spam"], r"Received: 'ham' and 'spam'. Pass \[label == 'ham' for label in labels\], if that"),
        (["yes", 0, 0], "Received: 'yes' and 0. Pass"),
        ([[1], [0], [0]], r"A label is one value for a word. Received: \[1\]. Pass numbers or strings"),
        (np.eye(3)[[0, 1, 1]], r"one value for a word. Received: an array of shape \(3,\). Pass the number of the"),
    ],
)
def test_rejects_labels_that_cannot_be_learned(labels, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        automata.train_recognizer(["0", "1", "00"], labels, alphabet="01")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "labels", "alphabet", "sentence"),
    [
        (["0", "2"], [True, False], "01", r"over the alphabet \('0', '1'\). Received: \('2',\), with '2'"),
        (["0", "1"], [True, False], "00", "different ints or strings. Received: alphabet"),
        (["0", "1"], [True, False], [("0",), "1"], "different ints or strings"),
        ([], [], "01", "at least two different ones of each. Received: none"),
        (
            ["0", "0", "1", "1", "00", "00", "11", "11"],
            [True, False] * 4,
            "01",
            r"both labels for 4 words: \('0',\), \('1',\), \('0', '0'\), \.\.\.\. Remove one, or pass label_noise",
        ),
        (
            ["0", "1", "00", "11", "0"],
            [1, 0, 1, 0, 0],
            "01",
            r"Received: both labels for 1 word: \('0',\)\. Remove one, or pass label_noise",
        ),
        (
            [*words("01", 4), "01", ("1",)],
            [*by_machine(MODULO_3, words("01", 4)), "yes", "no"],
            "01",
            r"A word has one label. .* several labels for 2 words: \('1',\), \('0', '1'\). Remove one, or",
        ),
    ],
)
def test_rejects_words_that_cannot_be_learned_from(given, labels, alphabet, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.train_recognizer(given, labels, alphabet=alphabet)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"hold_out": -1}, "hold_out is a fraction of the words, below 1. Received: hold_out=-1"),
        ({"hold_out": math.nan}, "hold_out is a fraction of the words, below 1. Received: hold_out=nan"),
        ({"min_confidence": 2}, "min_confidence is a probability. Received: min_confidence=2"),
        ({"num_attempts": "a"}, "There must be at least one attempt. Received: num_attempts='a'"),
        ({"num_attempts": 0}, "There must be at least one attempt. Received: num_attempts=0"),
        ({"label_noise": "a"}, "Less than half of the labels may be wrong. Received: label_noise='a'"),
        ({"label_noise": 0.5}, "Less than half of the labels may be wrong. Received: label_noise=0.5"),
        ({"max_states": 1.5}, "An automaton has at least one state. Received: max_states=1.5"),
        ({"max_states": 0}, "An automaton has at least one state. Received: max_states=0"),
        ({"time_budget": "a"}, "time_budget is a number of seconds above 0. Received: time_budget='a'"),
        ({"time_budget": 0}, "time_budget is a number of seconds above 0. Received: time_budget=0"),
        ({"sampling": "Strong"}, "'weak' or 'strong'. Received: sampling='Strong'"),
    ],
)
def test_rejects_invalid_settings(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.train_recognizer(["0", "1", "00", "11"], [0, 1, 0, 1], alphabet="01", verbose=0, **options)
