"""Layers that Keras alone runs, by themselves: brute force on the layer. Outputs that are no numbers."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis
from tests.oracles import shapley

pytestmark = pytest.mark.core(2)

FEATURES, STEPS = 3, 4
MASK = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], bool)


@keras.saving.register_keras_serializable("tests")
class Outer(keras.layers.Layer):
    """A cell whose first state is a matrix."""

    def __init__(self, second=False, **options):
        super().__init__(**options)
        self.state_size, self.output_size = [(2, 3), *([2] if second else [])], 2

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 5))

    def call(self, x, states):
        first, second = ops.split(x @ self.kernel, [2], axis=-1)
        matrix = 0.7 * states[0] + ops.tanh(first[:, :, None] * second[:, None])
        return ops.sum(matrix, axis=-1), [matrix, *(state + x[:, :2] for state in states[1:])]

    def get_initial_state(self, batch_size=None):
        sizes = [size if isinstance(size, tuple) else (size,) for size in self.state_size]
        return [ops.zeros((batch_size, *size)) for size in sizes]

    def get_config(self):
        return {**super().get_config(), "second": len(self.state_size) > 1}


def both(layer, mode):
    return keras.layers.Bidirectional(layer, merge_mode=mode)


RNN, GRU, GRUCell, LSTMCell = keras.layers.RNN, keras.layers.GRU, keras.layers.GRUCell, keras.layers.LSTMCell
LAYERS = {
    "a matrix for a state": lambda: RNN(Outer()),
    "a product of directions": lambda: both(GRU(3), "mul"),
    "a stack backwards": lambda: RNN([GRUCell(3), LSTMCell(2)], go_backwards=True),
    "a stack in both directions": lambda: both(RNN([GRUCell(3), LSTMCell(2)]), "concat"),
    "outputs backwards": lambda: GRU(3, go_backwards=True, return_sequences=True),
    "a matrix and a vector": lambda: RNN(Outer(second=True)),
    "matrices in both directions": lambda: both(RNN(Outer()), "sum"),
    "a cell backwards": lambda: RNN(LSTMCell(3), go_backwards=True),
}


def vectors():
    return np.random.default_rng(2).normal(size=(2, STEPS, FEATURES)).astype("float32")


def randomized(layer):
    rng = np.random.default_rng(3)
    for weight in layer.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_explained_by_running_it(name, masked):
    layer, x = LAYERS[name](), vectors()
    layer(x)
    randomized(layer)
    mask = MASK if masked else np.ones_like(MASK)
    split = analysis.attribution(layer, x, target=1, mask=MASK if masked else None)
    for row, shares, read in zip(x, split.shares, mask, strict=True):
        players = np.flatnonzero(read)

        def value(coalitions, row=row, read=read, players=players):
            variants = np.tile(row, (len(coalitions), 1, 1))
            variants[:, players] *= coalitions[:, :, None]
            found = ops.convert_to_numpy(layer(variants, mask=np.tile(read, (len(variants), 1))))
            return (found[:, -1] if found.ndim > 2 else found)[:, 1]

        np.testing.assert_allclose(shares[players], shapley.shapley_values(value, len(players)), atol=2e-6)
        np.testing.assert_allclose(shares[~read], 0, atol=1e-7)
    assert np.abs(split.shares).max() > 1e-2
    assert split.exact


def test_a_cell_whose_state_is_a_matrix_is_explained_under_a_head():
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), RNN(Outer()), keras.layers.Dense(2)])
    split = analysis.attribution(randomized(model), vectors())
    assert split.residual < 1e-5


def test_a_model_of_several_inputs_takes_no_mask():
    inputs = [keras.Input((STEPS, FEATURES)), keras.Input((2,))]
    model = keras.Model(inputs, keras.layers.Concatenate()([GRU(2)(inputs[0]), inputs[1]]))
    with pytest.raises(ValueError, match="mask"):
        analysis.attribution(model, [vectors(), np.ones((2, 2), "float32")], mask=MASK)


def of_a_chain(inputs):
    return ops.log(keras.layers.Dense(1)(GRU(3)(inputs)))


def of_a_graph(inputs):
    states = GRU(3, return_sequences=True)(inputs)
    states = keras.layers.Attention()([states, states])
    return ops.log(keras.layers.Dense(1)(keras.layers.GlobalMaxPooling1D()(states)))


@pytest.mark.parametrize("build", [of_a_chain, of_a_graph])
def test_an_output_that_is_no_number_is_said_first(build):
    """The changed inputs of a network are finite where its own output is not, or the other way round."""
    inputs = keras.Input((STEPS, FEATURES))
    model = keras.Model(inputs, build(inputs))
    x = np.concatenate([vectors(), -vectors()])
    for seed in range(20):
        keras.utils.set_random_seed(seed)
        for weight in model.trainable_weights:
            weight.assign(keras.random.normal(weight.shape))
        if np.isnan(found := ops.convert_to_numpy(model(x))[:, 0]).any():
            row = int(np.argmax(np.isnan(found)))
            with pytest.raises(ValueError, match=f"must be numbers. Received: NaN for sequence {row + 1} of 4. Leave"):
                analysis.attribution(model, x)


def test_outputs_that_are_infinite_for_some_sequences_are_explained_or_said_so():
    inputs = keras.Input((STEPS, FEATURES))
    states = keras.layers.Dense(1)(GRU(3)(inputs))
    model = randomized(keras.Model(inputs, ops.concatenate([states, ops.log(ops.relu(states))], axis=-1)))
    x = np.concatenate([vectors(), -vectors()])
    assert np.isinf(ops.convert_to_numpy(model(x))[:, 1]).any()
    split = analysis.attribution(model, x, target=0)
    assert split.residual < 1e-5
