"""FactoredISAN and its cell as layers of Keras; what they compute is the oracle's, in float64.

Gradients of the layer are its own: they are held against the oracle's and against the cell in Keras's loop, which the
backend differentiates. On JAX, Keras's `fit` and `predict` do not carry the states of stateful layers (3.15): carrying
is tested by calling the layer.
"""

import copy
import inspect
import json
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN
from keras_interp_rnn.layers.factored_isan import FactoredISAN, FactoredISANCell
from tests import autodiff
from tests.layers.common import assert_same_in_a_fresh_process, next_symbols, says, serialized
from tests.oracles import factored_isan as oracle
from tests.samples import MASKS, make_mask, make_symbols, outputs_of
from tests.tolerances import assert_close

BACKEND = keras.backend.backend()
QUICK = False if BACKEND == "tensorflow" else "auto"  # `jit_compile`: XLA compiles longer than these models train
NAMES = {
    "W_0": "shared_kernel",
    "V": "into_factors",
    "U": "out_of_factors",
    "P": "switch_kernel",
    "h0": "initial_state",
}


class Sample(NamedTuple):
    """A network as the oracle has it, and a batch to read, in float64."""

    network: oracle.Network
    inputs: np.ndarray  # (batch, time, features), or int32 (batch, time)
    start: np.ndarray  # (batch, n), another state for each sequence
    mask: np.ndarray | None  # bool (batch, time)
    cotangent: np.ndarray  # (batch, time, n)

    @property
    def reads_symbols(self) -> bool:
        return self.inputs.ndim == 2

    @property
    def features(self) -> int:
        return self.network.B.shape[1]

    def states(self, **arguments: Any) -> np.ndarray:
        x = oracle.unit_vectors(self.inputs, self.features) if self.reads_symbols else self.inputs
        return oracle.states(self.network, x, **{"mask": self.mask, **arguments})

    def outputs(self, go_backwards: bool = False, zero_output_for_mask: bool = False, **arguments: Any) -> np.ndarray:
        states = self.states(go_backwards=go_backwards, **arguments)
        return outputs_of(states, self.mask, go_backwards, zero_output_for_mask)

    def in_keras(self, network: oracle.Network | None = None) -> dict[str, np.ndarray]:
        """Weights, or their gradients, with states as rows, by the layer's names."""
        network = network or self.network
        found = {ours: getattr(network, theirs) for theirs, ours in NAMES.items()}
        found |= {"bias": network.B} if self.reads_symbols else {"kernel": network.B, "bias": network.c}
        return {name: np.ascontiguousarray(array.T) for name, array in found.items() if array is not None}

    def layer(self, **arguments: Any) -> FactoredISAN:
        n, f = self.network.U.shape
        vocabulary_size = self.features if self.reads_symbols else None
        flags = {"dtype": "float64", "shared": self.network.W_0 is not None, **arguments}
        layer = FactoredISAN(n, f, vocabulary_size, **flags)
        layer.build(self.inputs.shape)
        for name, array in self.in_keras().items():
            getattr(layer.cell, name).assign(array)
        if layer.stateful:
            layer.reset_state()
        return layer


def sample(
    kind: str = "features",
    seed: int = 0,
    batch: int = 3,
    time: int = 7,
    features: int = 5,
    units: int = 4,
    factors: int = 2,
    shared: bool = True,
    mask: str | None = None,
) -> Sample:
    rng = np.random.default_rng(seed)
    shapes = [(units, units), (units, factors), (factors, units), (factors, features), (units, features), (units,)]
    W_0, *others, c = (rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes)
    symbols = kind == "symbols"
    network = oracle.Network(W_0 if shared else None, *others, c * 0 if symbols else c, rng.normal(size=units))
    inputs = make_symbols(tuple(range(features)), rng, batch, time)
    return Sample(
        network=network,
        inputs=inputs if symbols else rng.normal(size=(batch, time, features)),
        start=rng.normal(size=(batch, units)),
        mask=None if mask is None else make_mask(mask, rng, batch, time),
        cotangent=rng.normal(size=(batch, time, units)),
    )


