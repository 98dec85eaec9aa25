import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from tests.oracles import isan as oracle

SIZES = [(5, 3, 4), (7, 11, 2), (2, 6, 5)]


def network(units, symbols, outputs, seed):
    """A model with random asymmetric weights, and the same weights as the paper writes them (columns)."""
    rng = np.random.default_rng(seed)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(units, symbols, return_sequences=True, dtype="float64"),
            keras.layers.Dense(outputs, dtype="float64"),
        ]
    )
    model.set_weights([rng.normal(size=w.shape) * 0.6 for w in model.get_weights()])
    kernel, bias, start, readout, readout_bias = model.get_weights()
    return model, (kernel.transpose(0, 2, 1), bias, start, readout.T), readout_bias


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_contributions_are_those_of_equation_6(units, symbols, outputs, seed):
    model, paper, readout_bias = network(units, symbols, outputs, seed)
    text = np.random.default_rng(seed).integers(0, symbols, 9)
    split = analysis.contributions(model, text)
    np.testing.assert_allclose(split.values, oracle.contributions(*paper, text), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(split.bias + split.values.sum(axis=0), split.logits, rtol=1e-12, atol=1e-12)
    assert split.residual < 1e-12


def test_logits_are_those_of_the_model():
    model, _, _ = network(6, 4, 3, seed=2)
    text = np.random.default_rng(2).integers(0, 4, 12)
    np.testing.assert_allclose(
        analysis.contributions(model, text).logits, keras.ops.convert_to_numpy(model(text[None]))[0], atol=1e-6
    )


def test_a_source_taken_out_is_gone_from_the_logits():
    model, (kernel, bias, start, readout), readout_bias = network(5, 3, 4, seed=3)
    text = np.array([2, 0, 0, 1, 2])
    split = analysis.contributions(model, text)
    # Without the initial state the network reads the text from zero.
    from_zero = oracle.logits(readout, readout_bias, oracle.states(kernel, bias, 0 * start, text[None])[0])
    np.testing.assert_allclose(split.without([0]), from_zero, atol=1e-12)
    # Without everything only the readout's bias is left.
    np.testing.assert_allclose(split.without(range(6)), np.tile(readout_bias, (5, 1)), atol=1e-12)
    np.testing.assert_allclose(split.without([]), split.logits, atol=0)


def test_a_layer_splits_with_its_head_or_with_arrays_or_splits_its_state():
    model, _, readout_bias = network(5, 3, 4, seed=4)
    isan, head = model.layers
    text = [0, 2, 1]
    expected = analysis.contributions(model, text).values
    np.testing.assert_array_equal(analysis.contributions(isan, text, head).values, expected)
    arrays = (head.get_weights()[0], readout_bias)
    np.testing.assert_array_equal(analysis.contributions(isan, text, arrays).values, expected)
    np.testing.assert_array_equal(analysis.contributions(isan.cell, text, arrays).values, expected)
    states = analysis.contributions(isan, text)
    np.testing.assert_allclose(states.values @ arrays[0], expected, atol=1e-12)
    np.testing.assert_allclose(states.logits[-1], analysis.affine_map(isan, text).apply(isan.get_weights()[2]))


def test_an_empty_text_has_no_contributions():
    model, _, _ = network(5, 3, 4, seed=5)
    split = analysis.contributions(model, [])
    assert split.values.shape == (1, 0, 4)
    assert split.residual == 0


def test_dropout_between_layer_and_head_is_no_obstacle():
    isan, head = layers.ISAN(4, 3, return_sequences=True), keras.layers.Dense(2)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dropout(0.5), head])
    assert analysis.contributions(model, [0, 1]).values.shape == (3, 2, 2)


@pytest.mark.parametrize(
    "head", [[keras.layers.Dense(3, "tanh")], [keras.layers.Dense(3), keras.layers.Dense(2)], [keras.layers.GRU(2)]]
)
def test_a_head_that_is_not_one_linear_dense_layer_is_refused(head):
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layers.ISAN(4, 3, return_sequences=True), *head])
    with pytest.raises(ValueError, match="only if one linear Dense layer reads the ISAN's states.*readout=\\(matrix"):
        analysis.contributions(model, [0, 1])


def test_what_holds_no_isan_is_refused():
    with pytest.raises(ValueError, match="Exactly one ISAN can be read at a time"):
        analysis.contributions(keras.Sequential([keras.Input((3, 2)), keras.layers.LSTM(4)]), [0])


def test_a_layer_without_weights_is_refused():
    with pytest.raises(ValueError, match="has no weights yet.*Call it on symbols once"):
        analysis.contributions(layers.ISAN(4, 3), [0])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ([0, 3], r"symbols must lie in \[0, 3\). Received: 0 to 3"),
        ([-1, 2], r"symbols must lie in \[0, 3\). Received: -1 to 2"),
        ([[0, 1]], r"integers of one text, shape \(time,\). Received: int64 of shape \(1, 2\). Pass one row"),
        ([0.5], r"integers of one text.*Received: float64"),
    ],
)
def test_symbols_that_are_no_text_are_refused(text, sentence):
    model, _, _ = network(5, 3, 4, seed=6)
    with pytest.raises(ValueError, match=sentence):
        analysis.contributions(model, text)
    with pytest.raises(ValueError, match=sentence):
        analysis.affine_map(model, text)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_map_of_a_word_is_reading_it(seed):
    model, (kernel, bias, _, _), _ = network(6, 4, 3, seed)
    rng = np.random.default_rng(seed)
    text, state = rng.integers(0, 4, 10), rng.normal(size=6)
    read = oracle.states(kernel, bias, state, text[None])[0, -1]
    whole = analysis.affine_map(model, text)
    np.testing.assert_allclose(whole.apply(state), read, rtol=1e-12, atol=1e-12)
    two_words = analysis.affine_map(model, text[:3]).then(analysis.affine_map(model, text[3:]))
    np.testing.assert_allclose(two_words.apply(state), read, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(analysis.affine_map(model, []).apply(state), state)
