"""Affine surrogates: an ISAN along one text, against the network's and its own coalitions."""

import itertools
import re
import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers, views
from tests.oracles import weighted_automata as oracle


def randomized(model, seed=0, scale=0.6):
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=weight.shape) * scale for weight in model.get_weights()])
    return model


def of_ids(*hidden, outputs=1, symbols=5, seed=0, scale=0.6, activation=None):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *hidden, keras.layers.Dense(outputs, activation)])
    return randomized(model, seed, scale)


def embedded(layer, **options):
    return of_ids(keras.layers.Embedding(5, 4), layer, **options)


def shapley(surrogate):
    """In the order of the steps."""
    found = analysis.shapley_values(surrogate.model, surrogate.word, background=surrogate.background)
    assert found.residual < 1e-10
    return found.values[1:, 0, 0][np.argsort(surrogate.word)]


def by_brute_force(surrogate):
    """From all coalitions of the surrogate, each read by its own model."""
    count = len(surrogate.word)
    weights = [np.asarray(weight) for weight in surrogate.model.get_weights()]
    kernel, bias, state = weights[0], weights[1], weights[2]

    def worth(coalition):
        h = state
        for symbol in surrogate.word:
            read = symbol if symbol in coalition else count + symbol
            h = h @ kernel[read] + bias[read]
        return h @ weights[3] + weights[4]

    return oracle.shapley_values(worth, count)[:, 0]


CASES = {
    "LSTM": lambda: embedded(keras.layers.LSTM(5), scale=1.0),
    "GRU, two outputs": lambda: embedded(keras.layers.GRU(4), outputs=2, seed=1),
    "stack": lambda: of_ids(
        keras.layers.Embedding(5, 3), keras.layers.GRU(4, return_sequences=True), keras.layers.LSTM(3), seed=2
    ),
    "pooled": lambda: of_ids(
        keras.layers.Embedding(5, 3),
        keras.layers.LSTM(4, return_sequences=True),
        keras.layers.GlobalAveragePooling1D(),
        seed=3,
    ),
    "backwards": lambda: embedded(keras.layers.GRU(4, go_backwards=True), seed=4),
    "masked": lambda: of_ids(keras.layers.Embedding(5, 3, mask_zero=True), keras.layers.LSTM(4), seed=5),
    "softmax": lambda: embedded(keras.layers.SimpleRNN(4), outputs=3, activation="softmax", seed=6),
}


@pytest.mark.parametrize("name", CASES)
def test_shapley_values_of_the_surrogate_are_those_of_its_own_coalitions(name):
    model, word = CASES[name](), np.array([3, 0, 1, 4, 2, 0, 1])
    surrogate = analysis.affine_surrogate(model, word, num_runs=16)
    assert surrogate.model.output_shape == (None, 1)
    assert surrogate.model.layers[1].vocabulary_size == 14
    np.testing.assert_allclose(shapley(surrogate), by_brute_force(surrogate), rtol=0, atol=1e-10)
    split = analysis.contributions(surrogate.model, surrogate.word)
    np.testing.assert_allclose(split.logits[-1, 0], surrogate.surrogate_output, rtol=0, atol=1e-10)
    assert split.residual < 1e-10
    assert np.isfinite(surrogate.r_squared)
    assert surrogate.num_held_out == 4
    assert surrogate.num_runs == 16


def test_contributions_are_those_of_a_text_that_is_filled_in_from_its_end():
    model, word = CASES["LSTM"](), np.array([3, 0, 1, 4, 2, 0, 1])
    surrogate = analysis.affine_surrogate(model, word)
    split = analysis.contributions(surrogate.model, surrogate.word, targets=-1)
    ends = [np.where(np.arange(7) >= t, surrogate.word, 7 + surrogate.word) for t in range(8)]
    values = [analysis.contributions(surrogate.model, end, targets=-1).logits[0, 0] for end in ends]
    np.testing.assert_allclose(split.values[1:, 0, 0], -np.diff(values), rtol=0, atol=1e-12)
    np.testing.assert_allclose(split.bias[0], values[-1], rtol=0, atol=1e-12)
    assert not split.values[0].any()


def test_all_that_reads_an_isan_reads_it(tmp_path):
    surrogate = analysis.affine_surrogate(CASES["LSTM"](), np.array([3, 0, 1, 4, 2, 0, 1]))
    model, word = surrogate.model, surrogate.word
    value = surrogate.surrogate_output
    phrase = analysis.affine_map(model, word)
    weights = [np.asarray(weight) for weight in model.get_weights()]
    np.testing.assert_allclose(phrase.apply(weights[2]) @ weights[3] + weights[4], value, rtol=0, atol=1e-12)
    assert analysis.minimize(model).residual < 1e-6
    automaton = automata.WeightedAutomaton.from_network(model)
    symbols = [automaton.alphabet[symbol] for symbol in word]
    np.testing.assert_allclose(np.ravel(automaton.value(symbols))[0], value, rtol=0, atol=1e-12)
    for result in (surrogate, model, analysis.contributions(model, word)):
        views.save(result, tmp_path / "page.html")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["ISAN", "MinGRU", "pooled MinGRU"])
