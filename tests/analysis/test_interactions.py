"""Interactions of pairs against the sum over all coalitions."""

import functools
import itertools
import re
import sys

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers, presets
from keras_interp_rnn.analysis.attribution.pairs import exact_interactions
from keras_interp_rnn.automata import DFA, MooreMachine, WeightedAutomaton, certify, tomita
from tests.analysis.weighted.networks import drawn
from tests.analysis.weighted.test_shapley import CHAIN, PROBABILITIES, textbook
from tests.automata.networks import network_of
from tests.oracles import weighted_automata as oracle
from tests.tolerances import atol_of_layer

both_indices = pytest.mark.parametrize("index", ["shapley", "banzhaf"])


def assert_equal(pairs, expected, atol=1e-12):
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(pairs.values, expected, rtol=0, atol=atol * scale)
    np.testing.assert_array_equal(pairs.values, pairs.values.T)
    assert not np.diagonal(pairs.values).any()
    assert pairs.exact
    assert pairs.r_squared is None
    assert np.isnan(pairs.residual) if pairs.index == "banzhaf" else pairs.residual <= 1e-12 * scale


def of_network(model, x, players, reference, index, target, activation=lambda outputs: outputs):
    """By running the network on every coalition; `players` are the steps of each, `reference` replaces the others."""

    def worth(coalition):
        there = [t for player in coalition for t in players[player]]
        replaced = [t for steps in players for t in steps if t not in there]
        changed = np.array(x, np.float64)
        changed[replaced] = np.broadcast_to(reference, changed.shape)[replaced]
        return activation(ops.convert_to_numpy(model(changed[None], training=False)).astype(np.float64))[0, target]

    return oracle.interactions(worth, len(players), index)


# Symbols that are affine maps.


@both_indices
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_an_isan_are_the_sum_over_all_coalitions(seed, steps, index):
    network = drawn(seed)
    word = np.random.default_rng(seed).integers(3, size=steps)
    pairs = analysis.interactions(network.pair(), word, background=PROBABILITIES, index=index)

    def worth(coalition):
        return oracle.worth_of_independent(*network.oracle(), word, coalition, PROBABILITIES)

    assert pairs.target == network.outputs(word).argmax()
    assert_equal(pairs, oracle.interactions(worth, steps, index)[..., pairs.target])
    assert pairs.output == pytest.approx(network.outputs(word)[pairs.target], abs=1e-12)
    assert pairs.reference_output == pytest.approx(worth(frozenset())[pairs.target], abs=1e-12)
    other = analysis.interactions(network.automaton(), word, background=PROBABILITIES, index=index, target=0)
    assert_equal(other, oracle.interactions(worth, steps, index)[..., 0])


