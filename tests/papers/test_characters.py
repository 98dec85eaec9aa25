"""Networks that predict the next character."""

import keras
import numpy as np
import pytest

from examples.papers import _characters as characters
from examples.papers import _ngrams
from keras_interp_rnn import analysis
from keras_interp_rnn.callbacks import Resumable
from keras_interp_rnn.datasets import Windows
from tests.papers.common import EXPERIMENTS, a_run


def tiny(network, size="4e3"):
    return characters.Protocol(network, size, batch=8, length=20, steps=3, epochs=2, warm_up=1, validation=2)


ALL = (*characters.NETWORKS, *characters.ABLATIONS)


def text_of(name):
    """The generated text of an experiment."""
    return EXPERIMENTS[name].read(None, True, {})


def train(folder, network, size, text, **more):
    """The record of a training, and its best model."""
    record = characters.train(text, tiny(network, size), a_run(folder, **more))
    return record, keras.models.load_model(Resumable(folder).best)


@pytest.mark.parametrize("network", ALL)
@pytest.mark.parametrize("name", ["isan-text8", "isan-pairs"])
def test_weights_are_counted_as_the_model_counts_them(network, name):
    text = text_of(name)
    protocol = tiny(network, characters.parameters(network, 7, text.symbols))
    assert protocol.units(text) == 7
    model = characters.build(text, protocol)
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert characters.parameters(network, 7, text.symbols) == trained


@pytest.mark.parametrize("network", ALL)
def test_the_largest_network_within_a_number_of_weights(network):
    units = characters.largest_units(network, 80_000)
    assert characters.parameters(network, units) <= 80_000 < characters.parameters(network, units + 1)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "network", "size", "per_symbol"), [("isan-text8", "LSTM", "4e3", 1), ("isan-pairs", "GRU", "9e4", 2)]
)
def test_bits_are_those_of_the_best_model_for_each_character(name, network, size, per_symbol, tmp_path):
    text = text_of(name)
    record, best = train(tmp_path, network, size, text)
    windows = Windows(text.parts["test"], 8, length=20)
    assert record["result"].test == pytest.approx(best.evaluate(windows, verbose=0) / per_symbol)
    assert record["result"].read == per_symbol * 2 * 3 * 8 * 20
    assert 0 < record["result"].seconds <= record["result"].more["seconds"]


@pytest.mark.parametrize(("name", "per_symbol"), [("isan-text8", 1), ("isan-pairs", 2)])
def test_networks_of_equal_text_read_as_much_whatever_their_batch(name, per_symbol):
    experiment = EXPERIMENTS[name]
    rows = {row: settings for row, settings in experiment.rows.items() if not experiment.is_timed(row)}
    assert len(rows) > 1
    for row, settings in rows.items():
        assert row.endswith(", 128 M characters")
        protocol = {"batch": 256, "length": 100, **settings}
        read = protocol["epochs"] * protocol["steps"] * protocol["batch"] * protocol["length"] * per_symbol
        assert read == 128_000_000


@pytest.mark.matrix
def test_minutes_become_steps_once(tmp_path):
    text = text_of("isan-text8")
    first, _ = train(tmp_path, "ISAN", "4e3", text, minutes=0.01)
    again, _ = train(tmp_path, "ISAN", "4e3", text, minutes=0.01)
    assert first["protocol"] == again["protocol"]
    assert first["result"] == again["result"]
    with pytest.raises(ValueError, match="resumes with the settings it was started with"):
        train(tmp_path, "ISAN", "4e3", text, minutes=0.02)


def test_an_isan_without_biases_keeps_none_in_training():
    text = text_of("isan-text8")
    model = characters.build(text, tiny("ISAN without biases"))
    model.fit(Windows(text.parts["train"], 8, length=20, num_windows=3), shuffle=False, verbose=0)
    cell = model.layers[0].cell
    assert not np.asarray(cell.bias).any()
    assert np.asarray(cell.recurrent_kernel).any()


@pytest.mark.parametrize("network", ["linear", "linear, nonlinear readout"])
def test_a_linear_network_is_linear_up_to_its_readout(network):
    text = text_of("isan-text8")
    model = characters.build(text, tiny(network, characters.parameters(network, 5)))
    recurrent = model.layers[1]
    states = np.random.default_rng(0).normal(size=(3, 8, 5)).astype("float32")
    x = np.eye(27, dtype="float32")[:8]
    steps = [np.asarray(recurrent.cell(x, [state])[0]) for state in states]
    zero = np.asarray(recurrent.cell(0 * x, [0 * states[0]])[0])
    both = np.asarray(recurrent.cell(2 * x, [states[0] + states[1]])[0])
    np.testing.assert_allclose(both + zero, steps[0] + steps[1], atol=1e-5)
    assert [type(layer).__name__ for layer in model.layers[2:]] == ["Dense"] * (1 if network == "linear" else 2)


@pytest.mark.parametrize("model", characters.COUNTED)
def test_counted_models_are_those_of_the_analysis(model):
    text = text_of("isan-text8")
    result = characters.count(model, text)["result"]
    train, validation, test = (text.parts[part] for part in ("train", "validation", "test"))
    if model == "naive Bayes":
        found = [_ngrams.NaiveBayes(train, window, vocabulary_size=27) for window in range(1, 7)]
        best = min(found, key=lambda one: one.bits(validation))
    else:
        best = analysis.BackoffModel(train, 1 if model == "unigrams" else 2, vocabulary_size=27)
    assert result.test == pytest.approx(best.bits(test))
    assert result.validation == pytest.approx(best.bits(validation))


def test_a_row_with_a_mistake_is_named(tmp_path):
    experiment, right = EXPERIMENTS["isan-text8"], {"network": "ISAN", "size": "4e3"}
    with pytest.raises(TypeError, match="argument 'step'"):
        experiment.protocol(a_run(tmp_path, settings={**right, "step": 3}))
    with pytest.raises(ValueError, match="network on characters must be one of RNN, IRNN, .*Received: 'CNN'"):
        experiment.protocol(a_run(tmp_path, settings={**right, "network": "CNN"}))