def test_of_a_network_that_is_affine_it_is_the_network(kind, seed):
    steps = 12
    model = {
        "ISAN": lambda: of_ids(layers.ISAN(6, 5), outputs=2, seed=seed),
        "MinGRU": lambda: embedded(layers.MinGRU(7), outputs=2, seed=seed),
        "pooled MinGRU": lambda: of_ids(
            keras.layers.Embedding(5, 4),
            layers.MinGRU(5, return_sequences=True),
            keras.layers.GlobalAveragePooling1D(),
            outputs=2,
            seed=seed,
        ),
    }[kind]()
    word = np.random.default_rng(seed).integers(1, 5, steps)
    surrogate = analysis.affine_surrogate(model, word, num_runs=160, target=1)
    assert 0 <= 1 - surrogate.r_squared < 1e-9
    assert surrogate.num_held_out == 40
    np.testing.assert_allclose(surrogate.surrogate_output, surrogate.output, rtol=0, atol=1e-6)
    exact = analysis.attribution(model, word[None], method="shapley", target=1)
    np.testing.assert_allclose(shapley(surrogate), exact.shares[0], rtol=0, atol=1e-6 * np.ptp(exact.shares))


@pytest.mark.parametrize("seed", range(2))
def test_few_players_are_all_fitted_and_explained(seed):
    """2^5 states are on one affine map a step, as each is a corner of its own."""
    model = embedded(keras.layers.LSTM(6), seed=seed, scale=1.0)
    word = np.array([1, 4, 2, 3])
    surrogate = analysis.affine_surrogate(model, word)
    assert (surrogate.num_runs, surrogate.num_held_out) == (16, 0)
    exact = analysis.attribution(model, word[None], target=0).shares[0]
    np.testing.assert_allclose(shapley(surrogate), exact, rtol=0, atol=0.05 * np.ptp(exact))
    assert surrogate.r_squared > 0.98


def trained_on_signs(steps=14):
    """An LSTM that sums the values of words, whose signs "not" (symbol 2) turns for the next one."""
    rng = np.random.default_rng(1)
    keras.utils.set_random_seed(1)
    x = rng.integers(0, 4, (1500, steps))
    y = np.zeros(len(x))
    for row, word in enumerate(x):
        sign = 1.0
        for symbol in word:
            y[row] += sign * {0: 1.0, 1: -1.0}.get(int(symbol), 0.0)
            sign = -1.0 if symbol == 2 else 1.0
    model = keras.Sequential([keras.Input((steps,), dtype="int32"), keras.layers.Embedding(4, 6)])
    model.add(keras.layers.LSTM(12))
    model.add(keras.layers.Dense(1))
    model.compile(keras.optimizers.Adam(2e-2), "mse", jit_compile=False)
    model.fit(x, np.tanh(y / 3), batch_size=64, epochs=8, verbose=0)
    return model, x


def test_of_a_trained_lstm_shapley_values_correlate_with_the_exact_ones():
    model, x = trained_on_signs()
    for word in x[:3]:
        surrogate = analysis.affine_surrogate(model, word)
        exact = analysis.attribution(model, word[None], target=0)
        assert exact.exact
        assert np.corrcoef(shapley(surrogate), exact.shares[0])[0, 1] > 0.97
        assert surrogate.r_squared > 0.9


def test_r_squared_is_that_of_coalitions_that_the_fit_has_not_seen():
    """It is near the one over all coalitions; that of a fit to few runs is far below that of the fit itself."""
    model, word = embedded(keras.layers.LSTM(8), scale=1.6), np.array([1, 3, 2, 4, 4, 1, 2, 3, 1, 4])
    surrogate = analysis.affine_surrogate(model, word, num_runs=240)
    kernel, bias, state, matrix, offset = (np.asarray(weight) for weight in surrogate.model.get_weights())
    table = np.array(list(itertools.product([False, True], repeat=10)))
    vectors = np.asarray(model.layers[0].get_weights()[0])
    above = keras.Sequential([keras.Input((10, 4)), *model.layers[1:]])
    own = above.predict(np.where(table[:, :, None], vectors[word], 0), verbose=0)[:, 0].astype(float)
    states = np.tile(state, (len(table), 1))
    for t in range(10):
        chosen = np.where(table[:, t], t, 10 + t)
        states = np.einsum("mi,mij->mj", states, kernel[chosen]) + bias[chosen]
    sizes = table.sum(axis=1)
    weights = 1 / np.bincount(sizes)[sizes] / 11
    missed = weights @ (own - (states @ matrix + offset)[:, 0]) ** 2
    whole = 1 - missed / (weights @ (own - weights @ own) ** 2)
    assert abs(surrogate.r_squared - whole) < 0.3 * (1 - whole) + 0.02


