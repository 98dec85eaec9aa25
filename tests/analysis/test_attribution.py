"""Shares of steps: they sum to the output, and are those of replacing steps one by one."""

import functools

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import softmax

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._network.vectors import open_network
from keras_interp_rnn._program.values import ByKeras
from tests.network.test_own_equations import EulerCell, SilentCell
from tests.oracles import shapley
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


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
    recurrent = [*map(passing_masks_on, LAYERS[name]())]
    model = keras.Sequential([keras.Input((None, FEATURES)), *before, *recurrent, *head])
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.6)
    return model


def batch(masked=False):
    x = np.random.default_rng(0).normal(size=(3, STEPS, FEATURES)).astype("float32")
    return np.where(MASK[:, :, None], x, 0).astype("float32") if masked else x


def by_replacing(model, x, reference, present):
    """Shares of output 1 by the network itself: telescoped and occluded, and its output."""
    steps = np.arange(x.shape[1])

    def replaced(some):
        return np.where(present[:, :, None] & some[:, None], reference, x)

    every = [replaced(steps >= t) for t in range(len(steps) + 1)] + [replaced(steps == t) for t in steps]
    outputs = ops.convert_to_numpy(model(np.concatenate(every).astype("float32")))[:, 1].reshape(-1, len(x))
    upto, without = outputs[: len(steps) + 1], outputs[len(steps) + 1 :]
    return np.diff(upto, axis=0).T * present, (upto[-1] - without).T * present, upto[-1]


def by_all_coalitions(model, x, reference, present, target=1):
    """The Shapley values of the steps in an output, by the network itself."""
    found = np.zeros(x.shape[:2])
    for shares, row, read, absent in zip(found, x, present, np.broadcast_to(reference, x.shape), strict=True):
        players = np.where(read, read.cumsum() - 1, -1)

        def run(variants):
            return ops.convert_to_numpy(model(variants.astype("float32")))[:, target]

        shares[read] = shapley.of_steps(run, row, absent, players)
    return found


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_shares_are_differences_of_the_networks_own_outputs(name, masked):
    model, x = network(name, masked=masked), batch(masked)
    reference = np.array([0.3, -0.2, 0.5])
    default = analysis.attribution(model, x, target=1, reference=reference)
    telescoped = analysis.attribution(model, x, target=1, method="telescoping", reference=reference)
    occluded = analysis.attribution(model, x, target=1, method="occlusion", reference=reference)
    for split in (default, telescoped):
        assert split.residual < (1e-5 if name == "unknown cell" else 1e-12)
        assert split.difference < 1e-5
    present = MASK if masked else np.ones((3, STEPS), bool)
    upto, without, _ = by_replacing(model, x, reference, present)
    np.testing.assert_allclose(telescoped.shares, upto, atol=1e-5)
    np.testing.assert_allclose(occluded.shares, without, atol=1e-5)
    assert (default.method, default.exact, default.unit) == ("shapley", True, "")
    np.testing.assert_allclose(default.shares, by_all_coalitions(model, x, reference, present), atol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_the_path_integral_is_complete_and_its_gradient_that_of_finite_differences(name, masked):
    model, x = network(name, masked=masked), batch(masked)
    split = analysis.attribution(model, x, target=0, method="path_integral", num_points=96)
    assert split.residual < 1e-6
    np.testing.assert_allclose(split.output, ops.convert_to_numpy(model(x))[:, 0], atol=1e-5)
    chain = open_network(model, [x])
    rows = np.arange(3)
    gradient = chain.gradient(chain.inputs, rows, np.zeros(3, int))
    way = np.random.default_rng(5).normal(size=chain.inputs.shape) * chain.mask[:, :, None]
    # MinimalRNN and CFN encode their inputs in float32, an unknown cell computes in it: a small step would be lost.
    in_float32 = name in ("MinimalRNN", "CFN", "unknown cell")
    step = 1e-2 if in_float32 else 1e-5
    ahead, back = (chain.run(chain.inputs + sign * step * way, rows)[:, 0] for sign in (1, -1))
    exact = (gradient * way).sum(axis=(1, 2))
    rtol, atol = (2e-3, 2e-4) if in_float32 else (1e-6, 1e-8)
    np.testing.assert_allclose(exact, (ahead - back) / (2 * step), rtol=rtol, atol=atol)


@pytest.mark.parametrize("activation", ["linear", "sigmoid", "softmax", "relu"])
def test_a_head_of_any_activation_is_explained(activation):
    model = network("GRU", head=[keras.layers.Dropout(0.5), keras.layers.Dense(3), keras.layers.Dense(2, activation)])
    for method in ("shapley", "telescoping", "path_integral"):
        split = analysis.attribution(model, batch(), target=0, method=method)
        assert split.residual < (1e-3 if activation == "relu" else 1e-6)
        assert split.unit == {"sigmoid": "log-odds", "softmax": "logit"}.get(activation, "")


def test_an_isan_has_its_exact_contributions_to_the_logit_also_before_a_softmax():
    keras.utils.set_random_seed(0)
    ids = np.array([[0, 3, 1], [2, 2, 0]])
    plain = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    expected = analysis.contributions(plain, ids[1], targets=-1)
    for model in (plain, keras.Sequential([plain, keras.layers.Softmax()])):
        split = analysis.attribution(model, ids, target=1)
        assert split.method == "contributions"
        np.testing.assert_allclose(split.shares[1], expected.values[1:, 0, 1])
        assert split.output[1] == expected.logits[0, 1]
        assert split.residual < 1e-12
        assert 0 < split.difference < 1e-6
    layer = analysis.attribution(plain.layers[0], ids, target=1)
    np.testing.assert_allclose(layer.output, keras.ops.convert_to_numpy(plain.layers[0](ids))[:, 1], atol=1e-6)
    assert layer.difference < 1e-6


def test_a_model_of_ids_and_a_layer_are_explained():
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


def test_a_stateful_isan_is_not_run():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((None,), batch_size=2, dtype="int32"), layers.ISAN(3, 4, stateful=True), keras.layers.Dense(2)]
    )
    split = analysis.attribution(model, np.array([[0, 3, 1]]), target=1)
    assert split.residual < 1e-12
    assert np.isnan(split.difference)
    np.testing.assert_array_equal(model.layers[0].states[0], np.zeros((2, 3)))


