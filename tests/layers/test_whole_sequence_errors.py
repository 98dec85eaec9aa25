"""What every layer of the package refuses in one sentence."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers

LAYERS = {
    "ISAN": lambda **flags: layers.ISAN(4, 3, **flags),
    "FactoredISAN": lambda **flags: layers.FactoredISAN(4, 2, **flags),
    "MinimalRNN": lambda **flags: layers.MinimalRNN(4, **flags),
    "CFN": lambda **flags: layers.CFN(4, **flags),
    "SRGRU": lambda **flags: layers.SRGRU(4, 3, **flags),
    "SRLSTM": lambda **flags: layers.SRLSTM(4, 3, **flags),
}

every_layer = pytest.mark.parametrize("name", LAYERS)


def sequences(name, steps):
    return np.zeros((2, steps), "int32") if name == "ISAN" else np.ones((2, steps, 5), "float32")


@every_layer
def test_an_initial_state_of_another_width(name):
    layer = LAYERS[name]()
    states = [np.zeros((2, 4), "float32"), np.zeros((2, 4), "float32")][: 2 if name == "SRLSTM" else 1]
    assert layer(sequences(name, 3), initial_state=states).shape == (2, 4)
    wrong = [np.zeros((2, 5), "float32") for _ in states]
    with pytest.raises(ValueError, match=r"initial_state must be one array \(batch, size\).* Received: \[\(2, 5\)"):
        layer(sequences(name, 3), initial_state=wrong)
    with pytest.raises(ValueError, match="initial_state must be one array"):
        layer(sequences(name, 3), initial_state=[*states, states[0]])


@every_layer
def test_a_sequence_of_no_steps(name):
    layer = LAYERS[name]()
    layer(sequences(name, 3))
    with pytest.raises(ValueError, match="A sequence has at least one step. Received: sequences of shape"):
        layer(sequences(name, 0))


def test_a_minimal_rnn_says_that_ids_need_an_embedding():
    layer = layers.MinimalRNN(4)
    with pytest.raises(ValueError, match="Ids need an Embedding before it, or as its encoder|expected ndim=3"):
        layer(np.zeros((2, 3), "int32"))
    model = keras.Sequential(
        [keras.Input((3,), dtype="int32"), layers.MinimalRNN(4, encoder=keras.layers.Embedding(5, 4))]
    )
    assert model(np.zeros((2, 3), "int32")).shape == (2, 4)
