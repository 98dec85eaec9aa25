"""Networks as C: what they compute, step by step, is what Keras computes."""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_interp_rnn import deploy, layers, presets
from keras_interp_rnn.equations import Step
from tests.deploy.compiled import FLAGS, Network, needs_compiler
from tests.network.test_own_equations import Euler, EulerCell, SilentCell

pytestmark = needs_compiler

SYMBOLS, FEATURES, OUTPUTS = 6, 5, 4
EVERY = {"return_sequences": True}


def normalization() -> Any:
    layer = keras.layers.Normalization()
    layer.adapt(np.random.default_rng(0).normal(0.2, 1.5, (60, 15, FEATURES)))
    return layer


FAMILIES: dict[str, Callable[[int], Any]] = {
    "SimpleRNN": lambda n: keras.layers.SimpleRNN(n, **EVERY),
    "SimpleRNN, relu, no bias": lambda n: keras.layers.SimpleRNN(n, "relu", use_bias=False, **EVERY),
    "GRU": lambda n: keras.layers.GRU(n, **EVERY),
    "GRU, no bias": lambda n: keras.layers.GRU(n, use_bias=False, **EVERY),
    "GRU, reset first": lambda n: keras.layers.GRU(n, reset_after=False, **EVERY),
    "GRU, hard": lambda n: keras.layers.GRU(n, "relu", "hard_sigmoid", **EVERY),
    "LSTM": lambda n: keras.layers.LSTM(n, **EVERY),
    "PeepholeLSTM": lambda n: layers.PeepholeLSTM(n, **EVERY),
    "MinimalRNN": lambda n: layers.MinimalRNN(n, **EVERY),
    "CFN": lambda n: layers.CFN(n, **EVERY),
    "MinGRU": lambda n: layers.MinGRU(n, **EVERY),
    "MinGRU, positive": lambda n: layers.MinGRU(n, positive=True, **EVERY),
    "MinLSTM": lambda n: layers.MinLSTM(n, **EVERY),
    "LRU": lambda n: layers.LRU(n, n, **EVERY),
    "RGLRU": lambda n: layers.RGLRU(n, **EVERY),
    "FactoredISAN": lambda n: layers.FactoredISAN(n, 3, **EVERY),
    "DiagonalISAN": lambda n: layers.DiagonalISAN(n, SYMBOLS, **EVERY),
    "DiagonalISAN, blocks": lambda n: layers.DiagonalISAN(n, SYMBOLS, block_size=2, **EVERY),
    "ISAN": lambda n: layers.ISAN(n, SYMBOLS, **EVERY),
    "FactoredISAN of symbols": lambda n: layers.FactoredISAN(n, 3, vocabulary_size=SYMBOLS, **EVERY),
    "SRSimpleRNN": lambda n: layers.SRSimpleRNN(n, 3, **EVERY),
    "SRGRU": lambda n: layers.SRGRU(n, 3, temperature=2.0, **EVERY),
    "SRGRU, soft_argmax": lambda n: layers.SRGRU(n, 3, transition="soft_argmax", **EVERY),
    "SRGRU, strength": lambda n: layers.SRGRU(n, 3, strength=0.6, learn_temperature=True, **EVERY),
    "SRGRU, one centroid": lambda n: layers.SRGRU(n, 1, **EVERY),
    "SRLSTM": lambda n: layers.SRLSTM(n, 3, transition="gumbel", **EVERY),
    "RNN over EulerCell": lambda n: keras.layers.RNN(EulerCell(n), **EVERY),
    "RNN over two cells": lambda n: keras.layers.RNN([keras.layers.LSTMCell(n), keras.layers.GRUCell(n + 1)], **EVERY),
}
READ_SYMBOLS = ("DiagonalISAN", "DiagonalISAN, blocks", "ISAN", "FactoredISAN of symbols")


def randomized(model: Any, seed: int, scale: float = 0.3) -> Any:
    """The model, with asymmetric weights close to the initial ones."""
    rng = np.random.default_rng(seed)

    def moved(w: Any) -> Any:
        return w + rng.normal(0, scale, w.shape) / (np.sqrt(w.shape[-2]) if w.ndim > 1 else 1) if w.ndim else w

    model.set_weights([moved(w) for w in model.get_weights()])
    return model


def model_of(family: str, units: int, seed: int = 0, scale: float = 0.3) -> Any:
    """Ids or vectors -> the layer -> four outputs."""
    ids = family in READ_SYMBOLS
    place = keras.Input((None,), dtype="int32") if ids else keras.Input((None, FEATURES))
    return randomized(keras.Sequential([place, FAMILIES[family](units), keras.layers.Dense(OUTPUTS)]), seed, scale)