BEFORE = {
    "LayerNormalization": keras.layers.LayerNormalization,
    "BatchNormalization": keras.layers.BatchNormalization,
    "Normalization": lambda: keras.layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0]),
    "Normalization, inverted": lambda: keras.layers.Normalization(axis=None, mean=0.3, variance=2.0, invert=True),
    "Rescaling": lambda: keras.layers.Rescaling([0.5, -1.5, 2.0], 0.3),
    "LeakyReLU": keras.layers.LeakyReLU,
    "TimeDistributed": lambda: keras.layers.TimeDistributed(keras.layers.Dense(3, activation="gelu")),
}


def batch_normalization():
    """With random statistics and weights."""
    start, scale = keras.initializers.RandomNormal(seed=1), keras.initializers.RandomUniform(0.5, 2, seed=2)
    statistics = {"moving_mean_initializer": start, "moving_variance_initializer": scale}
    return keras.layers.BatchNormalization(beta_initializer=start, gamma_initializer=scale, **statistics)


AFTER = {
    "LayerNormalization": lambda: [keras.layers.LayerNormalization()],
    "BatchNormalization": lambda: [keras.layers.TimeDistributed(keras.layers.Dense(3)), batch_normalization()],
    "Flatten": lambda: [keras.layers.Flatten()],
    "GlobalMaxPooling1D": lambda: [keras.layers.GlobalMaxPooling1D()],
    "Conv1D": lambda: [keras.layers.Conv1D(3, 2, padding="same"), keras.layers.GlobalAveragePooling1D()],
    "gelu": lambda: [keras.layers.Dense(5, activation="gelu"), keras.layers.Flatten()],
}


@pytest.mark.parametrize("name", ["LayerNormalization", "Normalization", "Normalization, inverted", "Rescaling"])
def test_normalizations_are_differentiated_in_float64(name):
    """Below, between and above recurrent layers; against central differences in a random direction."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    below, between, above = (BEFORE[name]() for _ in range(3))
    recurrent = keras.layers.LSTM(FEATURES, return_sequences=True), keras.layers.GRU(FEATURES)
    head = above, keras.layers.Dense(2)
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), below, recurrent[0], between, recurrent[1], *head])
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    chain = open_network(model, [batch()])
    assert not any(isinstance(step.function, ByKeras) for step in chain.steps)
    rows, outputs, direction, size = np.arange(3), np.array([0, 1, 1]), rng.normal(size=chain.inputs.shape), 1e-5
    ahead, back = (chain.run(chain.inputs + sign * size * direction, rows)[rows, outputs] for sign in (1, -1))
    slopes = (chain.gradient(chain.inputs, rows, outputs) * direction).sum(axis=(1, 2))
    np.testing.assert_allclose(slopes, (ahead - back) / (2 * size), rtol=1e-6, atol=1e-9)
    assert analysis.attribution(model, batch(), target=1).residual < 1e-12


def assert_split(model, x, **options):
    """The shares of both methods are complete, and their output is the network's own."""
    split = analysis.attribution(model, x, target=1, **options)
    assert split.residual < 1e-5
    assert split.difference < 1e-5
    assert split.exact
    whole = analysis.attribution(model, x, target=1, method="path_integral", num_points=128, **options)
    assert whole.residual < 2e-3
    np.testing.assert_allclose(
        split.output, ops.convert_to_numpy(model(x))[..., 1].reshape(len(x), -1)[:, -1], atol=1e-5
    )
    return split


