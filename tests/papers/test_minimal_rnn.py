"""The recurrent layers that are compared, and how their gates start."""

import keras
import numpy as np
import pytest

from examples.papers import _minimal_rnn as minimal_rnn
from keras_interp_rnn import layers


@pytest.mark.parametrize("kind", minimal_rnn.NETWORKS)
def test_every_matrix_is_orthogonal_and_drawn_by_itself(kind):
    layer = minimal_rnn.recurrent_layer(kind, units=6, features=6, seed=1)
    layer.build((None, None, 6))
    matrices = [
        block
        for weight in layer.get_weights()
        if weight.ndim == 2 and weight.shape[0] == 6
        for block in np.split(weight, weight.shape[1] // 6, axis=1)
    ]
    for matrix in matrices:
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-5)
    different = {tuple(np.round(matrix.ravel(), 4)) for matrix in matrices}
    assert len(different) == len(matrices) == {"vanilla": 2, "GRU": 6, "CFN": 5, "MinimalRNN": 3}[kind]


def test_an_unknown_network_is_named():
    with pytest.raises(ValueError, match="'LSTM'"):
        minimal_rnn.recurrent_layer("LSTM", 4, 4, 0)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (layers.MinimalRNN(3), [2, 2, 2]),
        (layers.CFN(2), [2, 2, -2, -2]),
        (keras.layers.GRU(2), [[2, 2, 0, 0, 0, 0], [0] * 6]),
    ],
    ids=["MinimalRNN", "CFN", "GRU"],
)
def test_the_gate_that_keeps_the_state_has_the_bias(layer, expected):
    minimal_rnn.set_gate_bias(layer, 2.0, features=5)
    bias = keras.ops.convert_to_numpy(layer.cell.bias)
    np.testing.assert_array_equal(bias[..., : np.shape(expected)[-1]], expected)