def inputs_of(model: Any, seed: int = 0, batch: int = 60, steps: int = 15, symbols: int = SYMBOLS) -> Any:
    rng, shape = np.random.default_rng(seed), model.inputs[0].shape
    if len(shape) == 2:
        return rng.integers(symbols, size=(batch, steps))
    return rng.normal(0, 1, (batch, steps, shape[2])).astype(np.float32)


def apart(model: Any, folder: Any, inputs: Any = None) -> float:
    """The largest difference of outputs, at all steps that the model outputs, divided by the largest output or 1."""
    inputs = inputs_of(model) if inputs is None else inputs
    expected = model.predict(inputs, batch_size=1000, verbose=0)
    outputs, returned = Network(model, folder).run(inputs)
    assert not returned.any()
    outputs = outputs if expected.ndim == 3 else outputs[:, -1]
    assert outputs.shape == expected.shape
    return float(np.abs(outputs - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_output_is_that_of_keras(tmp_path, family):
    assert apart(model_of(family, units=8, seed=len(family)), tmp_path) <= 1e-6


@pytest.mark.matrix
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_sequences_of_64_units(tmp_path, family, seed):
    model = model_of(family, units=64, seed=seed, scale=0.1)
    assert apart(model, tmp_path, inputs_of(model, seed, batch=10_000, steps=20)) <= 1e-6


AMPLIFYING: dict[str, tuple[float, float, Callable[..., list[Any]]]] = {
    "chaotic": (4.0, 1e-5, lambda **dtype: [keras.layers.SimpleRNN(32, **dtype)]),
    "normalized by the deviation of a few units": (
        0.3,
        5e-7,
        lambda **dtype: [
            keras.layers.LayerNormalization(**dtype),
            keras.layers.GRU(4, **dtype),
            keras.layers.LayerNormalization(**dtype),
        ],
    ),
}
"""Network -> scale of its weights, how far from float64 it is at least, and its layers."""


@pytest.mark.parametrize("network", AMPLIFYING)
def test_rounding_is_no_worse_than_that_of_keras(tmp_path, network):
    """Networks that amplify differences, whose outputs in float32 are far from those in float64."""
    scale, least, parts = AMPLIFYING[network]

    def made(dtype):
        place = keras.Input((None, FEATURES), dtype=dtype)
        return keras.Sequential([place, *parts(dtype=dtype), keras.layers.Dense(OUTPUTS, dtype=dtype)])

    model, exact = randomized(made("float32"), 0, scale), made("float64")
    exact.set_weights(model.get_weights())
    inputs = inputs_of(model, batch=500)
    right, ours = exact.predict(inputs, verbose=0), Network(model, tmp_path).run(inputs)[0][:, -1]
    error, of_keras = (np.abs(x - right).max() for x in (ours, model.predict(inputs, verbose=0)))
    assert of_keras > least
    assert error < 2 * of_keras


def sequential(*parts: Any, place: Any = None, seed: int = 0) -> Any:
    place = keras.Input((None,), dtype="int32") if place is None else place
    return randomized(keras.Sequential([place, *parts]), seed)


def embedding(**kwargs: Any) -> Any:
    return keras.layers.Embedding(SYMBOLS, FEATURES, **kwargs)


def functional() -> Any:
    place = keras.Input((None,), dtype="int32")
    inner = keras.Sequential([keras.Input((None, 7)), keras.layers.Dense(3, "relu"), keras.layers.Dense(OUTPUTS)])
    x = keras.layers.GRU(7, **EVERY)(keras.ops.one_hot(place, SYMBOLS), initial_state=None, training=False)
    return randomized(keras.Model(place, inner(x)), 3)


def shared() -> Any:
    gru, place = keras.layers.GRU(FEATURES, **EVERY), keras.Input((None, FEATURES))
    return randomized(keras.Model(place, gru(gru(place))), 4)


def branched() -> Any:
    """What a network read goes on beside what it makes of it."""
    place = keras.Input((None, FEATURES))
    states = keras.layers.GRU(FEATURES, **EVERY)(place)
    added = keras.layers.Add()([states, 0.5 * place])
    mean = keras.layers.Average()([added, place])
    joined = keras.layers.Concatenate()([keras.layers.LSTM(3, **EVERY)(mean), states])
    return randomized(keras.Model(place, keras.layers.Dense(OUTPUTS, "softmax")(joined)), 5)


def last_step() -> Any:
    place = keras.Input((None, FEATURES))
    convolved = keras.layers.Conv1D(1, 2, padding="causal")(keras.layers.Conv1D(1, 1)(place))
    states = keras.layers.LSTM(3, **EVERY)(convolved)
    return randomized(keras.Model(place, (2 - keras.layers.Dense(OUTPUTS)(states[:, -1])) / 3), 5)


WIDE = keras.initializers.RandomNormal(stddev=10.0, seed=0)
"""Makes logits beyond -3 and 3, where a hard sigmoid is 0 or 1."""

MODELS = {
    "two recurrent layers, two heads": lambda: sequential(
        embedding(),
        keras.layers.LSTM(4, **EVERY),
        keras.layers.Dropout(0.5),
        layers.SRGRU(3, 2, **EVERY),
        keras.layers.Dense(7, "tanh"),
        keras.layers.Dense(OUTPUTS, "softmax"),
    ),
    "the last output alone, ids normalized": lambda: sequential(
        embedding(), keras.layers.LayerNormalization(), layers.MinimalRNN(4), keras.layers.Dense(1, "sigmoid")
    ),
    "a recurrent layer alone": lambda: sequential(layers.WordDropout(0.5), layers.ISAN(3, SYMBOLS)),
    "a layer with its own readout alone": lambda: sequential(embedding(), layers.LRU(4, 3, **EVERY)),
    "Embedding as encoder": lambda: sequential(layers.MinimalRNN(4, encoder=keras.layers.Embedding(SYMBOLS, 4))),
    "a Sequential as encoder": lambda: sequential(
        layers.MinimalRNN(
            4,
            encoder=keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(6, "relu"), keras.layers.Dense(4)]),
        ),
        place=keras.Input((None, FEATURES)),
    ),
    "Dense before, BatchNormalization": lambda: sequential(
        keras.layers.Dense(3, "relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GRU(4, stateful=False, unroll=False, **EVERY),
        keras.layers.TimeDistributed(keras.layers.Dense(OUTPUTS, use_bias=False, kernel_initializer=WIDE)),
        keras.layers.Activation("hard_sigmoid"),
        keras.layers.Softmax(),
        place=keras.Input((None, FEATURES)),
    ),
    "normalized sensors": lambda: sequential(
        normalization(),
        keras.layers.LayerNormalization(epsilon=1e-5),
        keras.layers.GRU(4, **EVERY),
        keras.layers.LayerNormalization(scale=False),
        keras.layers.Dense(OUTPUTS),
        keras.layers.Rescaling([2.0, -1.0, 0.5, 3.0], [0.0, 1.0, 2.0, -3.0]),
        place=keras.Input((None, FEATURES)),
    ),
    "constants for all features alike": lambda: sequential(
        keras.layers.Rescaling(0.1),
        keras.layers.Normalization(axis=None, mean=0.02, variance=0.04),
        layers.MinGRU(3, **EVERY),
        keras.layers.LayerNormalization(center=False, epsilon=0.1),  # units that are nearly equal keep their digits
        keras.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 0.0, 9.0], invert=True),
        place=keras.Input((None, FEATURES)),
    ),
    "one feature, one unit": lambda: sequential(
        keras.layers.Normalization(mean=0.3, variance=2.0),
        layers.SRLSTM(1, 2, **EVERY),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(1),
        keras.layers.Rescaling(2.0, 1.0),
        place=keras.Input((None, 1)),
    ),
    "one-hot ids, a nested model": functional,
    "a layer called twice": shared,
    "branches": branched,
    "causal convolutions": lambda: sequential(
        embedding(),
        keras.layers.Conv1D(4, 3, padding="causal", activation="tanh"),
        keras.layers.GRU(3, **EVERY),
        keras.layers.Conv1D(OUTPUTS, 2, dilation_rate=3, padding="causal", use_bias=False),
    ),
    "the last of all steps": last_step,
    "all sizes are one": lambda: sequential(
        layers.ISAN(1, 1, **EVERY), keras.layers.GRU(1, **EVERY), keras.layers.Dense(1, "sigmoid")
    ),
}


