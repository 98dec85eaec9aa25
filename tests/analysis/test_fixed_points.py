"""Fixed points of cells, where they are known by construction, and their stability."""

import itertools

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.maps import FixedPoints
from keras_interp_rnn.equations import SimpleRNN
from tests.network.test_own_equations import SilentCell


def bits(num_bits, kind="GRU"):
    """A layer whose units each hold one bit: h -> tanh(2 h) has the fixed points 0, unstable, and +-0.9575."""
    layer = getattr(keras.layers, kind)(num_bits, dtype="float64")
    layer.build((None, 1, 2))  # not run: Keras 3.15 has no tanh of float64 on JAX
    identity, zeros = np.eye(num_bits), np.zeros((num_bits, num_bits))
    if kind == "SimpleRNN":
        layer.set_weights([np.ones((2, num_bits)), 2 * identity, np.zeros(num_bits)])
    else:  # gates of the GRU: u = 1/2, r almost 1
        recurrent = np.concatenate([zeros, zeros, 2 * identity], axis=1)
        bias = np.zeros((2, 3 * num_bits))
        bias[0, num_bits : 2 * num_bits] = 40
        layer.set_weights([np.ones((2, 3 * num_bits)), recurrent, bias])
    return layer


@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU"])
@pytest.mark.parametrize("num_bits", [1, 2, 3])
def test_every_combination_of_bits_is_found_and_classified(kind, num_bits):
    found = analysis.fixed_points(bits(num_bits, kind), [0.0, 0.0])
    value = 0.957504024077
    expected = sorted(itertools.product([-value, 0.0, value], repeat=num_bits))
    assert len(found.states) == 3**num_bits
    order = np.lexsort(np.round(found.states, 6).T[::-1])
    np.testing.assert_allclose(found.states[order], expected, atol=1e-9)
    np.testing.assert_array_equal(found.num_unstable, (np.abs(found.states) < 0.5).sum(axis=1))
    assert found.attracts.sum() == 2**num_bits
    assert found.residual < 1e-10
    assert (np.diff(found.num_unstable) >= 0).all()


def test_no_start_reaches_a_point_in_too_few_steps():
    found = analysis.fixed_points(bits(2), [0.0, 0.0], num_starts=4, max_steps=1, tolerance=1e-300)
    assert (found.states.shape, found.eigenvalues.shape, found.residual) == ((0, 2), (0, 2), 0)


@pytest.mark.matrix
@pytest.mark.parametrize("make", [lambda: keras.layers.LSTM(3), lambda: layers.CFN(3), lambda: layers.SRGRU(3, 2)])
def test_a_point_stays_where_it_is_when_the_layer_runs(make):
    keras.utils.set_random_seed(0)
    layer = make()
    layer(np.zeros((1, 1, 2)))
    held = np.array([0.4, -0.7], np.float32)
    found = analysis.fixed_points(layer, held, num_starts=32)
    assert found.attracts.any()
    at_rest = analysis.trace(layer, np.tile(held, (1, 400, 1)))["h"][0, -1]
    first = found.states[found.attracts, :3]
    assert np.abs(first - at_rest).max(axis=1).min() < 1e-4


def test_an_isan_keeps_its_closed_form():
    layer = layers.ISAN(3, 4)
    layer(np.zeros((1, 2), int))
    assert isinstance(analysis.fixed_points(layer), FixedPoints)


class SquashedCell(keras.layers.SimpleRNNCell):
    """With an activation whose equations are not known, and therefore with its own."""

    def equations(self, read):
        return SimpleRNN(read(self.kernel), read(self.recurrent_kernel), read(self.bias), "sigmoid")


@pytest.mark.parametrize("activation", ["linear", "relu", "sigmoid"])
def test_a_simple_rnn_of_another_activation_is_read_too(activation):
    keras.utils.set_random_seed(0)
    layer = keras.layers.SimpleRNN(3, activation=activation)
    layer(np.zeros((1, 1, 2)))
    layer.set_weights([0.6 * weight for weight in layer.get_weights()])
    held = np.array([0.4, 0.7], np.float32)
    found = analysis.fixed_points(layer, held, num_starts=8)
    assert (len(found.states), found.attracts.all()) == (1, True)
    at_rest = analysis.trace(layer, np.tile(held, (1, 60, 1)))["h"][0, -1]
    np.testing.assert_allclose(found.states[0], at_rest, atol=1e-5)
    squashed = keras.layers.RNN(SquashedCell(3, activation=lambda x: keras.ops.sigmoid(x)))
    squashed(np.zeros((1, 1, 2)))
    squashed.set_weights(layer.get_weights())
    if activation == "sigmoid":  # equations of its own
        np.testing.assert_allclose(analysis.fixed_points(squashed, held, num_starts=8).states, found.states, atol=1e-9)


