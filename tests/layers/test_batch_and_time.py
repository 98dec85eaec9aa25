"""Batches of one, sequences of one step, and sizes that a compiled model does not know: every layer, every way in.

Outside a compiled model a size is always known. There, TensorFlow infers shapes of its own accord, and a size of one is
the one number that it may lose. Values and gradients are those of the layer called eagerly, in float64, which the
oracles of the other files hold.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from tests import autodiff
from tests.samples import make_mask
from tests.tolerances import assert_close

BACKEND = keras.backend.backend()
QUICK = False if BACKEND == "tensorflow" else "auto"  # `jit_compile`: XLA compiles longer than these models train
FEATURES = 4
SIZES = [(1, 5), (3, 5), (1, 1), (3, 1)]


class Kind(NamedTuple):
    """A layer of enough units for ISAN's grouped path, and what it reads."""

    make: Callable[..., keras.layers.RNN]
    features: tuple[int, ...] = (FEATURES,)
    symbols: int | None = None  # None: real-valued inputs

    @property
    def dtype(self) -> str:
        return "float64" if self.symbols is None else "int32"

    def batch(self, rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
        shape = (batch, time, *self.features)
        if self.symbols is None:
            # As `predict` rounds them.
            return rng.normal(size=shape).astype("float32").astype("float64")
        return rng.integers(self.symbols, size=shape).astype("int32")


def over(cell: Callable[..., keras.layers.Layer]) -> Callable[..., keras.layers.RNN]:
    def make(dtype: str = "float64", **flags: Any) -> keras.layers.RNN:
        regularized = layers.StateRegularizedCell(cell(dtype=dtype), 3, dtype=dtype)
        return layers.StateRegularizedRNN(regularized, dtype=dtype, **flags)

    return make


FREE = {"recurrent_constraint": None}  # a constraint is no part of the gradient step


def of(kind: str, *sizes: int, **own: Any) -> Callable[..., keras.layers.RNN]:
    def make(dtype: str = "float64", **flags: Any) -> keras.layers.RNN:
        return getattr(layers, kind)(*sizes, dtype=dtype, **own, **flags)

    return make


KINDS = {
    "ISAN": Kind(of("ISAN", 9, 6, **FREE), (), 6),
    "ISAN of many symbols": Kind(of("ISAN", 96, 66, **FREE), (), 66),
    "ISAN, static": Kind(of("ISAN", 7, 6, **FREE), (), 6),
    "ISAN, stepwise": Kind(of("ISAN", 9, 6, fused=False, **FREE), (), 6),
    "FactoredISAN": Kind(of("FactoredISAN", 9, 2)),
    "FactoredISAN of symbols": Kind(of("FactoredISAN", 9, 2, 6), (), 6),
    "MinimalRNN": Kind(of("MinimalRNN", 9)),
    "CFN": Kind(of("CFN", 9)),
    "PeepholeLSTM": Kind(of("PeepholeLSTM", 9)),
    "SRSimpleRNN": Kind(of("SRSimpleRNN", 9, 3)),
    "SRGRU": Kind(of("SRGRU", 9, 3)),
    "SRLSTM": Kind(of("SRLSTM", 9, 3)),
    "SRPeepholeLSTM": Kind(of("SRPeepholeLSTM", 9, 3)),
    "StateRegularizedRNN over ISANCell": Kind(over(lambda dtype: layers.ISANCell(9, 6, dtype=dtype, **FREE)), (1,), 6),
    "StateRegularizedRNN over MinimalRNNCell": Kind(over(lambda dtype: layers.MinimalRNNCell(9, dtype=dtype))),
    "StateRegularizedRNN over CFNCell": Kind(over(lambda dtype: layers.CFNCell(9, dtype=dtype))),
}

every_kind = pytest.mark.parametrize("name", KINDS)
# What a compiled model knows of batch and time, and whether it takes a mask.
every_model = pytest.mark.parametrize(
    ("shape", "masked"),
    [((None, None), True), ((None, 1), False), ((1, None), False), ((1, None), True), ((1, 1), False)],
    ids=str,
)


def give_random_weights(layer: keras.layers.Layer, rng: np.random.Generator) -> None:
    for weight in layer.weights:
        if len(weight.shape):  # not the temperature, the strength and the noise
            weight.assign(rng.normal(size=weight.shape) / np.sqrt(weight.shape[-1]))


def built_layer(name: str, rng: np.random.Generator, **flags: Any) -> keras.layers.RNN:
    kind = KINDS[name]
    layer = kind.make(return_sequences=True, **flags)
    layer.build((3, 5, *kind.features))
    give_random_weights(layer, rng)
    return layer


def model_of(name: str, shape: tuple[int | None, int | None], masked: bool, rng: np.random.Generator) -> keras.Model:
    """Of sequences, or of sequences and a mask; `shape` is what it knows of batch and time."""
    kind = KINDS[name]
    batch, time = shape
    sequences = keras.Input((time, *kind.features), batch_size=batch, dtype=kind.dtype)
    mask = keras.Input((time,), batch_size=batch, dtype="bool")
    layer = kind.make(return_sequences=True)
    outputs = layer(sequences, mask=mask) if masked else layer(sequences)
    give_random_weights(layer, rng)
    return keras.Model([sequences, mask] if masked else sequences, outputs)


def fitting(shape: tuple[int | None, int | None]) -> list[tuple[int, int]]:
    """Those of `SIZES` that a model of this shape takes."""
    return [size for size in SIZES if all(k in (None, s) for k, s in zip(shape, size, strict=True))]


def data(name: str, size: tuple[int, int], masked: bool, rng: np.random.Generator) -> Any:
    sequences = KINDS[name].batch(rng, *size)
    return [sequences, make_mask("scattered", rng, *size)] if masked else sequences


def rows(inputs: Any, part: slice) -> Any:
    return [x[part] for x in inputs] if isinstance(inputs, list) else inputs[part]


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow compiles for unknown sizes")
@every_kind
@every_model
def test_values_and_gradients_in_a_function_are_the_eager_ones(
    name: str, shape: tuple[int | None, int | None], masked: bool
) -> None:
    import tensorflow as tf

    rng = np.random.default_rng(1)
    layer = built_layer(name, rng)
    weights = [weight.value for weight in layer.trainable_weights]

    def values_and_gradients(sequences, mask, cotangent):
        with tf.GradientTape() as tape:
            outputs = layer(sequences, mask=mask if masked else None)
            loss = tf.reduce_sum(outputs * cotangent)
        found = tape.gradient(loss, weights, unconnected_gradients="zero")
        return [outputs, *(tf.convert_to_tensor(gradient) for gradient in found)]

    kind = KINDS[name]
    signature = [
        tf.TensorSpec((*shape, *kind.features), kind.dtype),
        tf.TensorSpec(shape, "bool"),
        tf.TensorSpec((*shape, layer.cell.units), "float64"),
    ]
    compiled = tf.function(values_and_gradients, input_signature=signature)
    for size in fitting(shape):
        cotangent = rng.normal(size=(*size, layer.cell.units))
        inputs = (kind.batch(rng, *size), make_mask("scattered", rng, *size), cotangent)
        for found, expected in zip(compiled(*inputs), values_and_gradients(*inputs), strict=True):
            assert_close(found, expected, "float64")
    if name in ("ISAN", "ISAN of many symbols"):
        assert layer.chosen_path.name == "grouped"


@every_kind
@pytest.mark.parametrize(("shape", "masked"), [((None, None), False), ((1, None), True)], ids=str)
def test_predictions_are_the_eager_ones(name: str, shape: tuple[int | None, int | None], masked: bool) -> None:
    rng = np.random.default_rng(2)
    model = model_of(name, shape, masked, rng)
    for size in fitting(shape):
        inputs = data(name, size, masked, rng)
        expected = model(inputs)
        assert_close(model.predict_on_batch(inputs), expected, "float64")
        assert_close(model.predict(inputs, verbose=0, batch_size=2), expected, "float64")  # 3 sequences are 2 and 1


@pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere Keras computes parts of a float64 step in float32")
@every_kind
def test_fit_takes_the_eager_steps(name: str) -> None:
    rng = np.random.default_rng(3)
    model = model_of(name, (None, None), True, rng)
    inputs = data(name, (3, 5), True, rng)
    targets = rng.normal(size=(3, 5, model.output.shape[-1])).astype("float32").astype("float64")
    expected = keras.models.clone_model(model)
    expected.set_weights(model.get_weights())

    def loss(part: slice) -> Any:
        errors = ops.mean((expected(rows(inputs, part), training=True) - targets[part]) ** 2, axis=-1)
        # The mask goes on with the outputs, and Keras averages over the steps that it shows.
        shown = inputs[1][part]
        return ops.sum(errors * shown) / max(shown.sum(), 1)

    for part in (slice(0, 1), slice(1, 2), slice(2, 3), slice(0, 1)):
        found = autodiff.variable_gradients(functools.partial(loss, part), expected.trainable_variables)
        for variable, gradient in zip(expected.trainable_variables, found, strict=True):
            variable.assign(ops.convert_to_numpy(variable) - 0.125 * ops.convert_to_numpy(gradient))
    model.compile(keras.optimizers.SGD(0.125), keras.losses.MeanSquaredError(dtype="float64"), jit_compile=QUICK)
    model.fit(inputs, targets, batch_size=1, shuffle=False, verbose=0)
    model.train_on_batch(rows(inputs, slice(0, 1)), targets[:1])
    for found, variable in zip(model.trainable_variables, expected.trainable_variables, strict=True):
        assert_close(ops.convert_to_numpy(found), ops.convert_to_numpy(variable), "float64")


@every_kind
def test_a_saved_model_reads_one_sequence_alone(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    model = model_of(name, (None, None), True, rng)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for size in SIZES:
        inputs = data(name, size, True, rng)
        assert_close(loaded.predict(inputs, verbose=0), model(inputs), "float64")


@pytest.mark.skipif(BACKEND == "jax", reason="Keras 3.15 carries no states in `predict` there, docs/conventions.md")
@every_kind
def test_one_stateful_sequence_continues(name: str) -> None:
    rng = np.random.default_rng(5)
    kind = KINDS[name]
    whole, stateful = kind.make(return_sequences=True), kind.make(return_sequences=True, stateful=True)
    inputs = kind.batch(rng, 1, 8)
    model = keras.Sequential([keras.Input((None, *kind.features), batch_size=1, dtype=kind.dtype), stateful])
    whole.build(inputs.shape)
    give_random_weights(whole, rng)
    stateful.set_weights(whole.get_weights())
    found = [model.predict(inputs[:, part], verbose=0) for part in (slice(0, 3), slice(3, 4), slice(4, 8))]
    assert_close(np.concatenate(found, axis=1), whole(inputs), "float64")


@every_kind
def test_mixed_precision_reads_one_sequence(name: str) -> None:
    rng = np.random.default_rng(6)
    kind = KINDS[name]
    layer = kind.make(dtype="mixed_float16", return_sequences=True)
    model = keras.Sequential([keras.Input((None, *kind.features), dtype=kind.dtype), layer])
    give_random_weights(layer, rng)
    inputs = kind.batch(rng, 1, 5)
    found, expected = (ops.convert_to_numpy(x) for x in (model.predict(inputs, verbose=0), model(inputs)))
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 * np.abs(expected).max())  # one unit of 2^-11 of each