@pytest.mark.core
@pytest.mark.parametrize("name", MODELS)
def test_a_chain_of_layers_is_that_of_keras(tmp_path, name):
    model = MODELS[name]()
    symbols = 1 if name == "all sizes are one" else SYMBOLS
    assert apart(model, tmp_path, inputs_of(model, symbols=symbols)) <= 1e-6


def test_a_normalization_of_large_numbers_keeps_their_digits(tmp_path):
    """A pressure in pascals: multiplied before the mean is taken off it, it would lose four digits."""
    model = sequential(
        keras.layers.Normalization(mean=101_300.0, variance=400.0),
        keras.layers.GRU(3, **EVERY),
        place=keras.Input((None, 1)),
    )
    pressures = 101_300 + 20 * inputs_of(model)
    assert apart(model, tmp_path, pressures) <= 1e-6


def test_a_stateful_layer_begins_where_the_c_is_reset(tmp_path):
    place = keras.Input((5, FEATURES), batch_size=3)
    model = sequential(layers.SRGRU(4, 3, stateful=True, **EVERY), place=place)
    inputs = inputs_of(model, batch=3, steps=5)
    model.predict(inputs, verbose=0)
    network = Network(model, tmp_path)
    model.layers[0].reset_state()
    np.testing.assert_allclose(
        network.run(inputs)[0], model.predict(inputs, batch_size=3, verbose=0), rtol=0, atol=1e-6
    )


