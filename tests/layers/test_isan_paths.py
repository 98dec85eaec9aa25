"""ISAN on TensorFlow: its path, eagerly, in a graph and under XLA, changes no number.

On the other backends there is one whole-sequence path, which test_contract.py covers.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN
from tests.samples import Sample, sample
from tests.tolerances import assert_close

if keras.backend.backend() != "tensorflow":
    pytest.skip("the paths are TensorFlow's", allow_module_level=True)

import tensorflow as tf

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


# So that the layer groups the symbols by default. 4 units are too few for that, 26 are not.
SIZES = {"batch": 3, "time": 11, "vocabulary_size": 7, "units": 30}


def model_of(some: Sample, outputs: int = 7, **arguments) -> keras.Model:
    """Logits over ids, in float64, from a fixed readout."""
    ids = keras.Input((None,), dtype="int32")
    layer = some.layer(return_sequences=True, **arguments)
    readout = keras.layers.Dense(outputs, dtype="float64")
    model = keras.Model(ids, readout(layer(ids)))
    readout.set_weights([np.random.default_rng(7).normal(size=(some.units, outputs)), np.arange(outputs) / outputs])
    model.compile(keras.optimizers.SGD(0.05), losses.BitsPerSymbol(dtype="float64"))
    return model


def next_symbols(some: Sample) -> tuple[np.ndarray, np.ndarray]:
    return some.symbols[:, :-1], some.symbols[:, 1:]


def isan_of(model: keras.Model) -> ISAN:
    return next(layer for layer in model.layers if isinstance(layer, ISAN))


def loss_and_gradients(layer: ISAN, some: Sample) -> list[tf.Tensor]:
    """States, then the gradients of sum(cotangent * states) with respect to the weights."""
    with tf.GradientTape() as tape:
        states = layer(some.symbols, mask=some.mask)
        loss = tf.reduce_sum(some.cotangent * states)
    found = tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
    return [states, *(tf.convert_to_tensor(gradient) for gradient in found)]


class TestChoice:
    @pytest.mark.matrix
    def test_fit_takes_the_grouped_path_by_default(self) -> None:
        layer = ISAN(30, 7, return_sequences=True)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(7)])
        model.compile("sgd", losses.BitsPerSymbol())
        model.fit(*next_symbols(sample(**SIZES)), verbose=0)
        assert layer.chosen_path == ("grouped", "TensorFlow on CPU")

    @pytest.mark.core
    @pytest.mark.parametrize("nested", [False, True])
    @pytest.mark.parametrize("jit_compile", [False, True])
    def test_xla_takes_the_static_path_and_a_graph_groups(self, jit_compile: bool, nested: bool) -> None:
        some = sample(**SIZES)
        layer = some.layer(return_sequences=True)
        inner = tf.function(layer) if nested else layer
        compiled = tf.function(lambda ids: inner(ids), jit_compile=jit_compile)
        assert_close(compiled(some.symbols), some.states(), "float64")
        assert layer.chosen_path.name == ("static" if jit_compile else "grouped")
        assert layer.chosen_path.reason.startswith("the graph is compiled by XLA") == jit_compile

    @pytest.mark.matrix
    def test_a_model_compiled_by_xla_takes_blocks(self) -> None:
        """Its batches, of no known size, may be large."""
        some = sample(**SIZES)
        model = model_of(some)
        model.compile("sgd", losses.BitsPerSymbol(dtype="float64"), jit_compile=True)
        model.fit(*next_symbols(some), verbose=0)
        assert isan_of(model).chosen_path.name == "blocks"

    def test_a_loop_compiled_by_xla_takes_the_static_path(self) -> None:
        some = sample(**SIZES)
        layer = some.layer(return_sequences=True)

        @tf.function(jit_compile=True)
        def repeated(ids):
            # Not `for _ in tf.range(2)`, which AutoGraph (TensorFlow 2.21) does not translate on Python 3.13.
            start = (0, tf.zeros((3, 11, 30), tf.float64))
            return tf.while_loop(lambda i, _: i < 2, lambda i, total: (i + 1, total + layer(ids)), start)[1]

        assert_close(repeated(tf.constant(some.symbols)), 2 * some.states(), "float64")
        assert layer.chosen_path.name == "static"

    def test_after_xla_a_plain_graph_groups_again(self) -> None:
        some = sample(**SIZES)
        layer = some.layer(return_sequences=True)
        tf.function(layer, jit_compile=True)(some.symbols)
        assert_close(tf.function(layer)(some.symbols), some.states(), "float64")
        assert layer.chosen_path.name == "grouped"


@pytest.mark.parametrize("mask", [None, "scattered", "whole rows"])
@pytest.mark.parametrize("compiled", ["eager", "graph", "XLA"])
@pytest.mark.parametrize(("units", "path"), [(4, None), (26, None), (4, "blocks"), (4, "dense")])
def test_values_and_gradients_equal_the_stepwise_ones(
    units: int, path: str | None, compiled: str, mask: str | None
) -> None:
    some = sample(**{**SIZES, "units": units}, mask=mask)
    layer = some.layer(path, return_sequences=True, fused=True)
    stepwise = some.layer(return_sequences=True, fused=False)
    compute = loss_and_gradients
    if compiled != "eager":
        compute = tf.function(loss_and_gradients, jit_compile=compiled == "XLA")
    found = compute(layer, some)
    assert layer.chosen_path.name == (path or ("grouped" if units == 26 and compiled != "XLA" else "static"))
    for tensor, expected in zip(found, loss_and_gradients(stepwise, some), strict=True):
        assert_close(tensor, expected.numpy(), "float64")


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("path", [None, "blocks", "dense"])
def test_one_graph_reads_batches_of_many_shapes(path: str | None, jit_compile: bool) -> None:
    layer = sample(**SIZES).layer(path, return_sequences=True)
    shape = (None, None)
    signature = [tf.TensorSpec(shape, "int32"), tf.TensorSpec(shape, "bool"), tf.TensorSpec((*shape, 30), "float64")]

    @tf.function(input_signature=signature, jit_compile=jit_compile)
    def compute(ids, mask, cotangent):
        return loss_and_gradients(layer, sample()._replace(symbols=ids, mask=mask, cotangent=cotangent))

    for batch, time in ((3, 11), (2, 13), (5, 1)):
        some = sample(**{**SIZES, "batch": batch, "time": time}, mask="scattered")
        layer.set_weights([some.kernel, some.bias, some.initial_state])
        expected = loss_and_gradients(some.layer(return_sequences=True, fused=False), some)
        for tensor, other in zip(compute(some.symbols, some.mask, some.cotangent), expected, strict=True):
            assert_close(tensor, other.numpy(), "float64")


class TestRangeOfIds:
    @pytest.mark.parametrize(
        "size", [{"units": 4}, {"units": 26}, {"units": 96, "vocabulary_size": 70, "time": 29}], ids=str
    )
    @pytest.mark.parametrize("fused", ["auto", False])
    def test_an_id_out_of_range_ends_a_compiled_function(self, fused: bool | str, size: dict[str, int]) -> None:
        some = sample(**{**SIZES, **size})
        compiled = tf.function(some.layer(return_sequences=True, fused=fused))
        assert_close(compiled(tf.constant(some.symbols)), some.states(), "float64")
        for value in (some.vocabulary_size, -1, 1000):
            ids = some.symbols.copy()
            ids[1, 3] = value
            with pytest.raises(tf.errors.InvalidArgumentError):
                compiled(tf.constant(ids))

    @pytest.mark.parametrize("units", [4, 26])
    def test_an_id_out_of_range_ends_fit(self, units: int) -> None:
        some = sample(**{**SIZES, "units": units})
        x, y = next_symbols(some)
        x = x.copy()
        x[2, 5] = 7
        with pytest.raises(tf.errors.InvalidArgumentError):
            model_of(some).fit(x, y, verbose=0)
