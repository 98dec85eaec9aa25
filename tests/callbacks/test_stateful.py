"""Callbacks on a training that carries states: they read a copy, and training stays as it is, bit by bit."""

import random

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, callbacks, datasets, layers
from keras_interp_rnn._network import carried_states
from tests.callbacks.events import events
from tests.layers_of_users import Times, Without

TEXT = "the cat sat on the mat. " * 12
ALPHABET = datasets.Alphabet.from_text(TEXT)
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
    x = symbols.alphabet.encode_batch(["0", "1", "01", "10", "11", "1"])
    model.fit(x, np.array([0, 1, 0, 1, 0, 1.0]), 3, 1, verbose=0, callbacks=[callbacks.Automaton(tmp_path)])
    assert "interp_rnn/automaton" in events(tmp_path / "automaton").Tags()["tensors"]


def test_a_copy_reads_what_the_model_does_from_its_initial_states():
    model = lstm()
    copy = carried_states.copy_without(model).model
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
    assert carried_states.copy_without(model).model.input_shape == (None, 6)


X = 7 * np.random.default_rng(0).normal(size=(4, 6, 3)).astype("float32") + 50


class FromTable(keras.layers.Layer):
    def __init__(self, table, **kwargs):
        super().__init__(**kwargs)
        self.table = table

    def get_config(self):
        return {**super().get_config(), "table": self.table}

    def call(self, x):
        return x * self.table["stateful"]


class Tied(keras.layers.Layer):
    """A head that has the table of an Embedding, by reference."""

    def __init__(self, embedding, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding

    def call(self, x):
        return keras.ops.matmul(x, keras.ops.transpose(self.embedding.embeddings))

    def get_config(self):
        return {**super().get_config(), "embedding": keras.saving.serialize_keras_object(self.embedding)}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config.pop("embedding")), **config)


class WithItsOwn(keras.Model):
    """A functional model with a weight that no layer has."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")


def of_numbers(*layers, kind=keras.Model):
    inputs = keras.Input((6, 3), batch_size=4)
    x = inputs
    for layer in layers:
        x = layer(x)
    return kind(inputs, keras.layers.LSTM(4, return_sequences=True, stateful=True)(x))


def normalized():
    layer = keras.layers.Normalization()
    layer.adapt(X)
    return layer


@pytest.mark.parametrize("make", [
    lambda: of_numbers(normalized()),
    lambda: of_numbers(keras.Sequential([keras.Input((6, 3)), normalized()])),
    lambda: of_numbers(keras.layers.Rescaling(0.02), kind=WithItsOwn),
])  # fmt: skip
def test_a_copy_has_all_that_its_model_computes_with(make):
    model = make()
    with carried_states.from_the_start(model):
        expected = model.predict(X, batch_size=4, verbose=0)
    np.testing.assert_allclose(carried_states.copy_without(model).model.predict(X, verbose=0), expected, atol=1e-6)


def test_only_the_configuration_of_a_recurrent_layer_is_changed():
    model = of_numbers(FromTable({"stateful": 0.03}))
    with carried_states.from_the_start(model):
        expected = model.predict(X, batch_size=4, verbose=0)
    np.testing.assert_allclose(carried_states.copy_without(model).model.predict(X, verbose=0), expected, atol=1e-6)


def test_a_copy_of_a_head_tied_to_an_embedding_has_its_table():
    ids, embedding = keras.Input((12,), batch_size=4, dtype="int32"), keras.layers.Embedding(9, 6)
    states = keras.layers.LSTM(6, return_sequences=True, stateful=True)(embedding(ids))
    model = keras.Model(ids, Tied(embedding)(states))
    x = np.random.default_rng(0).integers(0, 9, (4, 12))
    expected = model.predict(x, verbose=0)
    np.testing.assert_allclose(carried_states.copy_without(model).model.predict(x, verbose=0), expected, atol=1e-6)


def changed_later():
    layer = Times()
    layer.factor = 0.02
    return layer


@pytest.mark.parametrize(("layer", "sentence"), [
    (changed_later, "a copy of which gives"),
    (lambda: Without(0.02), "a copy of which gives"),
    (lambda: keras.layers.Lambda(lambda x: 2 * x), "lambda.* which Keras does not make again"),
])  # fmt: skip
def test_a_model_whose_copy_computes_something_else_is_not_measured(layer, sentence, tmp_path):
    model = of_numbers(layer())
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=f"Traces: A copy of the model must compute what the model does.*{sentence}"):
        model.fit(X, np.zeros((4, 6, 4)), 4, verbose=0, callbacks=[callbacks.Traces(tmp_path, X)])


@keras.saving.register_keras_serializable("tests")
def drawn_by_all(shape, dtype=None):
    return np.random.normal(size=shape) + keras.random.normal(shape)  # noqa: NPY002


def test_a_copy_draws_no_random_numbers():
    model = of_numbers(keras.layers.Dense(3, kernel_initializer=drawn_by_all))
    keras.utils.set_random_seed(0)
    alone = random.random(), np.random.rand(), float(keras.random.uniform(()))  # noqa: NPY002
    keras.utils.set_random_seed(0)
    carried_states.copy_without(model)
    assert (random.random(), np.random.rand(), float(keras.random.uniform(()))) == alone  # noqa: NPY002


def test_a_copy_keeps_the_length_of_a_model_inside():
    part = keras.Input((6,), dtype="int32")
    inner = keras.Model(part, keras.layers.Embedding(9, 4)(part))
    ids = keras.Input((6,), batch_size=4, dtype="int32")
    model = keras.Model(ids, keras.layers.LSTM(3, return_sequences=True, stateful=True)(inner(ids)))
    assert carried_states.copy_without(model).model.input_shape == (None, 6)


def test_a_layer_that_is_not_built_is_not_measured(tmp_path):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = keras.layers.LSTM(4, return_sequences=True, stateful=True)

        def call(self, x):
            return self.layer(x)

    model = Own()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="Traces: A layer that carries states must be built.*Call the model once"):
        model.fit(X, np.zeros((4, 6, 4)), 4, verbose=0, callbacks=[callbacks.Traces(tmp_path, X, layer=model.layer)])


def test_one_callback_is_in_one_training_at_a_time(tmp_path):
    watching = callbacks.Contributions(tmp_path / "logs", TEXTS)
    resumable = callbacks.Resumable(tmp_path / "run", "loss")

    class Inner(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            for one in (watching, resumable):
                with pytest.raises(ValueError, match="at most one.*where another `fit` of this process trains"):
                    trained(isan, one)
                assert one.model is self.model

    trained(isan, watching, resumable, Inner())
    trained(isan, watching)  # it has ended


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
