"""Exact Shapley values against the sum over all coalitions."""

import itertools
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers, presets
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.automata import DFA, WeightedAutomaton, certify, tomita
from tests.analysis.weighted.networks import drawn
from tests.automata.networks import network_of
from tests.oracles import weighted_automata as oracle
from tests.tolerances import atol_of_layer

PROBABILITIES = np.array([0.5, 0.2, 0.3])
CHAIN = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.25, 0.05, 0.7]])


def assert_equal(shares, expected, scale=1.0, atol=1e-12):
    actual = shares.values[1:, 0]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol * max(1.0, scale, np.abs(expected).max()))
    assert shares.residual <= 1e-12 * max(1.0, scale)
    assert not shares.values[0].any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [1, 2, 3, 6, 10])
def test_values_of_an_isan_are_the_sum_over_all_coalitions(seed, steps):
    network = drawn(seed)
    word = np.random.default_rng(seed).integers(3, size=steps)
    shares = analysis.shapley_values(network.pair(), word, background=PROBABILITIES)

    def worth(coalition):
        return oracle.worth_of_independent(*network.oracle(), word, coalition, PROBABILITIES)

    assert_equal(shares, oracle.shapley_values(worth, steps))
    np.testing.assert_allclose(shares.logits[0], network.outputs(word), atol=1e-12)
    np.testing.assert_allclose(shares.bias, worth(frozenset()), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_values_under_a_markov_background_are_the_sum_over_all_coalitions_and_words(seed):
    network = drawn(seed, outputs=2)
    word = np.random.default_rng(seed).integers(3, size=5)
    background = analysis.Background(PROBABILITIES, CHAIN)
    shares = analysis.shapley_values(network.pair(), word, background=background)
    table = {drawn: network.outputs(drawn) for drawn in itertools.product(range(3), repeat=5)}

    def worth(coalition):
        return oracle.worth(
            table.__getitem__, tuple(word), coalition, 3, lambda z: oracle.chain_probability(PROBABILITIES, CHAIN, z)
        )

    assert_equal(shares, oracle.shapley_values(worth, 5))
    np.testing.assert_allclose(shares.bias, worth(frozenset()), atol=1e-12)


def test_values_of_a_factored_isan_are_the_sum_over_all_coalitions():
    layer = layers.FactoredISAN(4, 2, vocabulary_size=3, dtype="float64")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(2, dtype="float64")])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) * 0.5 for w in model.get_weights()])
    word = [1, 2, 0, 0, 1]
    shares = analysis.shapley_values(model, word)

    def worth(coalition):
        every = list(itertools.product(range(3), repeat=5))
        mixed = [[word[t] if t in coalition else z[t] for t in range(5)] for z in every]
        return keras.ops.convert_to_numpy(model(np.array(mixed, np.int32))).mean(axis=0)

    assert_equal(shares, oracle.shapley_values(worth, 5), atol=atol_of_layer(1e-12))


def brute_force(dfa, word):
    initial, matrices, final = (np.asarray(part) for part in textbook(dfa))
    uniform = np.full(len(dfa.alphabet), 1 / len(dfa.alphabet))
    ids = [dfa.alphabet.index(symbol) for symbol in word]
    return oracle.shapley_values(
        lambda coalition: oracle.worth_of_independent(initial, matrices, final, ids, coalition, uniform), len(word)
    )


def textbook(dfa):
    """An automaton as zeros and ones, states as columns, by its definition."""
    n = len(dfa)
    matrices = np.zeros((len(dfa.alphabet), n, n))
    for state in range(n):
        for i, symbol in enumerate(dfa.alphabet):
            target = dfa.step(state, symbol)
            if target >= 0:
                matrices[i, target, state] = 1
    final = np.array([[1.0 if state in dfa.accepting else 0.0 for state in range(n)]])
    return np.eye(n)[dfa.start], matrices, final


