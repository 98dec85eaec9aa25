"""Stability: its events, read back from the files, and its warnings."""

import warnings

import keras
import numpy as np
import pytest

from keras_interp_rnn import losses
from keras_interp_rnn.callbacks import Stability, stability
from tests.callbacks.events import isan_network, points
from tests.oracles import isan as oracle

K = 3


def network(scale=0.5, loss=None, seed=0):
    model = isan_network(scale=scale, seed=seed)
    model.compile(keras.optimizers.SGD(0.0), loss or losses.BitsPerSymbol())
    return model


def train(model, callback, symbols=None, epochs=1):
    symbols = np.random.default_rng(1).integers(0, K, (6, 8)) if symbols is None else symbols
    model.fit(symbols[:, :-1], symbols[:, 1:], 2, epochs, verbose=0, shuffle=False, callbacks=[callback])


def warned(*args, **kwargs):
    """What training warned of, Keras's own deprecations aside."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(*args, **kwargs)
    return [str(warning.message) for warning in caught if warning.category is UserWarning]


def scalars(folder, name):
    return [(step, value.item()) for step, value in points(folder / "stability", name)]


@pytest.mark.parametrize("seed", range(3))
def test_radius_and_norm_are_those_of_the_oracle(tmp_path, seed):
    model = network(seed=seed)
    text = np.random.default_rng(seed).integers(0, K, 40)
    warned(model, Stability(tmp_path, text), epochs=2)
    kernel, bias, start = (np.asarray(w, np.float64) for w in model.layers[0].get_weights())
    columns = [kernel[k].T for k in range(K)]  # the oracle writes states as columns
    states = oracle.states(columns, bias, start, text[None])
    radius = max(abs(np.linalg.eigvals(matrix)).max() for matrix in columns)
    assert [step for step, _ in scalars(tmp_path, "spectral_radius")] == [0, 3, 6]
    np.testing.assert_allclose([x for _, x in scalars(tmp_path, "spectral_radius")], radius, rtol=1e-6)
    largest = np.linalg.norm(states, axis=-1).max()
    np.testing.assert_allclose([x for _, x in scalars(tmp_path, "state_norm")], largest, rtol=1e-6)


@pytest.mark.parametrize("loss", [losses.BitsPerSymbol(), keras.losses.SparseCategoricalCrossentropy(from_logits=True)])
def test_the_first_batch_worse_than_guessing_is_warned_of_once(tmp_path, loss):
    model = network(loss=loss)
    matrix, bias = model.layers[1].get_weights()
    model.layers[1].set_weights([0 * matrix, np.array([0.0, 0.0, -40.0])])
    symbols = np.zeros((6, 8), int)
    symbols[2:, :] = 2  # the second batch and the third are a surprise
    uniform = np.log2(K) if isinstance(loss, losses.BitsPerSymbol) else np.log(K)
    cost = (40 + np.log(2)) * uniform / np.log(K)
    [message] = warned(model, Stability(tmp_path, [0, 1]), symbols, epochs=2)
    assert message.startswith(f"A batch cost {cost:.3g} at step 2, where a uniform guess costs {uniform:.3g}. The larg")


def test_a_costly_batch_is_warned_of_without_reading_the_text_again(tmp_path, monkeypatch):
    read, original = [], stability.as_symbols
    monkeypatch.setattr(stability, "as_symbols", lambda *arguments: read.append(arguments) or original(*arguments))
    model = network()
    matrix, bias = model.layers[1].get_weights()
    model.layers[1].set_weights([0 * matrix, np.array([0.0, 0.0, -40.0])])
    [message] = warned(model, Stability(tmp_path, [0, 1]), np.full((6, 8), 2))
    radius = max(abs(np.linalg.eigvals(of_symbol)).max() for of_symbol in model.layers[0].get_weights()[0])
    assert f"The largest spectral radius is {radius:.3g}, of '" in message
    assert len(read) == 2, "before the first step and at the end of the epoch"


def test_a_model_that_predicts_is_not_warned_of(tmp_path):
    train(network(scale=0.1), Stability(tmp_path, [0, 1, 2, 0]), epochs=3)


@pytest.mark.parametrize("name", [None, "a\nb"])
def test_a_state_that_blows_up_is_warned_of_with_its_run(tmp_path, name):
    model = network(scale=0.1)
    kernel, *others = model.layers[0].get_weights()
    kernel[1] = 1.4 * np.eye(4)
    model.layers[0].set_weights([kernel, *others])
    text = [0, 2] * 40 + [1] * 30 + [0, 2] * 40
    [message] = warned(model, Stability(tmp_path, text, alphabet=name), np.zeros((6, 8), int), epochs=3)
    shown, run = ("1", " ".join(20 * "1")) if name is None else ("⏎", 20 * "⏎")
    assert f"after reading '{run}', where" in message
    assert f"radius is 1.4, of '{shown}'" in message


def test_a_loss_that_compares_no_logits_is_not_watched(tmp_path):
    model = network(loss="mse")
    symbols = np.zeros((6, 8), int)
    model.fit(symbols, np.full((6, 8, K), 100.0), 2, verbose=0, callbacks=[Stability(tmp_path, [0, 1])])
    assert len(scalars(tmp_path, "state_norm")) == 2


def test_rejects_other_texts_and_models(tmp_path):
    for text in ([], [[0, 1]], 3):
        with pytest.raises(ValueError, match=r"`text` must be one text \(T,\), T > 0. Received: shape"):
            Stability(tmp_path, text)
    with pytest.raises(ValueError, match=r"\[0, 3\)"):
        train(network(), Stability(tmp_path, [0, 3]))
    lstm = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 2), keras.layers.LSTM(2)])
    lstm.compile("sgd", "mse")
    with pytest.raises(ValueError, match="Exactly one ISAN"):
        lstm.fit(np.zeros((2, 3), int), np.zeros((2, 2)), verbose=0, callbacks=[Stability(tmp_path, [0])])
