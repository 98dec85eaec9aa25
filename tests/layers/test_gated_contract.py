"""MinimalRNN, CFN and their cells as layers of Keras: every flag of keras.layers.RNN, encoders, dropout, training.

Values are the oracle's throughout, in float64. On JAX, Keras's `fit` and `predict` do not carry the states of stateful
layers (3.15): carrying is tested by calling the layer.
"""

import copy
import inspect
import json
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers, losses
from keras_interp_rnn.layers import CFN, CFNCell, MinimalRNN, MinimalRNNCell
from tests import autodiff
from tests.gated_samples import KINDS, Sample, assert_close, in_keras, sample, set_weights, variables
from tests.layers.common import AbsoluteSum, assert_same_in_a_fresh_process, next_symbols, serialized
from tests.oracles import minimal_rnn as oracle
from tests.samples import MASKS, outputs_of

BACKEND = keras.backend.backend()
QUICK = False if BACKEND == "tensorflow" else "auto"  # `jit_compile`: XLA compiles longer than these models train
SIZES = [{}, {"batch": 1}, {"time": 1}, {"units": 1, "batch": 2}, {"features": 1, "units": 3}]

every_kind = pytest.mark.parametrize("kind", KINDS)
every_mask = pytest.mark.parametrize("mask", [None, *MASKS])


def numpy(x) -> np.ndarray:
    return ops.convert_to_numpy(x)


def tensor(x):
    return ops.convert_to_tensor(x)


