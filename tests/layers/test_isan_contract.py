"""ISAN and ISANCell as layers of Keras: every flag of keras.layers.RNN, wrappers, precision, training, configuration.

Values are the oracle's throughout, in float64, on every path of this backend. On JAX, Keras's `fit` and `predict` do
not carry the states of stateful layers (3.15): carrying is tested by calling the layer.
"""

import copy
import inspect
import json
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN, ISANCell
from tests import autodiff
from tests.layers.common import AbsoluteSum, assert_same_in_a_fresh_process, next_symbols, serialized
from tests.oracles import isan as oracle
from tests.samples import MASKS, Sample, sample
from tests.tolerances import assert_close

BACKEND = keras.backend.backend()
# Name: (fused, units).
PATHS = {"stepwise": (False, 4), "static": (True, 4)}
if BACKEND == "tensorflow":
    PATHS["grouped"] = (True, 26)

every_path = pytest.mark.parametrize("path", PATHS)


def sample_for(path: str, **arguments) -> Sample:
    """A sample of a size that the path takes."""
    return sample(units=PATHS[path][1], **arguments)


def layer_for(path: str, some: Sample, **arguments) -> ISAN:
    return some.layer(fused=PATHS[path][0], **arguments)


def numpy(x) -> np.ndarray:
    return ops.convert_to_numpy(x)


