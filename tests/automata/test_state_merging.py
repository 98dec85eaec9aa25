"""Automata merged from words with right and wrong labels."""

import math

import numpy as np
import pytest

from keras_interp_rnn.automata import DFA, tomita
from keras_interp_rnn.automata.inference._deadline import Deadline, Limits
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words, description_length, is_shorter, max_states
from keras_interp_rnn.automata.inference._state_merging import merge_states, smallest_automaton
from tests.automata.machines import words
from tests.automata.networks import dfa_of, drawn


def words_of(some: list[tuple], labels: np.ndarray, alphabet: str = "01", max_states: int = 10_000) -> Words:
    ids = [tuple(alphabet.index(symbol) for symbol in word) for word in some]
    made = Words(ids, np.asarray(labels, np.int64), len(alphabet), 2)
    made.max_states = max_states
    return made


def labels_of(truth: DFA, some: list[tuple]) -> np.ndarray:
    return np.array([truth.accepts(word) for word in some])


def test_a_prefix_tree_counts_words_and_follows_automata():
    rng = np.random.default_rng(0)
    some = [tuple(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(200)]
    labels = rng.random(200) < 0.5
    tree = words_of(some, labels, "abc").tree
    prefixes = {word[:n] for word in some for n in range(len(word) + 1)}
    assert len(tree.child) == len(prefixes)
    assert tree.counts.sum() == 200
    assert tree.below[0] == 200
    truth = drawn(rng, 5, tuple("abc"))
    states = tree.states(np.array(truth.transitions))
    for word, label, end in zip(some, labels, tree.ends, strict=True):
        node = 0
        for symbol in word:
            node = tree.child[node, "abc".index(symbol)]
        assert node == end
        assert states[node] == truth.run(word)[-1]
        assert tree.counts[node, int(label)] > 0


@pytest.mark.parametrize("seed", range(10))
def test_contradicts_no_word_however_few_there_are(seed):
    rng = np.random.default_rng(seed)
    truth = drawn(rng, 6, tuple("ab"))
    some = [tuple(rng.choice(list("ab"), rng.integers(0, 20))) for _ in range(int(rng.integers(5, 200)))]
    for by_evidence in (True, False):
        machine = merge_states(words_of(some, labels_of(truth, some), "ab"), by_evidence=by_evidence)
        found = dfa_of(machine, "ab")
        assert all(found.accepts(word) == truth.accepts(word) for word in some)


def test_the_smaller_automaton_of_the_two_orders_is_found():
    sizes = []
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        truth = drawn(rng, 6, tuple("ab"))
        some = [tuple(rng.choice(list("ab"), rng.integers(0, 20))) for _ in range(int(rng.integers(5, 200)))]
        labelled = words_of(some, labels_of(truth, some), "ab")
        sizes.append([len(merge_states(labelled, by_evidence=order)) for order in (True, False)])
        assert len(smallest_automaton(labelled, Limits())) == min(sizes[-1])
    (one, larger), (large, other) = sizes
    assert one < larger
    assert other < large


# Tomita's second language has five words of up to nine symbols: not found where 51 of all 1,023 labels are wrong.
NOISY = [(number, noise) for noise in (0.0, 0.01, 0.05) for number in range(1, 8) if (number, noise) != (2, 0.05)]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("number", "noise"), NOISY)
def test_finds_the_automaton_although_labels_are_wrong(number, noise, known):
    rng = np.random.default_rng(number)
    some = words("01", 9)
    right = labels_of(tomita(number), some)
    noisy = words_of(some, right ^ (rng.random(len(some)) < noise))
    machine = smallest_automaton(noisy, Limits(noise if known else None))
    assert dfa_of(machine).equivalent(tomita(number))


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.2, marks=pytest.mark.matrix)])
def test_the_fraction_of_wrong_labels_need_not_be_known(noise):
    """For random automata, with no wrong label or one in five."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth = drawn(rng, 6, ("a", "b"))
        some = words("ab", 10)
        wrong = rng.random(len(some)) < noise
        machine = smallest_automaton(words_of(some, labels_of(truth, some) ^ wrong, "ab"), Limits(None, seed=seed))
        assert dfa_of(machine, "ab").equivalent(truth)


def test_begins_with_an_automaton_of_some_of_the_words():
    """It is returned if it is right, and abandoned if it is not."""
    some = words("01", 8)
    wrong = np.random.default_rng(0).random(len(some)) < 0.05
    noisy = words_of(some, labels_of(tomita(7), some) ^ wrong)
    found = smallest_automaton(noisy, Limits(0.05))
    for start in (found, Machine(np.zeros((1, 2), np.int64), np.zeros(1, np.int64))):
        assert dfa_of(smallest_automaton(noisy, Limits(0.05), start)).equivalent(tomita(7))


def test_finds_no_shorter_description_of_random_labels():
    rng = np.random.default_rng(0)
    some = words("01", 7)
    drawn_labels = rng.random(len(some)) < 0.5
    unlimited = words_of(some, drawn_labels)
    largest = max_states(unlimited.tree)
    assert smallest_automaton(words_of(some, drawn_labels, max_states=largest), Limits()) is None
    machine = smallest_automaton(unlimited, Limits())
    assert not is_shorter(unlimited.tree, machine)
    assert len(machine) > largest
    # log2 C(10, 3) = log2 120, and one bit for the label of the one state
    ten = words_of([("0",) * n for n in range(10)], np.zeros(10), "0").tree
    assert description_length(1, 3, ten) == pytest.approx(1 + np.log2(120))


def test_keeps_to_the_limits_of_states_and_time():
    some = words("01", 8)
    labels = labels_of(tomita(7), some)
    assert smallest_automaton(words_of(some, labels, max_states=2), Limits()) is None
    assert smallest_automaton(words_of(some, labels), Limits(until=Deadline(-math.inf))) is None
    assert [Limits(noise).exact for noise in (0.0, 0.05, None)] == [True, False, False]
