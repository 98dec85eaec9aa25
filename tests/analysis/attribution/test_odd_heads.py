"""Networks whose ends are not what they seem: what is explained is an output of theirs, and the shares are of it."""

import keras
import numpy as np
import pytest
from keras import layers as L

from keras_interp_rnn import analysis, layers
from tests.oracles.shapley import shapley_values

STEPS, FEATURES = 5, 3
ATOL = 2e-6


def with_weights(model, seed=5):
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def sequences(rows=2):
    return np.random.default_rng(1).normal(size=(rows, STEPS, FEATURES)).astype("float32")


def shares_of(value, x):
    """The Shapley values of a function of sequences (rows, time, features), by all orders of the steps."""

    def of_sets(there):
        return np.asarray(
            keras.ops.convert_to_numpy(value(np.where(there[:, :, None], x, 0).astype("float32"))), np.float64
        )

    return shapley_values(of_sets, len(x))


@pytest.mark.parametrize("step", [0, 2, -1])
def test_a_head_that_makes_steps_of_units_is_explained_at_the_step(step):
    """As many new steps as units: those are not the steps that the network read."""
    model = with_weights(keras.Sequential([keras.Input((STEPS, FEATURES)), L.LSTM(4), L.Dense(6), L.Reshape((6, 1))]))
    x = sequences()
    split = analysis.attribution(model, x, step=step)
    assert split.residual < ATOL
    for row, found in zip(x, split.shares, strict=True):
        np.testing.assert_allclose(found, shares_of(lambda z: model(z)[:, step, 0], row), atol=ATOL)


def test_a_mask_that_a_layer_makes_of_absent_steps_is_not_passed_on():
    inputs = keras.Input((STEPS, FEATURES))
    masked = L.Masking(0.0)(inputs)
    model = with_weights(keras.Model(inputs, L.Dense(1)(L.LSTM(4)(L.Attention()([masked, masked])))))
    x = sequences()
    np.testing.assert_allclose(
        analysis.attribution(model, x).shares,
        analysis.attribution(model, x, reference=np.full(FEATURES, 1e-12)).shares,
        atol=1e-5,
    )


def test_small_probabilities_under_a_mask_are_explained_themselves():
    inputs, allowed, classes = keras.Input((STEPS, FEATURES)), keras.Input((1000,), dtype="bool"), np.arange(1000)
    probabilities = L.Softmax()(L.Dense(1000, kernel_initializer="zeros")(L.LSTM(4)(inputs)), mask=allowed)
    split = analysis.attribution(
        keras.Model([inputs, allowed], probabilities), [sequences(), np.tile(classes < 500, (2, 1))], target=1
    )
    assert split.unit == ""
    np.testing.assert_allclose(split.output, 1 / 500, rtol=1e-5)


@pytest.mark.parametrize("second", [True, False])
def test_a_nested_model_is_explained_by_the_output_that_is_read(second):
    inputs = keras.Input((STEPS, FEATURES))
    state = L.LSTM(5)(inputs)
    inner = keras.Model(inputs, [L.Dense(3, activation="softmax")(state), L.Dense(3)(state)])
    outer = keras.Input((STEPS, FEATURES))
    split = analysis.attribution(with_weights(keras.Model(outer, inner(outer)[int(second)])), sequences(), target=1)
    assert split.unit == ("" if second else "logit")
    assert (split.probability is None) == second
    assert split.difference < 1e-5


