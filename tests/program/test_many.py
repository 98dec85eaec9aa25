"""Many networks as one computation: each is the model with its own weights."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._program import stack_of

K, NETWORKS, BATCH, TIME = 5, 3, 4, 6


def of_symbols(layer):
    return keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(2, activation="tanh")])


def of_vectors(layer):
    table = keras.layers.Embedding(K, 3)
    return keras.Sequential([keras.Input((None,), dtype="int32"), table, layer, keras.layers.Dense(2)])


def of_heads():
    x = keras.Input((None,), dtype="int32")
    states = keras.layers.GRU(3, return_sequences=True)(keras.layers.Embedding(K, 4)(x))
    mean = keras.layers.BatchNormalization()(keras.layers.GlobalAveragePooling1D()(states))
    return keras.Model(x, keras.layers.Average()([keras.layers.Dense(2)(mean), keras.layers.LSTM(2)(states)]))


def joined():
    x = keras.Input((None,), dtype="int32")
    parts = [layers.ISAN(2, K, return_sequences=True)(x), keras.layers.Embedding(K, 4)(x)]
    return keras.Model(x, keras.layers.Dense(1)(keras.layers.Concatenate()(parts)))


MODELS = {
    "ISAN": lambda: of_symbols(layers.ISAN(3, K, return_sequences=True)),
    "DiagonalISAN": lambda: of_symbols(layers.DiagonalISAN(3, K, return_sequences=True)),
    "DiagonalISAN, blocks, last state": lambda: of_symbols(layers.DiagonalISAN(4, K, 2)),
    "DiagonalISAN, last state": lambda: of_symbols(layers.DiagonalISAN(4, K)),
    "MinGRU": lambda: of_vectors(layers.MinGRU(4, return_sequences=True)),
    "MinLSTM, positive": lambda: of_vectors(layers.MinLSTM(4, positive=True)),
    "GRU": lambda: of_vectors(keras.layers.GRU(4, return_sequences=True)),
    "GRU, reset before": lambda: of_vectors(keras.layers.GRU(4, reset_after=False)),
    "LSTM": lambda: of_vectors(keras.layers.LSTM(4, return_sequences=True)),
    "SimpleRNN without bias": lambda: of_vectors(keras.layers.SimpleRNN(4, use_bias=False)),
    "joined": joined,
    "two directions": lambda: of_vectors(keras.layers.Bidirectional(keras.layers.GRU(2, return_sequences=True))),
    "two directions, added": lambda: of_vectors(keras.layers.Bidirectional(keras.layers.LSTM(2), merge_mode="sum")),
    "backwards": lambda: of_symbols(layers.ISAN(3, K, go_backwards=True, return_sequences=True)),
    "norms": lambda: of_vectors(keras.Sequential([keras.layers.LayerNormalization(), keras.layers.GRU(2)])),
    "heads": of_heads,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_stack_computes_what_each_model_does(name):
    model = MODELS[name]()
    generator = np.random.default_rng(1)
    weights = [generator.normal(size=(NETWORKS, *v.shape)).astype("float32") / 2 for v in model.trainable_variables]
    x = generator.integers(0, K, (NETWORKS, BATCH, TIME))
    place = {id(variable): value for variable, value in zip(model.trainable_variables, weights, strict=True)}
    stack = stack_of(model)

    def read(variable):
        return ops.convert_to_tensor(place.get(id(variable), np.stack([ops.convert_to_numpy(variable)] * NETWORKS)))

    stacked = ops.convert_to_numpy(stack(read, [ops.convert_to_tensor(x)]))
    for network in range(NETWORKS):
        for variable, value in zip(model.trainable_variables, weights, strict=True):
            variable.assign(value[network])
        np.testing.assert_allclose(stacked[network], model.predict(x[network], verbose=0), atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        of_vectors(keras.layers.Bidirectional(keras.layers.GRU(2), merge_mode="mul")),
        of_vectors(keras.layers.GRU(2, activation=lambda x: x - keras.ops.mean(x, axis=0))),
        keras.Sequential([keras.Input((None,)), keras.layers.Embedding(K, 2, mask_zero=True)]),
        of_vectors(layers.CFN(2)),
        of_vectors(keras.layers.Conv1D(2, 1)),
        keras.Sequential([keras.Input((None,)), keras.layers.Embedding(K, 2, mask_zero=True), keras.layers.GRU(2)]),
        keras.Sequential([keras.Input((None, K)), layers.ISAN(2, K)]),
        keras.Sequential([keras.Input((None, K)), keras.layers.GRU(2, activity_regularizer="l2")]),
    ],
)
def test_a_model_with_another_layer_has_no_stack(model):
    assert stack_of(model) is None


class Negated(keras.Model):
    def call(self, inputs, training=None, mask=None):
        return -super().call(inputs, training=training)


def test_a_model_that_computes_more_than_its_graph_has_no_stack():
    x = keras.Input((None,), dtype="int32")
    assert stack_of(Negated(x, keras.layers.Dense(1)(layers.ISAN(2, K)(x)))) is None
