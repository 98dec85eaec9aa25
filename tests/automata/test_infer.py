"""Automata from labelled words: which search finds them, when it ends, what the words say of them, what is refused."""

import itertools
import math
import time

import keras
import numpy as np
import pytest
import scipy.stats

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from keras_interp_rnn.automata.inference import _searches, sample_of
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, Limits
from keras_interp_rnn.automata.inference._prefix_tree import Words, is_shorter
from keras_interp_rnn.automata.inference._searches import search
from tests.automata.machines import words
from tests.automata.networks import LABELS, MODULO_3, drawn
from tests.automata.test_state_splitting import long_words


class NotAvailable:
    """As the NA of pandas: neither equal to anything nor different from it."""

    def __repr__(self):
        return "<NA>"

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError


def outputs_of(truth, given):
    return [truth.output(word) for word in given]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.matrix) for seed in (1, 2))])
@pytest.mark.parametrize("labels", [(False, True), LABELS], ids=["DFA", "MooreMachine"])
def test_an_automaton_of_short_words_is_merged_and_its_network_certified(labels, seed):
    truth = drawn(np.random.default_rng(seed), 5, "ab", () if len(labels) == 2 else labels)
    given = words("ab", 8)
    found = automata.infer(given, outputs_of(truth, given), seed=seed)
    assert found.dfa == truth.minimize()
    assert found.machine is found.dfa
    assert (found.method, found.contradicted, found.unsupported) == ("merging", (), ())
    assert (found.num_words, found.num_held_out, found.num_states) == (511, 51, len(truth))
    assert found.automaton_accuracy == found.held_out_accuracy == 1
    assert 0.8 < found.held_out_interval[0] < found.held_out_interval[1] == 1
    assert str(found).startswith(f"found by merging from 511 different words: automaton of {len(truth)} states, ")
    network = automata.compile(found.dfa)
    assert automata.certify(network, truth).holds
    assert network.classify(words("ab", 9)[-200:]).tolist() == outputs_of(truth, words("ab", 9)[-200:])


def test_words_that_share_few_prefixes_are_told_by_patterns():
    truth = DFA.from_regex("(a|b|c)*", "abcd")  # merging would find it too, in a minute
    found = automata.infer(*long_words(np.random.default_rng(0), truth, 300), alphabet="abcd")
    assert found.method == "patterns"
    assert found.dfa.equivalent(truth)


def test_states_are_split_where_merging_and_rules_find_nothing(monkeypatch):
    monkeypatch.setitem(_searches.SEARCHES, "patterns", lambda *_: None)
    rng = np.random.default_rng(1)
    truth = DFA.from_regex("(a|b|c|d)*(a(b|d)a)(a|b|c|d)*", "abcd").complement().minimize()
    found = automata.infer(*long_words(rng, truth, 1000), alphabet="abcd")
    assert found.method == "splitting"
    assert found.dfa.equivalent(truth)


def test_symbols_and_labels_may_be_anything_hashable():
    given = words([("x",), 1.5], 7)
    labels = [(None, sum(symbol == 1.5 for symbol in word) % 3) for word in given]
    found = automata.infer(given, labels)
    assert found.dfa == MooreMachine(
        [[1, 0], [2, 1], [0, 2]], [(None, i) for i in range(3)], alphabet=found.dfa.alphabet
    )


def test_labels_may_be_numbers_of_numpy():
    given = words("01", 7)
    labels = np.array([sum(symbol == "1" for symbol in word) % 4 for word in given])
    found = automata.infer(given, labels)
    assert found.dfa == MooreMachine([[i, (i + 1) % 4] for i in range(4)], range(4))


def test_a_label_may_be_that_of_a_single_word():
    given = words("01", 6)
    labels = ["empty" if not word else "even" if len(word) % 2 == 0 else "odd" for word in given]
    found = automata.infer(given, labels)
    assert [found.dfa.output(word) for word in ("", "0", "01")] == ["empty", "odd", "even"]


