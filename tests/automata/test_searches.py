"""When a search for an automaton ends, and which one comes first."""

import math
import time

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA, tomita
from keras_interp_rnn.automata._deadline import NEVER, Deadline
from keras_interp_rnn.automata._prefix_tree import is_shorter
from keras_interp_rnn.automata._searches import Limits, Searched
from tests.automata.machines import words as short_words
from tests.automata.test_state_splitting import long_words


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


def test_words_that_share_prefixes_are_merged_and_others_are_told_by_patterns():
    truth = tomita(5)
    given = short_words("01", 8)
    model = automata.train_recognizer(given, [*map(truth.accepts, given)], alphabet="01", verbose=0, method="search")
    assert model.report.method == "merging"
    truth = DFA.from_regex("(a|b|c)*", "abcd")  # merging would find it too, in a minute
    given, labels = long_words(np.random.default_rng(0), truth, 300)
    model = automata.train_recognizer(given, labels, alphabet="abcd", verbose=0, method="search")
    assert model.report.method == "patterns"
    assert automata.extract(model).dfa.equivalent(truth)


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
    searched = Searched(words, labels, 6, 2)
    found = searched.automaton("patterns", Limits())
    assert not is_shorter(searched.tree, found)
    fresh = [tuple(rng.integers(6, size=25).tolist()) for _ in range(500)]
    for word in fresh:
        state = 0
        for symbol in word:
            state = found.table[state, symbol]
        assert found.outputs[state] == (not any(has(pattern, word) for pattern in forbidden))
    assert searched.automaton("patterns", Limits(max_states=len(found.table) - 1)) is None
