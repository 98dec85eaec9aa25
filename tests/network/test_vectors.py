"""A model of any graph as a function of the vectors of one of its inputs: outputs and gradients are Keras's."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import open_network
from tests.oracles.shapley import coalitions, of_steps

STEPS, FEATURES, SYMBOLS = 5, 3, 7


@pytest.fixture(autouse=True)
def _in_float64(global_policy):
    global_policy("float64")


RTOL = 1e-6 if keras.backend.backend() == "tensorflow" else 1e-3
"""Keras's own outputs go through float32 on JAX and torch: tests/tolerances.py."""


def vectors():
    return keras.Input((STEPS, FEATURES), dtype="float64")


def with_states():
    x = vectors()
    _, h, c = L.LSTM(4, return_state=True)(x)
    return keras.Model(x, L.Dense(2)(L.LSTM(4)(x, initial_state=[h, L.Dense(4, "tanh")(c)])))


def end_states():
    x = vectors()
    outputs, last = L.GRU(4, return_sequences=True, return_state=True)(x)
    return keras.Model(x, L.Dense(2)(L.Concatenate()([L.GlobalAveragePooling1D()(outputs), last])))


def around():
    x = vectors()
    h = L.GRU(FEATURES, return_sequences=True)(x)
    return keras.Model(x, L.Dense(2, "tanh")(L.LSTM(4)(L.Add()([h, x]))))


def twice():
    x, gru = vectors(), L.GRU(4, return_sequences=True)
    first = gru(x)
    return keras.Model(x, L.Dense(2)(L.Subtract()([first, gru(L.Dense(FEATURES)(first))])[:, -1]))


def attention():
    x = vectors()
    h = L.Bidirectional(layers.MinimalRNN(4, return_sequences=True))(x)
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(L.Attention()([h, L.LayerNormalization()(h)]))))


def convolved():
    x = vectors()
    below = L.Conv1D(4, 2, activation="tanh")(x)
    above = L.Conv1D(3, 3, 2, padding="same")(L.GRU(4, return_sequences=True)(below)[:, ::-1])
    return keras.Model(x, L.Dense(2)(L.GRU(4, go_backwards=True)(1 - L.Conv1D(4, 2, padding="causal")(above) / 2)))


def cells():
    x = vectors()
    stack = L.RNN([L.LSTMCell(3), L.GRUCell(4)], return_sequences=True)
    return keras.Model(x, L.Dense(2)(L.Bidirectional(stack, merge_mode="ave")(x)))


def one_step_added():
    x = vectors()
    last = L.GRU(4, return_sequences=True)(x[:, -1:])
    states = L.Subtract()([L.GRU(4, return_sequences=True)(x), last])
    return keras.Model(x, L.Dense(2)(L.GRU(3)(states)))


GRAPHS = {
    each.__name__: each
    for each in (with_states, end_states, around, twice, attention, convolved, cells, one_step_added)
}


def drawn(build, seed=0):
    keras.utils.set_random_seed(seed)
    model, rng = build(), np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.6)
    return model


def outputs(model, x):
    found = np.asarray(ops.convert_to_numpy(model(x)), np.float64)
    return found[:, -1] if found.ndim == 3 else found


@pytest.mark.core
@pytest.mark.parametrize("name", GRAPHS)
def test_outputs_and_gradients_are_keras_s(name):
    model, rng = drawn(GRAPHS[name], seed=len(name)), np.random.default_rng(1)
    x, others = rng.normal(size=(2, 3, STEPS, FEATURES))
    network, rows = open_network(model, [x]), np.arange(3)
    assert not network.reason
    np.testing.assert_allclose(network.run(others, rows), outputs(model, others), rtol=RTOL, atol=RTOL)
    way, size = rng.normal(size=x.shape), 1e-4
    ahead, back = (outputs(model, others + sign * size * way)[rows, [0, 1, 1]] for sign in (1, -1))
    slopes = (network.gradient(others, rows, np.array([0, 1, 1])) * way).sum(axis=(1, 2))
    np.testing.assert_allclose(slopes, (ahead - back) / (2 * size), rtol=100 * RTOL, atol=100 * RTOL)


def with_own_state():
    x = vectors()
    outputs, h, c = L.LSTM(4, return_state=True)(x)
    return keras.Model(x, L.Dense(2)(L.Concatenate()([outputs, L.Activation("tanh")(c), h])))


def lower_state():
    x = vectors()
    sequence, h = L.GRU(4, return_sequences=True, return_state=True)(x)
    return keras.Model(x, L.Dense(2)(L.Subtract()([L.GRU(4)(sequence), h])))