class TestFlags:
    @every_kind
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @every_mask
    def test_outputs_and_the_last_state_are_the_oracles(
        self, kind: str, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = sample(kind, mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        layer = some.layer(return_sequences=True, return_state=True, **flags)
        outputs, state = layer(some.inputs, mask=some.mask)
        assert_close(outputs, some.outputs(**flags), "float64")
        assert_close(state, some.states(go_backwards=go_backwards)[:, -1], "float64")

    @every_kind
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, "scattered", "trailing", "whole rows"])
    def test_without_return_sequences_the_last_output_alone(
        self, kind: str, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = sample(kind, mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        assert_close(some.layer(**flags)(some.inputs, mask=some.mask), some.outputs(**flags)[:, -1], "float64")

    @every_kind
    @pytest.mark.parametrize("go_backwards", [False, True])
    @every_mask
    def test_unrolled_steps_give_the_same(self, kind: str, mask: str | None, go_backwards: bool) -> None:
        some = sample(kind, mask=mask)
        layer = some.layer(unroll=True, return_sequences=True, return_state=True, go_backwards=go_backwards)
        outputs, state = layer(some.inputs, mask=some.mask)
        assert_close(outputs, some.outputs(go_backwards=go_backwards), "float64")
        assert_close(state, some.states(go_backwards=go_backwards)[:, -1], "float64")

    @pytest.mark.skipif(BACKEND == "torch", reason="the steps are run as they come, unrolled or not")
    @every_kind
    @pytest.mark.parametrize("unroll", [False, True])
    def test_unrolled_steps_need_no_loop(self, kind: str, unroll: bool) -> None:
        some = sample(kind)
        layer = some.layer(unroll=unroll)
        if BACKEND == "jax":
            import jax

            loops = "scan" in str(jax.make_jaxpr(layer)(some.inputs))
        else:
            import tensorflow as tf

            graph = tf.function(layer).get_concrete_function(tf.constant(some.inputs)).graph
            loops = any("While" in operation.type for operation in graph.get_operations())
        assert loops is not unroll

    @every_kind
    @pytest.mark.parametrize("size", SIZES, ids=str)
    @pytest.mark.parametrize("seed", [1, 2])
    def test_sizes_and_seeds(self, kind: str, seed: int, size: dict[str, int]) -> None:
        some = sample(kind, seed, **size)
        assert_close(some.layer(return_sequences=True)(some.inputs), some.outputs(), "float64")

    @every_kind
    @pytest.mark.parametrize("mask", [None, "leading"])
    def test_the_initial_state_given_replaces_zeros(self, kind: str, mask: str | None) -> None:
        some = sample(kind, mask=mask)
        layer = some.layer(return_sequences=True)
        for start in (some.start, [some.start], [tensor(some.start)]):
            assert_close(layer(some.inputs, initial_state=start, mask=some.mask), some.outputs(some.start), "float64")
        assert_close(layer(some.inputs, mask=some.mask), some.outputs(), "float64")

    @every_kind
    @pytest.mark.parametrize("return_state", [False, True])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_shapes_are_known_without_values(self, kind: str, return_sequences: bool, return_state: bool) -> None:
        flags = {"return_sequences": return_sequences, "return_state": return_state, "dtype": "mixed_bfloat16"}
        result = getattr(layers, kind)(4, **flags)(keras.Input((None, 5)))
        outputs = result[0] if return_state else result
        assert outputs.shape == ((None, None, 4) if return_sequences else (None, 4))
        assert outputs.dtype == "bfloat16"
        if return_state:
            assert result[1].shape == (None, 4)

    @every_kind
    def test_a_model_takes_sequences_mask_and_initial_state_as_inputs(self, kind: str) -> None:
        some = sample(kind, mask="scattered")
        rounded = {name: getattr(some, name).astype("float32") for name in ("inputs", "start")}  # as `predict` rounds
        some = some._replace(**rounded)
        inputs = keras.Input((None, 5), dtype="float64")
        mask = keras.Input((None,), dtype="bool")
        start = keras.Input((some.units,), dtype="float64")
        layer = some.layer(return_sequences=True)
        model = keras.Model([inputs, mask, start], layer(inputs, mask=mask, initial_state=start))
        result = model.predict([some.inputs, some.mask, some.start], verbose=0)
        expected = some._replace(inputs=some.inputs.astype("float64")).outputs(some.start.astype("float64"))
        assert_close(result, expected, "float64")


class TestGradients:
    """The layer's own adjoint, against the oracle's complex steps and against Keras's loop over the same cell."""

    @staticmethod
    def found(some: Sample, layer: keras.layers.Layer, cell: keras.layers.Layer) -> list[np.ndarray]:
        """By the weights, the inputs and the initial state."""
        cotangent = tensor(some.cotangent)

        def loss(inputs, start):
            return ops.sum(cotangent * layer(inputs, initial_state=[start], mask=some.mask))

        inputs, start = tensor(some.inputs), tensor(some.start)
        by_weights = autodiff.variable_gradients(lambda: loss(inputs, start), variables(cell))
        return [*by_weights, *autodiff.gradients(loss, [some.inputs, some.start])]

    @staticmethod
    def expected(some: Sample, **flags: bool) -> list[np.ndarray]:
        """Outputs of zero pass no gradient on."""
        cotangent = outputs_of(some.cotangent, some.mask, **flags)
        by_weight, by_start, by_input = oracle.loss_gradients(
            some.network, some.start, some.inputs, cotangent, some.mask, flags.get("go_backwards", False)
        )
        return [*in_keras(by_weight), by_input, by_start]

    @every_kind
    @pytest.mark.parametrize("go_backwards", [False, True])
    @every_mask
    def test_of_every_weight_the_inputs_and_the_initial_state(
        self, kind: str, mask: str | None, go_backwards: bool
    ) -> None:
        some = sample(kind, mask=mask)
        layer = some.layer(return_sequences=True, go_backwards=go_backwards)
        found, expected = self.found(some, layer, layer.cell), self.expected(some, go_backwards=go_backwards)
        for gradient, right in zip(found, expected, strict=True):
            assert_close(gradient, right, "float64")

    @every_kind
    @pytest.mark.parametrize("flags", [{"unroll": True}, {"zero_output_for_mask": True}], ids=str)
    def test_under_the_other_flags(self, kind: str, flags: dict[str, bool]) -> None:
        some = sample(kind, mask="scattered")
        layer = some.layer(return_sequences=True, **flags)
        reads = {name: value for name, value in flags.items() if name != "unroll"}
        for gradient, right in zip(self.found(some, layer, layer.cell), self.expected(some, **reads), strict=True):
            assert_close(gradient, right, "float64")

    @every_kind
    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_of_other_sizes(self, kind: str, size: dict[str, int]) -> None:
        some = sample(kind, seed=3, **size)
        layer = some.layer(return_sequences=True)
        for gradient, right in zip(self.found(some, layer, layer.cell), self.expected(some), strict=True):
            assert_close(gradient, right, "float64")

    @every_kind
    @pytest.mark.parametrize("mask", [None, "inner", "trailing"])
    def test_keras_loops_over_the_cell(self, kind: str, mask: str | None) -> None:
        some = sample(kind, mask=mask)
        if some.mask is not None:
            some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
        cell = some.cell()
        stepwise = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
        assert_close(stepwise(some.inputs, mask=some.mask), some.outputs(), "float64")
        whole = some.layer(return_sequences=True)
        for theirs, ours in zip(self.found(some, stepwise, cell), self.found(some, whole, whole.cell), strict=True):
            assert_close(theirs, ours, "float64")

    @every_kind
    def test_of_the_last_output_alone(self, kind: str) -> None:
        some = sample(kind)
        some.cotangent[:, :-1] = 0
        layer = some.layer()
        last = tensor(some.cotangent[:, -1])
        found = autodiff.variable_gradients(lambda: ops.sum(last * layer(some.inputs)), variables(layer.cell))
        zeros = np.zeros_like(some.start)
        by_weight, _, _ = oracle.loss_gradients(some.network, zeros, some.inputs, some.cotangent)
        for gradient, right in zip(found, in_keras(by_weight), strict=True):
            assert_close(gradient, right, "float64")


class TestGates:
    """Seen from outside: from h_0, h_1 and what is known of the rest, the gate follows."""

    def test_of_minimal_rnn_reads_the_latent(self) -> None:
        some = sample("MinimalRNN", time=1)
        w = some.network._replace(U_h=np.zeros((4, 4)))
        z = np.tanh(some.inputs[:, 0] @ w.W_x.T + w.b_z)

        def gate(some: Sample) -> np.ndarray:
            new = numpy(some.layer()(some.inputs, initial_state=some.start)).astype("float64")
            return (new - z) / (some.start - z)

        found = gate(some._replace(network=w))
        np.testing.assert_allclose(found, oracle.sigmoid(z @ w.U_z.T + w.b_u), rtol=1e-4)
        assert np.ptp(found, axis=0).min() > 0.01
        without = gate(some._replace(network=w._replace(U_z=np.zeros((4, 4)))))
        np.testing.assert_allclose(without, np.tile(oracle.sigmoid(w.b_u), (3, 1)), rtol=1e-4)

    @pytest.mark.parametrize(("gate", "kernel"), [("u", "V_u"), ("i", "V_i")])
    def test_of_cfn_read_the_input(self, gate: str, kernel: str) -> None:
        some = sample("CFN", time=1)
        w, x = some.network, some.inputs[:, 0]
        w = w._replace(U_u=np.zeros((4, 4)), U_i=np.zeros((4, 4)))
        if gate == "u":
            w = w._replace(W_x=np.zeros((4, 5)), b_x=np.zeros(4))
            start, over, bias = some.start, np.tanh(some.start), w.b_u
        else:
            start, over, bias = np.zeros_like(some.start), np.tanh(x @ w.W_x.T + w.b_x), w.b_i

        def values(network: oracle.CFN) -> np.ndarray:
            return numpy(some._replace(network=network).layer()(some.inputs, initial_state=start)) / over

        found = values(w)
        np.testing.assert_allclose(found, oracle.sigmoid(x @ getattr(w, kernel).T + bias), rtol=1e-4)
        assert np.ptp(found, axis=0).min() > 0.01
        without = values(w._replace(**{kernel: np.zeros((4, 5))}))
        np.testing.assert_allclose(without, np.tile(oracle.sigmoid(bias), (3, 1)), rtol=1e-4)

    @every_kind
    def test_read_the_state(self, kind: str) -> None:
        some = sample(kind, time=1)
        zeros = {name: np.zeros((4, 4)) for name in ("U_h", "U_u", "U_i") if name in some.network._fields}
        for name in zeros:
            blind = some._replace(network=some.network._replace(**{name: zeros[name]}))
            found = [numpy(s.layer()(s.inputs, initial_state=s.start)) for s in (some, blind)]
            assert np.abs(found[0] - found[1]).max() > 0.01

    def test_a_gate_of_ones_keeps_the_state_and_of_zeros_takes_the_latent(self) -> None:
        some = sample("MinimalRNN")
        for bias, expected in (
            (1e3, some.start),
            (-1e3, np.tanh(some.inputs[:, -1] @ some.network.W_x.T + some.network.b_z)),
        ):
            layer = some.layer()
            layer.cell.bias.assign(np.full(4, bias))
            assert_close(layer(some.inputs, initial_state=some.start), expected, "float64")


class TestCell:
    @every_kind
    def test_one_step(self, kind: str) -> None:
        some = sample(kind)
        cell = some.cell()
        [zeros] = cell.get_initial_state(batch_size=3)
        output, [state] = cell(some.inputs[:, 0], [zeros])
        assert_close(output, some.states()[:, 0], "float64")
        assert_close(state, some.states()[:, 0], "float64")
        output, state = cell(some.inputs[:, 0], tensor(some.start))
        assert_close(output, some.states(some.start)[:, 0], "float64")
        assert_close(state, some.states(some.start)[:, 0], "float64")

    def test_stacked_cells(self) -> None:
        below = sample("MinimalRNN")
        above = sample("CFN", seed=1, features=4, units=6)._replace(inputs=below.states())
        stacked = keras.layers.StackedRNNCells([below.cell(), above.cell()], dtype="float64")
        layer = keras.layers.RNN(stacked, return_sequences=True, dtype="float64")
        assert_close(layer(tensor(below.inputs)), above.outputs(), "float64")


class TestWrappers:
    @every_kind
    @pytest.mark.parametrize("mask", [None, "leading", "scattered", "whole rows"])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_bidirectional(self, kind: str, mask: str | None, return_sequences: bool) -> None:
        forward, backward = sample(kind, mask=mask), sample(kind, seed=1)
        backward = backward._replace(inputs=forward.inputs, mask=forward.mask)
        layer = keras.layers.Bidirectional(forward.layer(return_sequences=return_sequences), dtype="float64")
        layer.build(forward.inputs.shape)
        for part, some in ((layer.forward_layer, forward), (layer.backward_layer, backward)):
            set_weights(part.cell, some.network)
        # Bidirectional sets zero_output_for_mask where it returns sequences.
        there = forward.outputs(zero_output_for_mask=return_sequences)
        back = backward.outputs(go_backwards=True, zero_output_for_mask=return_sequences)
        if return_sequences:
            expected = np.concatenate([there, back[:, ::-1]], axis=-1)
        else:
            expected = np.concatenate([there[:, -1], back[:, -1]], axis=-1)
        assert_close(layer(forward.inputs, mask=forward.mask), expected, "float64")

    @pytest.mark.parametrize("kinds", [KINDS, KINDS[::-1]], ids="-".join)
    def test_two_layers_share_the_mask_of_a_model(self, kinds: tuple[str, str]) -> None:
        below, above = sample(kinds[0], mask="scattered"), sample(kinds[1], seed=1, features=4, units=6)
        below = below._replace(
            inputs=np.where(below.mask[:, :, None], below.inputs.astype("float32"), 9).astype("float64")
        )
        above = above._replace(inputs=below.outputs(), mask=below.mask)
        model = keras.Sequential(
            [
                keras.Input((None, 5), dtype="float64"),
                keras.layers.Masking(9.0, dtype="float64"),
                below.layer(return_sequences=True),
                above.layer(return_sequences=True),
            ]
        )
        assert_close(model(tensor(below.inputs)), above.outputs(), "float64")


class TestStateful:
    @every_kind
    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_two_windows_are_one_sequence(self, kind: str, mask: str | None) -> None:
        some = sample(kind, mask=mask)
        if some.mask is not None:
            some.mask[:, [0, 3]] = True  # each window is a sequence of its own, whose outputs begin with zeros
        layer = some.layer(stateful=True, return_sequences=True)
        parts = []
        for window in (slice(0, 3), slice(3, 7)):
            parts.append(numpy(layer(some.inputs[:, window], mask=None if mask is None else some.mask[:, window])))
        assert_close(np.concatenate(parts, axis=1), some.outputs(), "float64")

    @every_kind
    def test_reset_returns_to_zeros(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(stateful=True, return_sequences=True)
        assert layer.at_start
        layer(some.inputs)
        assert not layer.at_start
        assert not np.allclose(numpy(layer(some.inputs)), some.states(), atol=1e-3)
        layer.reset_state()
        assert layer.at_start
        assert_close(layer(some.inputs), some.states(), "float64")

    @every_kind
    def test_the_states_are_set_from_outside(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(stateful=True, return_sequences=True)
        layer.set_states([some.start])
        assert not layer.at_start
        assert_close(layer(some.inputs), some.states(some.start), "float64")
        layer.reset_state()
        layer.set_states([tensor(some.start)])
        assert_close(layer(some.inputs), some.states(some.start), "float64")

    @every_kind
    def test_a_state_given_is_read_once_and_then_carried(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(stateful=True, return_sequences=True)
        first = layer(some.inputs[:, :3], initial_state=some.start)
        second = layer(some.inputs[:, 3:])
        assert_close(ops.concatenate([first, second], axis=1), some.states(some.start), "float64")

    @every_kind
    def test_no_state_is_a_weight(self, kind: str) -> None:
        layer = sample(kind).layer(stateful=True)
        assert len(layer.weights) == len(variables(layer.cell)) == {"MinimalRNN": 5, "CFN": 3}[kind]
        assert layer.count_params() == {"MinimalRNN": 2 * 16 + 4 + 5 * 4 + 4, "CFN": 5 * 12 + 4 * 8 + 12}[kind]

    @every_kind
    def test_a_reset_before_the_first_batch_does_nothing(self, kind: str) -> None:
        getattr(layers, kind)(4, stateful=True).reset_state()

    @pytest.mark.skipif(BACKEND == "jax", reason="Keras 3.15 on JAX does not carry the states in predict")
    @every_kind
    def test_predict_carries_the_state(self, kind: str) -> None:
        some = sample(kind)
        some = some._replace(inputs=some.inputs.astype("float32").astype("float64"))  # to which `predict` rounds
        inputs = keras.Input(batch_shape=(3, None, 5), dtype="float64")
        layer = some.layer(stateful=True, return_sequences=True)
        model = keras.Model(inputs, layer(inputs))
        parts = [model.predict(some.inputs[:, window], verbose=0) for window in (slice(0, 3), slice(3, 7))]
        assert_close(np.concatenate(parts, axis=1), some.states(), "float64")


def open_layer(kind: str, dropout: float = 0.0, recurrent_dropout: float = 0.0, seed: int = 3) -> MinimalRNN | CFN:
    """A layer whose state is its input (MinimalRNN) or the input's tanh (CFN), whatever came before."""
    own = {"encoder": keras.layers.Identity()} if kind == "MinimalRNN" else {}
    rates = {"dropout": dropout, "recurrent_dropout": recurrent_dropout, "seed": seed}
    layer = getattr(layers, kind)(4, return_sequences=True, **own, **rates)
    layer.build((None, None, 4))
    zeros = np.zeros((4, 4))
    if kind == "MinimalRNN":
        layer.set_weights([zeros, zeros, np.full(4, -50.0)])
    else:
        kernel = np.concatenate([zeros, zeros, np.eye(4)], axis=1)
        layer.set_weights([kernel, np.zeros((4, 8)), np.repeat([-50.0, 50.0, 0.0], 4)])
    return layer


class TestDropout:
    SHAPE = (200, 6, 4)

    def thinned(self, kind: str, layer, training: bool = True) -> np.ndarray:
        """The inputs as an open layer sees them, if they are ones."""
        states = numpy(layer(np.ones(self.SHAPE, "float32"), training=training))
        return states if kind == "MinimalRNN" else np.arctanh(states)

    @every_kind
    def test_off_at_inference(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(return_sequences=True, dropout=0.5, recurrent_dropout=0.5)
        assert_close(layer(some.inputs), some.states(), "float64")
        assert_close(layer(some.inputs, training=False), some.states(), "float64")
        assert np.abs(numpy(layer(some.inputs, training=True)) - some.states()).max() > 0.1

    @every_kind
    def test_of_nothing_changes_nothing(self, kind: str) -> None:
        some = sample(kind)
        assert_close(some.layer(return_sequences=True)(some.inputs, training=True), some.states(), "float64")

    @every_kind
    def test_of_inputs_is_drawn_once_a_sequence(self, kind: str) -> None:
        seen = self.thinned(kind, open_layer(kind, dropout=0.4))
        kept = seen > 0.5
        np.testing.assert_array_equal(seen[~kept], 0)
        np.testing.assert_allclose(seen[kept], 1 / 0.6, rtol=1e-4)  # scaled, so that the mean stays
        assert (kept == kept[:, :1]).all(), "one draw for all steps"
        drawn = kept[:, 0]
        assert abs(drawn.mean() - 0.6) < 0.07  # four standard deviations of 800 draws
        assert len(np.unique(drawn, axis=0)) > 8, "another draw for each sequence"
        assert not (drawn == drawn[:, :1]).all(), "another draw for each feature"

    @every_kind
    def test_of_the_state_is_drawn_once_a_sequence(self, kind: str) -> None:
        """A state enters gates of kernel 1 or not at all; nothing else moves the gates."""
        layer = open_layer(kind, recurrent_dropout=0.4)
        layer.cell.recurrent_kernel.assign(np.tile(np.eye(4), layer.cell.number_of_gates))
        layer.cell.bias.assign(np.zeros(layer.cell.bias.shape))
        if kind == "CFN":
            layer.cell.kernel.assign(np.zeros((4, 12)))
        start = np.full((200, 4), 2.0, "float32")
        first = numpy(layer(np.zeros(self.SHAPE, "float32"), initial_state=start, training=True))
        kept_state = 2.0 if kind == "MinimalRNN" else np.tanh(2.0)
        gates = first[:, 0] / kept_state
        kept = gates > 0.6
        np.testing.assert_allclose(gates[~kept], 0.5, rtol=1e-5)
        np.testing.assert_allclose(gates[kept], oracle.sigmoid(2 / 0.6), rtol=1e-4)
        assert abs(kept.mean() - 0.6) < 0.07
        # Every later gate is that of the same draw.
        for step in range(1, self.SHAPE[1]):
            before = first[:, step - 1]
            carried = before if kind == "MinimalRNN" else np.tanh(before)
            np.testing.assert_allclose(first[:, step], oracle.sigmoid(kept * before / 0.6) * carried, rtol=1e-4)

    @every_kind
    def test_a_seed_repeats_the_draws(self, kind: str) -> None:
        first, same = (open_layer(kind, dropout=0.4, seed=3) for _ in range(2))
        other = open_layer(kind, dropout=0.4, seed=4)
        drawn = self.thinned(kind, first)
        np.testing.assert_array_equal(drawn, self.thinned(kind, same))
        assert not np.allclose(drawn, self.thinned(kind, first)), "another draw for the next batch"
        assert not np.allclose(drawn, self.thinned(kind, other))

    @every_kind
    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_gradients_are_those_of_the_thinned_network(self, kind: str, mask: str | None) -> None:
        """D_r U_h in place of U_h and D_d x in place of x, another r and d for each sequence."""
        some = sample(kind, mask=mask)
        rates = {"dropout": 0.4, "recurrent_dropout": 0.4, "seed": 5}
        layer, twin = (some.layer(return_sequences=True, **rates) for _ in range(2))
        cotangent = tensor(some.cotangent)
        found = autodiff.variable_gradients(
            lambda: ops.sum(cotangent * layer(some.inputs, mask=some.mask, training=True)), variables(layer.cell)
        )
        inputs = numpy(twin.cell.thinned(tensor(some.inputs), True, over_time=True)).astype("float64")
        r = numpy(twin.cell.recurrent_thinning(3, True)).astype("float64")
        np.testing.assert_allclose(np.unique(r), [0, 1 / 0.6], rtol=1e-6)
        cotangents = outputs_of(some.cotangent, some.mask)
        total = None
        for row in range(3):
            names = [name for name in ("U_h", "U_u", "U_i") if name in some.network._fields]
            thin = some.network._replace(**{name: getattr(some.network, name) * r[row] for name in names})
            by_weight, _, _ = oracle.loss_gradients(
                thin,
                np.zeros(4),
                inputs[row : row + 1],
                cotangents[row : row + 1],
                None if mask is None else some.mask[row : row + 1],
            )
            by_weight = by_weight._replace(**{name: getattr(by_weight, name) * r[row] for name in names})
            part = in_keras(by_weight)
            total = part if total is None else [a + b for a, b in zip(total, part, strict=True)]
        for gradient, expected in zip(found, total, strict=True):
            assert_close(gradient, expected, "float64")

    @every_kind
    def test_a_bare_cell_draws_anew_at_every_step(self, kind: str) -> None:
        layer = open_layer(kind, dropout=0.4)
        stepwise = keras.layers.RNN(layer.cell, return_sequences=True)
        seen = numpy(stepwise(np.ones(self.SHAPE, "float32"), training=True)) > 0.5
        assert abs(seen.mean() - 0.6) < 0.07
        again = numpy(stepwise(np.ones(self.SHAPE, "float32"), training=True)) > 0.5
        # On JAX, Keras's loop is traced once, and the draw with it (3.15).
        assert (seen != seen[:, :1]).any() == (BACKEND != "jax"), "another draw for each step"
        assert (again != seen).any() == (BACKEND != "jax"), "another draw for each call"

    @every_kind
    def test_fit_draws_anew_at_every_batch(self, kind: str) -> None:
        x = np.ones((8, 6, 4), "float32")
        layer = open_layer(kind, dropout=0.4)
        model = keras.Sequential([keras.Input((6, 4)), layer])
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=QUICK)
        history = model.fit(x, np.zeros((8, 6, 4), "float32"), epochs=4, verbose=0).history["loss"]
        assert len(set(history)) > 1


def mlp() -> keras.Sequential:
    return keras.Sequential([keras.layers.Dense(6, "relu"), keras.layers.Dense(4, "tanh")])


def conv() -> keras.Sequential:
    return keras.Sequential([keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(4, "tanh")])


def functional() -> keras.Model:
    step = keras.Input((5,))
    return keras.Model(step, keras.layers.Dense(4)(step))


# Name: (what makes the encoder, what draws sequences).
ENCODERS: dict[str, tuple[Callable, Callable]] = {
    "embedding": (lambda: keras.layers.Embedding(9, 4), lambda rng: rng.integers(9, size=(3, 7)).astype("int32")),
    "mlp": (mlp, lambda rng: rng.normal(size=(3, 7, 5)).astype("float32")),
    "functional": (functional, lambda rng: rng.normal(size=(3, 7, 5)).astype("float32")),
    "conv": (conv, lambda rng: rng.normal(size=(3, 7, 6, 5, 2)).astype("float32")),
    "identity": (keras.layers.Identity, lambda rng: rng.normal(size=(3, 7, 4)).astype("float32")),
}
every_encoder = pytest.mark.parametrize("encoder", ENCODERS)


class TestEncoders:
    def encoded(self, name: str, mask: str | None = None, **arguments) -> tuple[MinimalRNN, np.ndarray, Sample]:
        """A layer, its sequences, and a sample whose inputs are the latents by the encoder's word."""
        make, draw = ENCODERS[name]
        some = sample("MinimalRNN", mask=mask)
        x = draw(np.random.default_rng(0))
        layer = MinimalRNN(4, encoder=make(), return_sequences=True, **arguments)
        layer.build(x.shape)
        w = some.network._replace(W_x=None, b_z=None)
        for variable, array in zip(
            (layer.cell.kernel, layer.cell.recurrent_kernel, layer.cell.bias), in_keras(w), strict=True
        ):
            variable.assign(array.copy())
        z = np.stack([numpy(layer.encoder(x[:, t])) for t in range(7)], axis=1).astype("float64")
        return layer, x, some._replace(network=w, inputs=z)

    @every_encoder
    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_states_move_among_what_the_encoder_puts_out(self, encoder: str, mask: str | None) -> None:
        layer, x, some = self.encoded(encoder, mask)
        assert_close(layer(x, mask=some.mask), some.outputs(), "float32")

    @pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "identity"])
    def test_the_encoders_weights_are_the_layers_and_learn(self, encoder: str) -> None:
        layer, x, some = self.encoded(encoder)
        own = len(layer.encoder.trainable_weights)
        assert len(layer.trainable_weights) == 3 + own
        cotangent = tensor(some.cotangent.astype("float32"))
        found = autodiff.variable_gradients(lambda: ops.sum(cotangent * layer(x)), layer.encoder.trainable_weights)
        assert all(np.abs(numpy(gradient)).max() > 0 for gradient in found)

    @every_encoder
    @pytest.mark.parametrize("flags", [{"unroll": True}, {"go_backwards": True}], ids=str)
    def test_flags(self, encoder: str, flags: dict[str, bool]) -> None:
        layer, x, some = self.encoded(encoder, **flags)
        assert_close(layer(x), some.outputs(go_backwards=flags.get("go_backwards", False)), "float32")

    # Keras's loop reads three axes at least.
    @pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "embedding"])
    def test_of_the_cell_in_keras_own_loop(self, encoder: str) -> None:
        layer, x, some = self.encoded(encoder)
        assert_close(keras.layers.RNN(layer.cell, return_sequences=True)(x), some.outputs(), "float32")

    @every_encoder
    def test_saved_with_the_layer(self, encoder: str, tmp_path: Path) -> None:
        layer, x, some = self.encoded(encoder)
        inputs = keras.Input((None, *x.shape[2:]), dtype=str(x.dtype))
        model = keras.Model(inputs, layer(inputs))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(x), some.outputs(), "float32")
        assert type(again.layers[-1].encoder) is type(layer.encoder)

    @every_encoder
    def test_bidirectional_has_two(self, encoder: str) -> None:
        layer, x, _ = self.encoded(encoder)
        both = keras.layers.Bidirectional(layer)
        both(x)
        assert both.backward_layer.encoder is not both.forward_layer.encoder
        assert len(both.weights) == 2 * len(layer.weights)

    def test_a_built_layer_is_taken_as_it_is(self) -> None:
        encoder = keras.layers.Dense(4, "tanh", dtype="float64")
        some = sample("MinimalRNN")
        encoder.build((None, 5))
        encoder.set_weights([some.network.W_x.T, some.network.b_z])
        layer = some.layer(return_sequences=True, encoder=encoder)
        assert layer.encoder is encoder
        assert_close(layer(some.inputs), some.outputs(), "float64")

    def test_a_layer_with_moods_knows_training(self) -> None:
        layer = MinimalRNN(
            4, encoder=keras.layers.Dropout(0.5, seed=1), bias_initializer=keras.initializers.Constant(-50)
        )
        x = np.ones((8, 3, 4), "float32")
        np.testing.assert_allclose(numpy(layer(x, training=False)), 1, rtol=1e-5)
        assert set(np.unique(numpy(layer(x, training=True)).round(3))) == {0, 2}

    def test_losses_of_the_encoder_are_the_layers(self) -> None:
        layer = MinimalRNN(4, encoder=keras.layers.Dense(4, kernel_regularizer=keras.regularizers.L2(0.1)))
        layer(np.ones((3, 7, 5), "float32"))
        expected = 0.1 * np.sum(numpy(layer.encoder.kernel) ** 2)
        assert numpy(sum(layer.losses)) == pytest.approx(expected, rel=1e-6)