def numpy(x) -> np.ndarray:
    return ops.convert_to_numpy(x)


def variables_of(layer: FactoredISAN, some: Sample) -> list:
    return [getattr(layer.cell, name) for name in some.in_keras()]


every_kind = pytest.mark.parametrize("kind", ["features", "symbols"])
every_class = pytest.mark.parametrize("kind", [FactoredISAN, FactoredISANCell])
every_mask = pytest.mark.parametrize("mask", [None, *MASKS])


class TestValues:
    @every_kind
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @every_mask
    def test_outputs_and_the_last_state_are_the_oracles(
        self, kind: str, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = sample(kind, mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        outputs, state = some.layer(return_sequences=True, return_state=True, **flags)(some.inputs, mask=some.mask)
        assert_close(outputs, some.outputs(**flags), "float64")
        assert_close(state, some.states(go_backwards=go_backwards)[:, -1], "float64")

    @every_kind
    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize(
        "size",
        [{"batch": 1}, {"time": 1}, {"units": 1}, {"features": 1}, {"factors": 1}, {"factors": 4}, {"factors": 6}],
        ids=str,
    )
    @pytest.mark.parametrize("seed", [1, 2])
    def test_sizes_and_seeds(self, kind: str, seed: int, shared: bool, size: dict[str, int]) -> None:
        some = sample(kind, seed, shared=shared, **size)
        assert_close(some.layer(return_sequences=True)(some.inputs), some.states(), "float64")

    @every_kind
    @pytest.mark.parametrize("flags", [{}, {"unroll": True}, {"return_sequences": True, "unroll": True}], ids=str)
    @pytest.mark.parametrize("mask", [None, "trailing", "leading"])
    def test_from_given_states(self, kind: str, mask: str | None, flags: dict[str, bool]) -> None:
        some = sample(kind, mask=mask)
        found = some.layer(**flags)(some.inputs, initial_state=some.start, mask=some.mask)
        expected = some.outputs(start=some.start)
        assert_close(found, expected if "return_sequences" in flags else expected[:, -1], "float64")

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
    def test_ids_of_any_integer_dtype(self, dtype: str) -> None:
        some = sample("symbols")
        assert_close(some.layer()(some.inputs.astype(dtype)), some.states()[:, -1], "float64")
        assert_close(some.layer()(some.inputs.astype(dtype)[:, :, None]), some.states()[:, -1], "float64")

    def test_a_distribution_applies_the_expected_map(self) -> None:
        some = sample("symbols")
        p = np.random.default_rng(5).dirichlet(np.ones(5), size=(3, 7))
        expected = oracle.states(some.network, p)
        assert_close(some.layer(return_sequences=True)(p), expected, "float64")
        assert_close(keras.layers.RNN(some.layer().cell, dtype="float64")(p), expected[:, -1], "float64")

    @pytest.mark.parametrize("dtype", ["int32", "bool"])
    def test_features_may_be_integers(self, dtype: str) -> None:
        some = sample()
        x = (some.inputs > 0).astype(dtype)
        assert_close(some.layer()(x), some._replace(inputs=x.astype(float)).states()[:, -1], "float64")

    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_an_isan_with_its_matrices_does_the_same(self, seed: int, shared: bool) -> None:
        some = sample("symbols", seed, mask="scattered", shared=shared)
        layer = some.layer(return_sequences=True)
        kernel, bias = layer.kernels()
        isan = ISAN(4, 5, return_sequences=True, dtype="float64")
        isan.build(some.inputs.shape)
        isan.set_weights([kernel, bias, some.network.h0])
        assert_close(layer(some.inputs, mask=some.mask), isan(some.inputs, mask=some.mask), "float64")


class TestKernels:
    @every_kind
    def test_they_are_the_oracles(self, kind: str) -> None:
        some = sample(kind)
        matrices, biases = some.layer().kernels(some.inputs)
        x = oracle.unit_vectors(some.inputs, 5) if kind == "symbols" else some.inputs
        for place in np.ndindex(3, 7):
            W, b = oracle.affine_map(some.network, x[place])
            assert_close(matrices[place], W.T, "float64", "numpy")
            assert_close(biases[place], b, "float64", "numpy")

    def test_all_symbols_by_default(self) -> None:
        layer = sample("symbols").layer()
        for found, expected in zip(layer.kernels(), layer.kernels(range(5)), strict=True):
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("symbols", [[0, 5], [-1], [0.5]])
    def test_symbols_lie_in_the_vocabulary(self, symbols: list) -> None:
        with pytest.raises(ValueError, match=says("symbols must be integers in [0, 5). Received:", "Map the text")):
            sample("symbols").layer().kernels(symbols)

    @pytest.mark.parametrize(("inputs", "received"), [(None, "None"), (np.ones((2, 4)), "(2, 4)"), (1.0, "()")])
    def test_real_valued_inputs_have_the_layers_features(self, inputs, received: str) -> None:
        with pytest.raises(ValueError, match=says("inputs must be real-valued (..., 5). Received: " + received)):
            sample().layer().kernels(inputs)

    def test_they_need_weights(self) -> None:
        with pytest.raises(ValueError, match=says("The layer has no weights yet.", "Call the layer on inputs once.")):
            FactoredISAN(4, 2).kernels()


class TestGradients:
    @every_kind
    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, "scattered", "leading", "whole rows"])
    def test_of_every_weight_the_inputs_and_the_start(
        self, kind: str, mask: str | None, go_backwards: bool, shared: bool
    ) -> None:
        some = sample(kind, mask=mask, shared=shared, batch=2, time=4, features=5, units=3)
        layer = some.layer(return_sequences=True, go_backwards=go_backwards)
        cotangent = outputs_of(some.cotangent, some.mask, go_backwards)

        def value(some: Sample, **arguments: Any) -> complex:
            return np.sum(cotangent * some.states(go_backwards=go_backwards, **arguments))

        def loss(inputs, **arguments: Any):
            return ops.sum(ops.convert_to_tensor(some.cotangent) * layer(inputs, mask=some.mask, **arguments))

        found = autodiff.variable_gradients(lambda: loss(some.inputs), variables_of(layer, some))
        expected = some.in_keras(oracle.gradients(some.network, lambda network: value(some._replace(network=network))))
        for (name, right), gradient in zip(expected.items(), found, strict=True):
            assert gradient.shape == right.shape, name
            assert_close(gradient, right, "float64")
        [gradient] = autodiff.gradients(lambda start: loss(some.inputs, initial_state=start), [some.start])
        assert_close(gradient, oracle.complex_step(lambda start: value(some, start=start), some.start), "float64")
        if kind == "features":
            [gradient] = autodiff.gradients(loss, [some.inputs])
            right = oracle.complex_step(lambda x: value(some._replace(inputs=x)), some.inputs)
            assert_close(gradient, right, "float64")

    @every_kind
    @pytest.mark.parametrize("unroll", [False, True])
    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_the_backend_finds_the_same_in_kerass_loop(self, kind: str, mask: str | None, unroll: bool) -> None:
        some = sample(kind, seed=4, mask=mask)
        layer = some.layer(unroll=unroll)
        stepwise = keras.layers.RNN(layer.cell, dtype="float64")
        inputs = some.inputs[:, :, None] if kind == "symbols" else some.inputs

        def of(run, inputs) -> list[np.ndarray]:
            loss = lambda: ops.sum(ops.convert_to_tensor(some.cotangent[:, 0]) * run(inputs, mask=some.mask))  # noqa: E731
            return autodiff.variable_gradients(loss, variables_of(layer, some))

        for gradient, right in zip(of(layer, some.inputs), of(stepwise, inputs), strict=True):
            assert_close(gradient, right, "float64")