def states_of_both():
    x = vectors()
    found = L.Bidirectional(L.GRU(3, return_state=True))(x)
    return keras.Model(x, L.Dense(2)(L.Concatenate()(list(found))))


def backwards_sequences():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.GRU(4, go_backwards=True, return_sequences=True)(x)))


def backwards_mean():
    x = vectors()
    mask = ops.not_equal(x[..., 0], 0.0)
    outputs = L.GRU(4, go_backwards=True, return_sequences=True)(x)
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(outputs, mask=mask)))


def query():
    x = vectors()
    below = L.LSTM(4, return_sequences=True)(x)
    last = L.Reshape((1, 4))(L.GRU(4)(below))
    return keras.Model(x, L.Dense(2)(L.Flatten()(L.Attention()([last, below]))))


def over_steps(x):
    return x - ops.mean(x, axis=1, keepdims=True)


def mixed_below():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.GRU(4)(L.Activation(over_steps)(x))))


def mixed_above():
    x = vectors()
    states = L.Activation(over_steps)(L.LSTM(4, return_sequences=True)(x))
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(L.Activation("tanh")(states))))


def mixed_by_a_layer():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.Dense(3, over_steps)(L.LSTM(4, return_sequences=True)(x))))


class PassesNoMask(L.Layer):
    """Reads the mask, and passes none on."""

    def call(self, x, mask=None):
        return x if mask is None else x * ops.cast(mask, x.dtype)[..., None]


def unmasked():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.GRU(3)(PassesNoMask()(L.Masking()(x)))))


def rows_as_steps():
    x = vectors()
    chunks = ops.reshape(x, (-1, 1, FEATURES))
    return keras.Model(x, L.Dense(2)(ops.reshape(L.GRU(3)(chunks), (-1, STEPS, 3))[:, -1]))


ODD = {
    each.__name__: each
    for each in (
        *(with_own_state, lower_state, states_of_both, backwards_sequences, backwards_mean, query, mixed_below),
        *(mixed_above, mixed_by_a_layer, unmasked, rows_as_steps),
    )
}


@pytest.mark.core
@pytest.mark.parametrize("name", ODD)
def test_shares_are_those_of_all_coalitions_of_keras_s_own_outputs(name):
    model, rng = drawn(ODD[name], seed=len(name)), np.random.default_rng(5)
    x = rng.normal(size=(2, STEPS, FEATURES))
    if name in ("backwards_mean", "unmasked"):
        x[0, 3:] = 0.0
    split = analysis.attribution(model, x, target=[0, 1])
    assert split.exact
    for row, shares, read in zip(x, split.shares, split.read, strict=True):
        players = np.where(read, np.cumsum(read) - 1, -1)

        def run(variants, row=row):
            return held(model, variants, row) if name in ("backwards_mean", "unmasked") else outputs(model, variants)

        expected = of_steps(run, row, np.zeros_like(row), players)
        np.testing.assert_allclose(shares[read], expected, rtol=RTOL, atol=RTOL)


def held(model, variants, row):
    """The outputs under the mask of one sequence: steps of zeros are made small, those that are masked stay 0."""
    tiny = np.where((row != 0).any(axis=-1, keepdims=True) & (variants == 0).all(axis=-1, keepdims=True), 1e-12, 0.0)
    return outputs(model, variants + tiny)


def ids_of(*shape):
    return np.random.default_rng(2).integers(1, SYMBOLS, shape)


def test_a_constant_of_as_many_numbers_as_there_are_rows_is_that_of_all_rows():
    """Two sequences are opened with two others and one more: five rows, as many as steps."""
    ids = keras.Input((STEPS,), dtype="int32")
    places = L.Embedding(STEPS, 4, embeddings_initializer="normal")(ops.arange(STEPS))
    model = drawn(lambda: keras.Model(ids, L.Dense(2)(L.LSTM(4)(L.Embedding(SYMBOLS, 4)(ids) + places))))
    text = ids_of(2, STEPS)
    network = open_network(model, [text])
    np.testing.assert_allclose(
        network.run(network.inputs[::-1], np.array([1, 0])), outputs(model, text)[::-1], rtol=RTOL
    )