@pytest.mark.parametrize(
    ("truth", "noise", "known"),
    [
        (tomita(4), 0.02, True),
        (tomita(5), 0.07, False),
        (drawn(np.random.default_rng(10), 5, "01", LABELS), 0.02, True),
        pytest.param(drawn(np.random.default_rng(11), 5, "01", LABELS), 0.02, True, marks=pytest.mark.matrix),
    ],
)
def test_wrong_labels_are_named_and_their_fraction_estimated(truth, noise, known):
    rng = np.random.default_rng(100)  # not that of the words held out
    given, labels = words("01", 9), truth.labels
    wrong = rng.random(len(given)) < noise
    said = [
        labels[(labels.index(label) + rng.integers(1, len(labels))) % len(labels)] if w else label
        for label, w in zip(outputs_of(truth, given), wrong, strict=True)
    ]
    found = automata.infer(given, said, label_noise=noise if known else None)
    assert found.method == "merging"
    assert found.dfa.equivalent(truth)
    assert found.contradicted == tuple(word for word, w in zip(given, wrong, strict=True) if w)
    assert found.label_noise == wrong.mean()
    exact = scipy.stats.binomtest(int(wrong.sum()), len(wrong)).proportion_ci(method="exact")
    np.testing.assert_allclose(found.label_noise_interval, exact, rtol=1e-6)
    assert f"; contradicts {wrong.sum()} of 1,023 labels ({wrong.mean():.2%}; " in str(found)


def test_no_label_is_contradicted_where_none_is_wrong():
    given = words("01", 9)
    found = automata.infer(given, outputs_of(tomita(5), given), label_noise=None)
    assert (found.contradicted, found.label_noise, found.num_states) == ((), 0.0, 4)
    assert found.label_noise_interval[1] < 0.005


def test_an_automaton_is_not_taken_that_contradicts_more_labels_than_may_be_wrong():
    given = words("ab", 7)
    wrong = np.random.default_rng(1).random(len(given)) < 0.1
    labels = np.array([("b", "b") not in itertools.pairwise(word) for word in given]) ^ wrong
    assert automata.infer(given, labels, label_noise=0.1).label_noise == wrong.mean()
    with pytest.raises(
        ValueError, match="No automaton was found that describes the labels of 255 .*, within 6 s. Give"
    ):
        automata.infer(given, labels, label_noise=0.02, time_budget=6)


def test_copies_are_counted_and_are_no_evidence():
    given = words("ab", 5)
    labels = [word.count("a") % 3 == 1 for word in given]
    once, often = automata.infer(given, labels), automata.infer(given * 60, labels * 60)
    assert often.dfa == once.dfa
    assert (often.num_words, often.num_labels, often.num_held_out) == (63, 63 * 60, 6)
    assert often.held_out_interval == once.held_out_interval
    assert str(often).startswith("found by merging from 63 different words (3,780 in all): automaton of 3 states")
    assert str(often).endswith("; held out 6 words, right on 6; 6 of 6 transitions taken by your words")


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
    data = sample_of(["0", "1", "00", "11"], given, "01", 0, consistent=True)
    assert data.accepted == accepted
    assert data.labels.tolist() == [label == accepted for label in given]
    assert data.labels.dtype == bool
    assert data.classes == (False, True)


def test_three_labels_are_places_in_their_order():
    data = sample_of(["0", "1", "00"], ["b", "a", "c"], "01", 0, consistent=True)
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [1, 0, 2]


def test_of_two_named_labels_one_is_accepted():
    given = words("ab", 6)
    found = automata.infer(given, ["accept" if "bb" not in "".join(word) else "reject" for word in given])
    assert (found.accepted, found.dfa.accepts("ab"), found.dfa.accepts("abb")) == ("accept", True, False)
    assert "automaton of 3 states that accepts 'accept', " in str(found)


def test_a_deadline_passes_by_the_clock_or_by_computing():
    assert not NEVER.passed
    assert Deadline(time.monotonic() - 1).passed
    assert not Deadline(time.monotonic() + 1000).passed
    assert Deadline(computed=time.thread_time() - 1).passed
    assert NEVER.within(0).passed
    assert not NEVER.within(1000).passed


def test_the_computing_of_others_and_waiting_do_not_count():
    limited = NEVER.within(0.2)
    time.sleep(0.3)
    assert not limited.passed
    while time.thread_time() < limited.computed:
        pass
    time.sleep(0.001)
    assert limited.passed


def test_a_shorter_limit_leaves_the_earlier_ends():
    deadline = Deadline(math.inf, time.thread_time() + 1)
    assert deadline.within(1000) == deadline
    assert deadline.within(0.5).computed < deadline.computed
    assert Deadline(5.0).within(1).moment == 5.0


