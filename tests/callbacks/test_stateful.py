"""Callbacks on a training that carries states: they read a copy, and training stays as it is, bit by bit."""

import random

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, callbacks, datasets, layers
from keras_interp_rnn._network import carried_states
from tests.callbacks.events import events

TEXT = "the cat sat on the mat. " * 12
ALPHABET = datasets.text.Alphabet.from_text(TEXT)
IDS = ALPHABET.encode(TEXT)


def text_model(recurrent, *before):
    ids = keras.Input((12,), batch_size=4, dtype="int32")
    states = recurrent(keras.Sequential([*before])(ALPHABET.layer()(ids)) if before else ALPHABET.layer()(ids))
    return keras.Model(ids, keras.layers.Dense(len(ALPHABET))(keras.layers.Dropout(0.1)(states)))


def isan():
    return text_model(layers.ISAN(8, len(ALPHABET), return_sequences=True, stateful=True))


def lstm():
    embedding = keras.layers.Embedding(len(ALPHABET), 4)
    return text_model(keras.layers.LSTM(6, return_sequences=True, stateful=True, dropout=0.1), embedding)


def centroids():
    embedding = keras.layers.Embedding(len(ALPHABET), 4)
    return text_model(layers.SRGRU(6, 3, return_sequences=True, stateful=True), embedding)


TEXTS = ["the cat", "mat."]
CALLBACKS = {
    "Contributions": (isan, lambda logs: callbacks.Contributions(logs, TEXTS)),
    "ShapleyValues": (isan, lambda logs: callbacks.ShapleyValues(logs, TEXTS)),
    "Stability": (isan, lambda logs: callbacks.Stability(logs, TEXT)),
    "Attributions": (lstm, lambda logs: callbacks.Attributions(logs, TEXTS)),
    "Attributions of an ISAN": (isan, lambda logs: callbacks.Attributions(logs, TEXTS)),
    "Substitutions": (lstm, lambda logs: callbacks.Substitutions(logs, TEXTS, alternatives="at")),
    "Substitutions of an ISAN": (isan, lambda logs: callbacks.Substitutions(logs, TEXTS)),
    "Traces": (lstm, lambda logs: callbacks.Traces(logs, IDS[:24].reshape(2, 12))),
    "JacobianHistograms": (lstm, lambda logs: callbacks.JacobianHistograms(logs, IDS[:24].reshape(2, 12), lags=(0, 3))),
    "TransitionProbabilities": (
        centroids,
        lambda logs: callbacks.TransitionProbabilities(
            logs, IDS[:24].reshape(2, 12), validation=IDS[: 12 * 5].reshape(5, 12)
        ),
    ),
    "Resumable": (lstm, lambda logs: callbacks.Resumable(logs / "run", "loss")),
}


def trained(make, *watching):
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    windows = IDS[: 12 * 24 - 24].reshape(-1, 12)[:20]
    history = model.fit(
        windows, np.roll(windows, -1, axis=1), 4, 2, verbose=0, callbacks=[callbacks.CarriedState(True), *watching]
    )
    return history.history["loss"], model.get_weights(), carried_states.read(model), random.random()


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_training_that_carries_states_is_measured_and_stays_as_it_is(name, tmp_path):
    make, watch = CALLBACKS[name]
    losses, weights, states, drawn = trained(make, watch(tmp_path))
    alone = trained(make)
    assert losses == alone[0]
    for found, expected in zip((*weights, *states), (*alone[1], *alone[2]), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert drawn == alone[3]
    assert states
    for folder in tmp_path.iterdir():
        assert name == "Resumable" or events(folder).Tags()["tensors"]


def test_words_of_an_automaton_are_read_by_a_copy(tmp_path):
    ids = keras.Input((None,), batch_size=3, dtype="int32")
    symbols, layer = automata.SymbolEmbedding("01", 4), layers.SRGRU(4, 3, stateful=True, strength=1.0)
    model = automata.Recognizer([ids, symbols, layer, keras.layers.Dense(1)])
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
    x = symbols.encoding.ids(["0", "1", "01", "10", "11", "1"])
    model.fit(x, np.array([0, 1, 0, 1, 0, 1.0]), 3, 1, verbose=0, callbacks=[callbacks.Automaton(tmp_path)])
    assert "interp_rnn/automaton" in events(tmp_path / "automaton").Tags()["tensors"]


def test_a_copy_reads_what_the_model_does_from_its_initial_states():
    model = lstm()
    copy = carried_states.copy_without(model)
    carried_states.copy_weights(model, copy)
    x = IDS[:48].reshape(4, 12)
    with carried_states.from_the_start(model):
        expected = model.predict(x, batch_size=4, verbose=0)
    for _ in range(2):
        np.testing.assert_allclose(copy.predict(x, verbose=0), expected, atol=1e-6)
    assert not carried_states.stateful_layers(copy)
    assert copy.input_shape[0] is None


def test_a_copy_of_a_model_that_needs_its_length_keeps_it():
    ids = keras.Input((6,), batch_size=2, dtype="int32")
    states = keras.layers.LSTM(3, return_sequences=True, stateful=True)(keras.layers.Embedding(5, 3)(ids))
    model = keras.Model(ids, keras.layers.Dense(5)(keras.layers.Flatten()(states)))
    assert carried_states.copy_without(model).input_shape == (None, 6)


@pytest.mark.parametrize("update", [1, "epoch"])
def test_an_error_names_its_callback(update, tmp_path):
    watching = [
        callbacks.Contributions(tmp_path, TEXTS, update_freq=update),
        callbacks.Substitutions(tmp_path, TEXTS, alphabet="xyz", update_freq=update),
    ]
    with pytest.raises(ValueError, match="^Substitutions: "):
        trained(isan, *watching)
    with pytest.raises(ValueError, match="^Traces: "):
        trained(isan, callbacks.Traces(tmp_path, TEXTS, layer="none"))
    with pytest.raises(ValueError, match="^Resumable: `monitor` must be in the logs"):
        trained(isan, callbacks.Resumable(tmp_path / "run", "nothing"))
    with pytest.raises(ValueError, match="^TemperatureSchedule must have"):
        trained(isan, callbacks.TemperatureSchedule(lambda epoch: 1.0))
    with pytest.raises(ValueError, match="^TemperatureSchedule: `temperature` must be"):
        trained(centroids, callbacks.TemperatureSchedule(lambda epoch: None))


def test_an_error_of_another_kind_has_a_note_with_the_callback(tmp_path):
    class Broken(callbacks.Traces):
        def measure(self):
            raise RuntimeError("no measure")

    with pytest.raises(RuntimeError, match="no measure") as held:
        trained(isan, Broken(tmp_path, TEXTS))
    assert held.value.__notes__ == ["In the callback Broken."]


def test_a_folder_of_logs_has_one_writer_at_a_time(tmp_path):
    def watch():
        return callbacks.Contributions(tmp_path, TEXTS)

    with pytest.raises(ValueError, match="at most one writer.*where another callback of this `fit` writes"):
        trained(isan, watch(), watch())

    class Inner(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with pytest.raises(ValueError, match="at most one writer.*where another `fit` of this process trains"):
                trained(isan, watch())

    trained(isan, watch(), Inner())
    trained(isan, watch())  # it has ended


def test_an_interrupted_training_leaves_its_folder(tmp_path):
    class Interrupt(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt) as held:
            trained(isan, callbacks.Contributions(tmp_path, TEXTS), Interrupt())
        assert held.tb is not None
    trained(isan, callbacks.Contributions(tmp_path, TEXTS))
