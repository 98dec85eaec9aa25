"""Analyses of models with `stateful=True`: read from the initial states, whose carried ones they leave alone."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn._network import carried_states

IDS = np.array([[1, 2, 3]])


def built(make, stateful):
    """The same weights with and without carried states."""
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), batch_size=1, dtype="int32")
    model = keras.Sequential([ids, keras.layers.Embedding(6, 3), *make(stateful), keras.layers.Dense(2)])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=weight.shape) for weight in model.get_weights()])
    return model


def one(stateful):
    return [layers.SRGRU(4, num_centroids=3, stateful=stateful)]


def two(stateful):
    lower = layers.SRGRU(4, num_centroids=3, stateful=stateful, return_sequences=True, name="a")
    return [lower, layers.SRGRU(4, num_centroids=2, stateful=stateful, name="b")]


def read_of(model):
    """An explanation and a Jacobian, a trace, and the shares of prototypes."""
    explanation = analysis.explain(model, IDS[0])
    jacobian = analysis.input_output_jacobian(model.layers[1], np.linspace(-1, 1, 9).reshape(1, 3, 3), lag=1)
    both = np.concatenate([explanation.output, explanation.alpha.ravel(), jacobian.ravel()])
    return both, analysis.trace(model, IDS), analysis.prototypes(model, IDS, min_count=1).share


@pytest.mark.parametrize("make", [one, two])
def test_carried_states_change_nothing_and_stay(make):
    model, expected = built(make, stateful=True), built(make, stateful=False)
    model.predict_on_batch(IDS[:, ::-1])
    before = carried_states.read(model)
    explained, traced, shared = read_of(expected)
    for output, trace, share in (read_of(model), read_of(model)):
        np.testing.assert_allclose(output, explained, rtol=1e-5)
        assert list(trace) == list(traced)
        for name in trace:
            np.testing.assert_allclose(trace[name], traced[name], rtol=1e-5)
        np.testing.assert_allclose(share, shared)
    assert before
    for now, then in zip(carried_states.read(model), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_words_are_read_from_the_start():
    keras.utils.set_random_seed(0)
    symbols, layer = automata.SymbolEmbedding("01", 4), layers.SRGRU(4, 3, stateful=True)
    ids = keras.Input((None,), batch_size=1, dtype="int32")
    model = automata.Recognizer([ids, symbols, layer, keras.layers.Dense(1)])
    rng = np.random.default_rng(1)
    model.set_weights([3 * rng.normal(size=weight.shape) for weight in model.get_weights()])
    verdicts = [bool(model.classify([word])[0]) for word in ("", "0", "1", "01", "10") * 3]
    assert verdicts[:5] == verdicts[5:10] == verdicts[10:]