def test_probabilities_that_a_mask_or_another_axis_makes_are_explained_themselves():
    inputs, allowed = keras.Input((STEPS, FEATURES)), keras.Input((3,), dtype="bool")
    logits = L.Dense(3)(L.LSTM(4)(inputs))
    masked = with_weights(keras.Model([inputs, allowed], L.Softmax()(logits, mask=allowed)))
    split = analysis.attribution(masked, [sequences(), np.tile([[True, True, False]], (2, 1))], target=1)
    of_pairs = [keras.Input((STEPS, FEATURES)), L.LSTM(4), L.Dense(12), L.Reshape((2, 2, 3)), L.Softmax()]
    for found in (split, analysis.attribution(with_weights(keras.Sequential(of_pairs)), sequences(), target=4)):
        assert found.unit == ""
        assert found.probability is None
        assert max(found.difference, found.residual) < 1e-5


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus", "log_softmax"])
def test_an_isan_under_another_activation_is_explained_by_its_output(activation):
    head = L.Dense(2, activation=activation)
    model = with_weights(keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 9), head]), seed=3)
    ids = np.array([[1, 5, 2]])
    split = analysis.attribution(model, ids, target=1)
    assert split.method == "shapley"
    np.testing.assert_allclose(split.output, keras.ops.convert_to_numpy(model(ids))[:, 1], atol=1e-5)
    np.testing.assert_allclose(analysis.interactions(model, ids[0], target=1).output, split.output[0], atol=1e-5)


def test_a_subclass_with_a_layer_and_a_readout_is_a_model():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer, self.readout = layers.ISAN(5, 9), L.Dense(1)

        def call(self, ids):
            return 3 * keras.ops.tanh(self.readout(self.layer(ids)))

    model, ids = Model(), np.array([[1, 5, 2, 5]])
    right = float(keras.ops.convert_to_numpy(model(ids))[0, 0])
    assert analysis.interactions(model, ids[0]).output == pytest.approx(right, abs=1e-6)
    with pytest.raises(ValueError, match="must"):
        analysis.shapley_values(model, ids[0])


def test_max_work_bounds_updates_whatever_is_between_the_players():
    model = with_weights(keras.Sequential([keras.Input((None, 1)), L.LSTM(2), L.Dense(1)]))
    x = np.zeros((1, 46, 1))
    x[0, :16] = np.random.default_rng(0).normal(size=(16, 1))
    assert not analysis.attribution(model, x, max_work=2**17).exact  # 2,097,150 updates
    assert analysis.attribution(model, x[:, :16], max_work=2**17).exact


def squeezed(x):
    return keras.ops.squeeze(x, -1)


SHAPES = {"Flatten": L.Flatten(), "Reshape": L.Reshape((-1,)), "squeeze": squeezed, "ExpandDims": L.Reshape((1, -1))}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("graph", [False, True])
def test_probabilities_in_another_shape_are_explained_before_their_sigmoid(shape, graph):
    """As by a squeeze of the last axis; with another graph below, so that Keras runs it too."""
    inputs = keras.Input((STEPS, FEATURES))
    below = L.Concatenate()([inputs, L.Dense(2)(inputs)]) if graph else inputs
    logits = with_weights(keras.Model(inputs, L.Dense(1)(L.LSTM(4)(below))))
    model = keras.Model(inputs, SHAPES[shape](L.Activation("sigmoid")(logits(inputs))))
    x = sequences()
    split = analysis.attribution(model, x)
    assert split.unit == "log-odds"
    np.testing.assert_allclose(split.probability, np.ravel(keras.ops.convert_to_numpy(model(x))), atol=1e-6)
    for row, found in zip(x, split.shares, strict=True):
        np.testing.assert_allclose(found, shares_of(lambda z: logits(z)[:, 0], row), atol=ATOL)


@pytest.mark.parametrize("graph", [False, True])
def test_probabilities_of_steps_in_one_row_are_explained_themselves(graph):
    """Each step has a softmax of its own, which one of all outputs is not."""
    inputs = keras.Input((STEPS, FEATURES))
    below = L.Concatenate()([inputs, L.Dense(2)(inputs)]) if graph else inputs
    steps = L.Dense(2, activation="softmax")(L.LSTM(4, return_sequences=True)(below))
    model = with_weights(keras.Model(inputs, L.Flatten()(steps)))
    x = sequences()
    split = analysis.attribution(model, x, target=3)
    assert (split.unit, split.probability) == ("", None)
    for row, found in zip(x, split.shares, strict=True):
        np.testing.assert_allclose(found, shares_of(lambda z: model(z)[:, 3], row), atol=ATOL)