class TestFlags:
    @every_path
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, *MASKS])
    def test_outputs_and_the_last_state_are_the_oracles(
        self, path: str, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = sample_for(path, mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        layer = layer_for(path, some, return_sequences=True, return_state=True, **flags)
        outputs, state = layer(some.symbols, mask=some.mask)
        assert layer.chosen_path.name == path
        assert_close(outputs, some.outputs(**flags), "float64")
        assert_close(state, some.states(go_backwards=go_backwards)[:, -1], "float64")

    @every_path
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, "scattered", "whole rows"])
    def test_without_return_sequences_the_last_output_alone(
        self, path: str, mask: str | None, go_backwards: bool
    ) -> None:
        some = sample_for(path, mask=mask)
        layer = layer_for(path, some, go_backwards=go_backwards)
        expected = some.outputs(go_backwards=go_backwards)[:, -1]
        assert_close(layer(some.symbols, mask=some.mask), expected, "float64")

    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, *MASKS])
    def test_unrolled_steps_give_the_same(
        self, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = sample(mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        layer = some.layer(unroll=True, return_sequences=True, return_state=True, **flags)
        outputs, state = layer(some.symbols, mask=some.mask)
        assert layer.chosen_path.name == "stepwise"
        assert_close(outputs, some.outputs(**flags), "float64")
        assert_close(state, some.states(go_backwards=go_backwards)[:, -1], "float64")

    @every_path
    def test_the_initial_state_given_replaces_the_learned_one(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, return_sequences=True)
        assert_close(layer(some.symbols, initial_state=some.start), some.states(some.start), "float64")
        assert_close(layer(some.symbols, initial_state=[some.start]), some.states(some.start), "float64")
        assert_close(layer(some.symbols), some.states(), "float64")

    @pytest.mark.parametrize("return_state", [False, True])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_shapes_are_known_without_values(self, return_sequences: bool, return_state: bool) -> None:
        layer = ISAN(4, 5, return_sequences=return_sequences, return_state=return_state, dtype="mixed_bfloat16")
        result = layer(keras.Input((None,), dtype="int32"))
        outputs = result[0] if return_state else result
        assert outputs.shape == ((None, None, 4) if return_sequences else (None, 4))
        assert outputs.dtype == "bfloat16"
        if return_state:
            assert result[1].shape == (None, 4)

    @every_path
    def test_a_model_takes_ids_mask_and_initial_state_as_inputs(self, path: str) -> None:
        some = sample_for(path, mask="scattered")
        some = some._replace(start=some.start.astype("float32"))  # to which `predict` rounds what it is given
        ids = keras.Input((None,), dtype="int32")
        mask = keras.Input((None,), dtype="bool")
        start = keras.Input((some.units,), dtype="float64")
        layer = layer_for(path, some, return_sequences=True)
        model = keras.Model([ids, mask, start], layer(ids, mask=mask, initial_state=start))
        result = model.predict([some.symbols, some.mask, some.start], verbose=0)
        assert_close(result, some.outputs(some.start), "float64")

    @every_path
    def test_the_gradient_reaches_all_weights_whatever_the_flags(self, path: str) -> None:
        some = sample_for(path, mask="scattered")
        layer = layer_for(path, some, return_sequences=True, go_backwards=True)
        cotangent = ops.convert_to_tensor(some.cotangent)
        found = autodiff.variable_gradients(
            lambda: ops.sum(cotangent * layer(some.symbols, mask=some.mask)), layer.trainable_variables
        )
        # An output of zero, before the first unmasked step, passes no gradient on.
        begun = np.cumsum(some.mask[:, ::-1], axis=1) > 0
        dW, db, dh0 = oracle.loss_gradients(
            some.W,
            some.bias,
            some.initial_state,
            some.symbols[:, ::-1],
            some.cotangent * begun[:, :, None],
            some.mask[:, ::-1],
        )
        for gradient, expected in zip(found, (np.swapaxes(dW, 1, 2), db, dh0.sum(0)), strict=True):
            assert_close(gradient, expected, "float64")


class TestInputs:
    @every_path
    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
    def test_ids_of_any_integer_dtype(self, path: str, dtype: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, return_sequences=True)
        assert_close(layer(some.symbols.astype(dtype)), some.states(), "float64")
        assert_close(layer(ops.convert_to_tensor(some.symbols.astype(dtype))), some.states(), "float64")

    @every_path
    def test_ids_with_a_feature_axis_of_one(self, path: str) -> None:
        some = sample_for(path)
        assert_close(layer_for(path, some, return_sequences=True)(some.symbols[:, :, None]), some.states(), "float64")

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
    def test_one_hot_vectors_are_ids(self, dtype: str) -> None:
        some = sample()
        layer = some.layer(return_sequences=True)
        one_hot = np.eye(some.vocabulary_size)[some.symbols].astype(dtype)
        assert_close(layer(one_hot), some.states(), "float64")
        assert layer.chosen_path.name == "stepwise"

    @pytest.mark.parametrize("mask", [None, "trailing", "inner"])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_a_distribution_applies_the_expected_map(self, mask: str | None, seed: int) -> None:
        some = sample(seed, mask=mask)
        p = np.random.default_rng(seed).dirichlet(np.ones(some.vocabulary_size), size=some.symbols.shape)
        outputs = some.layer(return_sequences=True)(ops.convert_to_tensor(p), mask=some.mask)
        expected = oracle.expected_states(some.W, some.bias, some.initial_state, p, some.mask)
        assert_close(outputs, expected, "float64")


class TestCell:
    @pytest.mark.parametrize("mask", [None, "trailing", "inner"])
    @pytest.mark.parametrize("one_hot", [False, True])
    def test_keras_loops_over_the_cell(self, one_hot: bool, mask: str | None) -> None:
        some = sample(mask=mask)
        if some.mask is not None:
            some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
        cell = ISANCell(some.units, some.vocabulary_size, dtype="float64")
        layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
        inputs = np.eye(some.vocabulary_size)[some.symbols] if one_hot else some.symbols[:, :, None]
        layer.build(inputs.shape)
        layer.set_weights([some.kernel, some.bias, some.initial_state])
        outputs = layer(ops.convert_to_tensor(inputs), mask=some.mask)
        assert_close(outputs, some.outputs(), "float64")

    def test_one_step(self) -> None:
        some = sample()
        cell = ISANCell(some.units, some.vocabulary_size, dtype="float64")
        [start] = cell.get_initial_state(batch_size=3)
        cell.set_weights([some.kernel, some.bias, some.initial_state])
        [start] = cell.get_initial_state(batch_size=3)
        output, [state] = cell(some.symbols[:, :1], [start])
        assert_close(output, some.states()[:, 0], "float64")
        assert_close(state, some.states()[:, 0], "float64")
        output, state = cell(some.symbols[:, :1], ops.convert_to_tensor(some.start))
        assert_close(output, some.states(some.start)[:, 0], "float64")
        assert_close(state, some.states(some.start)[:, 0], "float64")

    @pytest.mark.parametrize("one_hot", [False, True])
    def test_stacked_under_another_cell(self, one_hot: bool) -> None:
        some = sample()
        stacked = keras.layers.StackedRNNCells(
            [ISANCell(4, 5, dtype="float64"), keras.layers.GRUCell(6, dtype="float64")], dtype="float64"
        )
        both = keras.layers.RNN(stacked, return_sequences=True, dtype="float64")
        inputs = np.eye(5)[some.symbols] if one_hot else some.symbols[:, :, None]
        both.build(inputs.shape)
        below, above = some.layer(return_sequences=True), keras.layers.GRU(6, return_sequences=True, dtype="float64")
        above.build((3, 7, 4))
        above.set_weights([np.random.default_rng(i).normal(size=w.shape) for i, w in enumerate(above.get_weights())])
        both.set_weights([*below.get_weights(), *above.get_weights()])
        assert_close(both(ops.convert_to_tensor(inputs)), above(below(some.symbols)), "float64")


class TestWrappers:
    @every_path
    @pytest.mark.parametrize("mask", [None, "leading", "scattered", "whole rows"])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_bidirectional(self, path: str, mask: str | None, return_sequences: bool) -> None:
        forward, backward = sample_for(path, mask=mask), sample_for(path, seed=1)
        backward = backward._replace(symbols=forward.symbols, mask=forward.mask)
        layer = keras.layers.Bidirectional(layer_for(path, forward, return_sequences=return_sequences), dtype="float64")
        layer.build(forward.symbols.shape)
        for part, some in ((layer.forward_layer, forward), (layer.backward_layer, backward)):
            part.set_weights([some.kernel, some.bias, some.initial_state])
        # Bidirectional sets zero_output_for_mask where it returns sequences.
        there = forward.outputs(zero_output_for_mask=return_sequences)
        back = backward.outputs(go_backwards=True, zero_output_for_mask=return_sequences)
        if return_sequences:
            expected = np.concatenate([there, back[:, ::-1]], axis=-1)
        else:
            expected = np.concatenate([there[:, -1], back[:, -1]], axis=-1)
        assert_close(layer(forward.symbols, mask=forward.mask), expected, "float64")
        assert layer.backward_layer.chosen_path.name == path

    def test_stacked_on_its_own_predictions(self) -> None:
        below, above = sample(seed=0), sample(seed=1)
        readout = np.random.default_rng(2).normal(size=(4, 5))
        softmax = keras.layers.Dense(5, activation="softmax", dtype="float64")
        ids = keras.Input((None,), dtype="int32")
        model = keras.Model(ids, above.layer(return_sequences=True)(softmax(below.layer(return_sequences=True)(ids))))
        softmax.set_weights([readout, np.zeros(5)])
        logits = below.states() @ readout
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        expected = oracle.expected_states(above.W, above.bias, above.initial_state, p)
        assert_close(model(below.symbols), expected, "float64")

    def test_layers_follow_one_another_with_a_mask(self) -> None:
        some = sample(mask="trailing")
        embedding = keras.layers.Embedding(5, 3, mask_zero=True)
        ids = np.where(some.mask, some.symbols.clip(1), 0)
        some = some._replace(symbols=ids)
        layer = some.layer(return_sequences=True)
        assert layer.compute_mask(ids, embedding.compute_mask(ids)) is not None
        outputs = layer(ids, mask=embedding.compute_mask(ids))
        assert_close(outputs, some._replace(mask=ids > 0).outputs(), "float64")


class TestStateful:
    @every_path
    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_two_windows_are_one_text(self, path: str, mask: str | None) -> None:
        some = sample_for(path, mask=mask)
        if some.mask is not None:
            some.mask[:, [0, 3]] = True  # each window is a sequence of its own, whose outputs begin with zeros
        layer = layer_for(path, some._replace(symbols=some.symbols[:, :3]), stateful=True, return_sequences=True)
        parts = []
        for window in (slice(0, 3), slice(3, 7)):
            parts.append(numpy(layer(some.symbols[:, window], mask=None if mask is None else some.mask[:, window])))
        assert layer.chosen_path.name == path
        assert_close(np.concatenate(parts, axis=1), some.outputs(), "float64")

    @every_path
    def test_reset_returns_to_the_initial_state(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, stateful=True, return_sequences=True)
        layer(some.symbols)
        assert not np.allclose(numpy(layer(some.symbols)), some.states(), atol=1e-3)
        layer.reset_state()
        assert_close(layer(some.symbols), some.states(), "float64")

    @every_path
    def test_reset_returns_to_the_initial_state_as_it_is_then(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, stateful=True, return_sequences=True)
        layer(some.symbols)
        layer.reset_state()
        layer.cell.initial_state.assign(some.start[0])
        assert_close(layer(some.symbols), some.states(some.start[0]), "float64")

    def test_the_first_batch_begins_with_the_initial_state_as_it_is_then(self) -> None:
        some = sample()
        layer = ISAN(some.units, some.vocabulary_size, stateful=True, return_sequences=True, dtype="float64")
        layer.build(some.symbols.shape)
        layer.set_weights([some.kernel, some.bias, some.initial_state])
        assert_close(layer(some.symbols), some.states(), "float64")

    @every_path
    def test_the_initial_state_learns_from_the_first_batch_after_a_reset_alone(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, stateful=True, return_sequences=True)
        cotangent = ops.convert_to_tensor(some.cotangent)

        def gradient() -> np.ndarray:
            def loss():
                return ops.sum(cotangent * layer(some.symbols))

            [found] = autodiff.variable_gradients(loss, [layer.cell.initial_state])
            layer(some.symbols)  # on JAX the state does not leave the gradient's scope
            return found

        expected = oracle.loss_gradients(some.W, some.bias, some.initial_state, some.symbols, some.cotangent)[2].sum(0)
        assert_close(gradient(), expected, "float64")
        assert_close(gradient(), np.zeros(some.units), "float64")
        layer.reset_state()
        assert_close(gradient(), expected, "float64")

    def test_the_states_are_set_from_outside(self) -> None:
        some = sample()
        layer = some.layer(stateful=True, return_sequences=True)
        layer.set_states([some.start])
        assert_close(layer(some.symbols), some.states(some.start), "float64")
        layer.reset_state()
        layer.set_states([ops.convert_to_tensor(some.start)])
        assert_close(layer(some.symbols), some.states(some.start), "float64")

    def test_a_state_given_is_read_once_and_then_carried(self) -> None:
        some = sample()
        layer = some.layer(stateful=True, return_sequences=True)
        first = layer(some.symbols[:, :3], initial_state=some.start)
        second = layer(some.symbols[:, 3:])
        assert_close(ops.concatenate([first, second], axis=1), some.states(some.start), "float64")

    def test_no_state_is_a_weight(self) -> None:
        layer = sample().layer(stateful=True)
        assert [weight.name for weight in layer.weights] == ["recurrent_kernel", "bias", "initial_state"]
        assert layer.count_params() == 5 * 4 * 5 + 4

    def test_a_reset_before_the_first_batch_does_nothing(self) -> None:
        ISAN(4, 5, stateful=True).reset_state()

    def test_the_batch_size_must_be_known(self) -> None:
        with pytest.raises(ValueError, match="the batch size must be static"):
            ISAN(4, 5, stateful=True)(keras.Input((None,), dtype="int32"))

    @pytest.mark.skipif(BACKEND == "jax", reason="Keras 3.15 on JAX does not carry the states in predict")
    @every_path
    def test_predict_carries_the_state(self, path: str) -> None:
        some = sample_for(path)
        ids = keras.Input(batch_shape=(3, None), dtype="int32")
        layer = layer_for(path, some, stateful=True, return_sequences=True)
        model = keras.Model(ids, layer(ids))
        layer.reset_state()
        parts = [model.predict(some.symbols[:, window], verbose=0) for window in (slice(0, 3), slice(3, 7))]
        assert_close(np.concatenate(parts, axis=1), some.states(), "float64")


class TestPrecision:
    @every_path
    @pytest.mark.parametrize(("policy", "compute"), [("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")])
    def test_mixed_precision_rounds_the_outputs_alone(self, path: str, policy: str, compute: str) -> None:
        some = sample_for(path, time=40)
        single = layer_for(path, some, return_sequences=True, return_state=True, dtype="float32")
        mixed = layer_for(path, some, return_sequences=True, return_state=True, dtype=policy)
        assert {weight.dtype for weight in mixed.weights} == {"float32"}
        for found, expected in zip(mixed(some.symbols), single(some.symbols), strict=True):
            assert keras.backend.standardize_dtype(found.dtype) == compute
            rounded = ops.cast(ops.cast(expected, compute), "float32")
            np.testing.assert_array_equal(numpy(ops.cast(found, "float32")), numpy(rounded))

    def test_the_global_policy_counts(self) -> None:
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy("mixed_bfloat16")
        try:
            layer = ISAN(4, 5)
            outputs = layer(sample().symbols)
        finally:
            keras.config.set_dtype_policy(before)
        assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
        assert {weight.dtype for weight in layer.weights} == {"float32"}

    @every_path
    def test_mixed_precision_carries_the_state_unrounded(self, path: str) -> None:
        some = sample_for(path)
        whole = layer_for(path, some, return_sequences=True, dtype="mixed_bfloat16")(some.symbols)
        layer = layer_for(path, some, return_sequences=True, stateful=True, dtype="mixed_bfloat16")
        parts = [layer(some.symbols[:, window]) for window in (slice(0, 3), slice(3, 7))]
        found = numpy(ops.cast(ops.concatenate(parts, axis=1), "float32"))
        # Within the last bit of bfloat16: the windows may round the state in another order.
        np.testing.assert_allclose(found, numpy(ops.cast(whole, "float32")), rtol=2**-8)
        single = layer_for(path, some, stateful=True, dtype="float32")
        single(some.symbols[:, :3]), single(some.symbols[:, 3:])
        assert_close(layer.states[0].value, numpy(single.states[0].value), "float32")

    def test_mixed_precision_reads_one_hot_vectors_as_ids(self) -> None:
        some = sample()
        layer = some.layer(return_sequences=True, dtype="mixed_bfloat16")
        one_hot = np.eye(some.vocabulary_size, dtype="float32")[some.symbols]
        found, expected = (numpy(ops.cast(layer(x), "float32")) for x in (one_hot, some.symbols))
        np.testing.assert_allclose(found, expected, rtol=2**-7)

    @every_path
    def test_gradients_of_mixed_precision_are_single(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, dtype="mixed_bfloat16")
        found = autodiff.variable_gradients(
            lambda: ops.sum(ops.cast(layer(some.symbols), "float32")), layer.trainable_variables
        )
        last = np.zeros_like(some.cotangent)
        last[:, -1] = 1
        dW, db, dh0 = oracle.loss_gradients(some.W, some.bias, some.initial_state, some.symbols, last)
        for gradient, expected in zip(found, (np.swapaxes(dW, 1, 2), db, dh0.sum(0)), strict=True):
            assert_close(gradient, expected, "float32")

    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_a_model_trains_in_mixed_precision(self, policy: str) -> None:
        x, y = next_symbols(units=26)
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                ISAN(26, 5, return_sequences=True, dtype=policy),
                keras.layers.Dense(5, dtype=policy),
            ]
        )
        model.compile(keras.optimizers.Adam(0.01), losses.BitsPerSymbol())
        history = model.fit(x, y, epochs=8, verbose=0).history["loss"]
        assert history[-1] < 0.9 * history[0]

    def test_a_cell_of_mixed_precision_under_keras_own_loop(self) -> None:
        some = sample()
        cell = ISANCell(some.units, some.vocabulary_size, dtype="mixed_bfloat16")
        layer = keras.layers.RNN(cell, return_sequences=True, dtype="mixed_bfloat16")
        layer.build((3, 7, 1))
        layer.set_weights([some.kernel, some.bias, some.initial_state])
        outputs = layer(some.symbols[:, :, None])
        assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
        scale = np.abs(some.states()).max()
        np.testing.assert_allclose(numpy(ops.cast(outputs, "float32")), some.states(), atol=0.05 * scale)