@functools.cache
def chains():
    """Of many symbols, of one at each step, and of some that never come."""
    return {
        "of all symbols": (PROBABILITIES, CHAIN),
        "of one symbol a step": ([0, 1, 0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        "without a symbol": ([0.5, 0, 0.5], [[0, 0, 1], [0, 1, 0], [0.25, 0, 0.75]]),
    }


@both_indices
@pytest.mark.parametrize("chain", list(chains()))
@pytest.mark.parametrize("seed", range(2))
def test_pairs_under_a_markov_background_are_the_sum_over_all_coalitions_and_words(seed, chain, index):
    network, (first, transitions) = drawn(seed, outputs=2), chains()[chain]
    word = tuple(np.random.default_rng(seed).integers(3, size=5).tolist())
    background = analysis.Background(first, transitions)
    table = {drawn: network.outputs(drawn) for drawn in itertools.product(range(3), repeat=5)}

    def worth(coalition):
        return oracle.worth(
            table.__getitem__, word, coalition, 3, lambda z: oracle.chain_probability(first, transitions, z)
        )

    pairs = analysis.interactions(network.pair(), word, background=background, index=index)
    assert_equal(pairs, oracle.interactions(worth, 5, index)[..., pairs.target])
    shares = analysis.shapley_values(network.pair(), word, background=background)
    np.testing.assert_allclose(shares.values[1:, 0], oracle.shapley_values(worth, 5), rtol=0, atol=1e-12)


@both_indices
@pytest.mark.parametrize("given", [[0, 0, 2, 1, 1], [1, 0, 0, 0, 2], [0, 1, 2, 3, 4], [0] * 5])
def test_symbols_that_follow_one_another_may_be_one_player(given, index):
    network, word = drawn(1), (2, 0, 1, 1, 2)
    background = analysis.Background(PROBABILITIES, CHAIN)
    table = {drawn: network.outputs(drawn) for drawn in itertools.product(range(3), repeat=5)}
    players = [[t for t in range(5) if given[t] == group] for group in range(max(given) + 1)]

    def worth(coalition):
        there = {t for player in coalition for t in players[player]}
        return oracle.worth(
            table.__getitem__, word, there, 3, lambda z: oracle.chain_probability(PROBABILITIES, CHAIN, z)
        )

    pairs = analysis.interactions(
        network.pair(), word, background=background, groups=given, index=index, alphabet="abc"
    )
    assert_equal(pairs, oracle.interactions(worth, len(players), index)[..., pairs.target])
    assert pairs.tokens == tuple("".join("cabbc"[t] for t in steps) for steps in players)


def symbols(*parts):
    return keras.Sequential([keras.Input((None,), dtype="int32"), *parts])


AFFINE = {
    "FactoredISAN": lambda: symbols(
        layers.FactoredISAN(4, 2, vocabulary_size=3, dtype="float64"), keras.layers.Dense(2, dtype="float64")
    ),
    "MinGRU": lambda: symbols(
        keras.layers.Embedding(3, 2, dtype="float64"),
        layers.MinGRU(4, dtype="float64"),
        keras.layers.Dense(2, dtype="float64"),
    ),
    "ISAN at every step": lambda: symbols(
        layers.ISAN(4, 3, return_sequences=True, dtype="float64"), keras.layers.Dense(3, "softmax", dtype="float64")
    ),
}


@both_indices
@pytest.mark.parametrize("name", AFFINE)
@pytest.mark.parametrize("seed", range(2))
def test_pairs_of_affine_models_are_the_sum_over_all_coalitions_and_words(seed, name, index):
    model, word = AFFINE[name](), [1, 2, 0, 0, 1]
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=w.shape) * 0.7 for w in model.get_weights()])
    pairs = analysis.interactions(model, word, index=index)
    is_softmax = name == "ISAN at every step"
    every = np.array(list(itertools.product(range(3), repeat=5)), np.int32)
    outputs = ops.convert_to_numpy(model(every)).astype(np.float64)
    if is_softmax:
        kernel, bias = (w.astype(np.float64) for w in model.layers[-1].get_weights())
        outputs = ops.convert_to_numpy(model.layers[0](every))[:, -1].astype(np.float64) @ kernel + bias
    table = dict(zip(map(tuple, every.tolist()), outputs, strict=True))

    def worth(coalition):
        return np.mean([table[tuple(word[t] if t in coalition else z[t] for t in range(5))] for z in table], axis=0)

    assert_equal(pairs, oracle.interactions(worth, 5, index)[..., pairs.target], atol=atol_of_layer(1e-12))
    assert (pairs.unit, pairs.method) == ("logit" if is_softmax else "", "affine maps")


@both_indices
@pytest.mark.parametrize("number", range(1, 8))
def test_pairs_of_the_languages_of_tomita_are_the_sum_over_all_coalitions(number, index):
    dfa = tomita(number)
    for word in ("0", "10", "1001011"):
        ids = [int(symbol) for symbol in word]
        initial, matrices, final = textbook(dfa)

        def worth(coalition, ids=ids, parts=(initial, matrices, final)):
            return oracle.worth_of_independent(*parts, ids, coalition, [0.5, 0.5])

        pairs = analysis.interactions(dfa, word, index=index)
        assert_equal(pairs, oracle.interactions(worth, len(word), index)[..., 0])
        assert pairs.output == dfa.accepts(word)
        same = analysis.interactions(WeightedAutomaton.from_dfa(dfa), word, index=index)
        np.testing.assert_allclose(same.values, pairs.values, rtol=0, atol=1e-15)


