"""Automata found by splitting states, from words too long to share an ending."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from keras_interp_rnn.automata import tomita
from keras_interp_rnn.automata.inference._deadline import NEVER, Limits
from keras_interp_rnn.automata.inference._prefix_tree import PrefixTree, Words
from keras_interp_rnn.automata.inference._state_splitting import (
    _merges,
    contradicted,
    predictive_bits,
    shortest_description,
)
from tests.automata.networks import dfa_of, drawn


def long_words(rng, truth, number, shortest=20, longest=29):
    """Words, half of them in the language, and their labels."""
    words = []
    for label, language in ((True, truth), (False, truth.complement())):
        lengths = [length for length in range(shortest, longest + 1) if language.count(length)]
        for length in rng.choice(lengths, number // 2):
            words.append((language.sample(int(length), int(rng.integers(2**31))), label))
    rng.shuffle(words)
    return [word for word, _ in words], np.array([label for _, label in words])


def places(words, alphabet):
    return [tuple(alphabet.index(symbol) for symbol in word) for word in words]


def search(words, labels, num_symbols, until, noise=0.0):
    return shortest_description(Words(words, labels, num_symbols, 2), Limits(noise, until))


def sequential_bits(counts, num_labels):
    """Bits of labels, each predicted from those before with half a count added: another form of the estimate."""
    likely, seen = Fraction(1), [0] * num_labels
    for label, count in enumerate(counts):
        for _ in range(count):
            likely *= Fraction(2 * seen[label] + 1, 2 * sum(seen) + num_labels)
            seen[label] += 1
    return -math.log2(likely)


@pytest.mark.parametrize("num_labels", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_bits_are_those_of_predicting_label_after_label(seed, num_labels):
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(3, size=rng.integers(0, 9))) for _ in range(60)]
    labels = rng.integers(num_labels, size=60)
    tables = rng.integers(4, size=(5, 4, 3))
    found = predictive_bits(PrefixTree(words, labels, 3, num_labels), tables)
    for table, length in zip(tables, found, strict=True):
        counts = np.zeros((4, num_labels), int)
        for word, label in zip(words, labels, strict=True):
            state = 0
            for symbol in word:
                state = table[state, symbol]
            counts[state, label] += 1
        expected = 4 * 3 * 2 + sum(sequential_bits(row, num_labels) for row in counts.tolist())
        np.testing.assert_allclose(length, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_merged_state_is_replaced_by_the_other(seed):
    """Compared with a walk by names, in which every step to the one state goes to the other instead."""
    rng = np.random.default_rng(seed)
    table = rng.integers(4, size=(4, 2))
    pairs = [(gone, stays) for gone in range(4) for stays in range(4) if gone != stays]
    for (gone, stays), merged in zip(pairs, _merges(table), strict=True):
        assert merged.shape == (3, 2)
        name, state = (stays if gone == 0 else 0), 0
        names = {state: name}
        for symbol in rng.integers(2, size=200):
            name = int(table[name, symbol])
            name, state = (stays if name == gone else name), int(merged[state, symbol])
            assert names.setdefault(state, name) == name


@pytest.mark.parametrize("number", [1, 2, 4, 7])
def test_finds_tomitas_languages_from_long_words_alone(number):
    rng = np.random.default_rng(number)
    words, labels = long_words(rng, tomita(number), 600, 12, 20)
    machine = search(places(words, ("0", "1")), labels.astype(np.int64), 2, NEVER.within(60))
    found = dfa_of(machine, ("0", "1"))
    assert [found.accepts(word) for word in words] == labels.tolist()
    assert len(found.minimize()) <= len(tomita(number).minimize())


def test_finds_the_automaton_although_labels_are_wrong():
    rng = np.random.default_rng(3)
    truth = drawn(rng, 4, ("a", "b"))
    words, labels = long_words(rng, truth, 1500, 8, 16)
    wrong = rng.random(len(labels)) < 0.03
    ids = places(words, "ab")
    some = (labels ^ wrong).astype(np.int64)
    machine = search(ids, some, 2, NEVER.within(60), noise=None)
    assert dfa_of(machine, "ab").equivalent(truth)
    found = contradicted(Words(ids, some, 2, 2), machine.table)
    np.testing.assert_array_equal(found, np.flatnonzero(wrong))


def test_keeps_to_the_limits_of_states_and_time():
    """Words that end in 111 need four states; with two the search goes on until its time is up."""
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(2, size=rng.integers(8, 15)).tolist()) for _ in range(300)]
    labelled = Words(words, np.array([int(word[-3:] == (1, 1, 1)) for word in words]), 2, 2)
    labelled.max_states = 2
    before = time.thread_time()
    assert len(shortest_description(labelled, Limits(until=NEVER.within(1)))) == 2
    assert time.thread_time() - before < 5
