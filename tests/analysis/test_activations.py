"""Cells with any activation: what is computed by their equations is what Keras computes, on every backend.

All of Keras's activations, also those that mix the units of a gate, and functions and layers of a user.
"""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from tests import autodiff

BATCH, TIME, FEATURES, UNITS = 2, 3, 5, 4

TAKE_MORE = {"threshold": lambda x: keras.activations.threshold(x, threshold=0.1, default_value=0.05)}
"""Activations with arguments that have no default."""

HALVES = {"glu"}
"""Activations with half as many outputs as inputs: Keras's cells take none."""

OF_KERAS = {
    name: TAKE_MORE.get(name, function)
    for name, function in vars(keras.activations).items()
    if inspect.isfunction(function) and name not in ("get", "serialize", "deserialize", *HALVES)
}
OF_USERS = {
    "normalized": lambda x: x / (0.1 + ops.sqrt(ops.sum(x * x, axis=-1, keepdims=True) + 0.01)),
    "bent": lambda x: x * ops.sigmoid(2 * x),
    "of columns": lambda x: ops.softmax(x, axis=1),
    "LeakyReLU": keras.layers.LeakyReLU(0.3),
    "PReLU": keras.layers.PReLU(alpha_initializer="ones"),
}
ALL = {**OF_KERAS, **OF_USERS}
SUMS_TO_ONE = {"softmax", "of columns"}

ROLES = {
    "SimpleRNN": lambda f, **own: keras.layers.SimpleRNN(UNITS, activation=f, **own),
    "GRU": lambda f, **own: keras.layers.GRU(UNITS, activation=f, **own),
    "GRU, gates": lambda f, **own: keras.layers.GRU(UNITS, recurrent_activation=f, **own),
    "GRU, reset before, gates": lambda f, **own: keras.layers.GRU(
        UNITS, recurrent_activation=f, reset_after=False, **own
    ),
    "LSTM": lambda f, **own: keras.layers.LSTM(UNITS, activation=f, **own),
    "LSTM, gates": lambda f, **own: keras.layers.LSTM(UNITS, recurrent_activation=f, **own),
    "PeepholeLSTM": lambda f, **own: layers.PeepholeLSTM(UNITS, activation=f, **own),
    "PeepholeLSTM, gates": lambda f, **own: layers.PeepholeLSTM(UNITS, recurrent_activation=f, **own),
    "SRGRU, gates": lambda f, **own: layers.SRGRU(UNITS, num_centroids=3, recurrent_activation=f, **own),
    "SRLSTM": lambda f, **own: layers.SRLSTM(UNITS, num_centroids=3, activation=f, **own),
}

TOLERANCE = 3e-5
"""Relative to the largest entry: layers compute in float32."""


def layer_of(role: str, name: str) -> keras.layers.RNN:
    """A layer with random weights."""
    layer = ROLES[role](ALL[name])
    layer(ops.zeros((BATCH, TIME, FEATURES)))
    rng = np.random.default_rng(0)
    for weight in layer.weights:
        if weight.name not in ("temperature", "strength", "noise", "alpha"):
            weight.assign(rng.normal(size=weight.shape) / 8)
    return layer


def sequences(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(BATCH, TIME, FEATURES)).astype("float32")


def run(layer: keras.layers.Layer, x: np.ndarray) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(layer(ops.convert_to_tensor(x))), np.float64)


def assert_near(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(1.0, np.abs(expected).max()))


@pytest.mark.core
@pytest.mark.parametrize("role", ["LSTM", "GRU, gates"])
@pytest.mark.parametrize("name", ALL)
def test_every_activation_is_that_of_keras(name, role):
    check(name, role)


@pytest.mark.parametrize("role", [role for role in ROLES if role not in ("LSTM", "GRU, gates")])
@pytest.mark.parametrize("name", ALL)
def test_every_cell_with_every_activation_is_that_of_keras(name, role):
    check(name, role)


