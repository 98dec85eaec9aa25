"""Layers that do not pass their mask on, as those of Keras do not since 3.16: what is above them reads masked steps."""

import contextlib
import re
import warnings

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, deploy, layers
from tests.samples import passing_masks_on

SYMBOLS, STEPS = 7, 5
TEXT = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 1, 2]])
LOST = "mask that this Keras gives it. Received: .*, where {} .* does not pass its mask on, so that {} .* reads masked"
KERAS_WARNS = "ignore:Layer .* was passed an input with a mask attached:UserWarning"
pytestmark = pytest.mark.filterwarnings(KERAS_WARNS)


@contextlib.contextmanager
def warns(below, above):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    assert any(re.search(LOST.format(below, above), str(each.message)) for each in found)


def dropping(layer):
    layer.supports_masking = False
    return layer


def stack(masked=True, below=dropping):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, "normal", mask_zero=masked),
            below(keras.layers.LSTM(4, return_sequences=True, name="lower")),
            keras.layers.GRU(3, name="upper"),
            keras.layers.Dense(2),
        ]
    )


def own(model, ids):
    return np.asarray(ops.convert_to_numpy(model(ids)), np.float64)


def test_a_stack_is_explained_as_it_runs():
    model = stack()
    with warns("lower", "upper"):
        split = analysis.attribution(model, TEXT, target=0)
    np.testing.assert_allclose(split.output, own(model, TEXT)[:, 0], atol=1e-6)
    assert np.abs(own(model, TEXT) - own(stack(below=passing_masks_on), TEXT))[0].max() > 1e-3
    assert "Keras runs it" not in split.reason
    np.testing.assert_array_equal(split.read, TEXT != 0)  # the lower layer alone reads the text
    np.testing.assert_array_equal(split.shares[TEXT == 0], 0)


def test_steps_of_which_the_mask_is_lost_are_read():
    model = keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, "normal", mask_zero=True),
            dropping(keras.layers.TimeDistributed(keras.layers.Dense(3), name="each")),
            keras.layers.LSTM(3, name="reads"),
            keras.layers.Dense(1),
        ]
    )
    with warns("each", "reads"):
        split = analysis.attribution(model, TEXT)
    assert split.read.all()
    assert np.abs(split.shares[TEXT == 0]).min() > 0
    np.testing.assert_allclose(split.output, own(model, TEXT)[:, 0], atol=1e-6)


def test_the_upper_layer_is_traced_and_patched_at_the_steps_that_it_reads():
    model, other = stack(), np.array([[1, 3, 3, 0, 0], [4, 6, 6, 1, 2]])
    with warns("lower", "upper"):
        traced = analysis.trace(model, TEXT)
    np.testing.assert_allclose(own(model.layers[-1], traced["upper/h"][:, -1]), own(model, TEXT), atol=1e-6)
    assert np.isfinite(traced["upper/u"]).all()
    assert np.isnan(traced["lower/i"][TEXT == 0]).all()
    with warns("lower", "upper"):
        patched = analysis.patching(model, TEXT, corrupted=other, target=0)
    places = dict(zip(patched.names, patched.outputs[0], strict=True))
    assert np.isfinite(places["upper/h"]).all()
    np.testing.assert_array_equal(np.isnan(places["lower/h"]), TEXT[0] == 0)
    np.testing.assert_allclose(places["upper/h"][-1], patched.clean[0], atol=1e-12)


def test_the_last_output_of_a_stack_is_differentiated():
    model = stack()
    with warns("lower", "upper"):
        found = analysis.input_output_jacobian(model, TEXT[:1], lag=0)
    embedding, upper = model.layers[0], model.layers[2]
    table = np.array(ops.convert_to_numpy(embedding.embeddings))
    for feature in range(4):
        ends = []
        for sign in (1, -1):
            moved = table.copy()
            moved[3, feature] += sign * 1e-2
            embedding.embeddings.assign(moved)
            ends.append(own(keras.Model(model.inputs[0], upper.output), TEXT[:1])[0])
        embedding.embeddings.assign(table)
        np.testing.assert_allclose(found[0, :, feature], (ends[0] - ends[1]) / 2e-2, atol=1e-4)


def test_a_text_is_continued_as_the_model_reads_it():
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, "normal", mask_zero=True),
            dropping(keras.layers.LSTM(4, return_sequences=True, name="lower")),
            keras.layers.GRU(3, return_sequences=True, name="upper"),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    with warns("lower", "upper"):
        analysis.generate(model, np.array([1, 0, 2, 0, 0, 3]), num_symbols=2)  # compares step by step with all at once


def test_a_mean_whose_mask_is_lost_is_not_split_as_a_masked_one():
    below = dropping(keras.layers.Bidirectional(layers.MinGRU(3, return_sequences=True), name="both"))
    model = keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, "normal", mask_zero=True),
            below,
            keras.layers.GlobalAveragePooling1D(name="mean"),
            keras.layers.Dense(2),
        ]
    )
    with warns("both", "mean"):
        split = analysis.attribution(model, TEXT, target=0)
    np.testing.assert_allclose(split.output, own(model, TEXT)[:, 0], atol=1e-6)
    with warns("both", "mean"), pytest.raises(ValueError, match="analysis.attribution"):
        analysis.contributions(model, TEXT[0])


def test_c_is_not_written_of_a_stack_whose_mask_is_lost():
    with pytest.raises(ValueError, match="upper .*the mask of the layers before it does not come"):
        deploy.to_c(stack())


UNAFFECTED = {
    "no mask": lambda: stack(masked=False),
    "a mask that is passed on": lambda: stack(below=passing_masks_on),
    "one layer": lambda: keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, mask_zero=True),
            dropping(keras.layers.LSTM(4)),
            keras.layers.Dense(2),
        ]
    ),
    "every step of one layer": lambda: keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 4, mask_zero=True),
            dropping(keras.layers.LSTM(4, return_sequences=True)),
            keras.layers.Dense(2),
        ]
    ),
    "ours": lambda: stack(below=lambda layer: layers.MinimalRNN(4, return_sequences=True)),
}


@pytest.mark.parametrize("name", UNAFFECTED)
def test_others_are_read_without_a_warning(name):
    model = UNAFFECTED[name]()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Every layer is read")
        analysis.attribution(model, TEXT, target=0)
        analysis.trace(model, TEXT)