class TestTraining:
    @every_path
    def test_fit_learns(self, path: str) -> None:
        fused, units = PATHS[path]
        x, y = next_symbols(units)
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                ISAN(units, 5, return_sequences=True, fused=fused),
                keras.layers.Dense(5),
            ]
        )
        model.compile(keras.optimizers.Adam(0.03), losses.BitsPerSymbol())
        history = model.fit(x, y, epochs=8, verbose=0).history["loss"]
        assert history[-1] < 0.8 * history[0]

    def test_regularizers_add_losses(self) -> None:
        some = sample()
        layer = some.layer(
            recurrent_regularizer=keras.regularizers.L2(0.1),
            bias_regularizer=AbsoluteSum(0.2),
            initial_state_regularizer=keras.regularizers.L2(0.3),
        )
        expected = 0.1 * np.sum(some.kernel**2) + 0.2 * np.sum(np.abs(some.bias)) + 0.3 * np.sum(some.initial_state**2)
        assert len(layer.losses) == 3
        assert numpy(sum(layer.losses)) == pytest.approx(expected, rel=1e-6)

    def test_a_training_step_applies_the_constraints(self) -> None:
        x, y = next_symbols(4)
        layer = ISAN(
            4,
            5,
            return_sequences=True,
            recurrent_constraint=keras.constraints.UnitNorm(axis=1),
            bias_constraint=keras.constraints.NonNeg(),
            initial_state_constraint=keras.constraints.MinMaxNorm(2.0, 3.0, axis=0),
            initial_state_initializer="ones",
        )
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(5)])
        model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
        assert numpy(layer.cell.bias).min() < 0
        model.fit(x, y, epochs=1, batch_size=16, verbose=0)
        kernel, bias, initial_state = layer.get_weights()
        np.testing.assert_allclose(np.linalg.norm(kernel, axis=1), 1, atol=1e-5)
        assert bias.min() >= 0
        assert 2 - 1e-5 <= np.linalg.norm(initial_state) <= 3 + 1e-5

    def test_an_initial_state_that_is_not_learned_stays(self) -> None:
        x, y = next_symbols(4)
        layer = ISAN(4, 5, return_sequences=True, learn_initial_state=False, initial_state_initializer="ones")
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(5)])
        model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
        assert [weight.name for weight in layer.trainable_weights] == ["recurrent_kernel", "bias"]
        assert [weight.name for weight in layer.non_trainable_weights] == ["initial_state"]
        before = layer.get_weights()
        model.fit(x, y, epochs=1, verbose=0)
        kernel, bias, initial_state = (layer.cell.recurrent_kernel, layer.cell.bias, layer.cell.initial_state)
        np.testing.assert_array_equal(numpy(initial_state), np.ones(4))
        assert not np.allclose(numpy(kernel), before[0])
        assert not np.allclose(numpy(bias), before[1])

    def test_a_learned_initial_state_moves(self) -> None:
        x, y = next_symbols(4)
        layer = ISAN(4, 5, return_sequences=True)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(5)])
        model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
        model.fit(x, y, epochs=1, verbose=0)
        assert np.abs(numpy(layer.cell.initial_state)).max() > 1e-4

    def test_a_frozen_layer_has_nothing_to_train(self) -> None:
        layer = ISAN(4, 5, trainable=False)
        layer.build((None, None))
        assert layer.trainable_weights == []
        layer.trainable = True
        assert len(layer.trainable_weights) == 3