class TestOptimizers:
    """A gradient that lists a symbol once for each reading would be squared reading by reading."""

    def test_the_first_step_of_adam_is_one_step_for_a_symbol_read_several_times(self) -> None:
        ids = np.array([[1, 1, 3, 1, 4], [3, 0, 1, 1, 1]])
        layer = FactoredISAN(4, 2, 6)
        model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
        before = [numpy(table).copy() for table in (layer.cell.switch_kernel, layer.cell.bias)]
        model.compile(keras.optimizers.Adam(0.01, epsilon=1e-12), "mse", jit_compile=QUICK)
        model.fit(ids, np.ones((2, 4)), verbose=0)
        for table, old in zip((layer.cell.switch_kernel, layer.cell.bias), before, strict=True):
            moved = np.abs(numpy(table) - old)
            np.testing.assert_allclose(moved[[0, 1, 3, 4]], 0.01, rtol=1e-2)
            np.testing.assert_array_equal(moved[[2, 5]], 0)

    @pytest.mark.skipif(BACKEND != "tensorflow", reason="other backends know dense gradients alone")
    def test_gradients_of_tables_are_dense(self) -> None:
        import tensorflow as tf

        layer = FactoredISAN(4, 2, 6)
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(layer(np.array([[1, 1, 3]])))
        for gradient in tape.gradient(value, [weight.value for weight in layer.trainable_weights]):
            assert isinstance(gradient, tf.Tensor)


