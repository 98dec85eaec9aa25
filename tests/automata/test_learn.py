"""Automata learned by queries: from functions that are known automata, from networks, and from what answers badly."""

import itertools
import random
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA, learn
from keras_interp_rnn.automata.networks import open_reader
from keras_interp_rnn.automata.queries import _asking
from tests.automata.networks import LABELS, drawn, network_of

ALPHABETS = ("ab", "abcd", (0, 1, 2))
SMALL = {"max_words": 2000, "max_length": 20}


def function_of(machine):
    """An automaton as a function of words, which counts the words that it reads."""

    def labels(words):
        labels.num_words += len(words)
        return [machine.output(word) for word in words]

    labels.num_words = 0
    return labels


def threes(words):
    return [word.count("b") % 3 == 0 for word in words]


def password(length, seed=0):
    """The automaton of one word, which random words do not find."""
    word = random.Random(seed).choices("abc", k=length)
    rows = [[i + 1 if symbol == expected else length + 1 for symbol in "abc"] for i, expected in enumerate(word)]
    return DFA([*rows, [length + 1] * 3, [length + 1] * 3], {length}, alphabet="abc")


# Functions that are automata


@pytest.mark.parametrize("labels", [(), LABELS], ids=["DFA", "Moore machine"])
@pytest.mark.parametrize("alphabet", ALPHABETS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_automaton_of_a_function_is_found(seed, alphabet, labels):
    truth = drawn(np.random.default_rng(seed), 5 + 6 * seed, alphabet, labels)
    function = function_of(truth)
    found = learn(function, alphabet)
    assert found.dfa == truth
    assert found.num_words == function.num_words
    assert (found.fresh.agreeing, found.fresh.words, found.difference, found.finished) == (1000, 1000, None, True)
    assert found.reason == "as no word that was tried refutes it"
    assert 0 < len(set(found.counterexamples)) == len(found.counterexamples) < len(truth)
    assert all(isinstance(word, tuple) for word in found.counterexamples)


def test_a_tree_of_suffixes_asks_for_few_words():
    truth = drawn(np.random.default_rng(0), 60, "abc")
    found = learn(function_of(truth), "abc")
    tests = 1093 + 1024 + 1000  # the short words, those that the last automaton withstood, and the fresh ones
    assert found.num_words < 1.1 * (tests + len(truth) * 3 * 2 * np.log2(len(truth)))


def test_a_function_reads_strings_if_the_alphabet_is_one_and_tuples_otherwise():
    kinds = set()

    def function(words):
        assert isinstance(words, list)
        kinds.update(map(type, words))
        words.clear()  # the list is the function's own
        return []

    for alphabet in ("ab", ("a", "b"), ["ab", "c"]):
        kinds.clear()
        with pytest.raises(ValueError, match=r"must return a row of 1 answers.* Received: 0 in a list"):
            learn(function, alphabet)
        assert kinds == {str if isinstance(alphabet, str) else tuple}


def test_labels_that_are_0_and_1_make_a_dfa_and_others_a_moore_machine():
    assert isinstance(learn(lambda words: np.array([len(word) % 2 for word in words]), "ab", **SMALL).dfa, DFA)
    parity = learn(lambda words: np.array(["even", "odd"])[[len(word) % 2 for word in words]], "ab", **SMALL).dfa
    assert parity.labels == ("even", "odd")
    assert parity.output("aba") == "odd"


def test_one_symbol_and_one_label_are_enough():
    assert len(learn(lambda words: [len(word) % 5 == 4 for word in words], "a", **SMALL).dfa) == 5
    assert learn(lambda words: ["same"] * len(words), "ab", **SMALL).dfa.outputs == ("same",)


def test_a_language_that_is_not_regular_is_described_up_to_the_length_of_the_words():
    found = learn(lambda words: [word.count("a") == word.count("b") for word in words], "ab", max_length=10)
    words = ["".join(word) for word in itertools.product("ab", repeat=8)]
    assert all(found.dfa.accepts(word) == (word.count("a") == 4) for word in words)
    assert "no proof" in str(found)


# Networks


def plain(recurrent, *, outputs=1, mask_zero=True, length=None, activation=None):
    keras.utils.set_random_seed(3)
    embedding = keras.layers.Embedding(5, 3, mask_zero=mask_zero)
    head = keras.layers.Dense(outputs, activation)
    model = keras.Sequential([keras.Input((length,), dtype="int32"), embedding, *recurrent, head])
    model.set_weights([4 * weight for weight in model.get_weights()])
    return model


SYMBOLS = with_token_ids({"a": 2, "b": 3}, 4, None)


def labels_of(model, words):
    """The labels of a network that reads words of one length at a time."""
    found = {}
    for _, group in itertools.groupby(sorted(words, key=len), key=len):
        group = list(group)
        for word, row in zip(group, np.array(model(SYMBOLS.encode_batch(group))), strict=True):
            found[word] = bool(row[0] > 0) if len(row) == 1 else row.argmax()
    return [found[word] for word in words]


def some_words(longest=6):
    return ["".join(word) for n in range(longest) for word in itertools.product("ab", repeat=n)]


@pytest.mark.parametrize("seed", range(2))
def test_the_automaton_of_a_network_that_is_one_is_found_as_by_extract(seed):
    truth = drawn(np.random.default_rng(seed), 6, "ab")
    model = network_of(truth)
    assert learn(model, **SMALL).dfa == automata.extract(model).dfa.minimize() == truth


RECURRENT = {
    "LSTM": lambda: [keras.layers.LSTM(4)],
    "GRUs": lambda: [keras.layers.GRU(4, return_sequences=True), keras.layers.GRU(3)],
    "Bidirectional": lambda: [keras.layers.Bidirectional(keras.layers.LSTM(2))],
    "backwards": lambda: [keras.layers.SimpleRNN(3, go_backwards=True)],
    "no recurrent layer": lambda: [keras.layers.GlobalAveragePooling1D()],
}


@pytest.mark.core(2)
@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("mask_zero", [True, False])
def test_the_labels_of_a_network_are_those_of_words_read_alone(kind, mask_zero):
    model = plain(RECURRENT[kind](), mask_zero=mask_zero)
    found = learn(model, SYMBOLS, max_words=300, max_length=10)
    words = some_words()
    np.testing.assert_array_equal(found.network.classify(words), labels_of(model, words))
    known = found.agreement(words)
    assert known.agreeing == sum(map(bool.__eq__, map(found.dfa.accepts, words), labels_of(model, words)))
    assert found.fidelity(20, 4, max_length=8, num_searched=8).long.words == 4


@pytest.mark.parametrize("outputs", [2, 3])
def test_a_network_of_several_outputs_labels_words_by_the_largest(outputs):
    model = plain([keras.layers.LSTM(4)], outputs=outputs, activation="softmax")
    found = learn(model, SYMBOLS, max_words=300, max_length=10)
    assert type(found.dfa) is (DFA if outputs == 2 else automata.MooreMachine)
    words = some_words(5)  # all are among the short words that were asked
    assert [found.dfa.output(word) for word in words] == labels_of(model, words)


def test_a_network_of_a_fixed_length_is_asked_for_no_longer_words():
    model = plain([keras.layers.LSTM(4)], length=9)
    found = learn(model, SYMBOLS, max_words=600, max_length=8)
    assert max(map(len, found.counterexamples), default=0) <= 8
    sentence = r"`max_length` must be at most 8, the longest that the network reads\. Received: max_length=9\. Pass"
    with pytest.raises(ValueError, match=sentence):
        learn(model, SYMBOLS, max_length=9)


@pytest.mark.parametrize("seed", range(4))
def test_clusters_of_states_find_the_word_that_random_words_miss(seed):
    """Of states in principal directions that are rounding alone, which differ from processor to processor."""
    truth = password(9, seed)
    model = network_of(truth)
    by_states = learn(model, max_words=4000, max_length=20)
    assert by_states.dfa == truth.minimize()
    by_labels = learn(open_reader(model, compiled=True).classify, tuple("abc"), max_words=4000, max_length=20)
    assert len(by_labels.dfa) == 1
    assert by_labels.fresh.low < 1  # nothing says that the two agree everywhere


# Known words


def a_password(words):
    return ["secret" in word for word in words]


def test_a_known_word_leads_to_words_that_no_search_finds():
    letters = "abcdefghijklmnopqrstuvwxyz"
    blind = learn(a_password, letters, max_words=4000)
    assert len(blind.dfa) == 1
    assert blind.finished
    assert re.search(r"; each of the [\d,]+ words has the label False, and no other was seen$", blind.reason)
    assert "no other was seen" in str(blind)
    found = learn(a_password, letters, words=["xxsecretyy", "xxsecretyy"], max_words=20_000)
    assert found.dfa.accepts("mysecret")
    assert len(found.dfa) == 7
    assert found.reason == "as no word that was tried refutes it"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ab", "az"], "must be words that the network reads, .* Received: word 2 with the symbol 'z'. Leave it out"),
        ("ab", "Words must be a list of sequences"),
    ],
)
def test_known_words_are_words_of_the_network(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        learn(threes, "ab", words=words)


# Budgets


@pytest.mark.parametrize("max_words", [1, 2, 7, 100])
def test_no_more_words_are_read_than_the_budget_allows(max_words):
    function = function_of(automata.tomita(7))
    found = learn(function, "01", max_words=max_words)
    assert function.num_words == found.num_words <= max_words
    assert not found.finished
    assert found.reason.startswith("as the budget of words is spent")
    assert "NOT to the end, as the budget of words is spent" in str(found)


def test_words_that_a_budget_did_not_reach_leave_a_random_sample():
    """Words that were asked before, on which the automaton agrees by construction, do not count in their place."""
    found = learn(lambda words: [hash(word) % 3 == 0 for word in words], (1, 2), max_words=1200, max_length=3)
    assert found.fresh.words == 240  # all words up to length 3 are known
    found = learn(lambda words: [hash(word) % 3 == 0 for word in words], (1, 2), max_words=1200)
    assert 100 < found.fresh.words <= 240
    assert found.fresh.agreeing < found.fresh.words


def test_one_word_gives_the_automaton_of_its_label():
    found = learn(lambda words: ["label"] * len(words), "ab", max_words=1)
    assert (found.dfa.transitions, found.dfa.outputs, found.fresh.words) == (((0, 0),), ("label",), 0)


def test_a_slow_function_is_asked_for_as_long_as_the_budget_allows(monkeypatch):
    """By a clock that only the function moves on: 2 ms for each word."""
    clock = [0.0]
    monkeypatch.setattr(_asking.time, "monotonic", lambda: clock[0])

    def slow(words):
        clock[0] += 0.002 * len(words)
        return threes(words)

    found = learn(slow, "ab", time_budget=0.5)
    assert found.reason.startswith("as the time is over")
    assert clock[0] == pytest.approx(0.002 * found.num_words)
    assert 0.4 < clock[0] <= 0.5 + 0.05  # the last words are read as one batch


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("max_words", 0, "a positive integer"),
        ("max_length", 0, "a positive integer"),
        ("time_budget", 0, "a positive number"),
        ("time_budget", float("nan"), "a positive number"),
        ("seed", -1, "a non-negative integer"),
    ],
)
def test_rejects_budgets_that_allow_nothing(name, value, rule):
    with pytest.raises(ValueError, match=f"`{name}` must be {rule}. Received: {name}={value}"):
        learn(threes, "ab", **{name: value})