def test_a_label_of_a_machine_is_named():
    machine = MooreMachine([[1, 0], [1, 0]], ["even", "odd"], alphabet="ab")
    pairs = analysis.interactions(machine, "ab")
    assert pairs.output_name == str(machine.labels[pairs.target])
    assert pairs.output == 1


def test_pairs_of_a_certificate_are_those_of_its_automaton():
    network = presets.load("tomita-4")
    pairs = analysis.interactions(network.certificate, "1000110")
    np.testing.assert_allclose(pairs.values, analysis.interactions(tomita(4), "1000110").values, rtol=0, atol=1e-14)
    wrong = certify(network_of(tomita(4)), tomita(5), temperature=1.0)
    with pytest.raises(ValueError, match="a certificate that does not hold"):
        analysis.interactions(wrong, "0")


def test_all_pairs_of_a_hundred_symbols_add_up_to_gains():
    network = drawn(5, units=7)
    word = np.random.default_rng(1).integers(3, size=100)
    pairs = analysis.interactions(network.pair(), word, background=PROBABILITIES)
    initial, matrices, final = network.oracle()
    everybody = frozenset(range(100))

    def worth(coalition):
        return oracle.worth_of_independent(initial, matrices, final, word, coalition, PROBABILITIES)[pairs.target]

    for t in (0, 1, 50, 99):
        last, first = worth(everybody) - worth(everybody - {t}), worth({t}) - worth(frozenset())
        assert pairs.values[t].sum() == pytest.approx(last - first, abs=1e-12)
    assert pairs.residual < 1e-12


def test_nodes_may_be_taken_some_at_a_time(monkeypatch):
    from keras_interp_rnn.analysis.weighted import games

    pair, word = drawn(4).pair(), np.random.default_rng(0).integers(3, size=30)
    at_once = analysis.interactions(pair, word)
    monkeypatch.setattr(games, "MEMORY", 1)
    np.testing.assert_allclose(analysis.interactions(pair, word).values, at_once.values, rtol=0, atol=1e-13)


def test_a_logit_of_its_own_probability_and_one_reference():
    """Of an ISAN the mean of all symbols is the uniform background; after the softmax it is no affine map."""
    model, word = AFFINE["ISAN at every step"](), [1, 2, 0, 0, 1]
    pairs = analysis.interactions(model, word)
    by_reference = analysis.interactions(model, word, reference=np.full(3, 1 / 3))
    assert (pairs.method, by_reference.method) == ("affine maps", "coalitions")
    np.testing.assert_allclose(by_reference.values, pairs.values, rtol=0, atol=atol_of_layer(1e-12))
    probability = analysis.interactions(model, word, of="probability")
    assert (probability.method, probability.unit) == ("coalitions", "probability")
    assert probability.output == pytest.approx(ops.convert_to_numpy(model(np.array([word])))[0, -1].max(), abs=1e-6)


# Any other network.


def randomized(model, seed=0, scale=0.8):
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=w.shape) * scale for w in model.get_weights()])
    return model


def vectors(*parts, steps=None):
    return keras.Sequential([keras.Input((steps, 3)), *parts])


OTHERS = {
    "LSTM": lambda: vectors(keras.layers.LSTM(4), keras.layers.Dense(2)),
    "GRUs": lambda: vectors(
        keras.layers.GRU(4, return_sequences=True), keras.layers.GRU(3), keras.layers.Dense(2, "tanh")
    ),
    "two directions": lambda: vectors(keras.layers.Bidirectional(keras.layers.GRU(3)), keras.layers.Dense(2)),
    "mean": lambda: vectors(
        keras.layers.LSTM(4, return_sequences=True), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)
    ),
    "every step": lambda: vectors(keras.layers.GRU(4, return_sequences=True), keras.layers.Dense(2)),
    "convolution": lambda: vectors(
        keras.layers.Conv1D(3, 2, padding="causal"), keras.layers.LSTM(4), keras.layers.Dense(2)
    ),
}