def test_a_symbol_outside_changes_neither_state_nor_output(tmp_path):
    model = model_of("ISAN", units=5)
    network = Network(model, tmp_path)
    outputs, returned = network.run([[1, 2, 3], [1, SYMBOLS, 3], [-1, 2, 3], [1, 2**31 - 1, -(2**31)]])
    assert returned.tolist() == [[0, 0, 0], [0, -1, 0], [-1, 0, 0], [0, -1, -1]]
    assert np.isnan(outputs[1, 1]).all()  # as they were before
    assert np.isnan(outputs[2, 0]).all()
    expected, _ = network.run([[1, 3], [2, 3]])
    np.testing.assert_array_equal(outputs[1, 2], expected[0, 1])
    np.testing.assert_array_equal(outputs[2, 1:], expected[1])


def nested_dense() -> Any:
    return keras.Sequential([keras.Input((None, FEATURES)), keras.layers.Dense(4, "tanh")])


MASKED: dict[str, tuple[int | None, float, Callable[[], list[Any]]]] = {
    "ids": (None, 0, lambda: [embedding(mask_zero=True)]),
    "vectors of ids": (None, 0, lambda: [embedding(), keras.layers.Masking()]),
    "one feature": (1, 0.0, lambda: [keras.layers.Masking()]),
    "vectors": (
        FEATURES,
        -0.3,
        lambda: [keras.layers.Masking(-0.3), keras.layers.LayerNormalization(), keras.layers.Dense(4, "tanh")],
    ),
    "ids of a nested model": (None, 0, lambda: [embedding(mask_zero=True), nested_dense()]),
    "rescaled vectors": (FEATURES, -0.3, lambda: [keras.layers.Rescaling(2.0, 0.6), keras.layers.Masking()]),
}
"""Model -> its features, None for ids; what it reads at masked steps; its layers below the recurrent ones."""


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("case", MASKED)
def test_masked_steps_change_neither_state_nor_output(tmp_path, case, sequences):
    features, value, below = MASKED[case]
    recurrent = layers.SRGRU(3, 2, **EVERY), layers.LRU(2, 2, return_sequences=sequences)
    model = sequential(*below(), *recurrent, place=None if features is None else keras.Input((None, features)))
    if case == "vectors of ids":
        model.layers[0].set_weights([np.eye(SYMBOLS, FEATURES, k=-1)])  # the vector of id 0 is 0
    inputs = inputs_of(model)
    read = np.random.default_rng(0).random(inputs.shape[:2]) < 0.6
    read[:9, :3], read[9:19, -3:] = False, False
    inputs[~read] = value
    if features is None:
        read = inputs > 0
    elif features > 1:
        inputs[20:40, :, 0] = value  # one entry of several masks no step
    outputs, returned = Network(model, tmp_path).run(inputs)
    assert not returned.any()
    np.testing.assert_array_equal(np.isnan(outputs).all(axis=-1), ~read)  # as they were before
    expected = model.predict(inputs, verbose=0)
    if sequences:
        np.testing.assert_allclose(outputs[read], expected[read], rtol=0, atol=1e-6)
    else:
        last = [np.flatnonzero(row)[-1] for row in read]
        np.testing.assert_allclose(outputs[np.arange(len(read)), last], expected, rtol=0, atol=1e-6)


def test_the_network_of_a_recognizer_decides_as_its_automaton(tmp_path):
    recognizer = presets.load("tomita-4")
    words = [f"{number:09b}" for number in range(512)]
    ids = recognizer.model.layers[0].alphabet.encode_batch(words)
    outputs, _ = Network(recognizer.model, tmp_path).run(ids)
    assert (outputs[:, -1, 0] > 0).tolist() == [recognizer.automaton.accepts(word) for word in words]