def test_groups_are_symbols_and_a_text_without_a_vector_for_each_step_has_zeros():
    model, word = embedded(keras.layers.GRU(4)), np.array([1, 2, 3, 4, 1, 2, 3])
    groups = [0, 0, 1, 2, 2, 2, 3]
    surrogate = analysis.affine_surrogate(model, word, groups=groups)
    assert surrogate.tokens == ("12", "3", "412", "3")
    exact = analysis.attribution(model, word[None], groups=groups, target=0)
    np.testing.assert_allclose(shapley(surrogate), exact.shares[0], rtol=0, atol=0.02 * np.ptp(exact.shares))
    padded = of_ids(keras.layers.Embedding(5, 3, mask_zero=True), keras.layers.LSTM(4))
    surrogate = analysis.affine_surrogate(padded, [3, 1, 0, 2, 0])
    assert np.abs(shapley(surrogate)[[2, 4]]).max() < 1e-15
    assert np.abs(shapley(surrogate)[[0, 1, 3]]).min() > 1e-4


def test_a_step_in_between_is_explained_from_the_steps_up_to_it():
    model = of_ids(keras.layers.Embedding(5, 3), keras.layers.GRU(4, return_sequences=True))
    surrogate = analysis.affine_surrogate(model, [3, 1, 4, 2], step=1)
    exact = analysis.attribution(model, np.array([[3, 1, 4, 2]]), step=1, target=0)
    np.testing.assert_allclose(shapley(surrogate), exact.shares[0], rtol=0, atol=1e-6)
    assert np.abs(shapley(surrogate)[2:]).max() < 1e-15


def test_the_output_after_each_step_is_that_of_the_text_so_far():
    model, word = embedded(keras.layers.LSTM(4), seed=3), np.array([1, 4, 2, 3, 1])
    surrogate = analysis.affine_surrogate(model, word)
    logits = analysis.contributions(surrogate.model, surrogate.word).logits[:, 0]
    vectors = np.asarray(model.layers[0].get_weights()[0])[word]
    above = keras.Sequential([keras.Input((5, 4)), *model.layers[1:]])
    so_far = np.array([np.where(np.arange(5)[:, None] <= t, vectors, 0) for t in range(5)])
    own = above.predict(so_far, verbose=0)[:, 0]
    np.testing.assert_allclose(logits, own, atol=0.05 * np.ptp(own))


def test_names_of_symbols_are_those_of_what_is_read_and_distinct():
    model = embedded(keras.layers.GRU(4))
    names = ["<pad>", "not", "very", "good", "very absent"]
    surrogate = analysis.affine_surrogate(model, ["not", "good", "very", "good"], alphabet=names)
    found = analysis.contributions(surrogate.model, surrogate.word).alphabet
    assert list(found[:4]) == ["not", "good (step 2)", "very", "good (step 4)"]
    assert found[5] == "good (step 2) absent"
    assert surrogate.tokens == ("not", "good", "very", "good")
    clash = analysis.affine_surrogate(model, ["very", "very absent"], alphabet=names)
    assert len(set(analysis.contributions(clash.model, clash.word).alphabet)) == 4
    vectors = analysis.affine_surrogate(keras.layers.GRU(3), np.random.default_rng(0).normal(size=(4, 2)))
    assert vectors.tokens == ()
    assert list(analysis.contributions(vectors.model, vectors.word).alphabet)[:2] == ["step 1", "step 2"]


def test_logits_are_explained_unless_probabilities_are_asked_for():
    model, word = embedded(keras.layers.GRU(4), activation="sigmoid", scale=1.0), np.array([1, 2, 3, 4])
    of_logit, of_probability = (analysis.affine_surrogate(model, word, of=of) for of in ("logit", "probability"))
    assert (of_logit.unit, of_probability.unit) == ("log-odds", "probability")
    np.testing.assert_allclose(1 / (1 + np.exp(-of_logit.output)), of_probability.output, atol=1e-12)


