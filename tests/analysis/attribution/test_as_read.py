"""The outputs while a sequence is read, against the network on sequences whose other steps are the reference."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers

STEPS = 6


def network(kind, outputs=3, activation=None):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((STEPS, 2))
    x = keras.layers.Masking()(inputs)
    if kind == "both directions":
        x = keras.layers.Bidirectional(keras.layers.GRU(3))(x)
    elif kind == "convolution below":
        x = keras.layers.LSTM(4)(keras.layers.Conv1D(3, 2, padding="same")(inputs))
    else:
        x = {"lstm": keras.layers.LSTM, "minimal": layers.MinimalRNN}[kind](4)(x)
    model = keras.Model(inputs, keras.layers.Dense(outputs, activation)(x))
    model.set_weights([np.random.default_rng(i).normal(size=w.shape) for i, w in enumerate(model.get_weights())])
    return model


def sequences(count=2):
    x = np.random.default_rng(1).normal(size=(count, STEPS, 2)).astype("float32")
    x[0, 4:] = 0  # masked
    return x


@pytest.mark.parametrize("method", ["shapley", "telescoping", "occlusion", "path_integral"])
@pytest.mark.parametrize("kind", ["lstm", "minimal", "both directions", "convolution below"])
def test_outputs_are_those_of_the_first_steps_alone(kind, method):
    """Masked zeros are the reference: a step that is not there is as one that Masking leaves out, but read."""
    model, x = network(kind), sequences()
    reference = np.full(2, 0.3, np.float32)  # no step of it is masked
    split = analysis.attribution(model, x, target="all", method=method, reference=reference)
    assert split.as_read.shape == (2, STEPS + 1, 3)
    masked = np.zeros((2, STEPS), bool)
    if kind != "convolution below":
        masked[0, 4:] = True
    for there in range(STEPS + 1):
        given = np.where((np.arange(STEPS) < there)[None, :, None] | masked[..., None], x, reference)
        np.testing.assert_allclose(split.as_read[:, there], model.predict(given, verbose=0), atol=2e-5)
    np.testing.assert_array_equal(split.as_read[:, 0], split.reference_output)
    np.testing.assert_array_equal(split.as_read[:, -1], split.output)


@pytest.mark.parametrize("activation", [None, "softmax", "sigmoid"])
def test_its_differences_are_the_shares_of_telescoping(activation):
    model, x = network("lstm", activation=activation), sequences(3)
    split = analysis.attribution(model, x)
    telescoping = analysis.attribution(model, x, method="telescoping", target=None)
    np.testing.assert_allclose(np.diff(split.as_read, axis=1), telescoping.shares, atol=1e-12)
    np.testing.assert_array_equal(split.as_read, telescoping.as_read)
    np.testing.assert_array_equal(split[1].as_read, split.as_read[1:2])
    assert split.as_read.shape == (3, STEPS + 1)


def test_there_is_none_of_groups_of_contributions_and_where_it_takes_long():
    x = sequences(1)
    assert analysis.attribution(network("lstm"), x, groups=[0, 0, 0, 1, 1, 1]).as_read is None
    isan = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)])
    assert analysis.attribution(isan, [[0, 1, 2]]).as_read is None
    many = np.ones((2, 600, 1), np.float32)
    cell = keras.layers.SimpleRNN(2)
    assert analysis.attribution(cell, many, method="occlusion", target=0).as_read is None
    assert analysis.attribution(cell, many[:1], method="telescoping", target=0).as_read.shape == (1, 601)


@pytest.mark.parametrize("activation", [None, "softmax"])
def test_a_tag_has_it_after_everything_else(activation):
    model, x = network("lstm", activation=activation), sequences()
    split = analysis.attribution(model, x, target="all")
    for i, (rows, described) in enumerate(split.tags()):
        assert described["as_read"]
        np.testing.assert_array_equal(rows[-STEPS - 1 :], split.as_read[i].astype("float32"))
    grouped = analysis.attribution(model, x, groups=[0, 0, 1, 1, 2, 2])
    assert all("as_read" not in described for _, described in grouped.tags())