class TestCell:
    @every_kind
    def test_one_step(self, kind: str) -> None:
        some = sample(kind)
        cell = some.layer().cell
        first = some.inputs[:, :1] if kind == "symbols" else some.inputs[:, 0]
        output, [state] = cell(first, [ops.convert_to_tensor(some.start)])
        expected = some.states(start=some.start)[:, 0]
        assert_close(output, expected, "float64")
        assert_close(state, expected, "float64")

    @every_kind
    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_keras_loops_over_it(self, kind: str, mask: str | None) -> None:
        some = sample(kind, mask=mask)
        stepwise = keras.layers.RNN(some.layer().cell, return_sequences=True, dtype="float64")
        inputs = some.inputs[:, :, None] if kind == "symbols" else some.inputs
        assert_close(stepwise(inputs, mask=some.mask), some.outputs(), "float64")

    def test_stacked_cells(self) -> None:
        below = sample("symbols")
        above = sample(seed=1, features=4, units=6)._replace(inputs=below.states())
        stacked = keras.layers.StackedRNNCells([some.layer().cell for some in (below, above)], dtype="float64")
        layer = keras.layers.RNN(stacked, return_sequences=True, dtype="float64")
        assert_close(layer(ops.convert_to_tensor(below.inputs[:, :, None])), above.states(), "float64")

    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    @every_kind
    def test_of_mixed_precision_under_kerass_own_loop(self, kind: str, policy: str) -> None:
        some = sample(kind)
        cell = FactoredISANCell(4, 2, 5 if kind == "symbols" else None, dtype=policy)
        layer = keras.layers.RNN(cell, dtype=policy)
        x = some.inputs[:, :, None] if kind == "symbols" else some.inputs
        assert keras.backend.standardize_dtype(layer(x).dtype) == policy.removeprefix("mixed_")
        assert {weight.dtype for weight in cell.weights} == {"float32"}


