"""Networks that predict the next character."""

import keras
import numpy as np
import pytest

from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.reproduce import characters, sources

TINY = characters.Protocol(batch=8, length=20, steps=3, epochs=2, warm_up=1, validation=2)


@pytest.mark.parametrize("network", characters.NETWORKS)
@pytest.mark.parametrize("text", [sources.text8, sources.lm1b])
def test_weights_are_counted_as_the_model_counts_them(network, text):
    text = text(None, made_up=True)
    model = characters.build(network, 7, text, TINY)
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert characters.parameters(network, 7, text.inputs, text.outputs) == trained


@pytest.mark.parametrize("network", characters.NETWORKS)
def test_the_largest_network_within_a_number_of_weights(network):
    units = characters.units_within(network, 80_000)
    assert characters.parameters(network, units) <= 80_000 < characters.parameters(network, units + 1)


def test_the_papers_largest_isan():
    assert characters.units_within("ISAN", 1.28e6) == 216


def test_bits_are_those_of_the_best_model(tmp_path):
    text = sources.text8(None, made_up=True)
    record, best = characters.run("test", "LSTM", "4e3", text, TINY, tmp_path, verbose=0)
    windows = Windows(text.parts["test"], 8, 20)
    assert record["result"]["test_bits"] == pytest.approx(keras.models.load_model(best).evaluate(windows, verbose=0))
    assert record["result"]["characters"] == 2 * 3 * 8 * 20
    assert 0 < record["result"]["training_seconds"] <= record["result"]["seconds"]


def test_minutes_become_steps_once(tmp_path):
    text = sources.text8(None, made_up=True)
    first, _ = characters.run("test", "ISAN", "4e3", text, TINY, tmp_path, minutes=0.01, verbose=0)
    again, _ = characters.run("test", "ISAN", "4e3", text, TINY, tmp_path, minutes=0.01, verbose=0)
    assert first["protocol"] == again["protocol"]
    assert first["result"] == again["result"]
    with pytest.raises(ValueError, match="goes on with the settings it began with"):
        characters.run("test", "ISAN", "4e3", text, TINY, tmp_path, minutes=0.02, verbose=0)


def test_symbols_may_be_read_as_fewer_than_are_predicted():
    read = np.array([0, 1, 2, 0, 0])
    windows = Windows(np.array([1, 3, 4, 2, 1, 3, 0]), 1, 6, read=read)
    x, y = windows[0]
    assert x.tolist() == [[1, 0, 0, 2, 1, 0]]
    assert y.tolist() == [[3, 4, 2, 1, 3, 0]]
    assert x.dtype == y.dtype == np.int32