OF_CODE = {
    "GRU with relu": lambda: keras.layers.GRU(3, activation="relu"),
    "LSTM with a hard sigmoid": lambda: keras.layers.LSTM(3, recurrent_activation="hard_sigmoid"),
    "a cell without equations": lambda: keras.layers.RNN(SilentCell(3)),
    "a stack of cells": lambda: keras.layers.RNN([keras.layers.GRUCell(2), keras.layers.LSTMCell(3)]),
}


@pytest.mark.core(2)
@pytest.mark.parametrize("name", OF_CODE)
def test_a_cell_whose_equations_are_not_known_is_differentiated_by_the_backend(name):
    layer = OF_CODE[name]()
    layer(np.zeros((1, 1, 2)))
    rng = np.random.default_rng(0)
    for weight in layer.weights:
        # The state of a SilentCell is at rest where its change is 0: the matrix of the state must turn it back.
        turn = -1.5 * np.eye(3) if name.startswith("a cell") and weight.name == "recurrent_kernel" else 0
        weight.assign(turn + 0.4 * rng.normal(size=weight.shape))
    held = np.array([0.4, -0.7], np.float32)
    found = analysis.fixed_points(layer, held, num_starts=4, max_steps=30)
    assert found.attracts.any()
    assert found.residual < 1e-5
    at_rest = analysis.trace(layer, np.tile(held, (1, 100, 1)))
    at_rest = np.concatenate([at_rest[key][0, -1] for key in at_rest if key.split("/")[-1] in ("h", "c")])
    assert np.abs(found.states[found.attracts] - at_rest).max(axis=1).min() < 1e-3
    # The slope by differences of the layer's own step, along one direction.
    [first, *_], way = found.states, np.eye(found.states.shape[1])
    sizes = np.cumsum(keras.tree.flatten(layer.cell.state_size))[:-1]

    def after(rows):
        states = [x.astype("float32") for x in np.split(rows, sizes, axis=1)]
        if not isinstance(layer.cell.state_size, int):
            states = keras.tree.pack_sequence_as(layer.cell.state_size, states)
        new = layer.cell(np.tile(held, (len(rows), 1)), states)[1]
        return np.concatenate([keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(new)], axis=1)

    slopes = (after(first + 0.01 * way) - after(first - 0.01 * way)).T / 0.02
    np.testing.assert_allclose(
        np.sort(np.abs(np.linalg.eigvals(slopes))), np.sort(np.abs(found.eigenvalues[0])), atol=5e-3
    )


def test_asks_for_inputs_if_there_is_no_isan():
    layer = keras.layers.LSTM(2)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(5, 3), layer])
    with pytest.raises(
        ValueError, match=r"Received: inputs=None and sequential.*Pass inputs, the vector \(features,\)"
    ):
        analysis.fixed_points(model)
    assert analysis.fixed_points(model, np.zeros(3), num_starts=8).residual < 1e-10


def test_refuses_invalid_arguments():
    noisy = layers.SRGRU(3, 2, transition="sample")
    noisy(np.zeros((1, 1, 2)))
    for layer, inputs, options, sentence in (
        (bits(2), [0.0], {}, r"2 features that the cell reads. Received: inputs of shape \(1,\)"),
        (bits(2), [np.nan, 0.0], {}, "one finite vector"),
        (bits(2), [0.0, 0.0], {"num_starts": 0}, "`num_starts` must be a positive integer"),
        (bits(2), [0.0, 0.0], {"states": np.zeros((3, 5))}, r"finite \(num_states, 2\)"),
        *(
            (bits(2), [0.0, 0.0], {"tolerance": t}, "`tolerance` must be a positive number. Re")
            for t in (0, -1, np.nan, "a")
        ),
        (noisy, [0.0, 0.0], {}, "the same state from the same state. Received: .*, which draws noise. Rebuild it with"),
    ):
        with pytest.raises(ValueError, match=sentence):
            analysis.fixed_points(layer, inputs, **options)