@pytest.mark.core
@pytest.mark.parametrize("family", ["LSTM", "MinLSTM", "SRGRU", "RGLRU"])
def test_large_inputs_do_not_overflow(tmp_path, family):
    model = model_of(family, units=4)
    head = keras.Sequential([*model.layers, keras.layers.Softmax()])
    head.build(model.inputs[0].shape)
    inputs = inputs_of(model) * np.float32(10.0) ** np.arange(-20, 40, 4, dtype=np.float32)[:, None]
    inputs = inputs.clip(-1e30, 1e30)
    expected, (outputs, _) = head.predict(inputs, verbose=0), Network(head, tmp_path).run(inputs)
    same = np.isfinite(expected)
    assert (np.isfinite(outputs) >= same).all()
    assert same.mean() > 0.4
    np.testing.assert_allclose(outputs[same], expected[same], rtol=0, atol=1e-5)


# Weights in int8


def rounded(w: Any) -> Any:
    """A matrix (..., rows, columns) as integers with a scale for each column have it."""
    if w.ndim < 2:
        return w
    scale = np.abs(w).max(axis=-2, keepdims=True) / 127
    return np.rint(w / np.where(scale == 0, 1, scale)) * scale


@pytest.mark.parametrize(
    "family", ["ISAN", "DiagonalISAN, blocks", "LSTM", "MinimalRNN", "SRGRU", "SRGRU, soft_argmax"]
)
def test_int8_computes_with_the_rounded_weights(tmp_path, family):
    model = model_of(family, units=8)
    inputs = inputs_of(model)
    outputs, _ = Network(model, tmp_path, "int8").run(inputs)
    apart_from_float = np.abs(outputs - model.predict(inputs, verbose=0)).max()
    arrays = zip(model.weights, model.get_weights(), strict=True)
    # The two biases of a GRU are vectors, which stay in float.
    model.set_weights([w if v.shape == (2, 24) else rounded(w.astype(np.float64)) for v, w in arrays])
    expected = model.predict(inputs, verbose=0)
    assert np.abs(outputs - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max()) < apart_from_float


def test_int8_takes_a_fourth_of_the_memory():
    model = model_of("LSTM", units=64)
    sizes = [
        int(re.search(r"Constants take (\d+) bytes", deploy.to_c(model, weights=w))[1]) for w in ("float32", "int8")
    ]
    assert sizes[0] == 4 * model.count_params()
    assert sizes[1] < 0.3 * sizes[0]


def test_a_column_of_zeros_in_int8(tmp_path):
    model = sequential(embedding(), keras.layers.GRU(3, **EVERY))
    model.set_weights([w * (np.arange(w.shape[-1]) % 2) for w in model.get_weights()])
    outputs, _ = Network(model, tmp_path, "int8").run(inputs_of(model))
    assert np.isfinite(outputs).all()


# The text


def compiled(folder, model, *names):
    for name in names:
        (folder / f"{name[:9]}.c").write_text(deploy.to_c(model, name=name), encoding="ascii")
    files = [path.name for path in folder.glob("*.c")]
    subprocess.run(["cc", *FLAGS, "-c", *files], cwd=folder, check=True)


@pytest.mark.skipif(shutil.which("size") is None, reason="no size of binutils")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_takes_less_than_10_kilobytes(tmp_path, family):
    compiled(tmp_path, model_of(family, units=64), "our")
    text = subprocess.run(["size", "-A", "our.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert int(re.search(r"\.text\s+(\d+)", text)[1]) < 10_000
    assert not any(int(size) for size in re.findall(r"\.(?:data|bss)\s+(\d+)", text))


@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_it_compiles_as_cplusplus(tmp_path, weights):
    if shutil.which("c++") is None:
        pytest.skip("no compiler of C++")
    (tmp_path / "our.cpp").write_text(deploy.to_c(MODELS["two recurrent layers, two heads"](), weights=weights))
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
    subprocess.run(["c++", *flags, "our.cpp"], cwd=tmp_path, check=True)


def test_any_identifier_is_a_name_and_names_of_layers_and_models_end_no_comment(tmp_path):
    model = sequential(embedding(), layers.SRLSTM(2, 2), keras.layers.Dense(2, "softmax"))
    for part in (model, *model.layers):
        part.name = '*/ ??/\\ é"\n#error \\'
    compiled(tmp_path, model, "int", "_", "for", "x", "state", "i", "main", "symbol", "value", "a" * 200)


@pytest.mark.parametrize(("family", "asks"), [("GRU", True), ("ISAN", False)])
def test_the_first_comment_aligns_its_calls_and_asks_for_finite_inputs(family, asks):
    text = deploy.to_c(model_of(family, units=2), name="room")
    calls = [re.match(r" \*     (room_\w+\(.*?\);) +", line) for line in text.splitlines()[4:6]]
    assert [call[1].split("(")[0] for call in calls] == ["room_reset", "room_step"]
    assert calls[0].end() == calls[1].end() == max(len(call[1]) for call in calls) + len(" *     ") + 2
    assert ("Inputs must be finite" in text) == asks


def test_the_text_is_the_same_each_time_and_ascii_and_has_each_weight_once():
    model = model_of("SRGRU", units=5)
    text = deploy.to_c(model)
    assert deploy.to_c(model) == text
    assert text.isascii()
    assert "float h1[5];" in text
    assert len(re.findall("static const float network_1_centroids", text)) == 1
    assert "network_multiply_transposed(" in text


class Odd(Euler):
    """An equation whose quantity has a name that no array of C has."""

    def step_given_product(self, xp: Any, states: Any, product: Any, drive: Any) -> Any:
        change = xp.tanh(product + drive[0])
        return Step((states[0] + change,), {"2 */": change})


class OddCell(EulerCell):
    """A cell whose weights have the names of other arrays in the C."""

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="kernel_2")
        self.bias = self.add_weight(shape=(self.units,), name="kernel_scale")

    def equations(self, read: Any) -> Odd:
        return Odd(read(self.kernel), read(self.recurrent_kernel), read(self.bias))


def test_names_of_a_cell_do_not_collide(tmp_path):
    model = sequential(embedding(), keras.layers.RNN(OddCell(3)))
    text = Network(model, tmp_path, "int8").text
    assert "float _2____t[3];" in text
    assert "An equation whose quantity has a name that no array of C has." in text


# Refusals


class Doubled(keras.layers.GRU):
    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False) -> Any:
        return 2 * super().call(sequences, initial_state, mask, training)


