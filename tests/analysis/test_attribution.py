"""Shares of steps: they sum to the output, are what replacing steps one by one gives, and are refused where unknown."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.network.chain import open_chain
from tests.analysis.network.test_own_equations import EulerCell, SilentCell

FEATURES, UNITS, STEPS = 3, 4, 6
MASK = np.array([[1, 1, 0, 1, 0, 1], [1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1]], bool)


def stack():
    return keras.layers.RNN([keras.layers.GRUCell(5), keras.layers.LSTMCell(UNITS)])


LAYERS = {
    "SimpleRNN": lambda: [keras.layers.SimpleRNN(UNITS)],
    "GRU": lambda: [keras.layers.GRU(UNITS)],
    "GRU, reset before": lambda: [keras.layers.GRU(UNITS, reset_after=False)],
    "LSTM": lambda: [keras.layers.LSTM(UNITS, dropout=0.5)],
    "backwards": lambda: [keras.layers.LSTM(UNITS, go_backwards=True)],
    "Bidirectional": lambda: [keras.layers.Bidirectional(keras.layers.GRU(UNITS))],
    "two layers": lambda: [
        keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True), merge_mode="ave"),
        keras.layers.GRU(UNITS),
    ],
    "zero output": lambda: [
        keras.layers.GRU(5, return_sequences=True, zero_output_for_mask=True),
        keras.layers.GlobalAveragePooling1D(),
    ],
    "stack of cells": lambda: [stack()],
    "MinimalRNN": lambda: [layers.MinimalRNN(UNITS)],
    "CFN": lambda: [layers.CFN(UNITS)],
    "PeepholeLSTM": lambda: [layers.PeepholeLSTM(UNITS)],
    "SRGRU": lambda: [layers.SRGRU(UNITS, 3)],
    "SRLSTM": lambda: [layers.SRLSTM(UNITS, 3, strength=0.7, regularize_last_step=False)],
    "own cell": lambda: [keras.layers.RNN(EulerCell(UNITS))],
    "unknown cell": lambda: [keras.layers.RNN(SilentCell(UNITS))],
}


def network(name, seed=0, masked=False, head=None):
    keras.utils.set_random_seed(seed)
    before = [keras.layers.Masking()] if masked else []
    head = [keras.layers.Dense(2, activation="tanh")] if head is None else head
    model = keras.Sequential([keras.Input((None, FEATURES)), *before, *LAYERS[name](), *head])
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.6)
    return model


def batch(masked=False, seed=0):
    x = np.random.default_rng(seed).normal(size=(3, STEPS, FEATURES)).astype("float32")
    return np.where(MASK[:, :, None], x, 0).astype("float32") if masked else x


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_shares_are_differences_of_the_networks_own_outputs(name, masked):
    model, x = network(name, masked=masked), batch(masked)
    reference = np.array([0.3, -0.2, 0.5])
    telescoped = analysis.attribution(model, x, target=1, reference=reference)
    occluded = analysis.attribution(model, x, target=1, method="occlusion", reference=reference)
    assert telescoped.residual < (1e-5 if name == "unknown cell" else 1e-12)
    assert telescoped.difference < 1e-5
    whole = ops.convert_to_numpy(model(x))[:, 1]
    for t in range(STEPS):
        read = MASK[:, t] if masked else np.ones(3, bool)
        replaced, first, shorter = x.copy(), x.copy(), x.copy()
        present = (x != 0).any(axis=-1) if masked else np.ones((3, STEPS), bool)
        for rows, steps in ((replaced, [t]), (first, range(t + 1, STEPS)), (shorter, range(t, STEPS))):
            for s in steps:
                rows[present[:, s], s] = reference
        without, upto, before = (ops.convert_to_numpy(model(rows))[:, 1] for rows in (replaced, first, shorter))
        np.testing.assert_allclose(occluded.shares[:, t], (whole - without) * read, atol=1e-5)
        np.testing.assert_allclose(telescoped.shares[:, t], (upto - before) * read, atol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", [name for name in LAYERS if name != "unknown cell"])
def test_the_path_integral_is_complete_and_its_gradient_that_of_finite_differences(name, masked):
    model, x = network(name, masked=masked), batch(masked)
    split = analysis.attribution(model, x, target=0, method="path_integral", num_points=96)
    assert split.residual < 1e-6
    np.testing.assert_allclose(split.output, ops.convert_to_numpy(model(x))[:, 0], atol=1e-5)
    chain = open_chain(model, x)
    _, gradient = chain.gradient(chain.inputs, chain.mask, 0)
    way = np.random.default_rng(5).normal(size=chain.inputs.shape) * chain.mask[:, :, None]
    # MinimalRNN and CFN encode their inputs in float32, which a small step would not move.
    in_float32 = name in ("MinimalRNN", "CFN")
    step = 1e-2 if in_float32 else 1e-5
    ahead, behind = (chain.run(chain.inputs + sign * step * way, chain.mask)[:, 0] for sign in (1, -1))
    exact = (gradient * way).sum(axis=(1, 2))
    rtol, atol = (2e-3, 2e-4) if in_float32 else (1e-6, 1e-8)
    np.testing.assert_allclose(exact, (ahead - behind) / (2 * step), rtol=rtol, atol=atol)


@pytest.mark.parametrize("activation", ["linear", "sigmoid", "softmax", "relu"])
def test_heads(activation):
    model = network("GRU", head=[keras.layers.Dropout(0.5), keras.layers.Dense(3), keras.layers.Dense(2, activation)])
    for method in ("telescoping", "path_integral"):
        split = analysis.attribution(model, batch(), target=0, method=method)
        assert split.residual < (1e-3 if activation == "relu" else 1e-6)


def test_an_isan_has_its_exact_contributions():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    split = analysis.attribution(model, np.array([[0, 3, 1], [2, 2, 0]]), target=1)
    assert split.method == "contributions"
    expected = analysis.contributions(model, [2, 2, 0], targets=-1).values[1:, 0, 1]
    np.testing.assert_allclose(split.shares[1], expected)
    assert split.residual < 1e-12
    assert 0 < split.difference < 1e-6


def test_with_a_softmax_the_contributions_are_those_to_the_logit():
    keras.utils.set_random_seed(0)
    ids = np.array([[0, 3, 1], [2, 2, 0]])
    plain = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    model = keras.Sequential([plain, keras.layers.Softmax()])
    split = analysis.attribution(model, ids, target=1)
    np.testing.assert_array_equal(split.output, analysis.attribution(plain, ids, target=1).output)
    assert 0 < split.difference < 1e-6
    layer = analysis.attribution(plain.layers[0], ids, target=1)
    np.testing.assert_allclose(layer.output, keras.ops.convert_to_numpy(plain.layers[0](ids))[:, 1], atol=1e-6)
    assert layer.difference < 1e-6


@pytest.mark.parametrize("options", [{"mask": MASK}, {"reference": np.ones(4)}])
def test_contributions_replace_nothing(options):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=r"no reference, and no mask. Received: .* with (mask|reference)\. "):
        analysis.attribution(model, np.array([[0, 3, 1]]), target=1, method="contributions", **options)


def test_ids_and_a_layer_by_itself():
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.LSTM(UNITS)(keras.layers.Embedding(7, FEATURES, mask_zero=True)(ids))
    model = keras.Model(ids, keras.layers.Dense(1)(states))
    split = analysis.attribution(model, np.array([[1, 5, 2, 0], [3, 3, 6, 1]]), target=0)
    assert split.shares[0, 3] == 0
    assert split.residual < 1e-12
    assert [step for step, _ in split.top(2, sequence=1)] == np.argsort(-np.abs(split.shares[1]))[:2].tolist()
    layer = keras.layers.GRU(UNITS)
    layer(batch())
    assert analysis.attribution(layer, batch(), target=3, mask=MASK).residual < 1e-12


def test_half_precision_is_explained_in_float64():
    keras.utils.set_random_seed(0)
    # The default, orthogonal, has no decomposition of float16 on JAX and torch.
    layer = keras.layers.GRU(UNITS, dtype="float16", recurrent_initializer="glorot_uniform")
    model = keras.Sequential([keras.Input((None, FEATURES)), layer])
    split = analysis.attribution(model, batch(), target=0)
    assert split.residual < 1e-12
    assert 0 < split.difference < 0.02


def two_inputs():
    first, second = keras.Input((None, FEATURES)), keras.Input((2,))
    return keras.Model(
        [first, second], keras.layers.Dense(1)(keras.layers.Concatenate()([keras.layers.GRU(2)(first), second]))
    )


def with_nan():
    model = network("GRU")
    model.weights[0].assign(np.full(model.weights[0].shape, np.nan))
    return model


@pytest.mark.parametrize(
    ("make", "options", "sentence"),
    [
        (lambda: network("GRU"), {"method": "best"}, "method must be one of .*Received: 'best'"),
        (lambda: network("GRU"), {"target": 2}, r"an int in \[0, 1\]. Received: target=2"),
        (lambda: network("GRU"), {"reference": [1.0]}, r"one finite vector \(3,\).*Received: shape=\(1,\)"),
        (lambda: network("GRU"), {"mask": MASK}, "makes its own mask"),
        (lambda: network("GRU"), {"method": "path_integral", "num_points": 0}, "num_points is a number, at least 1"),
        (lambda: keras.layers.GRU(2), {"mask": MASK & False}, "False all along for sequence 0"),
        (two_inputs, {}, "not exactly one input and one output"),
        (with_nan, {}, "weights must be finite"),
        (lambda: keras.layers.LSTM(2, return_state=True), {}, "return_state=True"),
        (lambda: keras.layers.Dense(2), {}, "model with recurrent layers, or of a recurrent layer"),
        (lambda: keras.Sequential([keras.layers.Dense(2)]), {}, "has no recurrent layer"),
        (lambda: keras.Sequential([stack(), keras.layers.LayerNormalization()]), {}, "LayerNormalization"),
        (lambda: network("unknown cell"), {"method": "path_integral"}, "closed form. Received: .*SilentCell"),
        (lambda: layers.SRGRU(3, 2, transition="sample"), {}, "draws noise"),
        (lambda: network("GRU"), {"method": "contributions"}, "Exactly one ISAN"),
    ],
)
def test_what_is_refused(make, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        analysis.attribution(make(), batch(), **{"target": 0, **options})


def test_inputs_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="inputs must be finite"):
        analysis.attribution(network("GRU"), np.full((1, 2, FEATURES), np.nan), target=0)
    with pytest.raises(ValueError, match="at least one of at least one step"):
        analysis.attribution(network("GRU"), np.zeros((1, 0, FEATURES)), target=0)


def test_the_number_of_the_strongest_is_not_below_0():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
    found = (
        analysis.attribution(model, [[0, 3, 1]], target=1),
        analysis.contributions(model, [0, 3, 1]),
        analysis.substitutions(model, [0, 3, 1], alternatives=[0, 1]),
    )
    for result in found:
        assert result.top(0) == []
        with pytest.raises(ValueError, match="must be an integer of at least 0. Received: num_.*=-1"):
            result.top(-1)


def test_a_stateful_isan_is_not_run():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((None,), batch_size=2, dtype="int32"), layers.ISAN(3, 4, stateful=True), keras.layers.Dense(2)]
    )
    split = analysis.attribution(model, np.array([[0, 3, 1]]), target=1)
    assert split.residual < 1e-12
    assert np.isnan(split.difference)
    np.testing.assert_array_equal(model.layers[0].states[0], np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("shape", "rule"),
    [((0, 3), "The inputs are sequences"), ((2, 0), "Targets"), ((3,), "symbols")],
)
def test_an_isan_reads_sequences_of_symbols(shape, rule):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=rule):
        analysis.attribution(model, np.zeros(shape, int), target=0)