@pytest.mark.parametrize("number", range(1, 8))
def test_values_of_the_languages_of_tomita_are_the_sum_over_all_coalitions(number):
    dfa = tomita(number)
    for word in ("0", "110", "1001011", "0110100101"):
        shares = analysis.shapley_values(dfa, word)
        assert_equal(shares, brute_force(dfa, word))
        assert shares.logits[0, 0] == dfa.accepts(word)
        np.testing.assert_allclose(
            analysis.shapley_values(WeightedAutomaton.from_dfa(dfa), word).values, shares.values, atol=0
        )


def test_values_of_an_automaton_with_missing_transitions_are_the_sum_over_all_coalitions():
    dfa = DFA([[1, -1, 0], [-1, 0, 1]], {1}, alphabet="abc")
    assert_equal(analysis.shapley_values(dfa, "acab"), brute_force(dfa, "acab"))


def worth_by_verdicts(model, word):
    """v(S) by the verdicts of a recognizer on all words of this length, each asked for once."""
    every = list(itertools.product("01", repeat=len(word)))
    verdicts = dict(zip(every, model.classify(every), strict=True))

    def worth(coalition):
        mixed = [tuple(word[t] if t in coalition else z[t] for t in range(len(word))) for z in every]
        return np.mean([verdicts[w] for w in mixed], keepdims=True)

    return worth


def test_a_target_within_the_word_is_the_word_up_to_there():
    pair, word = drawn(3).pair(), [0, 2, 2, 1, 0, 1]
    short, within = analysis.shapley_values(pair, word[:4]), analysis.shapley_values(pair, word, target=4)
    np.testing.assert_array_equal(within.values[:5], short.values)
    assert not within.values[5:].any()
    assert within.targets.tolist() == [4]
    np.testing.assert_array_equal(analysis.shapley_values(pair, word, target=-3).values, within.values)


def test_nodes_may_be_taken_some_at_a_time(monkeypatch):
    from keras_interp_rnn.analysis.weighted import games

    pair, word = drawn(4).pair(), np.random.default_rng(0).integers(3, size=40)
    at_once = analysis.shapley_values(pair, word)
    monkeypatch.setattr(games, "MEMORY", 1)
    np.testing.assert_allclose(analysis.shapley_values(pair, word).values, at_once.values, rtol=0, atol=1e-13)


@pytest.mark.parametrize("steps", [199, 200])
def test_a_long_word_sums_to_what_it_explains(steps):
    shares = analysis.shapley_values(drawn(5, units=7).pair(), np.random.default_rng(1).integers(3, size=steps))
    assert shares.residual < 1e-12


def test_views_are_those_of_contributions():
    shares = analysis.shapley_values(drawn(7).pair(), [0, 1, 2], alphabet="abc")
    assert isinstance(shares, Contributions)
    assert "'output 4' over 'output 2'" in str(shares)  # there are more than symbols
    assert shares.tag()[1]["symbols"] == ["a", "b", "c"]
    assert shares.by_word(0).values.sum() == pytest.approx(shares.values.sum())


def test_the_view_of_a_single_output_has_the_value_of_each_symbol():
    shares = analysis.shapley_values(tomita(4), "1001")
    assert str(shares).splitlines()[0] == "after '1001': accepted, above all because of “1” at position 4 (+0.234)"
    lines = [line.split() for line in str(shares).splitlines()[2:]]
    assert [line[0] for line in lines[:2]] == ["mean", "h_0"]
    assert [line[:2] for line in lines[2:]] == [["1", "1"], ["2", "0"], ["3", "0"], ["4", "1"]]
    assert sum(float(next(part for part in line if "." in part)) for line in lines) == pytest.approx(1, abs=1e-3)


def test_values_that_no_float_holds_are_refused():
    network = drawn()
    huge = network._replace(kernel=network.kernel * 1e30)
    with pytest.raises(ValueError, match="Shapley values must fit into floats"):
        analysis.shapley_values(huge.pair(), [0, 1] * 50)
    shares = analysis.shapley_values(huge.pair(), [0, 1, 2])
    assert shares.residual < 1e-13 * np.abs(shares.values).max()