class DoubledEmbedding(keras.layers.Embedding):
    def call(self, ids: Any) -> Any:
        return 2 * super().call(ids)


class NoGraph(keras.Model):
    def call(self, x: Any) -> Any:
        return x


def with_nan() -> Any:
    model = model_of("GRU", units=2)
    model.set_weights([w * np.nan for w in model.get_weights()])
    return model


def with_large_weights() -> Any:
    model = sequential(layers.LRU(2, 2), place=keras.Input((None, 2)))
    model.layers[0].cell.gain.assign([100.0, 1.0])
    return model


def two_outputs() -> Any:
    place = keras.Input((None, FEATURES))
    x = keras.layers.GRU(2)(place)
    return keras.Model(place, [keras.layers.Dense(1)(x), keras.layers.Dense(1)(x)])


def last_state() -> Any:
    place = keras.Input((None, FEATURES))
    _, _, memory = keras.layers.LSTM(2, return_state=True)(place)
    return keras.Model(place, memory)


def called_with(**arguments: Any) -> Any:
    place = keras.Input((None,), dtype="int32")
    made = {name: make(place) for name, make in arguments.items()}
    return keras.Model(place, keras.layers.GRU(2, dropout=0.5)(embedding()(place), **made))


def unmasked() -> Any:
    place = keras.Input((None, FEATURES))
    return keras.Model(place, keras.layers.GRU(2)(2.0 * keras.layers.Masking()(place)))


def attending() -> Any:
    place = keras.Input((None, FEATURES))
    states = keras.layers.GRU(FEATURES, **EVERY)(place)
    return keras.Model(place, keras.layers.Attention()([states, states]))


def nested_in_training() -> Any:
    place = keras.Input((None, FEATURES))
    inner = keras.Sequential([keras.Input((None, FEATURES)), keras.layers.Dropout(0.5), keras.layers.GRU(2)])
    return keras.Model(place, inner(place, training=True))


def of_vectors(*parts: Any) -> Any:
    return keras.Sequential([keras.Input((None, FEATURES)), *parts])


def masking_encoder() -> Any:
    return keras.Sequential([keras.Input((FEATURES,)), keras.layers.Masking(), keras.layers.Dense(2)])


