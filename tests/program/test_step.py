"""A program one symbol at a time: outputs of every step are those of the model, and what is not known has no steps."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._program.step import steps_of

L = keras.layers
K, EACH = 5, {"return_sequences": True}
TEXT = np.array([0, 3, 1, 0, 4, 4, 2, 0])


def of_ids(*parts, **flags):
    return keras.Sequential([keras.Input((None,), dtype="int32"), L.Embedding(K, 3, **flags), *parts])


def branches():
    ids = keras.Input((None,), dtype="int32")
    x = L.Embedding(K, 4, mask_zero=True)(ids)
    below = L.LayerNormalization()(L.Dense(4, "tanh")(L.Embedding(K, 3)(ids)))
    states = L.GRU(4, **EACH)(x)
    above = L.LSTM(3, **EACH)(L.Add()([L.Rescaling(0.5)(states), below]))
    return keras.Model(ids, L.Dense(2, "softmax")(L.Concatenate()([above, states])))


KNOWN = {
    "one layer": lambda: of_ids(L.GRU(4, **EACH), L.Dense(K)),
    "a stack": lambda: of_ids(L.LSTM(4, **EACH), L.LayerNormalization(), L.SimpleRNN(3, **EACH), L.Dense(K, "relu")),
    "masked": lambda: of_ids(L.LSTM(4, **EACH), mask_zero=True),
    "masked, zeros": lambda: of_ids(L.GRU(4, zero_output_for_mask=True, **EACH), mask_zero=True),
    "centroids": lambda: of_ids(layers.SRGRU(4, 3, **EACH), L.BatchNormalization(), L.Dense(K)),
    "a linear recurrence": lambda: of_ids(layers.LRU(4, 3, **EACH)),
    "symbols": lambda: keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(4, K, **EACH), L.Dense(K)]),
    "an encoder": lambda: of_ids(layers.MinimalRNN(4, **EACH)),
    "branches": branches,
}


@pytest.mark.parametrize("numbers", [0, 2**24])
@pytest.mark.parametrize("name", KNOWN)
def test_each_step_has_the_output_of_the_model(name, numbers, monkeypatch):
    """Also where a large vocabulary leaves the drives to the steps."""
    monkeypatch.setattr("keras_interp_rnn._program.step.NUMBERS", numbers)
    keras.utils.set_random_seed(4)
    model, rng = KNOWN[name](), np.random.default_rng(4)
    model.set_weights(
        [w if w.ndim == 0 else rng.normal(size=w.shape) ** (2 if w.ndim == 1 else 1) for w in model.get_weights()]
    )
    expected = ops.convert_to_numpy(model(TEXT[None]))[0]
    steps = steps_of(model)
    for _ in range(2):
        found = np.concatenate([steps.read(int(symbol)) for symbol in TEXT])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        steps.reset()


UNKNOWN = {
    "another activation": lambda: of_ids(L.GRU(4, **EACH), L.Dense(K, "gelu")),
    "backwards": lambda: of_ids(L.GRU(4, go_backwards=True, **EACH)),
    "both directions": lambda: of_ids(L.Bidirectional(L.GRU(4, **EACH))),
    "noise": lambda: of_ids(layers.SRGRU(4, 3, transition="sample", **EACH)),
    "a convolution": lambda: of_ids(L.Conv1D(4, 2, padding="causal"), L.GRU(4, **EACH)),
    "vectors": lambda: keras.Sequential([keras.Input((None, 3)), L.GRU(4, **EACH)]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_model_that_is_not_known_has_no_steps(name):
    assert steps_of(UNKNOWN[name]()) is None