class TestWeights:
    def test_of_real_valued_inputs(self) -> None:
        layer = FactoredISAN(4, 2)
        layer.build((None, None, 5))
        shapes = {weight.name: tuple(weight.shape) for weight in layer.weights}
        assert shapes == {
            **{"shared_kernel": (4, 4), "into_factors": (4, 2), "out_of_factors": (2, 4)},
            **{"switch_kernel": (5, 2), "kernel": (5, 4), "bias": (4,), "initial_state": (4,)},
        }

    @pytest.mark.parametrize("shared", [False, True])
    def test_of_symbols(self, shared: bool) -> None:
        layer = FactoredISAN(4, 2, 9, shared=shared)
        layer.build((None, None))
        shapes = {weight.name: tuple(weight.shape) for weight in layer.weights}
        expected = {
            **{"into_factors": (4, 2), "out_of_factors": (2, 4)},
            **{"switch_kernel": (9, 2), "bias": (9, 4), "initial_state": (4,)},
        }
        assert shapes == expected | ({"shared_kernel": (4, 4)} if shared else {})
        assert layer.count_params() == 9 * (2 + 4) + 2 * 4 * 2 + 16 * shared + 4

    @pytest.mark.parametrize("factors", [8, 64, 96])
    def test_all_matrices_start_near_one_that_is_orthogonal(self, factors: int) -> None:
        layer = FactoredISAN(64, factors, 50)
        layer.build((None, None))
        kernels, _ = layer.kernels()
        shared = numpy(layer.cell.shared_kernel)
        np.testing.assert_allclose(shared.T @ shared, 0.81 * np.eye(64), atol=1e-5)
        norms = np.linalg.norm(kernels - shared, 2, axis=(1, 2))
        assert 0.1 < norms.mean() < 0.35
        assert norms.max() < 0.6  # six standard deviations of a gain

    def test_features_of_mean_square_one_switch_as_much(self) -> None:
        layer = FactoredISAN(16, 300)
        layer.build((None, None, 40))
        x = np.random.default_rng(0).normal(size=(200, 40))
        assert np.std(x @ numpy(layer.cell.switch_kernel)) == pytest.approx(0.1, rel=0.05)

    def test_without_a_shared_kernel_symbols_start_near_a_rotation(self) -> None:
        layer = FactoredISAN(32, 32, 50, shared=False)
        layer.build((None, None))
        values = np.linalg.svd(layer.kernels()[0], compute_uv=False)
        assert values.mean() == pytest.approx(0.9, abs=0.05)
        assert values.min() > 0.3

    def test_the_factors_are_drawn_independently(self) -> None:
        layer = FactoredISAN(4, 4, 3, factor_initializer=keras.initializers.RandomNormal(seed=3))
        layer.build((None, None))
        U, V = numpy(layer.cell.into_factors), numpy(layer.cell.out_of_factors)
        assert np.abs(U - V).max() > 0.01
        assert np.abs(U - V.T).max() > 0.01

    def test_regularizers_add_losses(self) -> None:
        l2 = keras.regularizers.L2(0.1)
        parts = {"shared": 16, "factor": 2 * 8, "switch": 10, "kernel": 20, "bias": 4, "initial_state": 4}
        for part, entries in parts.items():
            arguments = {f"{part}_initializer": "ones", f"{part}_regularizer": l2}
            layer = FactoredISAN(4, 2, **arguments)
            layer(np.ones((2, 3, 5), "float32"))
            assert numpy(sum(layer.losses)) == pytest.approx(0.1 * entries, rel=1e-6), part

    def test_an_initial_state_that_is_not_learned_is_not_trained(self) -> None:
        layer = FactoredISAN(4, 2, 5, learn_initial_state=False, initial_state_initializer="ones")
        layer.build((None, None))
        assert [weight.name for weight in layer.non_trainable_weights] == ["initial_state"]
        np.testing.assert_array_equal(numpy(layer.cell.initial_state), np.ones(4))


