"""Stochastic automata from words of one kind alone."""

import math
from collections import Counter

import numpy as np
import pytest
from aalpy.learning_algs import run_Alergia

from keras_interp_rnn.automata import WeightedAutomaton
from keras_interp_rnn.automata.inference._frequencies import frequencies, probabilities

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:aalpy.*")


def target(transitions, chances, stop):
    """A deterministic stochastic automaton that starts in state 0."""
    matrices = np.zeros((len(transitions[0]), len(transitions), len(transitions)))
    for state, row in enumerate(transitions):
        for symbol, following in enumerate(row):
            matrices[symbol, state, following] = chances[state][symbol]
    return WeightedAutomaton(np.eye(len(transitions))[0], matrices, stop, "ab")


def draw(automaton, num_words, seed):
    rng = np.random.default_rng(seed)
    words = []
    for _ in range(num_words):
        state, word = 0, ""
        while rng.random() >= automaton.final[state]:
            ways = automaton.transitions[:, state]
            drawn = rng.choice(ways.size, p=ways.ravel() / ways.sum())
            symbol, state = divmod(int(drawn), len(automaton))
            word += "ab"[symbol]
        words.append(word)
    return words


TARGETS = {
    "two states": target([[1, 0], [0, 1]], [[0.6, 0.2], [0.1, 0.5]], [0.2, 0.4]),
    "three states": target([[1, 2], [1, 0], [2, 0]], [[0.7, 0.1], [0.2, 0.6], [0.5, 0.2]], [0.2, 0.2, 0.3]),
    "modulo four": target(
        [[1, 0], [2, 1], [3, 2], [0, 3]], [[0.8, 0.1], [0.3, 0.4], [0.5, 0.2], [0.2, 0.2]], [0.1, 0.3, 0.3, 0.6]
    ),
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(3))
def test_the_automaton_that_drew_the_words_is_found(name, seed):
    drawn_by = TARGETS[name]
    learned = WeightedAutomaton.from_words(draw(drawn_by, 10_000, seed), alphabet="ab", pseudo_count=0)
    assert len(learned) == len(drawn_by)
    for word in ("", "a", "b", "ab", "aab", "bba", "aaaa"):
        expected = drawn_by.value(word)
        assert abs(learned.value(word) - expected) < 5 * math.sqrt(expected / 10_000) + 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_of_all_words_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, 4, rng.integers(0, 7)).tolist() for _ in range(40)]
    for pseudo_count in (0, 0.01, 1):
        learned = WeightedAutomaton.from_words(words, num_symbols=5, pseudo_count=pseudo_count)
        np.testing.assert_allclose(learned.prefix_sums().value([]), 1, rtol=1e-9)
        assert all(learned.value(word) > 0 for word in words)
        assert (learned.value([4]) > 0) == (pseudo_count > 0)


def test_no_word_is_lost_when_states_are_merged():
    rng = np.random.default_rng(0)
    words = Counter(tuple(rng.integers(0, 3, rng.integers(0, 6)).tolist()) for _ in range(300))
    found = frequencies(words, 3)
    assert found.ends.sum() == sum(words.values())
    assert found.taken.sum() == sum(len(word) * count for word, count in words.items())
    np.testing.assert_array_equal(found.table >= 0, found.taken > 0)


def test_a_rare_state_joins_the_one_that_it_resembles():
    words = Counter({(0, 1): 500, (0, 2, 1): 1})
    table, chances, _ = probabilities(frequencies(words, 3), 0.0)
    after = table[table[0, 0], 2]
    assert chances[after, 1] > 0.9


@pytest.mark.parametrize("name", TARGETS)
def test_held_out_words_are_as_probable_as_by_aalpy(name):
    words, held_out = draw(TARGETS[name], 4000, 7), draw(TARGETS[name], 2000, 8)
    theirs = run_Alergia([["start", *word, "end"] for word in words], "mc")

    def log_chance(word):
        state, total = theirs.initial_state, 0.0
        for output in [*word, "end"]:
            total_before = total
            for following, chance in state.transitions:
                if following.output == output:
                    state, total = following, total + math.log(chance)
                    break
            assert total != total_before or chance == 1
        return total

    learned = WeightedAutomaton.from_words(words, alphabet="ab")
    ours = np.log(learned.values(held_out)).mean()
    assert ours > np.mean([log_chance(word) for word in held_out]) - 0.002
    entropy = np.log(TARGETS[name].values(held_out)).mean()
    assert abs(ours - entropy) < 0.01


@pytest.mark.parametrize(
    ("words", "options", "rule"),
    [
        ([], {}, "There must be a word to learn from"),
        (["a"], {}, "must consist of ids"),
        (["c"], {"alphabet": "ab"}, "'c'"),
        ([[0]], {"pseudo_count": -1}, "`pseudo_count` must be"),
        ("aa", {"alphabet": "a"}, "Words must be a list"),
    ],
)
def test_refuses_words_and_numbers_that_cannot_be_learned_from(words, options, rule):
    with pytest.raises(ValueError, match=rule):
        WeightedAutomaton.from_words(words, **options)