def check(name, role):
    layer, x = layer_of(role, name), sequences()
    check_attributions(layer, x)
    check_jacobians(layer, x)
    check_lyapunov_exponents(layer, x)
    check_patching(layer)
    check_traces(
        layer,
        x,
        {"GRU, gates": "ur", "LSTM, gates": "ifo", "PeepholeLSTM, gates": "ifo"}.get(role, "")
        if name in SUMS_TO_ONE
        else "",
    )


def check_attributions(layer, x):
    found = analysis.attribution(layer, x, target=1, method="occlusion")
    assert_near(found.output, run(layer, x)[:, 1])
    for t in range(TIME):
        without = x.copy()
        without[:, t] = 0
        assert_near(found.shares[:, t], (run(layer, x) - run(layer, without))[:, 1])


def check_jacobians(layer, x):
    weights = np.random.default_rng(3).normal(size=UNITS)
    [gradient] = autodiff.gradients(lambda x: ops.sum(layer(x) * ops.convert_to_tensor(weights, "float32")), [x])
    found = np.asarray(analysis.input_output_jacobian(layer, x, lag=1))
    assert_near(weights @ found, gradient[:, -2])


def check_lyapunov_exponents(layer, x):
    """The exponents of one step sum to the logarithm of its change of volume."""
    jacobian = state_jacobian(layer, x[:, :1])
    found = analysis.lyapunov_exponents(layer, x[:, :1]).exponents
    assert found.shape == jacobian.shape[:2]
    singular = np.linalg.svd(jacobian, compute_uv=False)
    assert_near(np.exp(found.sum(axis=1)), singular.prod(axis=1))


def state_jacobian(layer, x):
    """The derivatives (batch, s, s) of the state after one step by that before it, by the backend."""
    count = len(layer.get_initial_state(1))
    width, one_step = UNITS * count, keras.layers.RNN(layer.cell, return_state=True)
    copies = ops.convert_to_tensor(np.repeat(x, width, axis=0))
    chosen = ops.convert_to_tensor(np.tile(np.eye(width), (BATCH, 1)), "float32")

    def chosen_entries(state):
        after = one_step(copies, initial_state=list(ops.split(state, count, axis=-1)))[1:]
        return ops.sum(ops.concatenate(list(after), axis=-1) * chosen)

    [gradient] = autodiff.gradients(chosen_entries, [np.zeros((BATCH * width, width), "float32")])
    return gradient.reshape(BATCH, width, width)


def check_patching(layer):
    clean, corrupted = sequences(1), sequences(2)
    found = analysis.patching(layer, clean, corrupted=corrupted, target=1)
    assert_near(found.clean, run(layer, clean)[:, 1])
    assert_near(found.corrupted, run(layer, corrupted)[:, 1])
    whole = "h+c" if "h+c" in found.names else "h"
    assert_near(found.outputs[:, found.names.index(whole), -1], found.clean)


def check_traces(layer, x, gates):
    """Activations are those of each gate: a softmax of the update gate sums to 1."""
    found = analysis.trace(layer, x)
    assert_near(found["h"][:, -1], run(layer, x))
    for gate in gates:
        assert_near(found[gate].sum(axis=-1), np.ones((BATCH, TIME)))


@pytest.mark.core
@pytest.mark.parametrize("mixes", [lambda x: ops.softmax(x, axis=0), lambda x: x - ops.mean(x, axis=0)])
@pytest.mark.parametrize("layer", [keras.layers.SimpleRNN, keras.layers.GRU])
def test_refuses_activations_that_mix_the_rows_of_a_batch(layer, mixes):
    """Jacobians are made of many rows at once, where such a function is another one."""
    network, x = layer(3, activation=mixes), np.random.default_rng(0).normal(size=(2, 5, 2)).astype("float32")
    network(x)
    for call in (
        lambda: analysis.input_output_jacobian(network, x, lag=1),
        lambda: analysis.lyapunov_exponents(network, x),
    ):
        with pytest.raises(ValueError, match="must treat each row of a batch by itself"):
            call()