class TestInitialization:
    def test_each_matrix_is_orthogonal_by_itself(self) -> None:
        layer = ISAN(6, 5)
        layer.build((None, None))
        kernel = layer.get_weights()[0]
        assert kernel.shape == (5, 6, 6)
        for matrix in kernel:
            np.testing.assert_allclose(matrix @ matrix.T, 0.81 * np.eye(6), atol=1e-6)
        for first in range(5):
            for second in range(first):
                assert np.abs(kernel[first] - kernel[second]).max() > 0.1

    def test_an_initializer_sees_one_matrix_at_a_time(self) -> None:
        layer = ISAN(40, 7, recurrent_initializer="glorot_uniform")
        layer.build((None, None))
        limit = np.sqrt(6 / (40 + 40))
        for matrix in layer.get_weights()[0]:
            assert 0.95 * limit < np.abs(matrix).max() <= limit

    @pytest.mark.parametrize(
        "initializer",
        [keras.initializers.Orthogonal(0.9, seed=3), keras.initializers.RandomNormal(seed=3)],
        ids=["orthogonal", "normal"],
    )
    def test_a_seed_repeats_the_weights_and_not_the_matrices(self, initializer: keras.Initializer) -> None:
        kernels = []
        for _ in range(2):
            layer = ISAN(4, 5, recurrent_initializer=initializer)
            layer.build((None, None))
            kernels.append(layer.get_weights()[0])
        np.testing.assert_array_equal(kernels[0], kernels[1])
        assert len({matrix.tobytes() for matrix in kernels[0]}) == 5

    def test_a_seed_generator_draws_on(self) -> None:
        initializer = keras.initializers.RandomNormal(seed=keras.random.SeedGenerator(3))
        layer = ISAN(4, 5, recurrent_initializer=initializer)
        layer.build((None, None))
        assert len({matrix.tobytes() for matrix in layer.get_weights()[0]}) == 5

    def test_the_random_seed_of_keras_repeats_the_weights(self) -> None:
        kernels = []
        for seed in (1, 1, 2):
            keras.utils.set_random_seed(seed)
            layer = ISAN(4, 5)
            layer.build((None, None))
            kernels.append(layer.get_weights()[0])
        np.testing.assert_array_equal(kernels[0], kernels[1])
        assert np.abs(kernels[0] - kernels[2]).max() > 0.1

    def test_an_initializer_may_be_a_function(self) -> None:
        layer = ISAN(4, 5, recurrent_initializer=lambda shape, dtype=None: ops.eye(*shape, dtype=dtype))
        layer.build((None, None))
        np.testing.assert_array_equal(layer.get_weights()[0], np.tile(np.eye(4), (5, 1, 1)))


