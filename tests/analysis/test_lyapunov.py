"""Lyapunov exponents against eigenvalues, determinants, and a loop over differences of the cell."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers

UNITS, FEATURES = 3, 2


def sequences(steps: int, batch: int = 2) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(batch, steps, FEATURES))


def by_differences(layer: keras.layers.RNN, x: np.ndarray) -> np.ndarray:
    """Exponents of one sequence (time, features), by central differences of the cell and QR decompositions."""
    eps = 1e-5

    def step(states: np.ndarray, vector: np.ndarray) -> np.ndarray:
        sizes = np.cumsum(keras.tree.flatten(layer.cell.state_size))[:-1]
        given = [ops.convert_to_tensor(part) for part in np.split(states, sizes, axis=-1)]
        rows = ops.convert_to_tensor(np.tile(vector, (len(states), 1)))
        return np.concatenate([ops.convert_to_numpy(new) for new in layer.cell(rows, given)[1]], axis=-1)

    size = sum(keras.tree.flatten(layer.cell.state_size))
    state, directions, growth = np.zeros(size), np.eye(size), np.zeros(size)
    for vector in x:
        moved = step(np.concatenate([state + eps * np.eye(size), state - eps * np.eye(size)]), vector)
        jacobian = (moved[:size] - moved[size:]).T / (2 * eps)
        directions, triangle = np.linalg.qr(jacobian @ directions)
        growth += np.log(np.abs(np.diag(triangle)))
        state = step(state[None], vector)[0]
    return np.sort(growth / len(x))[::-1]


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="float64 layers go through float32 on torch")
@pytest.mark.parametrize(
    "build",
    [keras.layers.SimpleRNN, keras.layers.GRU, keras.layers.LSTM, layers.CFN, layers.MinGRU],
    ids=lambda build: build.__name__,
)
def test_they_are_those_of_a_loop_over_differences(build):
    keras.utils.set_random_seed(1)
    layer, x = build(UNITS, dtype="float64"), sequences(20)
    layer(x)
    found = analysis.lyapunov_exponents(layer, x)
    assert found.method == "closed form"
    expected = np.stack([by_differences(layer, row) for row in x])
    np.testing.assert_allclose(found.exponents, expected, rtol=0, atol=1e-6)


def test_of_one_matrix_they_approach_the_logarithms_of_its_eigenvalues():
    keras.utils.set_random_seed(2)
    layer = layers.ISAN(4, 2, recurrent_initializer=keras.initializers.RandomNormal(stddev=0.6), dtype="float64")
    layer(np.zeros((1, 1), int))
    found = analysis.lyapunov_exponents(layer, np.zeros((1, 3000), int), num_skipped=500)
    values = np.log(np.abs(np.linalg.eigvals(ops.convert_to_numpy(layer.cell.recurrent_kernel)[0])))
    np.testing.assert_allclose(found.exponents[0], np.sort(values)[::-1], atol=5e-3)
    assert (found.standard_error < 5e-3).all()


def test_their_sum_is_the_mean_of_log_determinants():
    keras.utils.set_random_seed(3)
    layer, x = keras.layers.GRU(UNITS), sequences(12)
    layer(x)
    found = analysis.lyapunov_exponents(layer, x)
    jacobians = [
        analysis.input_output_jacobian(layer, x[:, : t + 1], lag=1, with_respect_to="state") for t in range(1, 12)
    ]
    expected = np.log(np.abs(np.linalg.det(np.stack(jacobians)))).mean(axis=0)
    later = analysis.lyapunov_exponents(layer, x, num_skipped=1)
    np.testing.assert_allclose(later.exponents.sum(axis=1), expected, rtol=1e-10)
    np.testing.assert_allclose(found.growth.sum(axis=(1, 2)), 12 * found.exponents.sum(axis=1), rtol=1e-10)


def test_masked_steps_do_not_count():
    layer, x = keras.layers.GRU(UNITS), sequences(9, batch=1)
    mask = np.array([[True, False, True, True, False, True, True, True, False]])
    found = analysis.lyapunov_exponents(layer, x, mask=mask)
    read = analysis.lyapunov_exponents(layer, x[:, mask[0]])
    np.testing.assert_allclose(found.exponents, read.exponents, rtol=1e-6)
    assert found.growth.shape == (1, 6, UNITS)
    assert np.isnan(found.standard_error).all()


def test_the_largest_alone_are_those_of_all():
    keras.utils.set_random_seed(4)
    layer, x = keras.layers.LSTM(UNITS), sequences(15)
    layer(x)
    every = analysis.lyapunov_exponents(layer, x)
    assert every.exponents.shape == (2, 2 * UNITS)
    assert (np.diff(every.exponents, axis=1) <= 0).all()
    largest = analysis.lyapunov_exponents(layer, x, num_exponents=2)
    unordered = np.sort(every.growth.mean(axis=1), axis=1)[:, ::-1]
    assert largest.exponents.shape == (2, 2)
    assert (largest.exponents <= unordered[:, :1] + 1e-12).all()


def test_a_direction_that_is_forgotten_at_once_is_minus_infinity():
    layer = layers.ISAN(2, 2, dtype="float64")
    layer(np.zeros((1, 1), int))
    layer.set_weights([np.zeros_like(weight) for weight in layer.get_weights()])
    found = analysis.lyapunov_exponents(layer, np.zeros((1, 3), int))
    assert (found.exponents == -np.inf).all()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"num_skipped": -1}, "`num_skipped` must be a non-negative integer"),
        ({"num_skipped": 5}, "must read more than num_skipped=5 steps. Received: one of 5"),
        ({"num_exponents": 0}, "`num_exponents` must be a positive integer"),
    ],
)
def test_refusals(options, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.lyapunov_exponents(keras.layers.GRU(UNITS), sequences(5), **options)
    with pytest.raises(ValueError, match="must have one state that moves"):
        analysis.lyapunov_exponents(keras.layers.Bidirectional(keras.layers.GRU(UNITS)), sequences(5))
