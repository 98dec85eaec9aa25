"""Padded texts in networks whose masks go with tensors: brute force on the network itself."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis
from tests.oracles import shapley
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core(2)

WORDS, ABSENT, FEATURES = 9, 9, 5
"""The id after the words has a vector of zeros, as padding has: the same as no step."""

IDS = np.array([[3, 4, 5, 0], [2, 7, 1, 8], [6, 5, 0, 0]])
NEXT = np.array([[1, 2, 0], [3, 4, 5], [6, 0, 0]])
LSTM, GRU, Attention, Heads = (
    *(keras.layers.LSTM, keras.layers.GRU, keras.layers.Attention, keras.layers.MultiHeadAttention),
)


def every_step(kind, units=4, **options):
    return passing_masks_on(kind(units, return_sequences=True, **options))


def mean(x):
    return keras.layers.GlobalAveragePooling1D()(x)


@keras.saving.register_keras_serializable("tests")
class Hides(keras.layers.Layer):
    """A layer whose inner layer reads the mask of what it is given."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = LSTM(4)

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)


def beside_heads(x):
    return GRU(4)(keras.layers.LayerNormalization()(keras.layers.Add()([x, Heads(2, 3)(x, x)])))


def from_a_mean(x):
    return GRU(4)(x, initial_state=keras.layers.Dense(4)(mean(x)))


def from_states(x):
    return LSTM(4)(x, initial_state=LSTM(4, return_state=True)(x)[1:])


def of_two_directions(x):
    outputs, forward, _ = keras.layers.Bidirectional(every_step(GRU, return_state=True))(x)
    return GRU(4)(passed_on(outputs), initial_state=forward)


def passed_on(x):
    return keras.layers.Activation("tanh")(x)


def in_a_layer(x):
    return keras.layers.Concatenate()([Hides()(x), mean(x)])


ENCODERS = {
    "attention": lambda x: mean(Attention()([states := every_step(GRU)(x), states])),
    "heads": beside_heads,
    "a state from a mean": from_a_mean,
    "states of another layer": from_states,
    "states of two directions": of_two_directions,
    "a layer in a layer": in_a_layer,
}


def decoder(x, y, head):
    outputs, *states = every_step(LSTM, return_state=True)(x)
    y = every_step(LSTM)(y, initial_state=states)
    return y if head is None else keras.layers.Concatenate()([y, head(y, outputs)])


DECODERS = {
    "no attention": None,
    "attention": lambda y, x: Attention()([y, x]),
    "heads": lambda y, x: Heads(2, 3)(y, x),
}


def embedded(given, words):
    layer = keras.layers.Embedding(words, FEATURES, mask_zero=True)
    return layer(given), layer


def randomized(model, table):
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    vectors = np.array(ops.convert_to_numpy(table.embeddings))
    vectors[[0, ABSENT]] = 0
    table.embeddings.assign(vectors)
    return model


def check(model, inputs):
    split = analysis.attribution(model, inputs, target=1)
    several = isinstance(inputs, list)
    rest = inputs[1:] if several else []
    for row, ids in enumerate(IDS):
        players = np.flatnonzero(ids)

        def value(coalitions, row=row, ids=ids, players=players):
            variants = np.tile(ids, (len(coalitions), 1))
            variants[:, players] = np.where(coalitions, ids[players], ABSENT)
            others = [np.tile(x[row], (len(variants), 1)) for x in rest]
            found = ops.convert_to_numpy(model([variants, *others] if several else variants))
            return (found[:, -1] if found.ndim > 2 else found)[:, 1]

        np.testing.assert_allclose(split.shares[row, players], shapley.shapley_values(value, len(players)), atol=2e-6)
    np.testing.assert_allclose(split.shares[IDS == 0], 0, atol=1e-7)
    assert np.abs(split.shares).max() > 1e-2
    assert split.exact
    assert split.difference < 1e-5


@pytest.mark.parametrize("name", ENCODERS)
def test_masks_go_with_tensors(name):
    given = keras.Input((None,), dtype="int32")
    x, table = embedded(given, WORDS + 1)
    check(randomized(keras.Model(given, keras.layers.Dense(2)(ENCODERS[name](x))), table), IDS)


@pytest.mark.parametrize("name", DECODERS)
def test_padded_texts_of_a_decoder(name):
    given, following = (keras.Input((None,), dtype="int32") for _ in range(2))
    (x, table), (y, _) = embedded(given, WORDS + 1), embedded(following, 7)
    model = keras.Model([given, following], keras.layers.Dense(2)(decoder(x, y, DECODERS[name])))
    check(randomized(model, table), [IDS, NEXT])


@keras.saving.register_keras_serializable("tests")
class MasksSmall(keras.layers.Layer):
    """Masks the steps whose first feature is small, by whatever operation."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x):
        return x

    def compute_mask(self, x, mask=None):
        return ops.abs(x[..., 0]) > 0.3


def below(x):
    return GRU(4)(MasksSmall()(x))


def nested(x):
    y = keras.Input((None, FEATURES))
    return keras.Model(y, below(y))(x)


def by_position(x):
    return GRU(4)(x, None, ops.abs(x[..., 0]) > 0.3)


@pytest.mark.parametrize("reader", [below, nested, by_position])
def test_a_mask_made_of_values_is_that_of_the_sequence(reader):
    given = keras.Input((None, FEATURES))
    model = keras.Model(given, keras.layers.Dense(2)(reader(given)))
    rng = np.random.default_rng(2)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    x = rng.normal(size=(1, 5, FEATURES)).astype("float32")
    x[0, :, 0] = [1, 0.1, 1, -0.1, -1]
    players = np.array([0, -1, 1, -1, 2])
    inner = next(layer for layer in model.layers if isinstance(layer, keras.Model)) if reader is nested else model
    recurrent = next(layer for layer in inner.layers if isinstance(layer, GRU))

    def run(variants):
        states = recurrent(variants.astype("float32"), mask=np.tile(players >= 0, (len(variants), 1)))
        return ops.convert_to_numpy(model.layers[-1](states))[:, :1]

    split = analysis.attribution(model, x, target=0)
    expected = shapley.of_steps(run, x[0], np.zeros_like(x[0]), players)[:, 0]
    np.testing.assert_allclose(split.shares[0, players >= 0], expected, atol=2e-6)
    np.testing.assert_array_equal(split.read[0], players >= 0)