def test_the_worked_example_is_right_for_the_trained_network_itself():
    """The numbers of docs/shapley-values.md, by all 128 coalitions and the verdicts of the network on all 128 words."""
    network = presets.load("tomita-4")
    word = "1000110"
    shares = analysis.shapley_values(network.certificate, word)
    assert_equal(shares, oracle.shapley_values(worth_by_verdicts(network.model, word), 7))
    page = (Path(__file__).parents[3] / "docs" / "shapley-values.md").read_text(encoding="utf-8")
    for line in str(shares).splitlines():
        assert line.strip() in page


def test_backgrounds_are_relative_frequencies():
    words = [[0, 1, 1, 2], [2, 2], []]
    independent = analysis.Background.estimated(words, num_symbols=3, pseudo_count=0)
    np.testing.assert_allclose(independent.initial, [1 / 6, 2 / 6, 3 / 6])
    markov = analysis.Background.estimated(words, num_symbols=3, markov=True)
    np.testing.assert_allclose(markov.initial, [2 / 5, 1 / 5, 2 / 5])
    np.testing.assert_allclose(
        markov.transitions, [[1 / 4, 2 / 4, 1 / 4], [1 / 5, 2 / 5, 2 / 5], [1 / 4, 1 / 4, 2 / 4]]
    )
    with pytest.raises(ValueError, match="pseudo_count=0"):
        analysis.Background.estimated(words[:1], num_symbols=3, markov=True, pseudo_count=0)
    with pytest.raises(ValueError, match="must have 2 rows and columns"):
        analysis.Background([0.5, 0.5], [[1.0]])


def test_refuses_invalid_arguments():
    pair, word = drawn().pair(), [0, 1, 2]
    wrong = certify(network_of(tomita(4)), tomita(5), temperature=1.0)
    for network, text, options, rule in (
        (pair, [], {}, "must have at least one symbol"),
        (pair, word, {"target": 4}, r"`target` must be a step in \[1, 3\]"),
        (pair, word, {"target": 0}, r"`target` must be a step in \[1, 3\]"),
        (pair, word, {"target": 1.5}, r"a step in \[1, 3\], or negative from the end. Received: target=1.5"),
        (pair, word, {"target": "a"}, "Received: target='a'"),
        (pair, word, {"background": [0.5, 0.5]}, "over the symbols of the network, 3"),
        (pair, word, {"background": [0.5, 0.4, 0.2]}, "`initial` must be probabilities, at least 0 and with the sum 1"),
        (pair, word, {"background": [0.5, 0.7, -0.2]}, "at least 0"),
        (pair, word, {"background": [0.5, np.nan, 0.5]}, "probabilities"),
        (wrong, "0", {}, "a certificate that does not hold"),
        (tomita(1), "012", {}, r"symbols of the alphabet \('0', '1'\). Received: the symbol '2'"),
    ):
        with pytest.raises(ValueError, match=rule):
            analysis.shapley_values(network, text, **options)


def test_masked_steps_are_no_players_and_stay():
    parts = [keras.layers.Embedding(6, 3, mask_zero=True), layers.MinGRU(4), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])
    short = analysis.shapley_values(model, [1, 5, 2])
    for word, kept in (([1, 5, 2, 0, 0], [0, 1, 2]), ([0, 1, 0, 5, 2], [1, 3, 4])):
        shares = analysis.shapley_values(model, word)
        assert shares.residual < 1e-12
        np.testing.assert_allclose(shares.values[1:][kept], short.values[1:], rtol=0, atol=1e-14)
        assert not np.delete(shares.values[1:], kept, axis=0).any()
        np.testing.assert_array_equal(shares.bias, short.bias)
        np.testing.assert_array_equal(shares.logits, short.logits)
    background = analysis.Background([0.0, 0.5, 0.5, 0, 0, 0], np.full((6, 6), 1 / 6))
    for given in (None, background):
        nothing = analysis.shapley_values(model, [0, 0, 3], target=2, background=given)
        assert not nothing.values.any()
        np.testing.assert_array_equal(nothing.bias, nothing.logits[0])
