"""Words of three labels or more are learned: a Moore machine is found, compiled, certified, or trained."""

import itertools
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import MooreMachine
from keras_interp_rnn.automata._sample import sample_of
from keras_interp_rnn.automata.learning import _balanced_accuracy, _curriculum, _report
from tests.automata.test_moore_networks import LABELS, MODULO_3, by_machine, drawn


def words(longest, alphabet="01"):
    return [word for n in range(longest + 1) for word in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("seed", range(3))
def test_random_machines_are_found_and_certified(seed, tmp_path):
    truth = drawn(np.random.default_rng(seed), 5)
    given = words(8, "ab")
    model = automata.train_recognizer(given, by_machine(truth, given), alphabet="ab", seed=seed, verbose=0)
    report = model.report
    assert (report.learned, report.certified, report.method) == (True, True, "merging")
    assert report.automaton_accuracy == report.network_accuracy == report.held_out_accuracy == 1
    assert (report.num_states, report.contradicted) == (len(truth), ())
    assert automata.extract(model).machine.equivalent(truth)
    assert automata.certify(model, truth).holds
    longer = words(10, "ab")[-200:]
    assert model.classify(longer).tolist() == by_machine(truth, longer)
    if not seed:
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.report == report
        assert automata.certify(again, truth).holds


def test_labels_may_be_numbers_of_numpy():
    given = words(7)
    labels = np.array([sum(symbol == "1" for symbol in word) % 4 for word in given])
    model = automata.train_recognizer(given, labels, alphabet="01", verbose=0)
    assert model.labels == (0, 1, 2, 3)
    assert model.classify(["0110", "111", ""]).tolist() == [2, 3, 0]
    assert automata.extract(model).machine == MooreMachine([[i, (i + 1) % 4] for i in range(4)], range(4))


def test_a_label_may_be_that_of_a_single_word():
    given = words(6)
    labels = ["empty" if not word else "even" if len(word) % 2 == 0 else "odd" for word in given]
    model = automata.train_recognizer(given, labels, alphabet="01", verbose=0)
    assert model.report.certified
    assert model.classify(["", "0", "01"]).tolist() == ["empty", "odd", "even"]


@pytest.mark.parametrize("seed", range(2))
def test_wrong_labels_are_named(seed):
    truth = drawn(np.random.default_rng(10 + seed), 5)
    rng = np.random.default_rng(100 + seed)  # not that of the words held out
    given = words(9, "ab")
    right = by_machine(truth, given)
    wrong = rng.random(len(given)) < 0.02
    labels = [
        rng.choice([x for x in LABELS if x != label]) if w else label for label, w in zip(right, wrong, strict=True)
    ]
    model = automata.train_recognizer(given, labels, alphabet="ab", label_noise=0.02, verbose=0)
    assert automata.extract(model).machine.equivalent(truth)
    assert model.report.certified
    assert model.report.contradicted == tuple(word for word, w in zip(given, wrong, strict=True) if w)


def test_contradictory_labels_are_named():
    given, labels = [*words(4), "01", ("1",)], [*by_machine(MODULO_3, words(4)), "yes", "no"]
    with pytest.raises(
        ValueError,
        match=re.escape(
            "A word has one label. Received: several labels for 2 words: ('1',), ('0', '1'). Remove one, or"
        ),
    ):
        automata.train_recognizer(given, labels, alphabet="01")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0.1, 0.2, 0.3], "Labels that are saved are ints or strings. Received: 0.1. Name them by strings"),
        ([True, False, (1,)], r"Labels that are saved are ints or strings. Received: \(1,\)"),
        ([True, False, None], "Every word has a label. Received: the label None"),
        (["a", "b", "c", "d"], "Every word needs a label. Received: 3 words and 4 labels"),
        (["a", "b"], "Every word needs a label. Received: 3 words and 2 labels"),
        ([2, 1, 1], "at least two different ones of each. Received: 1 in it and 2 not"),
        (["ham", "spam", "spam"], r"Received: 'ham' and 'spam'. Pass \[label == 'ham' for label in labels\], if that"),
        (["yes", 0, 0], "Received: 'yes' and 0. Pass"),
        (["yes"] * 3, "at least two different ones of each. Received: the label 'yes' alone"),
        ([[1], [0], [0]], r"A label is one value for a word. Received: \[1\]. Pass numbers or strings"),
        (np.eye(3)[[0, 1, 1]], r"one value for a word. Received: an array of shape \(3,\). Pass the number of the"),
    ],
)
def test_what_cannot_be_learned_from(labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.train_recognizer(["0", "1", "00"], labels, alphabet="01")


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


class NotAvailable:
    """As the NA of pandas: neither equal to anything nor different from it."""

    def __repr__(self):
        return "<NA>"

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError


def test_a_missing_label_of_pandas_is_refused():
    with pytest.raises(ValueError, match="Every word has a label. Received: the label <NA>"):
        automata.train_recognizer(["0", "1"], [True, NotAvailable()], alphabet="01")


def test_three_labels_are_places_in_their_order():
    data = sample_of(["0", "1", "00"], ["b", "a", "c"], "01", 0, 0, consistent=True)
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [1, 0, 2]


def test_a_report_counts_every_label_alike():
    labels = np.array([0] * 90 + [1] * 6 + [2] * 4)
    assert _balanced_accuracy(np.zeros(100, int), labels) == pytest.approx(1 / 3)
    assert _balanced_accuracy(labels, labels) == 1
    given = words(5)
    right = by_machine(MODULO_3, given)
    model = automata.compile(MODULO_3)
    assert _report(model, sample_of(given, right, "01", 0, 0, consistent=True), 0.9).learned
    wrong = [LABELS[(LABELS.index(label) + 1) % 3] for label in right[:3]] + right[3:]
    report = _report(model, sample_of(given, wrong, "01", 0, 0, consistent=True), 0.9)
    assert report.reason == "as 3 of 63 words are misclassified"


def test_the_curriculum_waits_for_the_rarest_label():
    given = words(8)
    lengths = np.array([len(word) for word in given])
    labels = np.array([2 if word[-4:] == ("1",) * 4 else len(word) % 2 for word in given])
    steps = _curriculum(lengths, labels)
    assert steps[0] == 5  # of length 4 and 5 there are three
    assert steps[-1] == 8


@pytest.mark.matrix
def test_a_network_of_three_labels_is_trained():
    given = words(7)
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
    assert model.classify(words(9)).tolist() == by_machine(MODULO_3, words(9))


@pytest.mark.matrix
def test_what_is_not_learned_is_said():
    rng = np.random.default_rng(0)
    given = words(5)
    labels = [LABELS[i] for i in rng.integers(3, size=len(given))]
    model = automata.train_recognizer(
        given,
        labels,
        alphabet="01",
        units=2,
        num_centroids=2,
        num_attempts=1,
        hold_out=0.0,
        verbose=0,
        time_budget=None,
        method="training",
    )
    assert not model.report.learned
    assert "the plain cell keeps a mean loss of" in model.report.reason
    assert isinstance(automata.extract(model).machine, MooreMachine)


def test_a_language_of_two_named_labels_is_learned(tmp_path):
    given = words(6, "ab")
    labels = ["accept" if "bb" not in "".join(word) else "reject" for word in given]
    model = automata.train_recognizer(given, labels, alphabet="ab", verbose=0, method="search")
    assert model.classify(["ab", "abb"]).tolist() == [True, False]
    assert "automaton of 3 states that accepts 'accept', " in str(model.report)
    model.save(tmp_path / "model.keras")
    assert keras.models.load_model(tmp_path / "model.keras").report.accepted == "accept"
