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


def test_without_peepholes_it_is_keras_lstm() -> None:
    some = SUBJECT.sample(mask="scattered")
    some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
    layer = some.with_(peephole=np.zeros((3, 4))).layer(return_sequences=True)
    theirs = keras.layers.LSTM(4, return_sequences=True, dtype="float64")
    theirs.build(some.inputs.shape)
    theirs.set_weights([some.weights[name] for name in ("kernel", "recurrent_kernel", "bias")])
    SUBJECT.assert_close(layer(some.inputs, mask=some.mask), numpy(theirs(some.inputs, mask=some.mask)))


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


def test_dropout_is_one_draw_for_all_steps() -> None:
    """Gates wide open, no recurrence: c_t - c_{t-1} is tanh of the thinned input."""
    layer = PeepholeLSTM(4, dropout=0.4, return_state=True, seed=1)
    layer.build((None, None, 4))
    kernel = np.concatenate([np.zeros((4, 8)), np.eye(4), np.zeros((4, 4))], axis=1)
    for variable, array in zip(
        [getattr(layer.cell, name) for name in ("kernel", "recurrent_kernel", "bias", "peephole")],
        [kernel, np.zeros((4, 16)), np.repeat([50.0, 50.0, 0, 0], 4), np.zeros((3, 4))],
        strict=True,
    ):
        variable.assign(array)
    _, _, memory = layer(np.ones((200, 6, 4), "float32"), training=True)
    kept = numpy(memory) > 1
    np.testing.assert_allclose(numpy(memory), 6 * np.where(kept, np.tanh(1 / 0.6), 0), rtol=1e-5, atol=1e-5)
    assert abs(kept.mean() - 0.6) < 0.07  # four standard deviations of 800 draws
