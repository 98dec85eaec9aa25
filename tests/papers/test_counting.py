"""An ISAN that counts: its errors, its resumption, and its table."""

import keras
import numpy as np
import pytest

from examples.papers import counting
from keras_interp_rnn import layers
from keras_interp_rnn.datasets import counting as data
from tests.papers.common import a_run

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
    protocol = {"steps": 30, "decay": 0.4}
    whole, curve = counting._train(8, protocol, TASK, a_run(tmp_path / "whole", seed=3))
    stream, read = data.stream, []

    def killed(*arguments, **more):
        read.append(None)
        if len(read) % 2:
            raise KeyboardInterrupt
        return stream(*arguments, **more)

    monkeypatch.setattr(data, "stream", killed)
    for _ in range(4):
        try:
            model, again = counting._train(8, protocol, TASK, a_run(tmp_path / "killed", seed=3))
        except KeyboardInterrupt:
            continue
        break
    assert [{**point, "seconds": 0} for point in again] == [{**point, "seconds": 0} for point in curve]
    for one, other in zip(model.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