class TestPrecision:
    @every_kind
    @pytest.mark.parametrize(("policy", "compute"), [("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")])
    def test_mixed_precision_puts_out_the_compute_dtype(self, kind: str, policy: str, compute: str) -> None:
        some = sample(kind)
        mixed = some.layer(return_sequences=True, return_state=True, dtype=policy)
        assert {weight.dtype for weight in mixed.weights} == {"float32"}
        for found, expected in zip(mixed(some.inputs), (some.outputs(), some.states()[:, -1]), strict=True):
            assert keras.backend.standardize_dtype(found.dtype) == compute
            np.testing.assert_allclose(numpy(ops.cast(found, "float32")), expected, atol=0.1)

    @every_kind
    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_states_stay_in_single_precision_along_the_sequence(self, kind: str, policy: str) -> None:
        """Small steps towards a limit: half-precision states would stand still on the way.

        Weights, inputs and candidates are such that the products are exact.
        """
        x = np.full((2, 300, 4), 16.0, "float32")

        def last(dtype: str) -> np.ndarray:
            layer = getattr(layers, kind)(4, stateful=True, recurrent_initializer="zeros", dtype=dtype)
            layer.build(x.shape)
            if kind == "MinimalRNN":
                layer.cell.kernel.assign(np.zeros((4, 4)))
                layer.cell.bias.assign(np.full(4, 5.0))
                layer.encoder.set_weights([np.eye(4), np.zeros(4)])
            else:
                layer.cell.kernel.assign(np.concatenate([np.zeros((4, 8)), np.eye(4)], axis=1))
                layer.cell.bias.assign(np.repeat([5.0, -5.0, 0.0], 4))
            outputs = layer(x)
            assert keras.backend.standardize_dtype(outputs.dtype) != "float32" or dtype == "float32"
            assert layer.states[0].dtype == "float32"
            return numpy(layer.states[0].value)

        np.testing.assert_allclose(last(policy), last("float32"), rtol=1e-4)

    @every_kind
    def test_mixed_precision_carries_the_state_unrounded(self, kind: str) -> None:
        some = sample(kind)
        whole, layer = (some.layer(stateful=True, dtype="mixed_bfloat16") for _ in range(2))
        whole(some.inputs)
        for window in (slice(0, 3), slice(3, 7)):
            layer(some.inputs[:, window])
        assert_close(layer.states[0].value, numpy(whole.states[0].value), "float32")

    def test_the_global_policy_counts(self) -> None:
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy("mixed_bfloat16")
        try:
            both = [MinimalRNN(4), CFN(4)]
            outputs = [layer(np.ones((3, 7, 5), "float32")) for layer in both]
        finally:
            keras.config.set_dtype_policy(before)
        assert {keras.backend.standardize_dtype(x.dtype) for x in outputs} == {"bfloat16"}
        assert {weight.dtype for layer in both for weight in layer.weights} == {"float32"}

    @every_kind
    def test_gradients_of_mixed_precision_are_near_and_single(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(return_sequences=True, dtype="mixed_bfloat16")
        cotangent = tensor(some.cotangent.astype("float32"))
        found = autodiff.variable_gradients(
            lambda: ops.sum(cotangent * ops.cast(layer(some.inputs), "float32")), variables(layer.cell)
        )
        by_weight, _, _ = oracle.loss_gradients(some.network, np.zeros((3, 4)), some.inputs, some.cotangent)
        for gradient, expected in zip(found, in_keras(by_weight), strict=True):
            assert numpy(gradient).dtype == "float32"
            np.testing.assert_allclose(gradient, expected, atol=0.03 * np.abs(expected).max())

    @every_kind
    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_a_model_trains_in_mixed_precision(self, kind: str, policy: str) -> None:
        history = fitted(kind, dtype=policy)[1]
        assert history[-1] < 0.9 * history[0]

    @every_kind
    def test_a_cell_of_mixed_precision_under_keras_own_loop(self, kind: str) -> None:
        some = sample(kind)
        layer = keras.layers.RNN(some.cell(dtype="mixed_bfloat16"), return_sequences=True, dtype="mixed_bfloat16")
        outputs = layer(some.inputs.astype("float32"))
        assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
        np.testing.assert_allclose(numpy(ops.cast(outputs, "float32")), some.states(), atol=0.1)


def fitted(kind: str, epochs: int = 8, jit_compile: bool | str = QUICK, **arguments) -> tuple[keras.Model, list[float]]:
    """A model of next symbols and its losses by epoch."""
    x, y = next_symbols(8)
    dtype = arguments.get("dtype")
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(5, 6, dtype=dtype),
            getattr(layers, kind)(8, return_sequences=True, **arguments),
            keras.layers.Dense(5, dtype=dtype),
        ]
    )
    model.compile(keras.optimizers.Adam(0.03), losses.BitsPerSymbol(), jit_compile=jit_compile)
    return model, model.fit(x, y, epochs=epochs, batch_size=4, verbose=0).history["loss"]


