"""What ShapleyValues, Substitutions and Traces write, read back from the event files."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, callbacks, layers
from keras_interp_rnn.views import tags
from tests.callbacks.events import described, look, points

TEXTS = [np.array([2, 0, 1, 1, 2]), np.array([1])]


def network():
    isan = layers.ISAN(4, 3, return_sequences=True)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(3)])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) * 0.6 for w in model.get_weights()])
    return model


def test_shapley_values_are_those_of_analysis(tmp_path):
    model = network()
    background = [0.5, 0.3, 0.2]
    look(model, callbacks.ShapleyValues(tmp_path, TEXTS, background=background, alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        [(step, value)] = points(tmp_path / "shapley_values", f"shapley_values/text_{i}")
        assert step == 0
        expected = analysis.shapley_values(model, text, background=background)
        np.testing.assert_allclose(value[:-1], expected.values[1:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(value[-1], expected.bias, rtol=1e-5, atol=1e-6)
        content = described(tmp_path / "shapley_values", f"shapley_values/text_{i}")
        assert content["symbols"] == ["_ab"[symbol] for symbol in text]
        assert content["outputs"] == ["_", "a", "b"]


def test_substitutions_are_those_of_analysis(tmp_path):
    model = network()
    look(model, callbacks.Substitutions(tmp_path, TEXTS, alternatives="ab", alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        [(_, value)] = points(tmp_path / "substitutions", f"substitutions/text_{i}")
        expected = analysis.substitutions(model, text, alternatives=[1, 2], alphabet="_ab")
        np.testing.assert_allclose(value[0], expected.original, atol=1e-6)
        replaced, deleted = np.split(value[1:], [2 * len(text)])
        np.testing.assert_allclose(replaced.reshape(len(text), 2, 3), expected.outputs, atol=1e-6)
        if len(text) > 1:
            np.testing.assert_allclose(deleted, expected.deleted, atol=1e-6)
        content = described(tmp_path / "substitutions", f"substitutions/text_{i}")
        assert (content["alternatives"], content["deletions"]) == (["a", "b"], len(text) > 1)


@pytest.mark.parametrize("masked", [False, True])
def test_traces_are_those_of_analysis(tmp_path, masked):
    keras.utils.set_random_seed(0)
    gru = keras.layers.GRU(3, name="gru")
    model = keras.Sequential([keras.layers.Embedding(4, 2, mask_zero=masked), gru, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x = np.array([[1, 2, 3, 1], [3, 2, 0, 0]])
    model.fit(x, np.ones((2, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x, tokens=["", "a", "b", "c"])])
    [(step, value)] = points(tmp_path / "traces", "trace/step_1")
    content = described(tmp_path / "traces", "trace/step_1")
    assert step == 1
    assert content["part_of"] == "interp_rnn/trace"
    assert content["tokens"] == [["a", "b", "c", "a"], ["c", "b", "∅", "∅"]]
    expected = analysis.trace(model, x)
    assert content["quantities"] == [[name, 3] for name in expected]
    for i, name in enumerate(expected):
        part = value[..., 3 * i : 3 * (i + 1)]
        if masked:
            assert np.isnan(part[1, 2:]).all()
            part, whole = part[:1], expected[name][:1]
        else:
            whole = expected[name]
        np.testing.assert_allclose(part, whole, rtol=1e-5, atol=1e-6)


def test_a_layer_that_reads_backwards_names_what_it_reads_first(tmp_path):
    model = keras.Sequential([keras.layers.Embedding(4, 2), keras.layers.GRU(3, go_backwards=True)])
    x = np.array([[1, 2, 3]])
    look(model, callbacks.Traces(tmp_path, x))
    tokens = described(tmp_path / "traces", "trace/step_0")["tokens"]
    assert tokens == [["3", "2", "1"]] == [list(row) for row in analysis.trace(model, x).tokens]


@pytest.mark.parametrize("both", [False, True])
def test_sequences_without_tokens_are_as_many_as_were_logged(both, tmp_path):
    gru = keras.layers.GRU(3)
    model = keras.Sequential([keras.Input((6, 2)), keras.layers.Bidirectional(gru) if both else gru])
    look(model, callbacks.Traces(tmp_path, np.random.default_rng(0).normal(size=(3, 6, 2))))
    assert described(tmp_path / "traces", "trace/step_0")["tokens"] == [[], [], []]
    [(_, values)] = points(tmp_path / "traces", "trace/step_0")
    assert values.shape[:2] == (3, 6)


@pytest.mark.parametrize("kind", [callbacks.Contributions, callbacks.ShapleyValues, callbacks.Substitutions])
def test_rejects_other_texts(kind, tmp_path):
    for texts in ([], [[]], [[[1]]], [np.zeros((2, 3), int)], [np.zeros(kind.longest + 1, int)]):
        with pytest.raises(ValueError, match=rf"{kind.__name__} takes texts of 1 to {kind.longest} symbols"):
            kind(tmp_path, texts)
    for texts in ("abab", None, 5):
        with pytest.raises(ValueError, match="takes a list of texts. Received: texts=.*Give .text. for one text."):
            kind(tmp_path, texts)


@pytest.mark.parametrize("layer", [keras.layers.SimpleRNN, keras.layers.GRU])
def test_steps_that_are_not_read_are_nan_whatever_the_layer_has(layer):
    model = keras.Sequential([keras.layers.Embedding(5, 3, mask_zero=True), layer(2)])
    traced = analysis.trace(model, np.array([[1, 2, 0, 3, 0, 0]]))
    np.testing.assert_array_equal(traced.read, [[True, True, False, True, False, False]])
    values, _ = tags.trace(traced)
    np.testing.assert_array_equal(np.isnan(values).all(axis=-1), ~traced.read)
    assert not np.isnan(traced["h"]).any()  # the states are kept