@pytest.mark.parametrize("name", BEFORE)
def test_any_layer_that_treats_steps_one_by_one_may_come_first(name):
    keras.utils.set_random_seed(0)
    parts = [BEFORE[name](), keras.layers.GRU(UNITS), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), *parts])
    split = assert_split(model, batch())
    # No step there means zeros in the inputs of the model, and what the first layer makes of them above it.
    later = keras.Sequential(model.layers[1:])
    read, nothing = (ops.convert_to_numpy(model.layers[0](x)) for x in (batch(), 0 * batch()))
    same = analysis.attribution(later, read, target=1, reference=nothing)
    np.testing.assert_allclose(split.shares, same.shares, atol=1e-6)


def test_operations_may_come_first_and_last():
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.RNN(layers.ISANCell(UNITS, 5))(ops.one_hot(ops.cast(ids, "int64"), 5))
    model = keras.Model(ids, keras.layers.Dense(2)(2 * ops.tanh(states)))
    assert_split(model, np.array([[0, 3, 1], [2, 4, 0]]))


@pytest.mark.parametrize("name", AFTER)
def test_any_layer_may_come_after_the_recurrent_ones(name):
    keras.utils.set_random_seed(0)
    sequences = keras.layers.LSTM(UNITS, return_sequences=True)
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), sequences, *AFTER[name](), keras.layers.Dense(2)])
    assert_split(model, batch())


tanh = functools.partial(keras.layers.Dense, 3, activation="tanh")
ISAN_HEADS = {
    "tanh": lambda isan: [isan(), tanh()],
    "the mean, tanh": lambda isan: [isan(return_sequences=True), keras.layers.GlobalAveragePooling1D(), tanh()],
    "both directions, tanh": lambda isan: [keras.layers.Bidirectional(isan()), tanh()],
    "an LSTM above": lambda isan: [isan(return_sequences=True), keras.layers.LSTM(3)],
    "factored": lambda isan: [layers.FactoredISAN(3, 2, 4, return_sequences=True), keras.layers.GRU(3)],
}


@pytest.mark.parametrize("name", ISAN_HEADS)
def test_attribution_splits_an_isan_that_contributions_refuse(name):
    keras.utils.set_random_seed(0)
    ids = np.array([[0, 3, 1], [2, 2, 0]])
    parts = ISAN_HEADS[name](lambda **flags: layers.ISAN(3, 4, **flags))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts, keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="use analysis.attribution"):
        analysis.contributions(model, ids[0])
    split = assert_split(model, ids)
    assert split.method == "shapley"
    # Where no step is there, the mean of all symbols is read.
    chain = open_network(model, [ids])
    nothing = chain.run(np.full((1, 3, 4), 0.25), np.zeros(1, int))[0, 1]
    np.testing.assert_allclose(split.reference_output, nothing)


def test_an_isan_with_a_mask_is_split_by_its_layer():
    keras.utils.set_random_seed(0)
    ids = np.array([[2, 3, 1, 0], [2, 2, 3, 1]])
    inputs, layer, head = keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2, "softmax")
    model = keras.Model(inputs, head(layer(inputs, mask=ops.not_equal(inputs, 0))))
    with pytest.raises(ValueError, match="unchanged.*with mask.*Pass the ISAN layer and its Dense layer as readout"):
        analysis.contributions(model, ids[1])
    split = analysis.contributions(layer, ids[1], readout=head, targets=-1)
    np.testing.assert_allclose(softmax(split.logits[0]), ops.convert_to_numpy(model(ids))[1], atol=1e-6)
    assert analysis.attribution(layer, ids, target=0, mask=ids != 0).shares[0, 3] == 0


