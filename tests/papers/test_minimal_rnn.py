"""The recurrent layers that are compared, and how their gates start."""

import keras
import numpy as np
import pytest

from examples.papers import _minimal_rnn as minimal_rnn


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


@pytest.mark.parametrize(
    ("kind", "units", "expected"),
    [
        ("MinimalRNN", 3, [2, 2, 2]),
        ("CFN", 2, [2, 2, -2, -2]),
        ("GRU", 2, [[2, 2, 0, 0, 0, 0], [0] * 6]),
    ],
)
def test_the_gate_that_keeps_the_state_has_the_bias(kind, units, expected):
    layer = minimal_rnn.recurrent_layer(kind, units, features=5, seed=0, gate_bias=2.0)
    bias = keras.ops.convert_to_numpy(layer.cell.bias)
    np.testing.assert_array_equal(bias[..., : np.shape(expected)[-1]], expected)
