"""What ShapleyValues, Substitutions and Traces write, read back from the event files."""

import json
import warnings

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

from keras_interp_rnn import analysis, callbacks, layers
from keras_interp_rnn.views import tags

TEXTS = [np.array([2, 0, 1, 1, 2]), np.array([1])]


def network():
    isan = layers.ISAN(4, 3, return_sequences=True, recurrent_constraint=None)  # training leaves the weights alone
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(3)])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) * 0.6 for w in model.get_weights()])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True)
    return model


def train(model, *watching):
    symbols = np.random.default_rng(1).integers(0, 3, (4, 6))
    model.fit(symbols[:, :-1], symbols[:, 1:], 2, 1, verbose=0, callbacks=list(watching))


def written(folder, tag):
    """(description, last value) of a tag."""
    events = EventAccumulator(str(folder), {"tensors": 0}, purge_orphaned_data=False).Reload()
    description = json.loads(events.SummaryMetadata(tag).plugin_data.content)
    return description, [(event.step, tensor_util.make_ndarray(event.tensor_proto)) for event in events.Tensors(tag)]


def test_shapley_values_are_those_of_analysis(tmp_path):
    model = network()
    background = [0.5, 0.3, 0.2]
    train(model, callbacks.ShapleyValues(tmp_path, TEXTS, background=background, alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        described, values = written(tmp_path / "shapley_values", f"interp_rnn/shapley_values/text_{i}")
        expected = analysis.shapley_values(model, text, background=background)
        assert [step for step, _ in values] == [0, 2]
        for _, value in values:
            np.testing.assert_allclose(value[:-1], expected.values[1:, 0], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(value[-1], expected.bias, rtol=1e-5, atol=1e-6)
        assert described["symbols"] == ["_ab"[symbol] for symbol in text]
        assert described["outputs"] == ["_", "a", "b"]


def test_substitutions_are_those_of_analysis(tmp_path):
    model = network()
    train(model, callbacks.Substitutions(tmp_path, TEXTS, alternatives="ab", alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        described, values = written(tmp_path / "substitutions", f"interp_rnn/substitutions/text_{i}")
        expected = analysis.substitutions(model, text, alternatives=[1, 2], alphabet="_ab")
        _, value = values[-1]
        np.testing.assert_allclose(value[0], expected.original, atol=1e-6)
        np.testing.assert_allclose(value[1:].reshape(len(text), 2, 3), expected.outputs, atol=1e-6)
        assert described["alternatives"] == ["a", "b"]


@pytest.mark.parametrize("masked", [False, True])
def test_traces_are_those_of_analysis(tmp_path, masked):
    keras.utils.set_random_seed(0)
    gru = keras.layers.GRU(3, name="gru")
    model = keras.Sequential([keras.layers.Embedding(4, 2, mask_zero=masked), gru, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x = np.array([[1, 2, 3, 1], [3, 2, 0, 0]])
    model.fit(x, np.ones((2, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x, tokens=["", "a", "b", "c"])])
    described, [(step, value)] = written(tmp_path / "traces", "interp_rnn/trace/step_1")
    assert step == 1
    assert described["part_of"] == "interp_rnn/trace"
    assert described["tokens"] == [["a", "b", "c", "a"], ["c", "b", "∅", "∅"]]
    expected = analysis.trace(model, x)
    assert described["quantities"] == [[name, 3] for name in expected]
    for i, name in enumerate(expected):
        part = value[..., 3 * i : 3 * (i + 1)]
        if masked:
            assert np.isnan(part[1, 2:]).all()
            part, whole = part[:1], expected[name][:1]
        else:
            whole = expected[name]
        np.testing.assert_allclose(part, whole, rtol=1e-5, atol=1e-6)


def test_a_layer_that_reads_backwards_names_what_it_reads_first(tmp_path):
    model = keras.Sequential(
        [keras.layers.Embedding(4, 2), keras.layers.GRU(3, go_backwards=True), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x = np.array([[1, 2, 3]])
    model.fit(x, np.ones((1, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x)])
    described, _ = written(tmp_path / "traces", "interp_rnn/trace/step_1")
    assert described["tokens"] == [["3", "2", "1"]] == [list(row) for row in analysis.trace(model, x).tokens]


@pytest.mark.parametrize("kind", [callbacks.ShapleyValues, callbacks.Substitutions])
def test_texts_that_are_refused(kind, tmp_path):
    for texts in ([], [[]], [[[1]]], [np.zeros(kind.longest + 1, int)]):
        with pytest.raises(ValueError, match=rf"{kind.__name__} takes texts of 1 to {kind.longest} symbols"):
            kind(tmp_path, texts)


def test_weights_that_are_not_finite_are_warned_of_once(tmp_path):
    model = network()
    watch = callbacks.ShapleyValues(tmp_path, TEXTS, alphabet="_ab", update_freq=1)

    class Break(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            model.layers[-1].kernel.assign(np.full((4, 3), np.nan))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(model, Break(), watch)
    assert sum("ShapleyValues writes nothing from step" in str(one.message) for one in caught) == 1


def test_a_trace_of_a_layer_in_both_directions(tmp_path):
    both = keras.Sequential(
        [keras.Input((5, 2)), keras.layers.Bidirectional(keras.layers.GRU(3)), keras.layers.Dense(1)]
    )
    both.compile("sgd", "mse", run_eagerly=True)
    x = np.random.default_rng(0).normal(size=(2, 5, 2))
    both.fit(x, np.ones((2, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x)])
    assert list(tmp_path.rglob("events.*"))


@pytest.mark.parametrize("texts", ["abab", None, 5])
def test_texts_are_a_list(tmp_path, texts):
    with pytest.raises(ValueError, match="takes a list of texts. Received: texts=.*Give .text. for one text."):
        callbacks.ShapleyValues(tmp_path, texts, alphabet="_ab")


@pytest.mark.parametrize("folder", [None, 5, ""])
def test_a_folder_is_a_path(folder):
    with pytest.raises(ValueError, match="A path is a string, not empty, or a pathlib.Path. Received: log_dir="):
        callbacks.Traces(folder, np.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="A path is a string, not empty, or a pathlib.Path. Received: directory="):
        callbacks.Resumable(folder)


def test_sequences_without_tokens_are_as_many_as_were_logged(tmp_path):
    model = keras.Sequential([keras.Input((6, 3)), keras.layers.GRU(5), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(3, 6, 3))
    model.fit(x, np.zeros((3, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x)])
    described, values = written(tmp_path / "traces", "interp_rnn/trace/step_0")
    assert described["tokens"] == [[], [], []]
    assert values[-1][1].shape[:2] == (3, 6)


@pytest.mark.parametrize("layer", [keras.layers.SimpleRNN, keras.layers.GRU])
def test_steps_that_are_not_read_are_nan_whatever_the_layer_has(layer):
    model = keras.Sequential([keras.layers.Embedding(5, 3, mask_zero=True), layer(2)])
    traced = analysis.trace(model, np.array([[1, 2, 0, 3, 0, 0]]))
    np.testing.assert_array_equal(traced.read, [[True, True, False, True, False, False]])
    values, _ = tags.trace(traced)
    np.testing.assert_array_equal(np.isnan(values).all(axis=-1), ~traced.read)
    assert not np.isnan(traced["h"]).any()  # the states are kept
