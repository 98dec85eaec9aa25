"""What every layer of the package refuses in one sentence."""

import inspect

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.layers.common import says

BACKEND = keras.backend.backend()

LAYERS = {
    "ISAN": lambda **flags: layers.ISAN(4, 3, **flags),
    "FactoredISAN": lambda **flags: layers.FactoredISAN(4, 2, **flags),
    "MinimalRNN": lambda **flags: layers.MinimalRNN(4, **flags),
    "CFN": lambda **flags: layers.CFN(4, **flags),
    "PeepholeLSTM": lambda **flags: layers.PeepholeLSTM(4, **flags),
    "SRGRU": lambda **flags: layers.SRGRU(4, 3, **flags),
    "SRLSTM": lambda **flags: layers.SRLSTM(4, 3, **flags),
}

every_layer = pytest.mark.parametrize("name", LAYERS)


def sequences(name, steps):
    return np.zeros((2, steps), "int32") if name == "ISAN" else np.ones((2, steps, 5), "float32")


def starts(name, *shape):
    return [np.ones(shape, "float32")] * (2 if "LSTM" in name else 1)


@every_layer
def test_an_initial_state_of_another_width(name):
    layer = LAYERS[name]()
    states = starts(name, 2, 4)
    assert layer(sequences(name, 3), initial_state=states).shape == (2, 4)
    wrong = [np.zeros((2, 5), "float32") for _ in states]
    with pytest.raises(ValueError, match=r"initial_state must be one array \(batch, size\).* Received: \[\(2, 5\)"):
        layer(sequences(name, 3), initial_state=wrong)
    with pytest.raises(ValueError, match="initial_state must be one array"):
        layer(sequences(name, 3), initial_state=[*states, states[0]])


@every_layer
@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (4,), (2, 1, 4)])
def test_an_initial_state_of_another_batch(name, shape):
    states = starts(name, *shape)
    sentence = says(
        f"initial_state must be one array (batch, size) for each state, of sizes {[4] * len(states)}, for a batch of "
        f"2. Received: {[shape] * len(states)}. Give each sequence a state of its own."
    )
    with pytest.raises(ValueError, match=sentence):
        LAYERS[name]()(sequences(name, 3), initial_state=states)


@every_layer
@pytest.mark.parametrize("shape", [(3, 4), (2, 5)])
def test_an_initial_state_of_another_shape_as_the_input_of_a_model(name, shape):
    inputs = keras.Input(batch_shape=sequences(name, 3).shape, dtype=sequences(name, 3).dtype.name)
    states = [keras.Input(batch_shape=shape) for _ in starts(name)]
    with pytest.raises(ValueError, match=says("initial_state must be one array (batch, size)", f"[{shape}")):
        LAYERS[name]()(inputs, initial_state=states)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere a compiled function knows its shapes")
@every_layer
@pytest.mark.parametrize("known", [None, 1])
def test_an_initial_state_of_another_batch_where_the_batch_is_not_known(name, known):
    import tensorflow as tf

    layer, some = LAYERS[name](), sequences(name, 3)
    layer(some)
    signature = [tf.TensorSpec((None, *some.shape[1:]), some.dtype), [tf.TensorSpec((known, 4))] * len(starts(name))]
    compiled = tf.function(lambda some, states: layer(some, initial_state=states), input_signature=signature)
    np.testing.assert_allclose(
        compiled(some[:1], starts(name, 1, 4)), layer(some[:1], initial_state=starts(name, 1, 4)), rtol=1e-5
    )
    # TensorFlow leaves open which of two checks it makes first; where it knows the size, it has one of its own.
    sentence = "initial_state must hold one state for each sequence" + ("" if known is None else "|is not compatible")
    with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
        compiled(some, starts(name, 1, 4))


@pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow's")
@every_layer
@pytest.mark.parametrize("kind", ["sparse", "ragged"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_sequences_that_are_not_dense(name, kind, symbolic):
    import tensorflow as tf

    some = sequences(name, 3)
    if symbolic:
        if kind == "ragged" and "ragged" not in inspect.signature(keras.Input).parameters:
            pytest.skip("Keras 3.12 has no ragged inputs")
        given = keras.Input(batch_shape=some.shape, dtype=some.dtype.name, **{kind: True})
    else:
        given = tf.sparse.from_dense(some) if kind == "sparse" else tf.RaggedTensor.from_tensor(some, ragged_rank=1)
    with pytest.raises(ValueError, match=says(f"Sequences are dense tensors. Received: a {kind} tensor. Use its to_")):
        LAYERS[name]()(given)


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "ISAN"])
@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("shape", [(None,), (5,)])
def test_model_inputs_without_a_time_axis(name, built, shape):
    layer = LAYERS[name]()
    if built:
        layer(sequences(name, 3))
    with pytest.raises(ValueError, match=f"{name}.* reads (sequences|steps|real-valued inputs).* Received: "):
        layer(keras.Input(shape))


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
