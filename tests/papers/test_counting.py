"""An ISAN that counts: its errors, its resumption, and its table."""

import keras
import numpy as np
import pytest

from examples.papers import counting
from examples.papers.data import counting as data
from keras_interp_rnn import layers
from tests.papers.common import a_run, assert_same_training, killed_at_every_other_call

TASK = {"types": 1, "maximum": 2, "delay": 1, "noise": 1}


def test_errors_are_those_of_the_layer_and_its_readout():
    keras.utils.set_random_seed(0)
    layer = layers.ISAN(4, 3, return_sequences=True, bias_initializer="glorot_uniform")
    kernel, bias = np.random.default_rng(1).normal(size=(4, 3)), np.zeros(3)
    symbols, counts = counting._stream(np.random.default_rng(5), 1000, 20, TASK)
    states = keras.ops.convert_to_numpy(layer(symbols))
    expected = int(((states @ kernel + bias).argmax(axis=-1) != counts[..., 0]).sum())
    assert counting.errors(layer, kernel, bias, 20_000, TASK, seed=5) == expected > 0


@pytest.mark.matrix
def test_killed_after_any_epoch_it_ends_with_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "STEPS", 10)

    def train(name):
        model, curve = counting._train(8, {"steps": 30, "decay": 0.4}, TASK, a_run(tmp_path / name, seed=3))
        return curve, model

    expected = train("whole")
    found, kills = killed_at_every_other_call(monkeypatch, data, "stream", lambda: train("killed"))
    assert kills == 3
    assert_same_training(found, expected)
