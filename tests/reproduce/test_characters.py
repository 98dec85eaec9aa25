"""Networks that predict the next character."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.reproduce import characters, networks, sources

TINY = characters.Protocol(batch=8, length=20, steps=3, epochs=2, warm_up=1, validation=2)


ALL = (*networks.CHARACTERS, *networks.ABLATIONS)


@pytest.mark.parametrize("network", ALL)
@pytest.mark.parametrize("text", [sources.text8, sources.lm1b, sources.pairs])
def test_weights_are_counted_as_the_model_counts_them(network, text):
    text = text(None, made_up=True)
    model = characters.build(network, 7, text, TINY)
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert characters.parameters(network, 7, text.inputs, text.outputs) == trained


@pytest.mark.parametrize("network", ALL)
def test_the_largest_network_within_a_number_of_weights(network):
    units = characters.units_within(network, 80_000)
    assert characters.parameters(network, units) <= 80_000 < characters.parameters(network, units + 1)


def test_the_papers_largest_isan():
    assert characters.units_within("ISAN", 1.28e6) == 216


def test_bits_are_those_of_the_best_model(tmp_path):
    text = sources.text8(None, made_up=True)
    record, best = characters.run("test", "LSTM", "4e3", text, TINY, tmp_path, verbose=0)
    windows = Windows(text.parts["test"], 8, length=20)
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


def test_an_isan_without_biases_keeps_none_in_training():
    text = sources.text8(None, made_up=True)
    model = characters.build("ISAN without biases", 5, text, TINY)
    model.fit(Windows(text.parts["train"], 8, length=20, num_windows=3), shuffle=False, verbose=0)
    cell = model.layers[0].cell
    assert not np.asarray(cell.bias).any()
    assert np.asarray(cell.recurrent_kernel).any()


@pytest.mark.parametrize("network", ["linear", "linear, nonlinear readout"])
def test_a_linear_network_is_linear_up_to_its_readout(network):
    text = sources.text8(None, made_up=True)
    model = characters.build(network, 5, text, TINY)
    recurrent = model.layers[1]
    states = np.random.default_rng(0).normal(size=(3, 8, 5)).astype("float32")
    x = np.eye(27, dtype="float32")[:8]
    steps = [np.asarray(recurrent.cell(x, [state])[0]) for state in states]
    zero = np.asarray(recurrent.cell(0 * x, [0 * states[0]])[0])
    both = np.asarray(recurrent.cell(2 * x, [states[0] + states[1]])[0])
    np.testing.assert_allclose(both + zero, steps[0] + steps[1], atol=1e-5)
    assert [type(layer).__name__ for layer in model.layers[2:]] == ["Dense"] * (1 if network == "linear" else 2)


def test_bits_of_pairs_are_those_of_each_character(tmp_path):
    text = sources.pairs(None, made_up=True)
    record, best = characters.run("test", "GRU", "9e4", text, TINY, tmp_path, verbose=0)
    windows = Windows(text.parts["test"], 8, length=20)
    wanted = keras.models.load_model(best).evaluate(windows, verbose=0) / 2
    assert record["result"]["test_bits"] == pytest.approx(wanted)
    assert record["result"]["characters"] == 2 * 2 * 3 * 8 * 20


@pytest.mark.parametrize("model", networks.COUNTED)
def test_counted_models_are_those_of_the_analysis(model):
    text = sources.text8(None, made_up=True)
    result = characters.count(model, text)["result"]
    train, validation, test = (text.parts[part] for part in ("train", "validation", "test"))
    if model == "naive Bayes":
        found = [analysis.NaiveBayes(train, window, vocabulary_size=27) for window in range(1, 7)]
        best = min(found, key=lambda one: one.bits(validation))
    else:
        best = analysis.BackoffModel(train, 1 if model == "unigrams" else 2, vocabulary_size=27)
    assert result["test_bits"] == pytest.approx(best.bits(test))
    assert result["validation_bits"] == pytest.approx(best.bits(validation))


def test_symbols_may_be_read_as_fewer_than_are_predicted():
    read = np.array([0, 1, 2, 0, 0])
    windows = Windows(np.array([1, 3, 4, 2, 1, 3, 0]), 1, length=6, input_table=read)
    x, y = windows[0]
    assert x.tolist() == [[1, 0, 0, 2, 1, 0]]
    assert y.tolist() == [[3, 4, 2, 1, 3, 0]]
    assert x.dtype == y.dtype == np.int32