class TestTraining:
    @every_kind
    @pytest.mark.parametrize("arguments", [{}, {"dropout": 0.1, "recurrent_dropout": 0.1}], ids=str)
    def test_fit_learns(self, kind: str, arguments: dict[str, float]) -> None:
        history = fitted(kind, **arguments)[1]
        assert history[-1] < 0.8 * history[0]

    @pytest.mark.slow
    @pytest.mark.skipif(BACKEND != "tensorflow", reason="JAX compiles by XLA anyway, torch has none")
    @every_kind
    @pytest.mark.parametrize("arguments", [{}, {"dropout": 0.1, "recurrent_dropout": 0.1}], ids=str)
    def test_fit_learns_under_xla(self, kind: str, arguments: dict[str, float]) -> None:
        history = fitted(kind, jit_compile=True, **arguments)[1]
        assert history[-1] < 0.8 * history[0]

    @every_kind
    def test_fit_of_unrolled_steps(self, kind: str) -> None:
        some = sample(kind)
        model = keras.Sequential([keras.Input((7, 5)), getattr(layers, kind)(4, unroll=True)])
        model.compile(keras.optimizers.Adam(0.03), "mse", jit_compile=QUICK)
        history = model.fit(some.inputs, 0.3 * np.tanh(some.start), epochs=5, verbose=0).history["loss"]
        assert history[-1] < history[0]

    @every_kind
    def test_regularizers_add_losses(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(
            kernel_regularizer=keras.regularizers.L2(0.3),
            recurrent_regularizer=keras.regularizers.L2(0.1),
            bias_regularizer=AbsoluteSum(0.2),
        )
        kernel, recurrent_kernel, bias, *_ = in_keras(some.network)
        expected = 0.3 * np.sum(kernel**2) + 0.1 * np.sum(recurrent_kernel**2) + 0.2 * np.sum(np.abs(bias))
        assert len(layer.losses) == 3
        assert numpy(sum(layer.losses)) == pytest.approx(expected, rel=1e-6)

    @every_kind
    def test_a_training_step_applies_the_constraints(self, kind: str) -> None:
        model, _ = fitted(
            kind,
            epochs=1,
            kernel_constraint=keras.constraints.MaxNorm(0.5, axis=0),
            recurrent_constraint=keras.constraints.UnitNorm(axis=0),
            bias_constraint=keras.constraints.NonNeg(),
        )
        kernel, recurrent_kernel, bias, *_ = map(numpy, variables(model.layers[1].cell))
        assert np.linalg.norm(kernel, axis=0).max() <= 0.5 + 1e-5
        np.testing.assert_allclose(np.linalg.norm(recurrent_kernel, axis=0), 1, atol=1e-5)
        assert bias.min() >= 0

    @every_kind
    def test_a_frozen_layer_has_nothing_to_train(self, kind: str) -> None:
        layer = getattr(layers, kind)(4, trainable=False)
        layer.build((None, None, 5))
        assert layer.trainable_weights == []
        layer.trainable = True
        assert len(layer.trainable_weights) == {"MinimalRNN": 5, "CFN": 3}[kind]


class TestInitialization:
    def built(self, kind: str, **arguments) -> list[np.ndarray]:
        layer = getattr(layers, kind)(6, **arguments)
        layer.build((None, None, 5))
        return [numpy(variable) for variable in variables(layer.cell)]

    @every_kind
    def test_the_recurrent_kernel_of_each_gate_is_orthogonal(self, kind: str) -> None:
        recurrent_kernel = self.built(kind)[1]
        gates = {"MinimalRNN": 1, "CFN": 2}[kind]
        assert recurrent_kernel.shape == (6, 6 * gates)
        blocks = np.split(recurrent_kernel, gates, axis=1)
        for block in blocks:
            np.testing.assert_allclose(block @ block.T, np.eye(6), atol=1e-5)
        assert gates == 1 or np.abs(blocks[0] - blocks[1]).max() > 0.1

    def test_each_part_of_the_kernel_is_drawn_by_itself(self) -> None:
        layer = CFN(40)
        layer.build((None, None, 30))
        parts = np.split(numpy(layer.cell.kernel), 3, axis=1)
        limit = np.sqrt(6 / (30 + 40))
        for part in parts:
            assert 0.95 * limit < np.abs(part).max() <= limit
        assert len({part.tobytes() for part in parts}) == 3

    def test_the_gate_of_minimal_rnn_is_open_to_the_past_at_first(self) -> None:
        kernel, _, bias, _, encoder_bias = self.built("MinimalRNN")
        np.testing.assert_array_equal(bias, np.ones(6))
        np.testing.assert_array_equal(encoder_bias, np.zeros(6))
        assert 0 < np.abs(kernel).max() <= np.sqrt(6 / 12)

    @pytest.mark.parametrize(("unit_update_bias", "ends"), [(True, (1, -1, 0)), (False, (0, 0, 0))])
    @pytest.mark.parametrize(("initializer", "mean"), [("zeros", 0), ("ones", 1)])
    def test_the_biases_of_cfn(
        self, unit_update_bias: bool, ends: tuple[int, ...], initializer: str, mean: int
    ) -> None:
        bias = self.built("CFN", unit_update_bias=unit_update_bias, bias_initializer=initializer)[2]
        np.testing.assert_array_equal(bias, np.repeat(ends, 6) + mean)

    @every_kind
    def test_the_random_seed_of_keras_repeats_the_weights(self, kind: str) -> None:
        drawn = []
        for seed in (1, 1, 2):
            keras.utils.set_random_seed(seed)
            drawn.append(self.built(kind))
        for first, same in zip(*drawn[:2], strict=True):
            np.testing.assert_array_equal(first, same)
        assert np.abs(drawn[0][1] - drawn[2][1]).max() > 0.1

    @every_kind
    def test_an_initializer_may_be_a_function(self, kind: str) -> None:
        recurrent_kernel = self.built(
            kind, recurrent_initializer=lambda shape, dtype=None: ops.eye(*shape, dtype=dtype)
        )[1]
        np.testing.assert_array_equal(recurrent_kernel, np.tile(np.eye(6), {"MinimalRNN": 1, "CFN": 2}[kind]))


NON_DEFAULT = {
    "units": 4,
    "encoder": keras.layers.Dense(4, use_bias=False, name="some_encoder"),
    "unit_update_bias": False,
    "kernel_initializer": keras.initializers.RandomUniform(seed=4),
    "recurrent_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=3),
    "bias_initializer": "random_normal",
    "kernel_regularizer": keras.regularizers.L2(0.3),
    "recurrent_regularizer": keras.regularizers.L2(0.1),
    "bias_regularizer": keras.regularizers.L1(0.2),
    "kernel_constraint": keras.constraints.MaxNorm(2.0),
    "recurrent_constraint": keras.constraints.UnitNorm(axis=0),
    "bias_constraint": keras.constraints.NonNeg(),
    "dropout": 0.1,
    "recurrent_dropout": 0.2,
    "seed": 7,
    "return_sequences": True,
    "return_state": True,
    "go_backwards": True,
    "stateful": True,
    "unroll": True,
    "zero_output_for_mask": True,
}
KERAS_OWN = {"name": "some_gated", "trainable": False, "dtype": "mixed_bfloat16"}
every_class = pytest.mark.parametrize("kind", [MinimalRNN, MinimalRNNCell, CFN, CFNCell])


class TestConfiguration:
    @every_class
    def test_every_argument_survives_the_configuration(self, kind: type) -> None:
        names = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "kwargs")]
        arguments = {name: NON_DEFAULT[name] for name in names}
        layer = kind(**arguments, **KERAS_OWN)
        plain = kind(3).get_config()
        config = json.loads(json.dumps(layer.get_config()))
        again = kind.from_config(copy.deepcopy(config))
        assert json.loads(json.dumps(again.get_config())) == config
        for name in names:
            expected = serialized(name, NON_DEFAULT[name])
            if name.endswith("initializer"):
                expected = {**expected, "config": {**expected["config"], "seed": config[name]["config"]["seed"]}}
                assert config[name]["config"]["seed"] == getattr(NON_DEFAULT[name], "seed", expected["config"]["seed"])
            assert config[name] == expected
        for name in (*names, *KERAS_OWN):
            assert config[name] != plain[name], f"{name} has its default in {config}"

    @every_class
    def test_registered_so_that_keras_finds_it(self, kind: type) -> None:
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(kind(4)))
        assert type(again) is kind
        assert keras.saving.get_registered_name(kind) == f"keras_interp_rnn>{kind.__name__}"

    @every_kind
    def test_a_deep_copy_computes_the_same_and_is_another(self, kind: str) -> None:
        some = sample(kind)
        layer = some.layer(return_sequences=True)
        copied = copy.deepcopy(layer)
        layer.cell.bias.assign(np.zeros(layer.cell.bias.shape))
        assert_close(copied(some.inputs), some.states(), "float64")

    @every_kind
    def test_a_cloned_model_has_the_same_configuration(self, kind: str) -> None:
        some = sample(kind)
        inputs = keras.Input((None, 5), dtype="float64")
        model = keras.Model(inputs, some.layer(return_sequences=True, go_backwards=True)(inputs))
        clone = keras.models.clone_model(model)
        assert not np.allclose(numpy(clone(some.inputs)), numpy(model(some.inputs)))
        clone.set_weights(model.get_weights())
        assert_close(clone(some.inputs), some.states(go_backwards=True), "float64")