@both_indices
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("given", [None, [0, 1, 0, 2, 2]])
def test_pairs_of_any_network_are_those_of_its_own_outputs(name, given, index):
    model = randomized(OTHERS[name]())
    rng = np.random.default_rng(1)
    x, reference = rng.normal(size=(5, 3)), rng.normal(size=3)
    players = [[t] for t in range(5)] if given is None else [[0, 2], [1], [3, 4]]
    pairs = analysis.interactions(model, x, target=1, reference=reference, groups=given, index=index)

    def last(outputs):
        return outputs[:, -1] if outputs.ndim == 3 else outputs

    expected = of_network(model, x, players, reference, index, 1, last)
    np.testing.assert_allclose(pairs.values, expected, rtol=0, atol=2e-6)
    assert pairs.residual < 1e-6 if index == "shapley" else np.isnan(pairs.residual)
    assert pairs.players.all()
    assert pairs.method == "coalitions"
    assert f"all {2 ** len(players)} coalitions of {len(players)} players" in pairs.reason


@both_indices
def test_pairs_of_all_coalitions_are_their_definition(index):
    rng = np.random.default_rng(0)
    for players in range(1, 7):
        outputs = rng.normal(size=(2**players, 2))
        expected = oracle.interactions(lambda s, v=outputs: v[sum(1 << t for t in s)], players, index)
        np.testing.assert_allclose(exact_interactions(outputs, index), expected, rtol=0, atol=1e-14)


@both_indices
def test_pairs_of_a_game_of_pairs_are_its_weights(index):
    rng = np.random.default_rng(1)
    alone, together = rng.normal(size=9), np.triu(rng.normal(size=(9, 9)), 1)
    bits = np.arange(2**9)[:, None] >> np.arange(9) & 1
    outputs = 3 + bits @ alone + np.einsum("si,ij,sj->s", bits, together, bits)
    found = exact_interactions(outputs[:, None], index)[..., 0]
    np.testing.assert_allclose(found, together + together.T, rtol=0, atol=1e-12)


def classifier(activation="sigmoid", outputs=1, **flags):
    return randomized(
        symbols(keras.layers.Embedding(6, 3, **flags), keras.layers.LSTM(4), keras.layers.Dense(outputs, activation))
    )


def test_sixteen_words_of_an_lstm_are_exact_in_its_log_odds():
    model, ids = classifier(), np.random.default_rng(0).integers(1, 6, 16)
    pairs = analysis.interactions(model, ids)
    assert (pairs.unit, pairs.output_name) == ("log-odds", "the output")
    assert pairs.residual < 1e-12
    shown = ops.convert_to_numpy(model(ids[None]))[0, 0]
    assert 1 / (1 + np.exp(-pairs.output)) == pytest.approx(shown, abs=1e-6)
    split = analysis.attribution(model, ids[None])
    assert split.output[0] == pytest.approx(pairs.output)
    assert split.reference_output[0] == pytest.approx(pairs.reference_output)


def test_padding_is_no_player():
    model = classifier(mask_zero=True)
    pairs = analysis.interactions(model, [3, 1, 0, 0, 2])
    short = analysis.interactions(model, [3, 1, 2])
    assert pairs.players.tolist() == [True, True, False, False, True]
    kept = np.flatnonzero(pairs.players)
    np.testing.assert_allclose(pairs.values[np.ix_(kept, kept)], short.values, rtol=0, atol=1e-12)
    assert not pairs.values[2:4].any()
    assert pairs.top(9) == [(int(kept[i]), int(kept[j]), value) for i, j, value in short.top(9)]


def test_a_step_that_the_reference_equals_is_no_player():
    model = randomized(OTHERS["LSTM"]())
    x = np.random.default_rng(0).normal(size=(20, 3))
    x[4:] = 0.5
    pairs = analysis.interactions(model, x, reference=[0.5] * 3)
    assert pairs.players.sum() == 4
    assert np.count_nonzero(pairs.values) == 12