def test_an_output_that_does_not_change_is_explained():
    model = embedded(keras.layers.GRU(4))
    model.layers[-1].set_weights([np.zeros((4, 1)), np.full(1, 0.5)])
    surrogate = analysis.affine_surrogate(model, [1, 2, 3])
    assert surrogate.r_squared == 1
    assert surrogate.surrogate_output == surrogate.output == 0.5


def test_the_saved_model_is_the_surrogate(tmp_path):
    surrogate = analysis.affine_surrogate(embedded(keras.layers.GRU(4)), [1, 2, 3, 2])
    surrogate.model.save(tmp_path / "surrogate.keras")
    loaded = keras.models.load_model(tmp_path / "surrogate.keras")
    found = analysis.contributions(loaded, surrogate.word).logits[-1, 0]
    np.testing.assert_allclose(found, surrogate.surrogate_output, atol=1e-12)


def test_it_says_how_much_it_explains():
    model, word = embedded(keras.layers.GRU(4)), np.array([1, 2, 3, 4, 4, 3, 2, 1])
    text = str(analysis.affine_surrogate(model, word, num_runs=80))
    assert re.search(r"fitted to 80 runs along this text, 8 steps; explains [\d.]+% of the variance", text)
    assert (
        "over 20 coalitions that it has not seen, the text and the empty one; what it misses is not in its numbers"
        in text
    )
    assert "fitted to all 16 coalitions of this text" in str(analysis.affine_surrogate(model, word[:4]))


REFUSED = {
    "one direction": lambda: analysis.affine_surrogate(
        embedded(keras.layers.Bidirectional(keras.layers.GRU(3))), [1, 2, 3]
    ),
    "step by step": lambda: analysis.affine_surrogate(
        of_ids(
            keras.layers.Embedding(5, 3), keras.layers.GRU(4, return_sequences=True), keras.layers.GlobalMaxPooling1D()
        ),
        [1, 2, 3],
    ),
    "at most 512 steps": lambda: analysis.affine_surrogate(embedded(keras.layers.GRU(3)), np.ones(513, int)),
    "One sequence": lambda: analysis.affine_surrogate(embedded(keras.layers.GRU(3)), np.ones((2, 4), int)),
    "follow one another": lambda: analysis.affine_surrogate(embedded(keras.layers.GRU(3)), [1, 2, 3], groups=[0, 1, 0]),
    "`num_runs` must be": lambda: analysis.affine_surrogate(embedded(keras.layers.GRU(3)), [1, 2, 3], num_runs=3),
    "`target` must be": lambda: analysis.affine_surrogate(embedded(keras.layers.GRU(3)), [1, 2, 3], target=1),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_refuses_in_one_sentence(rule):
    with pytest.raises(ValueError, match=rule):
        REFUSED[rule]()


def conjunction():
    """A network whose output is 1 if all twenty steps are there, and otherwise 0 but for rounding."""
    cell = keras.layers.SimpleRNN(1, activation="linear", use_bias=False)
    model = keras.Sequential([keras.Input((None, 1)), cell, keras.layers.Dense(1, "relu")])
    model.set_weights([np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.full(1, -19.0)])
    return model, np.ones((20, 1))


def test_the_text_and_the_one_without_a_step_count_in_r_squared():
    model, x = conjunction()
    surrogate = analysis.affine_surrogate(model, x)
    assert surrogate.output == 1
    assert surrogate.surrogate_output < 0.5
    assert surrogate.r_squared < 0.9


def test_outputs_that_do_not_vary_are_explained_only_if_they_are_predicted():
    outputs, weights = np.full(4, 3.0), np.full(4, 0.25)
    explained = sys.modules[analysis.affine_surrogate.__module__]._explained
    assert explained(outputs, outputs + 1e-12, weights) == 1
    assert explained(outputs, outputs + [0, 0, 0, 0.5], weights) == -np.inf


def test_groups_of_vectors_are_called_groups():
    x = np.random.default_rng(0).normal(size=(6, 2))
    surrogate = analysis.affine_surrogate(keras.layers.GRU(3), x, groups=[0, 0, 1, 1, 2, 2])
    assert "of this text, 3 groups;" in str(surrogate)
    assert surrogate.groups.tolist() == [0, 0, 1, 1, 2, 2]
    model = embedded(keras.layers.GRU(4))
    twice = analysis.affine_surrogate(model, [1, 2, 1, 2], groups=[0, 0, 1, 1])
    assert list(analysis.contributions(twice.model, twice.word).alphabet)[:2] == ["12 (group 1)", "12 (group 2)"]


def test_all_coalitions_are_fitted_if_they_are_few_more_than_num_runs():
    x = np.random.default_rng(0).normal(size=(10, 2))
    assert analysis.affine_surrogate(keras.layers.GRU(3), x).num_runs == 1024
