"""PeepholeLSTM: its peepholes, activations and dropout.

The behaviour of every layer is in test_contract.py.
"""

import inspect

import keras
import numpy as np
import pytest

from keras_interp_rnn.layers import PeepholeLSTM, PeepholeLSTMCell
from tests.layers.common import numpy
from tests.layers.contract import Sample
from tests.layers.subjects import SUBJECTS, keras_network

SUBJECT = SUBJECTS["PeepholeLSTM"]


@pytest.mark.parametrize("use_bias", [False, True])
def test_activations_other_than_the_default(use_bias: bool) -> None:
    """One step by hand: candidate and output through softsign, gates through tanh."""
    some = SUBJECT.sample(time=1)
    if not use_bias:
        some = Sample(*some)._replace(weights={name: a for name, a in some.weights.items() if name != "bias"})
    layer = some.layer(activation="softsign", recurrent_activation="tanh", use_bias=use_bias)
    x, (h, c) = some.inputs[:, 0], some.starts
    w = keras_network({"bias": np.zeros(16), **some.weights}, "LSTM", "")

    def drive(gate: str) -> np.ndarray:
        kernel, recurrent, b = (getattr(w, f"{letter}_{gate}") for letter in "WUb")
        return x @ kernel.T + h @ recurrent.T + b

    def softsign(x: np.ndarray) -> np.ndarray:
        return x / (1 + np.abs(x))

    new = np.tanh(drive("f") + w.p_f * c) * c + np.tanh(drive("i") + w.p_i * c) * softsign(drive("c"))
    expected = np.tanh(drive("o") + w.p_o * new) * softsign(new)
    SUBJECT.assert_close(layer(some.inputs, initial_state=some.starts), expected)


def test_the_gate_that_forgets_is_open_at_first() -> None:
    layer = PeepholeLSTM(4)
    layer.build((None, None, 5))
    np.testing.assert_array_equal(numpy(layer.cell.bias), np.repeat([0, 1, 0, 0], 4))


def test_every_argument_of_keras_cell_is_taken() -> None:
    of_keras = set(inspect.signature(keras.layers.LSTMCell.__init__).parameters) - {"self", "kwargs"}
    assert of_keras <= set(PeepholeLSTMCell(4).get_config())