class TestSaving:
    @pytest.mark.slow
    def test_a_trained_model_loads_in_a_fresh_process(self, tmp_path: Path) -> None:
        x, y = next_symbols(26)
        ids = keras.Input((None,), dtype="int32")
        embedded = keras.layers.Embedding(5, 6)(ids)
        stacked = keras.layers.StackedRNNCells([MinimalRNNCell(4), CFNCell(6)])
        hidden = [
            MinimalRNN(8, encoder=keras.layers.Embedding(5, 8), return_sequences=True)(ids),
            MinimalRNN(4, encoder=mlp(), return_sequences=True, recurrent_dropout=0.1)(embedded),
            CFN(5, return_sequences=True, dropout=0.1)(embedded),
            keras.layers.Bidirectional(MinimalRNN(3, return_sequences=True))(embedded),
            keras.layers.Bidirectional(CFN(3, return_sequences=True))(embedded),
            keras.layers.RNN(stacked, return_sequences=True)(embedded),
        ]
        model = keras.Model(ids, keras.layers.Dense(5)(keras.layers.Concatenate()(hidden)))
        model.compile(keras.optimizers.Adam(0.01), losses.BitsPerSymbol())
        model.fit(x, y, epochs=1, verbose=0)
        assert_same_in_a_fresh_process(model, x, tmp_path)

    @every_kind
    @pytest.mark.parametrize("stateful", [False, True])
    def test_a_saved_layer_computes_the_same(self, kind: str, stateful: bool, tmp_path: Path) -> None:
        some = sample(kind)
        inputs = keras.Input(batch_shape=some.inputs.shape, dtype="float64")
        model = keras.Model(inputs, some.layer(return_sequences=True, stateful=stateful)(inputs))
        model(some.inputs)  # a stateful layer is saved without its state
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.inputs), some.states(), "float64")
        assert again.layers[-1].dtype_policy.name == "float64"