def test_the_sequence_may_have_the_axis_of_a_batch_and_ids_names():
    model = classifier()
    expected = analysis.interactions(model, [1, 5, 2])
    for sequence in (np.array([[1, 5, 2]]), [[1, 5, 2]], "afb"):
        same = analysis.interactions(model, sequence, alphabet=" abcdf")
        np.testing.assert_array_equal(same.values, expected.values)
        assert same.tokens == ("a", "f", "b")
    assert expected.tokens == ("1", "5", "2")
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    layer = keras.layers.GRU(2)
    for given in (x, x[None]):
        pairs = analysis.interactions(layer, given)
        assert (pairs.values.shape, pairs.tokens) == ((4, 4), ())
    with pytest.raises(ValueError, match="One sequence must be given. Received: 2"):
        analysis.interactions(model, [[1, 5, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    ("of", "said"), [("logit", "the pairs say what steps change together in the log-odds, which "), ("probability", "")]
)
def test_pairs_near_certainty_say_so(of, said):
    model = classifier()
    assert "hardly" not in str(analysis.interactions(model, [1, 5, 2], of=of))
    head = model.layers[-1]
    head.set_weights([head.get_weights()[0], np.full_like(head.get_weights()[1], 9.0)])
    pairs = analysis.interactions(model, [1, 5, 2], of=of)
    line = str(pairs).splitlines()[2]
    assert line.startswith(f"{said}a probability of 0.999")
    assert "hardly" in line
    assert "1.0000" not in str(pairs)


def test_one_of_several_inputs_has_pairs():
    ids, more = keras.Input((None,), dtype="int32", name="ids"), keras.Input((2,), name="more")
    state = keras.layers.GRU(3)(keras.layers.Embedding(5, 2)(ids))
    model = randomized(keras.Model([ids, more], keras.layers.Dense(1)(ops.concatenate([state, more], axis=-1))))
    pairs = analysis.interactions(model, [np.array([1, 4, 2]), np.array([0.5, 1.0])])
    assert pairs.values.shape == (3, 3)
    same = analysis.interactions(model, {"ids": [1, 4, 2], "more": [0.5, 1.0]}, with_respect_to="ids")
    np.testing.assert_array_equal(same.values, pairs.values)


def test_texts_name_the_pairs():
    model = classifier(mask_zero=True)
    names = ["", "not", "very", "great", "bad", "film"]
    pairs = analysis.interactions(model, ["not", "very", "great", "film", "very"], alphabet=names)
    (i, j, value), *_ = pairs.top()
    assert (pairs.name(1), analysis.interactions(keras.layers.GRU(2), np.ones((2, 1))).name(1)) == ("very", "step 2")
    lines = str(pairs).splitlines()
    ends = f"the output: {pairs.output:.4f}, {pairs.reference_output:.4f} without any step"
    words = ['"not"', '"very" (2)', '"great"', '"film"', '"very" (5)']
    more = "more" if value > 0 else "less"
    assert lines[0] == f"{ends}; {words[i]} with {words[j]} add {abs(value):.3g} {more} together than apart"
    assert lines[1] == "Shapley interactions in the log-odds, in nats, exact: all 32 coalitions of 5 players"
    assert lines[2] == "10 pairs, the strongest first; below 0 they add less together than apart, above 0 more"
    first, second, shown = re.split(r"  +", lines[4])[:3]
    assert (first, second, float(shown)) == (words[i], words[j], pytest.approx(value, rel=0.01))
    assert len(lines) == 14
    assert "no pair" in str(analysis.interactions(model, ["not"], alphabet=names))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"index": "owen"}, "`index` must be one of 'shapley', 'banzhaf'. Received: index='owen'"),
        ({"of": "odds"}, "`of` must be one of 'logit', 'probability'"),
        ({"target": 1}, r"`target` must be an integer in \[0, 1\)"),
        ({"background": [0.5, 0.5]}, "`background` must be None unless"),
        ({"reference": [1.0, 2.0]}, "`reference` must be a finite vector"),
        ({"groups": [0, 1]}, "`groups` must be the number of a group"),
    ],
)
def test_wrong_arguments_are_refused(options, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.interactions(classifier(), [1, 5, 2], **options)


def test_what_has_no_pairs_is_refused():
    pair = drawn().pair()
    for word, options, rule in (
        ([], {}, "must have at least one symbol"),
        ([0, 3], {}, r"`symbols` must lie in \[0, 3\)"),
        ([0, 1, 2], {"background": [0.5, 0.5]}, "over the symbols of the network, 3"),
        ([0, 1, 2], {"groups": [0, 1, 0]}, "must be of symbols that follow one another"),
        ([0, 1, 2], {"target": 9}, "`target` must be an integer"),
    ):
        with pytest.raises(ValueError, match=rule):
            analysis.interactions(pair, word, **options)
    both_ways = randomized(OTHERS["two directions"]())
    with pytest.raises(ValueError, match="at most 16 players .* Received: 17"):
        analysis.interactions(both_ways, np.random.default_rng(0).normal(size=(17, 3)))
    graph = randomized(OTHERS["convolution"]())
    with pytest.raises(ValueError, match="at most 8 players .* Received: 9"):
        analysis.interactions(graph, np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(ValueError, match="recurrent layer"):
        analysis.interactions(keras.Sequential([keras.Input((4, 3)), keras.layers.Flatten()]), np.ones((4, 3)))


def test_a_verdict_that_needs_two_symbols_has_one_pair():
    both = DFA.from_regex("(a|b)*a(a|b)*b(a|b)*", alphabet="ab")
    pairs = analysis.interactions(both, "ab")
    np.testing.assert_allclose(pairs.values, [[0, 0.25], [0.25, 0]], rtol=0, atol=1e-15)


def test_a_word_of_one_symbol_that_is_a_pair_is_no_batch():
    machine = DFA([[0, 1], [1, 0]], {1}, alphabet=[(0, 0), (0, 1)])
    assert analysis.interactions(machine, [(0, 1)]).values.shape == (1, 1)
    mixed = DFA([[0, 1], [1, 0]], {1}, alphabet=["a", 1])
    np.testing.assert_allclose(
        analysis.interactions(mixed, ["a", 1, 1]).values,
        analysis.interactions(machine, [(0, 0), (0, 1), (0, 1)]).values,
    )
    with pytest.raises(ValueError, match="`reference` and `with_respect_to` must be None for an automaton"):
        analysis.interactions(machine, [(0, 1)], reference=[0.0])


def test_a_text_of_padding_alone_has_no_pairs():
    pairs = analysis.interactions(classifier(mask_zero=True), [0, 0, 0])
    assert not pairs.players.any()
    assert not pairs.values.any()
    assert pairs.top() == []
    assert str(pairs).endswith("no pair among 0 steps that can be there or not")
    assert pairs._repr_html_()


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16", "float64"])
def test_other_dtypes_are_run_as_they_are(dtype):
    model = vectors(keras.layers.LSTM(4, dtype=dtype), keras.layers.Dense(2, dtype=dtype))
    pairs = analysis.interactions(randomized(model, scale=0.4), np.random.default_rng(0).normal(size=(4, 3)))
    assert np.isfinite(pairs.values).all()
    assert pairs.residual < 1e-2


def test_a_masked_step_is_no_player_and_nan_is_refused():
    model = randomized(vectors(keras.layers.Masking(), keras.layers.LSTM(4), keras.layers.Dense(1)))
    x = np.random.default_rng(0).normal(size=(5, 3))
    x[2] = 0.0
    pairs = analysis.interactions(model, x)
    kept = [0, 1, 3, 4]
    assert pairs.players.tolist() == [True, True, False, True, True]
    np.testing.assert_allclose(
        pairs.values[np.ix_(kept, kept)], analysis.interactions(model, x[kept]).values, rtol=0, atol=1e-12
    )
    x[3] = np.nan
    with pytest.raises(ValueError, match=r"finite|NaN|nan"):
        analysis.interactions(model, x)


def test_floats_are_no_symbols_of_affine_maps():
    model = AFFINE["MinGRU"]()
    with pytest.raises(ValueError, match="`symbols` must be the integers of one text"):
        analysis.interactions(model, [1.0, 2.0])
    same = analysis.interactions(model, np.array([[1, 2]]))
    np.testing.assert_array_equal(same.values, analysis.interactions(model, [1, 2]).values)


def longer(model, x, **options):
    """The exact pairs, and those of the surrogate of the same network and sequence."""
    exact = analysis.interactions(model, x, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[exact_interactions.__module__], "EXACT_PLAYERS", 4)
        return exact, analysis.interactions(model, x, **options)


@both_indices
@pytest.mark.parametrize("backwards", [False, True])
def test_more_than_sixteen_steps_have_the_pairs_of_the_affine_surrogate(backwards, index):
    recurrent = keras.layers.GRU(3, go_backwards=backwards)
    model = randomized(vectors(recurrent, keras.layers.Dense(1, "sigmoid")), scale=0.5)
    exact, pairs = longer(model, np.random.default_rng(2).normal(size=(8, 3)), index=index)
    assert (pairs.method, pairs.exact, exact.exact) == ("affine surrogate", False, True)
    assert 0.98 < pairs.r_squared <= 1
    assert pairs.output == pytest.approx(exact.output)
    assert pairs.reference_output == pytest.approx(exact.reference_output)
    assert (pairs.unit, pairs.target) == (exact.unit, exact.target)
    above = np.triu_indices(8, 1)
    assert np.corrcoef(exact.values[above], pairs.values[above])[0, 1] > 0.98
    assert "of an affine surrogate that explains" in str(pairs)
    assert pairs._repr_html_()


def test_a_surrogate_leaves_padding_out_and_names_groups():
    model = classifier(mask_zero=True)
    ids = [3, 1, 0, 0, 2, 5, 4, 1]
    exact, pairs = longer(model, ids, groups=[0, 0, 1, 1, 2, 3, 4, 5])
    assert pairs.method == "affine surrogate"
    assert pairs.tokens == exact.tokens
    assert pairs.players.tolist() == exact.players.tolist() == [True, False, True, True, True, True]
    assert not pairs.values[1].any()
    assert np.corrcoef(exact.values.ravel(), pairs.values.ravel())[0, 1] > 0.9


def test_sixty_steps_of_an_lstm_have_pairs():
    pairs = analysis.interactions(classifier(), np.random.default_rng(0).integers(1, 6, 60))
    assert pairs.values.shape == (60, 60)
    assert pairs.r_squared < 1
    assert "1,770 pairs, the strongest first" in str(pairs)
    assert len(pairs.table()) == 1770
    assert str(pairs).endswith("and 1,755 more")


@both_indices
def test_padding_of_affine_maps_is_no_player_and_stays(index):
    model = randomized(symbols(keras.layers.Embedding(6, 3, mask_zero=True), layers.MinGRU(4), keras.layers.Dense(1)))
    short = analysis.interactions(model, [1, 5, 2], index=index)
    for word, kept in (([1, 5, 2, 0, 0], [0, 1, 2]), ([0, 1, 0, 5, 2], [1, 3, 4])):
        pairs = analysis.interactions(model, word, index=index)
        assert pairs.method == "affine maps"
        assert np.flatnonzero(pairs.players).tolist() == kept
        np.testing.assert_allclose(pairs.values[np.ix_(kept, kept)], short.values, rtol=0, atol=1e-14)
        assert np.count_nonzero(pairs.values) == 6
        assert (pairs.output, pairs.reference_output) == (short.output, short.reference_output)
    one = analysis.interactions(model, [1, 0, 1, 5, 2, 0], groups=[0, 1, 0, 2, 3, 4], index=index)
    same = analysis.interactions(model, [1, 1, 5, 2], groups=[0, 0, 1, 2], index=index)
    assert one.players.tolist() == [True, False, True, True, False]
    kept = [0, 2, 3]
    np.testing.assert_allclose(one.values[np.ix_(kept, kept)], same.values, rtol=0, atol=1e-14)
    nothing = analysis.interactions(model, [0, 0], index=index)
    assert not nothing.players.any()
    assert nothing.output == nothing.reference_output


def test_a_surrogate_that_misses_the_output_of_the_text_is_said_to():
    cell = keras.layers.SimpleRNN(1, activation="linear", use_bias=False)
    model = vectors(cell, keras.layers.Dense(1, "relu"))
    model.set_weights([np.ones((3, 1)) / 3, np.ones((1, 1)), np.ones((1, 1)), np.full(1, -19.0)])
    pairs = analysis.interactions(model, np.ones((20, 3)))
    assert pairs.output == pytest.approx(1, abs=1e-5)
    missed = pairs.output - pairs.surrogate_output
    assert missed > 0.5
    assert pairs.r_squared < 0.9
    assert f"the surrogate misses the output by {missed:.2g} of a change of 1: do not rely on its pairs" in str(pairs)
    near = analysis.interactions(classifier(), np.random.default_rng(0).integers(1, 6, 20))
    assert near.surrogate_output == pytest.approx(near.output, rel=0.05)
    assert "\nestimates: pairs are small differences of outputs" in str(near)


@pytest.mark.parametrize(
    ("steps", "options", "rule"),
    [
        (20, {"target": 7}, r"`target` must be an integer in \[0, 1\). Received: target=7"),
        (36, {"groups": [*range(18)] * 2}, "steps of a group must follow one another"),
        pytest.param(600, {}, "at most 512 steps", marks=pytest.mark.matrix),
    ],
)
def test_what_has_no_surrogate_is_refused_by_its_own_rule(steps, options, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.interactions(classifier(), np.random.default_rng(0).integers(1, 6, steps), **options)


def test_a_wrong_target_is_refused_before_too_many_players():
    with pytest.raises(ValueError, match=r"`target` must be an integer in \[0, 2\)"):
        analysis.interactions(randomized(OTHERS["two directions"]()), np.ones((17, 3)), target=7)


def test_groups_of_vectors_are_called_groups():
    x = np.random.default_rng(0).normal(size=(6, 3))
    for model, sequence in ((randomized(OTHERS["LSTM"]()), x), (classifier(), [1, 2, 3, 1, 2, 3])):
        pairs = analysis.interactions(model, sequence, groups=[0, 0, 1, 1, 2, 2])
        assert pairs.groups.tolist() == [0, 0, 1, 1, 2, 2]
        assert pairs.kind == "group"
    pairs = analysis.interactions(randomized(OTHERS["LSTM"]()), x, groups=[0, 0, 1, 1, 2, 2])
    assert pairs.name(1) == "group 2"
    assert re.search(r"^group 1  group 2  +[+-]", str(pairs), re.MULTILINE)
    assert "step" not in str(pairs).split("\n", 1)[1]
    values, tag = pairs.tag()
    assert (tag["symbols"], tag["vectors"], tag["groups"]) == (["group 1", "group 2", "group 3"], False, True)
    one = analysis.interactions(randomized(OTHERS["LSTM"]()), x, groups=[0] * 6)
    assert "no pair among 1 group that" in str(one)


def test_pairs_of_rounding_have_no_bars():
    model = randomized(vectors(keras.layers.SimpleRNN(2, activation="linear"), keras.layers.Dense(1)), scale=0.5)
    pairs = analysis.interactions(model, np.random.default_rng(0).normal(size=(5, 3)))
    assert 0 < np.abs(pairs.values).max() < 1e-12
    rows = [line for line in str(pairs).splitlines() if line.startswith("step ") and "  step " in line]
    assert len(rows) == 10
    assert not any("#" in row or "--" in row for row in rows)