NON_DEFAULT = {
    "units": 4,
    "vocabulary_size": 5,
    "learn_initial_state": False,
    "fused": False,
    "recurrent_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=3),
    "bias_initializer": "ones",
    "initial_state_initializer": keras.initializers.RandomUniform(seed=4),
    "recurrent_regularizer": keras.regularizers.L2(0.1),
    "bias_regularizer": keras.regularizers.L1(0.2),
    "initial_state_regularizer": keras.regularizers.L2(0.3),
    "recurrent_constraint": keras.constraints.UnitNorm(axis=1),
    "bias_constraint": keras.constraints.NonNeg(),
    "initial_state_constraint": keras.constraints.MaxNorm(2.0),
    "return_sequences": True,
    "return_state": True,
    "go_backwards": True,
    "stateful": True,
    "unroll": True,
    "zero_output_for_mask": True,
}
KERAS_OWN = {"name": "some_isan", "trainable": False, "dtype": "mixed_bfloat16"}


class TestConfiguration:
    @pytest.mark.parametrize("kind", [ISAN, ISANCell])
    def test_every_argument_survives_the_configuration(self, kind: type) -> None:
        names = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "kwargs")]
        layer = kind(**{name: NON_DEFAULT[name] for name in names}, **KERAS_OWN)
        plain = kind(3, 2).get_config()
        config = json.loads(json.dumps(layer.get_config()))
        again = kind.from_config(copy.deepcopy(config))
        assert json.loads(json.dumps(again.get_config())) == config
        for name in names:
            assert config[name] == serialized(name, NON_DEFAULT[name])
        for name in (*names, *KERAS_OWN):
            assert config[name] != plain[name], f"{name} has its default in {config}"

    def test_the_layer_and_its_cell_hold_the_same_settings(self) -> None:
        layer = ISAN(**NON_DEFAULT)
        assert (layer.units, layer.vocabulary_size, layer.learn_initial_state) == (4, 5, False)
        assert layer.cell.recurrent_initializer.stddev == 0.2
        assert float(layer.cell.bias_regularizer.l1) == pytest.approx(0.2)

    @pytest.mark.parametrize("kind", [ISAN, ISANCell])
    def test_registered_so_that_keras_finds_it(self, kind: type) -> None:
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(kind(4, 5)))
        assert type(again) is kind
        assert keras.saving.get_registered_name(kind) == f"keras_interp_rnn>{kind.__name__}"

    @every_path
    def test_a_deep_copy_computes_the_same_and_is_another(self, path: str) -> None:
        some = sample_for(path)
        layer = layer_for(path, some, return_sequences=True)
        copied = copy.deepcopy(layer)
        layer.cell.bias.assign(np.zeros_like(some.bias))
        assert_close(copied(some.symbols), some.states(), "float64")

    def test_a_cloned_model_has_the_same_configuration(self) -> None:
        some = sample()
        ids = keras.Input((None,), dtype="int32")
        model = keras.Model(ids, some.layer(return_sequences=True, go_backwards=True)(ids))
        clone = keras.models.clone_model(model)
        assert not np.allclose(numpy(clone(some.symbols)), numpy(model(some.symbols)))
        clone.set_weights(model.get_weights())
        assert_close(clone(some.symbols), some.states(go_backwards=True), "float64")