def test_two_tables_and_another_input_are_read_step_by_step():
    ids, numbers = keras.Input((STEPS,), dtype="int32"), keras.Input((2,), dtype="float64")
    words = L.Concatenate()([L.Embedding(SYMBOLS, 4)(ids), L.Embedding(SYMBOLS, 2)(ids)])
    head = L.Concatenate()([L.GRU(4)(words), L.Dense(3, "tanh")(numbers)])
    model = drawn(lambda: keras.Model([ids, numbers], L.Dense(2, "softmax")(head)))
    given = [ids_of(2, STEPS), np.random.default_rng(3).normal(size=(2, 2))]
    network = open_network(model, given)
    assert network.inputs.shape == (2, STEPS, 6)
    assert is_read_by_steps(network)
    game = Prefixes(network, 1, np.zeros((STEPS, 6)), np.arange(STEPS))
    some = coalitions(STEPS)
    variants = np.where(some[..., None], network.inputs[1], 0.0)
    np.testing.assert_allclose(game.outputs(some), network.run(variants, np.ones(len(some), int)), atol=1e-12)
    np.testing.assert_allclose(game.outputs(some[-1:])[0], outputs(model, given)[1], rtol=RTOL)


def test_a_layer_that_is_called_twice_is_traced_where_it_was_called_first():
    x, gru = vectors(), L.GRU(4)
    first = gru(x)
    model = drawn(lambda: keras.Model(x, L.Dense(2)(L.Concatenate()([gru(2.0 * x), first]))))
    given = np.random.default_rng(0).normal(size=(2, STEPS, FEATURES))
    last = analysis.trace(model, given)["h"][:, -1]
    np.testing.assert_allclose(last, ops.convert_to_numpy(gru(given)), rtol=RTOL, atol=RTOL)


def parallel():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.Concatenate()([L.GRU(3)(x), L.LSTM(4)(x)])))


def both_apart():
    x = vectors()
    return keras.Model(x, L.Dense(2)(L.Concatenate()(L.Bidirectional(L.GRU(3), merge_mode=None)(x))))


@pytest.mark.core
@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (parallel, "must follow from those of all others.* Received: .* does not depend"),
        (both_apart, "must have one output"),
    ],
)
def test_parallel_layers_have_no_derivatives_by_one_input(build, sentence):
    given = np.random.default_rng(0).normal(size=(2, STEPS, FEATURES))
    with pytest.raises(ValueError, match=sentence):
        analysis.input_output_jacobian(drawn(build), given, lag=1)


def test_without_its_activation_a_mean_under_an_affine_head_is_added_up_step_by_step():
    head = [L.GlobalAveragePooling1D(), L.Dense(1, "sigmoid")]
    model = drawn(lambda: keras.Sequential([vectors(), L.GRU(4, return_sequences=True), *head]))
    x = np.random.default_rng(0).normal(size=(1, STEPS, FEATURES))
    network = open_network(model, [x])
    assert network.activation == "sigmoid"
    logits = network.before_activation()
    assert logits.activation is None
    for each, adds_up in ((network, False), (logits, True)):
        assert Prefixes(each, 0, np.zeros((STEPS, FEATURES)), np.arange(STEPS)).adds_up_steps == adds_up
    np.testing.assert_allclose(1 / (1 + np.exp(-logits.run(x, np.zeros(1, int)))), outputs(model, x), rtol=RTOL)


@pytest.mark.parametrize("of", ["a softmax", "a recurrent layer"])
def test_a_mask_that_is_a_constant_is_that_of_the_call(of):
    keras.utils.set_random_seed(1)
    ids = keras.Input((4,), dtype="int32")
    table = L.Embedding(5, 4)
    x = table(ids)
    table.embeddings.assign(np.concatenate([np.zeros((1, 4)), np.random.default_rng(1).normal(size=(4, 4))]))
    if of == "a softmax":
        weights = L.Softmax()(L.Dense(4)(x), mask=np.tril(np.ones((1, 4, 4), bool)))
        x = L.GRU(3)(ops.matmul(weights, x))
    else:
        x = L.GRU(3)(x, mask=np.array([[True, True, False, True]]))
    model = keras.Model(ids, L.Dense(1)(x))
    shares = analysis.attribution(model, [[1, 3, 2, 4]], target=0, reference=np.zeros(4), method="occlusion")
    variants = [[1, 3, 2, 4], [0, 3, 2, 4], [1, 0, 2, 4], [1, 3, 0, 4], [1, 3, 2, 0]]
    full, *without = (ops.convert_to_numpy(model(np.array([variant])))[0, 0] for variant in variants)
    np.testing.assert_allclose(shares.shares[0], full - np.array(without), atol=1e-6)
    assert (abs(shares.shares[0, 2]) < 1e-12) == (of == "a recurrent layer")