def quantized() -> Any:
    model = of_vectors(keras.layers.GRU(2), keras.layers.Dense(2))
    model.layers[-1].quantize("int8")
    return model


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a layer": (lambda: keras.layers.GRU(3), "`model` must be a Keras model. Received: model=<GRU"),
    "no graph": (NoGraph, "no_graph, a NoGraph whose graph is not known. Build"),
    "not built": (lambda: keras.Sequential([keras.layers.GRU(3)]), "a Sequential whose graph is not known. Build"),
    "NaN": (with_nan, "weights must be finite. Received: NaN"),
    "large weights": (with_large_weights, "which needs numbers beyond the range of float"),
    "attention": (attending, r"\(Attention\)\. Rebuild"),
    "two outputs": (two_outputs, "which has not exactly one input and one output"),
    "the last state": (last_state, r"lstm\w* \(LSTM\) with return_state=True"),
    "an initial state": (
        lambda: called_with(initial_state=lambda place: keras.ops.ones((1, 2))),
        "called with more than what it reads. Call it without initial_state, mask and training",
    ),
    "a mask of its own": (
        lambda: called_with(mask=lambda place: keras.ops.not_equal(place, 3)),
        "called with more than what it reads",
    ),
    "training": (lambda: called_with(training=lambda place: True), "called with more than what it reads"),
    "training of a nested model": (nested_in_training, r"\(Sequential\), which is called with more than what it"),
    "a mask that is lost": (unmasked, r"\(GRU\), to which the mask of the layers before it does not come"),
    "no recurrent layer": (lambda: of_vectors(keras.layers.Dense(2)), "which has no recurrent layer"),
    "ids as outputs": (lambda: sequential(keras.layers.Dropout(0.5)), "which has no recurrent layer"),
    "backwards": (lambda: of_vectors(keras.layers.GRU(2, go_backwards=True)), r"\(GRU\) with go_backwards=True"),
    "both ways": (
        lambda: of_vectors(keras.layers.Bidirectional(keras.layers.GRU(2))),
        r"backward_gru\w* \(GRU\) with go_backwards=True",
    ),
    "a subclass": (lambda: of_vectors(Doubled(2)), r"doubled\w* \(Doubled\)\. Rebuild"),
    "zeros for masked ids": (
        lambda: sequential(embedding(mask_zero=True), keras.layers.GRU(2, zero_output_for_mask=True)),
        "with zero_output_for_mask=True",
    ),
    "a mask above a recurrent layer": (
        lambda: of_vectors(keras.layers.GRU(2, **EVERY), keras.layers.Masking(), keras.layers.GRU(2)),
        r"masking\w* \(Masking\), which needs to come before every recurrent layer and any other mask",
    ),
    "two masks": (
        lambda: of_vectors(keras.layers.Masking(), keras.layers.Masking(1.0), keras.layers.GRU(2)),
        r"masking\w* \(Masking\), which needs to come before every recurrent layer and any other mask",
    ),
    "a mask of NaN": (
        lambda: of_vectors(keras.layers.Masking(np.nan), keras.layers.GRU(2)),
        r"masking\w* \(Masking\), which needs numbers beyond the range of float",
    ),
    "zeros for masked vectors": (
        lambda: of_vectors(keras.layers.Masking(), keras.layers.GRU(2, zero_output_for_mask=True)),
        "with zero_output_for_mask=True",
    ),
    "an encoder that masks": (
        lambda: of_vectors(layers.MinimalRNN(2, encoder=masking_encoder())),
        r"\(MinimalRNN\), whose encoder masks steps. Put the layer that masks before it",
    ),
    "a normalization of steps": (
        lambda: keras.Sequential(
            [keras.Input((3, FEATURES)), keras.layers.LayerNormalization(axis=[1, 2]), keras.layers.GRU(2)]
        ),
        r"\(LayerNormalization\)\. Rebuild",
    ),
    "a mean of each step": (
        lambda: keras.Sequential(
            [keras.Input((3, FEATURES)), keras.layers.Normalization(axis=(1, 2)), keras.layers.GRU(2)]
        ),
        r"\(Normalization\)\. Rebuild",
    ),
    "two scales of five features": (
        lambda: of_vectors(keras.layers.Rescaling([1.0, 2.0]), keras.layers.GRU(2)),
        r"\(Rescaling\), which needs factor of shape \(2,\)",
    ),
    "a scale of zero": (
        lambda: of_vectors(keras.layers.GRU(2), keras.layers.Rescaling(0.0)),
        r"\(Rescaling\), which needs a factor other than 0",
    ),
    "a scale of NaN": (
        lambda: of_vectors(keras.layers.GRU(2), keras.layers.Rescaling(np.nan)),
        r"\(Rescaling\), which needs numbers beyond the range of float",
    ),
    "a subclass of Embedding": (
        lambda: sequential(DoubledEmbedding(SYMBOLS, FEATURES), keras.layers.GRU(2)),
        r"\(DoubledEmbedding\)\. Rebuild",
    ),
    "a mean over time": (
        lambda: of_vectors(keras.layers.GRU(2, **EVERY), keras.layers.GlobalAveragePooling1D()),
        "GlobalAveragePooling1D",
    ),
    "a convolution": (
        lambda: of_vectors(keras.layers.Conv1D(2, 3, padding="same"), keras.layers.GRU(2)),
        r"\(Conv1D\), which needs steps other than those that have been read",
    ),
    "a convolution of masked steps": (
        lambda: of_vectors(keras.layers.Masking(), keras.layers.Conv1D(2, 3, padding="causal"), keras.layers.GRU(2)),
        r"\(Conv1D\), which needs steps that are masked",
    ),
    "an activation": (
        lambda: of_vectors(keras.layers.GRU(2), keras.layers.Dense(2, "gelu")),
        r"\(Dense\) with activation=gelu. Train it with linear, relu",
    ),
    "an activation of a cell": (
        lambda: of_vectors(keras.layers.GRU(2, "gelu")),
        r"\(GRU\) with activation=gelu. Train it with linear, relu, tanh",
    ),
    "half precision": (
        lambda: of_vectors(keras.layers.GRU(2, dtype="mixed_float16")),
        "with the dtype policy mixed_float16. Rebuild it in float32",
    ),
    "double precision": (lambda: of_vectors(keras.layers.GRU(2, dtype="float64")), "the dtype policy float64"),
    "quantized": (
        quantized,
        "with the dtype policy int8",
    ),
    "noise": (lambda: of_vectors(layers.SRGRU(2, 3, transition="sample")), "StateRegularizedCell draws noise"),
    "the last step": (
        lambda: of_vectors(layers.SRGRU(2, 3, regularize_last_step=False)),
        "with regularize_last_step=False",
    ),
    "no equations": (lambda: of_vectors(keras.layers.RNN(SilentCell(3))), "SilentCell has no equations that are known"),
    "a matrix as state": (
        lambda: of_vectors(layers.GatedLinearAttention(4, num_heads=2)),
        r"\(GatedLinearAttention\), which needs",
    ),
    "DeltaNet": (lambda: of_vectors(layers.DeltaNet(4, num_heads=2)), r"\(DeltaNet\), which needs"),
    "distributions": (
        lambda: of_vectors(layers.ISAN(3, FEATURES)),
        r"\(ISAN\), which needs `einsum` of what a step computes",
    ),
    "ids with an axis of one": (
        lambda: sequential(layers.FactoredISAN(2, 2, 1), place=keras.Input((None, 1), dtype="int32")),
        r"which reads int32 of shape \(None, None, 1\). Give it an Input \(time,\) of ids",
    ),
    "images": (
        lambda: keras.Sequential([keras.Input((None, 2, 2)), keras.layers.TimeDistributed(keras.layers.Flatten())]),
        r"which reads float32 of shape \(None, None, 2, 2\)",
    ),
}