class TestWrappers:
    @every_kind
    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_bidirectional(self, kind: str, mask: str | None) -> None:
        there = sample(kind, mask=mask)
        back = there._replace(network=sample(kind, 1).network)
        layer = keras.layers.Bidirectional(there.layer(return_sequences=True), dtype="float64")
        layer.build((*there.inputs.shape, 5)[:3])
        for direction, some in ((layer.forward_layer, there), (layer.backward_layer, back)):
            for variable, array in zip(variables_of(direction, some), some.in_keras().values(), strict=True):
                variable.assign(array)
        outputs = [
            some.outputs(go_backwards=flag, zero_output_for_mask=True) for some, flag in ((there, False), (back, True))
        ]
        expected = np.concatenate([outputs[0], outputs[1][:, ::-1]], axis=-1)
        assert_close(layer(there.inputs, mask=there.mask), expected, "float64")

    @every_kind
    def test_stateful_windows_are_one_sequence(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(stateful=True, return_sequences=True)
        parts = [numpy(layer(some.inputs[:, window])) for window in (slice(0, 3), slice(3, 7))]
        assert_close(np.concatenate(parts, axis=1), some.states(), "float64")
        assert not layer.at_start
        layer.reset_state()
        assert_close(layer(some.inputs), some.states(), "float64")
        layer.set_states([some.start])
        assert_close(layer(some.inputs), some.states(start=some.start), "float64")

    @pytest.mark.parametrize("return_state", [False, True])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_shapes_are_known_without_values(self, return_sequences: bool, return_state: bool) -> None:
        flags = {"return_sequences": return_sequences, "return_state": return_state}
        expected = (None, None, 4) if return_sequences else (None, 4)
        for layer, x in (
            (FactoredISAN(4, 2, **flags), keras.Input((None, 5))),
            (FactoredISAN(4, 2, 5, **flags), keras.Input((None,), dtype="int32")),
        ):
            found = layer(x)
            output, *states = found if return_state else [found]
            assert output.shape == expected
            assert [state.shape for state in states] == [(None, 4)] * return_state

    @every_kind
    @pytest.mark.parametrize(("policy", "compute"), [("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")])
    def test_mixed_precision_rounds_inputs_and_outputs_alone(self, kind: str, policy: str, compute: str) -> None:
        some = sample(kind)
        some = some._replace(inputs=some.inputs if kind == "symbols" else np.round(some.inputs))
        layer = some.layer(return_sequences=True, return_state=True, stateful=True, dtype=policy)
        assert {weight.dtype for weight in layer.weights} == {"float32"}
        outputs, state = layer(some.inputs)
        for found, expected in ((outputs, some.states()), (state, some.states()[:, -1])):
            assert keras.backend.standardize_dtype(found.dtype) == compute
            np.testing.assert_allclose(numpy(ops.cast(found, "float32")), expected, rtol=0.01, atol=0.01)
        assert_close(layer.states[0].value, some.states()[:, -1], "float32")

    @pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function is TensorFlow's")
    @every_kind
    @pytest.mark.parametrize("jit_compile", [False, True])
    def test_compiled_for_any_batch_and_time(self, kind: str, jit_compile: bool) -> None:
        import tensorflow as tf

        some = sample(kind, mask="scattered")
        layer = some.layer(return_sequences=True)
        shape = some.inputs.shape if jit_compile else (None, None, 5)[: some.inputs.ndim]
        signature = [tf.TensorSpec(shape, some.inputs.dtype), tf.TensorSpec(shape[:2], "bool")]

        @tf.function(input_signature=signature, jit_compile=jit_compile)
        def compiled(x, mask):
            weights = [variable.value for variable in variables_of(layer, some)]
            with tf.GradientTape() as tape:
                outputs = layer(x, mask=mask)
                loss = tf.reduce_sum(outputs * some.cotangent)
            return outputs, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, weights)]

        outputs, found = compiled(some.inputs, some.mask)
        assert_close(outputs, some.outputs(), "float64")
        cotangent = outputs_of(some.cotangent, some.mask)

        def value(network: oracle.Network) -> complex:
            return np.sum(cotangent * some._replace(network=network).states())

        expected = some.in_keras(oracle.gradients(some.network, value)).values()
        for gradient, right in zip(found, expected, strict=True):
            assert_close(gradient, right, "float64")


NON_DEFAULT = {
    **{"units": 4, "factors": 7, "vocabulary_size": 5, "shared": False, "learn_initial_state": False},
    "shared_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=1),
    "factor_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=2),
    "switch_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=3),
    "kernel_initializer": keras.initializers.RandomUniform(seed=4),
    "bias_initializer": keras.initializers.RandomUniform(seed=5),
    "initial_state_initializer": keras.initializers.RandomUniform(seed=6),
    "shared_regularizer": keras.regularizers.L2(0.1),
    "factor_regularizer": keras.regularizers.L2(0.2),
    "switch_regularizer": keras.regularizers.L2(0.3),
    "kernel_regularizer": keras.regularizers.L1(0.1),
    "bias_regularizer": keras.regularizers.L1(0.2),
    "initial_state_regularizer": keras.regularizers.L1(0.3),
    "shared_constraint": keras.constraints.UnitNorm(axis=0),
    "factor_constraint": keras.constraints.UnitNorm(axis=1),
    "switch_constraint": keras.constraints.NonNeg(),
    "kernel_constraint": keras.constraints.MaxNorm(2.0),
    "bias_constraint": keras.constraints.MaxNorm(3.0),
    "initial_state_constraint": keras.constraints.MaxNorm(4.0),
}
FLAGS = dict.fromkeys(
    ["return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask"], True
)
KERAS_OWN = {"name": "some_isan", "trainable": False, "dtype": "mixed_bfloat16"}