class TestSaving:
    @pytest.mark.slow
    def test_a_trained_model_loads_in_a_fresh_process(self, tmp_path: Path) -> None:
        x, y = next_symbols(26)
        ids = keras.Input((None,), dtype="int32")
        hidden = [
            ISAN(26, 5, return_sequences=True)(ids),
            ISAN(4, 5, return_sequences=True, recurrent_initializer="glorot_uniform", fused=False)(ids),
            keras.layers.Bidirectional(ISAN(3, 5, return_sequences=True))(ids),
            keras.layers.RNN(
                keras.layers.StackedRNNCells([ISANCell(4, 5), keras.layers.GRUCell(6)]), return_sequences=True
            )(keras.layers.CategoryEncoding(5, output_mode="one_hot")(ids)),
        ]
        model = keras.Model(ids, keras.layers.Dense(5)(keras.layers.Concatenate()(hidden)))
        model.compile(keras.optimizers.Adam(0.01), losses.BitsPerSymbol())
        model.fit(x, y, epochs=1, verbose=0)
        assert_same_in_a_fresh_process(model, x, tmp_path)

    @every_path
    def test_a_saved_layer_computes_the_same(self, path: str, tmp_path: Path) -> None:
        some = sample_for(path)
        ids = keras.Input((None,), dtype="int32")
        model = keras.Model(ids, layer_for(path, some, return_sequences=True)(ids))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.symbols), some.states(), "float64")
        assert again.layers[-1].dtype_policy.name == "float64"

    def test_a_stateful_layer_is_saved_without_its_state(self, tmp_path: Path) -> None:
        some = sample()
        ids = keras.Input(batch_shape=some.symbols.shape, dtype="int32")
        model = keras.Model(ids, some.layer(return_sequences=True, stateful=True)(ids))
        model(some.symbols)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.symbols), some.states(), "float64")