@pytest.mark.core
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_refused(case):
    make, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        deploy.to_c(make())


@pytest.mark.core
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"name": "2x"}, "`name` must be an identifier of C. Received: name='2x'"),
        ({"name": ""}, "`name` must be an identifier of C"),
        ({"name": "é"}, "`name` must be an identifier of C"),
        ({"name": "a\n"}, "`name` must be an identifier of C"),
        ({"name": None}, "`name` must be an identifier of C"),
        (
            {"weights": "int4"},
            "`weights` must be one of 'float32', 'int8'. Received: weights='int4'. Did you mean 'int8'",
        ),
    ],
)
def test_arguments_are_checked(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        deploy.to_c(None, **arguments)  # before the model is looked at


@pytest.mark.parametrize("role", ["activation", "recurrent_activation"])
@pytest.mark.parametrize("cell", ["GRU", "LSTM", "PeepholeLSTM", "SRGRU"])
def test_activations_are_keras_s_gate_by_gate_or_refused(cell: str, role: str, tmp_path: Path) -> None:
    """A softmax of a GRU's gates mixes the units of each gate by itself."""
    make = functools.partial(getattr(layers, cell, getattr(keras.layers, cell, None)), 4, **EVERY)
    more = {"num_centroids": 3} if cell == "SRGRU" else {}
    functions = [function for function in vars(keras.activations).values() if inspect.isfunction(function)]
    unusable = ("get", "serialize", "deserialize", "glu", "threshold")
    for name, function in {function.__name__: function for function in functions}.items():
        if name in unusable:
            continue
        model = keras.Sequential([keras.Input((None, FEATURES)), make(**{role: function, **more})])
        if name not in ("linear", "relu", "tanh", "sigmoid", "hard_sigmoid", "softmax"):
            with pytest.raises(ValueError, match=f"with {role}={name}"):
                deploy.to_c(model)
            continue
        folder = tmp_path / name
        folder.mkdir()
        x = np.random.default_rng(0).normal(size=(3, 5, FEATURES)).astype("float32")
        outputs, _ = Network(model, folder).run(x)
        np.testing.assert_allclose(outputs, model.predict(x, verbose=0), rtol=0, atol=1e-5, err_msg=name)