class TestConfiguration:
    def test_no_argument_is_forgotten_here(self) -> None:
        assert set(inspect.signature(FactoredISANCell.__init__).parameters) - {"self", "kwargs"} == set(NON_DEFAULT)

    @every_class
    def test_every_argument_survives_the_configuration(self, kind: type) -> None:
        arguments = NON_DEFAULT if kind is FactoredISANCell else {**NON_DEFAULT, **FLAGS}
        layer = kind(**arguments, **KERAS_OWN)
        plain = kind(3, 2).get_config()
        config = json.loads(json.dumps(layer.get_config()))
        again = kind.from_config(copy.deepcopy(config))
        assert json.loads(json.dumps(again.get_config())) == config
        for name, value in arguments.items():
            assert config[name] == serialized(name, value)
        for name in (*arguments, *KERAS_OWN):
            assert config[name] != plain[name], f"{name} has its default in {config}"

    @every_class
    def test_registered_so_that_keras_finds_it(self, kind: type) -> None:
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(kind(4, 2)))
        assert type(again) is kind
        assert keras.saving.get_registered_name(kind) == f"keras_interp_rnn>{kind.__name__}"

    def test_the_layer_tells_its_sizes(self) -> None:
        layer = FactoredISAN(4, np.int64(2), np.uint8(5))
        assert (layer.units, layer.factors, layer.vocabulary_size, layer.learn_initial_state) == (4, 2, 5, True)
        assert type(layer.factors) is type(layer.vocabulary_size) is int

    @every_kind
    def test_a_saved_layer_computes_the_same(self, kind: str, tmp_path: Path) -> None:
        some = sample(kind)
        inputs = keras.Input((None,), dtype="int32") if kind == "symbols" else keras.Input((None, 5), dtype="float64")
        model = keras.Model(inputs, some.layer(return_sequences=True, go_backwards=True)(inputs))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.inputs), some.states(go_backwards=True), "float64")

    @every_kind
    def test_a_cloned_model_has_the_same_configuration(self, kind: str) -> None:
        some = sample(kind)
        inputs = keras.Input((None,), dtype="int32") if kind == "symbols" else keras.Input((None, 5), dtype="float64")
        model = keras.Model(inputs, some.layer(return_sequences=True)(inputs))
        clone = keras.models.clone_model(model)
        clone.set_weights(model.get_weights())
        assert_close(clone(some.inputs), some.states(), "float64")

    def test_fit_moves_every_weight(self) -> None:
        x = np.random.default_rng(0).normal(size=(8, 4, 5)).astype("float32")
        layer = FactoredISAN(3, 2)
        model = keras.Sequential([keras.Input((4, 5)), layer])
        before = [numpy(weight).copy() for weight in layer.weights]
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=QUICK)
        model.fit(x, x[:, 0, :3], epochs=2, verbose=0)
        for weight, old in zip(layer.weights, before, strict=True):
            assert np.abs(numpy(weight) - old).max() > 1e-6, weight.path

    def test_fit_learns(self) -> None:
        x, y = next_symbols(6)
        model = keras.Sequential(
            [keras.Input((11,), dtype="int32"), FactoredISAN(6, 4, 5, return_sequences=True), keras.layers.Dense(5)]
        )
        model.compile(keras.optimizers.Adam(0.1), losses.BitsPerSymbol(), jit_compile=QUICK)
        history = model.fit(x, y, epochs=15, verbose=0).history["loss"]
        assert history[-1] < 1.3 < history[0]

    def test_a_training_step_applies_the_constraints(self) -> None:
        layer = FactoredISAN(3, 2, 5, switch_constraint="non_neg")
        model = keras.Sequential([keras.Input((4,), dtype="int32"), layer])
        model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=QUICK)
        model.fit(np.arange(20).reshape(5, 4) % 5, np.ones((5, 3)), verbose=0)
        assert numpy(layer.cell.switch_kernel).min() >= 0

    @pytest.mark.slow
    def test_a_trained_model_loads_in_a_fresh_process(self, tmp_path: Path) -> None:
        x, y = next_symbols(6)
        ids = keras.Input((None,), dtype="int32")
        hidden = FactoredISAN(6, 4, 5, return_sequences=True)(ids)
        hidden = FactoredISAN(4, 3, return_sequences=True)(hidden)
        model = keras.Model(ids, keras.layers.Dense(5)(hidden))
        model.compile(keras.optimizers.Adam(0.01), losses.BitsPerSymbol(), jit_compile=QUICK)
        model.fit(x, y, epochs=1, verbose=0)
        assert_same_in_a_fresh_process(model, x, tmp_path)