@pytest.mark.matrix
def test_a_few_rules_may_make_more_states_than_a_table_of_the_labels_pays_for():
    """The words without abab, bcbc and caca as subsequences."""
    forbidden = [(0, 1, 0, 1), (1, 2, 1, 2), (2, 0, 2, 0)]
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(6, size=rng.integers(12, 22)).tolist()) for _ in range(700)]

    def has(pattern, word):
        rest = iter(word)
        return all(symbol in rest for symbol in pattern)

    labels = np.array([not any(has(pattern, word) for pattern in forbidden) for word in words]).astype(np.int64)
    given = Words(words, labels, 6, 2)
    found = search("patterns", given, Limits())
    assert not is_shorter(given.tree, found)
    fresh = [tuple(rng.integers(6, size=25).tolist()) for _ in range(500)]
    for word in fresh:
        state = 0
        for symbol in word:
            state = found.table[state, symbol]
        assert found.outputs[state] == (not any(has(pattern, word) for pattern in forbidden))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([True], "Every word must have a label. Received: 3 words and 1 labels"),
        (["a", "b", "c", "d"], "Every word must have a label. Received: 3 words and 4 labels"),
        ([True, True, False], "at least two different ones of each. Received: 2 in it and 1 not"),
        ([2, 1, 1], "at least two different ones of each. Received: 1 in it and 2 not"),
        ([True] * 3, "at least two different ones of each. Received: the label True alone"),
        (["yes"] * 3, "at least two different ones of each. Received: the label 'yes' alone"),
        (None, r"Every word must have a label.*\(Gold, 1967\). Received: labels=None. Give words that are not"),
        ([1.0, 0, float("nan")], "Every word must have a label. Received: the label nan. Leave out words"),
        (np.array([1.0, 0, np.nan]), "Received: the label nan"),
        ([True, False, None], "Every word must have a label. Received: the label None"),
        ([True, False, NotAvailable()], "Every word must have a label. Received: the label <NA>"),
        (["ham", "spam", "spam"], r"Received: 'ham' and 'spam'. Pass \[label == 'ham' for label in labels\], if that"),
        (["yes", 0, 0], "Received: 'yes' and 0. Pass"),
        ([[1], [0], [0]], r"A label must be one value for a word. Received: \[1\]. Pass numbers or strings"),
        (np.eye(3)[[0, 1, 1]], r"one value for a word. Received: an array of shape \(3,\). Pass the number of the"),
    ],
)
def test_rejects_labels_that_cannot_be_learned(labels, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        automata.infer(["0", "1", "00"], labels, alphabet="01")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "labels", "alphabet", "sentence"),
    [
        (["0", "2"], [True, False], "01", r"over the alphabet \('0', '1'\). Received: \('2',\), with '2'"),
        (["0", "1"], [True, False], "00", "must hold at least one symbol, each once. Received: '00'"),
        (["0", "1"], [True, False], 3, "An alphabet must be a sequence of hashable symbols, .* Received: 3"),
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
            [*outputs_of(MODULO_3, words("01", 4)), "yes", "no"],
            "01",
            r"A word must have one label. .* several labels for 2 words: \('1',\), \('0', '1'\). Remove one, or",
        ),
    ],
)
def test_rejects_words_that_cannot_be_learned_from(given, labels, alphabet, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.infer(given, labels, alphabet=alphabet)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"label_noise": "a"}, r"`label_noise` must be a number in \[0, 0.5\). Received: label_noise='a'"),
        ({"label_noise": 0.5}, r"`label_noise` must be a number in \[0, 0.5\). Received: label_noise=0.5"),
        ({"label_noise": math.nan}, r"`label_noise` must be a number in \[0, 0.5\). Received: label_noise=nan"),
        ({"time_budget": "a"}, "`time_budget` must be a positive number. Received: time_budget='a'"),
        ({"time_budget": 0}, "`time_budget` must be a positive number. Received: time_budget=0"),
        ({"time_budget": math.inf}, "`time_budget` must be a positive number. Received: time_budget=inf"),
        ({"sampling": "Strong"}, "`sampling` must be one of 'weak', 'strong'. Received: sampling='Strong'"),
        ({"sampling": None}, "`sampling` must be one of 'weak', 'strong'. Received: sampling=None"),
    ],
)
def test_rejects_invalid_settings(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.infer(["0", "1", "00", "11"], [0, 1, 0, 1], **options)