def test_refuses_a_stateful_model():
    lstm = keras.layers.LSTM(4, stateful=True)
    model = keras.Sequential([keras.Input((6, 3), batch_size=2), lstm, keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="stateful=True. Rebuild it without stateful, and give it the same weights"):
        analysis.attribution(model, np.zeros((1, 6, 3)), target=0)


def test_refuses_invalid_arguments():
    isan = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
    gru, of_nan, x = network("GRU"), network("GRU"), batch()
    of_nan.weights[0].assign(np.full(of_nan.weights[0].shape, np.nan))
    of_ids = keras.Sequential([keras.Input((None,)), keras.layers.Embedding(5, 3), keras.layers.GRU(2)])
    two = keras.Model(gru.inputs, [gru.layers[0].output, gru.outputs[0]])
    contributions, text = {"method": "contributions"}, np.array([[0, 3, 1]])
    for model, inputs, options, sentence in (
        (gru, x, {"method": "best"}, "`method` must be one of .*Received: method='best'"),
        (gru, x, {"of": "odds"}, "`of` must be one of 'logit', 'probability'.*Received: of='odds'"),
        (gru, x, {"tolerance": 0}, "`tolerance` must be a positive number. Received: tolerance=0"),
        (gru, x, {"tolerance": np.nan}, "`tolerance` must be a positive number. Received: tolerance=nan"),
        (gru, x, {"max_work": 0}, "`max_work` must be a positive integer. Received: max_work=0"),
        (gru, x, {"method": "occlusion", "groups": [0] * STEPS}, "one by one, so groups must be None"),
        (gru, x, {"groups": [0, 0, 1]}, r"`groups` must be the number of a group, from 0, .*\(6,\) or \(3, 6\)"),
        (gru, x, {"groups": [0.0] * STEPS}, "`groups` must be the number of a group.* Received: float64 of shape"),
        (gru, x, {"groups": [-1] * STEPS}, "`groups` must be the number of a group, from 0"),
        (gru, x, {"groups": [0, 1, 2, 3, 4, 9]}, "without gaps. Received: group 9 of 6 steps in sequence 1"),
        (gru, x, {"target": 2}, r"`target` must be an integer in \[0, 2\). Received: target=2"),
        (gru, x, {"reference": [1.0]}, r"`reference` must be a finite vector \(3,\).*Received: shape=\(1,\)"),
        (gru, x, {"mask": MASK}, "computes its own"),
        (gru, x, {"method": "path_integral", "num_points": 0}, "`num_points` must be a positive integer"),
        (gru, x, contributions, "Exactly one ISAN"),
        (gru, np.full((1, 2, FEATURES), np.nan), {}, "inputs must be finite"),
        (gru, np.zeros((1, 0, FEATURES)), {}, "at least one of at least one step"),
        (of_nan, x, {}, "weights must be finite"),
        (keras.layers.LSTM(2, return_state=True), x, {}, "return_state=True. Rebuild it without return_state"),
        (of_ids, [[1, 5]], {}, r"Ids must be integers in \[0, 5\). Received: from 1 to 5"),
        (keras.layers.Dense(2), x, {}, "model with recurrent layers, or a recurrent layer"),
        (keras.Sequential([keras.layers.Dense(2)]), x, {}, "has no recurrent layer. Pass one that has"),
        (two, x, {}, r"one output. Received: .*, with 2. Pass keras.Model\(model.inputs, model.outputs\[i\]\)"),
        (gru, x, {"step": 2}, r"`step` must be -1 where .* Received: step=2, and outputs of shape \(3, 2\)"),
        (gru, x, {"target": [0, 2]}, r"`target` must lie in \[0, 2\). Received: target from 0 to 2"),
        (gru, x, {"target": []}, "`target` must name at least one output"),
        (gru, x, {"with_respect_to": 1}, r"`with_respect_to` must be an integer in \[0, 1\). Received: .*=1"),
        (layers.SRGRU(3, 2, transition="sample"), x, {}, "draws noise"),
        (isan, text, {**contributions, "mask": MASK}, "mask and reference must be None. Received: .* with mask\\. "),
        (isan, text, {**contributions, "reference": np.ones(4)}, "must be None. Received: .* with reference\\. "),
        (isan, np.zeros((0, 3), int), {}, "The inputs must be at least one sequence"),
        (isan, np.zeros((2, 0), int), {}, "`targets` must be different steps"),
        (isan, np.zeros(3, int), {}, "symbols"),
    ):
        with pytest.raises(ValueError, match=sentence):
            analysis.attribution(model, inputs, **{"target": 0, **options})
    for result in (
        analysis.attribution(isan, text, target=1),
        analysis.contributions(isan, [0, 3, 1]),
        analysis.substitutions(isan, [0, 3, 1], alternatives=[0, 1]),
    ):
        assert result.top(0) == []
        with pytest.raises(ValueError, match="must be a non-negative integer. Received: num_.*=-1"):
            result.top(-1)