@pytest.mark.parametrize("calls", [2, 5, 9])
def test_ctrl_c_gives_the_automaton_so_far(calls):
    count = itertools.count(1)

    def interrupted(words):
        if next(count) == calls:
            raise KeyboardInterrupt
        return threes(words)

    found = learn(interrupted, "ab")
    assert found.reason.startswith("as it was interrupted")
    assert found.fresh.words == 0
    assert len(found.dfa) <= 3


def test_ctrl_c_before_the_first_answer_is_raised():
    def interrupted(words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(interrupted, "ab")


# What answers badly


def test_a_function_that_draws_its_answers_is_refused():
    rng = random.Random(0)
    with pytest.raises(ValueError, match=r"must answer a word in the same way each time\. Received: .* and then"):
        learn(lambda words: [rng.choice([0, 1]) for _ in words], "ab")


def test_a_function_whose_answers_depend_on_the_batch_is_refused():
    with pytest.raises(ValueError, match="must answer a word in the same way each time"):
        learn(lambda words: [max(words) == word for word in words], "ab")


@pytest.mark.parametrize(
    ("answers", "received"),
    [
        (lambda words: None, "NoneType"),
        (lambda words: True, "bool"),
        (lambda words: "yes", "3 in a str"),
        (lambda words: [True], "1 in a list"),
        (lambda words: [True] * (len(words) + 1), "2 in a list"),
        (lambda words: np.zeros((len(words), 1)), r"an array of shape \(1, 1\)"),
        (lambda words: np.array(True), r"an array of shape \(\)"),
        (lambda words: (word for word in words), "generator"),
    ],
)
def test_rejects_answers_of_another_shape(answers, received):
    with pytest.raises(ValueError, match=rf"must return a row of \d+ answers, .* Received: {received}\. Return a list"):
        learn(answers, "ab")


@pytest.mark.parametrize("label", [None, float("nan"), 0.5, 1j, [], {}], ids=repr)
def test_rejects_answers_that_are_no_labels(label):
    with pytest.raises(ValueError, match=r"A label must be a bool, an int, .* Received: .* Return value > threshold"):
        learn(lambda words: [label] * len(words), "ab")


def test_a_network_of_nan_is_refused():
    model = plain([keras.layers.LSTM(4)])
    model.set_weights([np.full_like(weight, np.nan) for weight in model.get_weights()])
    with pytest.raises(ValueError, match=r"must be finite.* Received: .*nan"):
        learn(model, SYMBOLS)


def test_an_error_of_the_function_is_its_own():
    with pytest.raises(ZeroDivisionError):
        learn(lambda words: [1 // len(word) for word in words], "ab")


@pytest.mark.parametrize(
    ("network", "alphabet", "sentence"),
    [
        (threes, None, r"must come with its alphabet\. Received: .* alone\. Pass alphabet="),
        (threes, "", "An alphabet must hold at least one symbol"),
        (threes, "aa", "An alphabet must hold at least one symbol, each once"),
        (threes, 3, "An alphabet must be a sequence of hashable symbols"),
        (None, "ab", "`network` must be a keras.Model, or a function of a list of words"),
        ("a", "ab", "`network` must be a keras.Model, or a function of a list of words"),
    ],
)
def test_rejects_networks_and_alphabets_that_do_not_fit(network, alphabet, sentence):
    with pytest.raises(ValueError, match=sentence):
        learn(network, alphabet)


def test_rejects_models_that_do_not_label_words_of_ids():
    every_step = plain([keras.layers.LSTM(4, return_sequences=True)])
    vectors = keras.Sequential([keras.Input((None, 2)), keras.layers.LSTM(4), keras.layers.Dense(1)])
    for model in (every_step, vectors):
        with pytest.raises(ValueError, match=r"must read ids .* one output .* Pass a function of words that calls it"):
            learn(model, SYMBOLS)
    with pytest.raises(ValueError, match="must carry its alphabet, or one must be passed"):
        learn(plain([keras.layers.LSTM(4)]))