class TestErrors:
    @every_class
    @pytest.mark.parametrize("name", ["units", "factors", "vocabulary_size"])
    @pytest.mark.parametrize("value", [0, -3, 4.0, True, "4"])
    def test_sizes_are_positive_integers(self, kind: type, name: str, value) -> None:
        with pytest.raises(ValueError, match=says(f"{name} must be a positive integer. Received: {name}={value!r}.")):
            kind(**{"units": 4, "factors": 2, "vocabulary_size": 5, name: value})

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    @pytest.mark.parametrize("shape", [(3, 7), (7,), (3, 7, 5, 1)])
    def test_real_valued_inputs_have_three_axes(self, shape: tuple[int, ...], dtype: str) -> None:
        sentence = says(
            "FactoredISAN without vocabulary_size reads real-valued inputs (batch, time, features).",
            f"Received: shape={shape}. Pass vocabulary_size if these are ids, or bring the features into the last ",
        )
        with pytest.raises(ValueError, match=sentence):
            FactoredISAN(4, 2)(np.zeros(shape, dtype))

    def test_the_number_of_features_stays(self) -> None:
        with pytest.raises(ValueError, match=says("inputs (batch, time, 5). Received: shape=(3, 7, 6).")):
            sample().layer()(np.zeros((3, 7, 6)))
        with pytest.raises(ValueError, match=says("inputs (batch, 5). Received: shape=(3, 6).")):
            sample().layer().cell(np.zeros((3, 6)), [ops.zeros((3, 4))])

    def test_the_number_of_features_is_known(self) -> None:
        with pytest.raises(ValueError, match=says("The weights need a known number of features.", "its last axis.")):
            FactoredISAN(4, 2)(keras.Input((None, None)))

    @pytest.mark.parametrize("value", [5, -1])
    def test_ids_lie_in_the_vocabulary(self, value: int) -> None:
        ids = np.zeros((3, 7), "int32")
        ids[1, 2] = value
        with pytest.raises(ValueError, match=says("ids must lie in [0, vocabulary_size) = [0, 5).", "larger")):
            FactoredISAN(4, 2, 5)(ids)

    def test_ids_are_integers(self) -> None:
        with pytest.raises(
            ValueError, match=says("integer ids (batch, time)", "Received: shape=(3, 7), dtype=float32")
        ):
            FactoredISAN(4, 2, 5)(np.zeros((3, 7), "float32"))

    def test_one_bool_for_each_step(self) -> None:
        with pytest.raises(ValueError, match=says("mask must have the shape (batch, time) = (3, 7)", "(3, 6)")):
            FactoredISAN(4, 2)(np.zeros((3, 7, 5), "float32"), mask=np.ones((3, 6), bool))

    def test_a_cell_without_weights_has_no_initial_state(self) -> None:
        with pytest.raises(ValueError, match=says("before the number of features is known", "cell.build(")):
            FactoredISANCell(4, 2).get_initial_state(3)
        assert FactoredISANCell(4, 2, 5).get_initial_state(3)[0].shape == (3, 4)
