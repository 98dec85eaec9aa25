"""PeepholeLSTM and its cell as layers of Keras; what they compute is the oracle's, in float64."""

import copy
import inspect
import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn.layers import PeepholeLSTM, PeepholeLSTMCell
from tests import autodiff
from tests.gated_samples import assert_close
from tests.layers.common import says, serialized
from tests.oracles import state_regularized as oracle
from tests.samples import MASKS, outputs_of
from tests.state_regularized_samples import Sample, in_keras, sample, set_weights, variables

BACKEND = keras.backend.backend()
KIND = "PeepholeLSTM"
SMALL = {"batch": 2, "time": 3, "features": 5, "units": 4}

every_mask = pytest.mark.parametrize("mask", [None, *MASKS])


def numpy(x) -> np.ndarray:
    return ops.convert_to_numpy(x)


def plain(seed: int = 0, **arguments: Any) -> Sample:
    """Without the stochastic component."""
    return sample(KIND, seed, **arguments)._replace(stochastic=None)


def layer_of(some: Sample, **arguments: Any) -> PeepholeLSTM:
    layer = PeepholeLSTM(some.units, **{"dtype": "float64", **arguments})
    layer.build(some.inputs.shape)
    set_weights(layer.cell, some.network)
    return layer


class TestValues:
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    @every_mask
    def test_outputs_and_the_last_states_are_the_oracles(
        self, mask: str | None, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        some = plain(mask=mask)
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        layer = layer_of(some, return_sequences=True, return_state=True, **flags)
        outputs, state, memory = layer(some.inputs, mask=some.mask)
        path = some.path(go_backwards=go_backwards)
        assert_close(outputs, some.outputs(path, **flags), "float64")
        assert_close(state, path.h[:, -1], "float64")
        assert_close(memory, path.c[:, -1], "float64")

    @pytest.mark.parametrize("size", [{"batch": 1}, {"time": 1}, {"units": 1, "batch": 2}, {"features": 1}], ids=str)
    @pytest.mark.parametrize("seed", [1, 2])
    def test_sizes_and_seeds(self, seed: int, size: dict[str, int]) -> None:
        some = plain(seed, **size)
        assert_close(layer_of(some, return_sequences=True)(some.inputs), some.path().h, "float64")

    @pytest.mark.parametrize("flags", [{}, {"unroll": True}, {"return_sequences": True, "unroll": True}], ids=str)
    @pytest.mark.parametrize("mask", [None, "trailing"])
    def test_from_given_states(self, mask: str | None, flags: dict[str, bool]) -> None:
        some = plain(mask=mask)
        found = layer_of(some, **flags)(some.inputs, initial_state=some.starts, mask=some.mask)
        expected = some.outputs(some.path(from_zeros=False))
        assert_close(found, expected if "return_sequences" in flags else expected[:, -1], "float64")

    def test_without_peepholes_it_is_keras_lstm(self) -> None:
        some = plain(mask="scattered")
        some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
        layer = layer_of(some, return_sequences=True)
        layer.cell.peephole.assign(np.zeros((3, 4)))
        theirs = keras.layers.LSTM(4, return_sequences=True, dtype="float64")
        theirs.build(some.inputs.shape)
        theirs.set_weights([numpy(variable) for variable in variables(layer.cell)[:3]])
        assert_close(layer(some.inputs, mask=some.mask), numpy(theirs(some.inputs, mask=some.mask)), "float64")

    @pytest.mark.parametrize(("row", "name"), [(0, "p_i"), (1, "p_f"), (2, "p_o")])
    def test_the_rows_of_the_peephole(self, row: int, name: str) -> None:
        some = plain()
        layer = layer_of(some, return_sequences=True)
        peephole = numpy(layer.cell.peephole).copy()
        peephole[row] = 0
        layer.cell.peephole.assign(peephole)
        without = some._replace(network=some.network._replace(**{name: np.zeros(4)}))
        assert_close(layer(some.inputs), without.path().h, "float64")

    @pytest.mark.parametrize("use_bias", [False, True])
    def test_other_activations(self, use_bias: bool) -> None:
        """One step by hand: candidate and output through softsign, gates through tanh."""
        some = plain(time=1)
        layer = PeepholeLSTM(4, activation="softsign", recurrent_activation="tanh", use_bias=use_bias, dtype="float64")
        layer.build(some.inputs.shape)
        names = ["kernel", "recurrent_kernel", "bias", "peephole"]
        for name, array in zip(names, in_keras(some.network), strict=True):
            if name != "bias" or use_bias:
                getattr(layer.cell, name).assign(np.ascontiguousarray(array))
        x, h, c = some.inputs[:, 0], some.start, some.memory
        w = some.network
        bias = 1 if use_bias else 0

        def drive(gate: str) -> np.ndarray:
            kernel, recurrent, b = (getattr(w, f"{letter}_{gate}") for letter in "WUb")
            return x @ kernel.T + h @ recurrent.T + bias * b

        def softsign(x: np.ndarray) -> np.ndarray:
            return x / (1 + np.abs(x))

        new = np.tanh(drive("f") + w.p_f * c) * c + np.tanh(drive("i") + w.p_i * c) * softsign(drive("c"))
        expected = np.tanh(drive("o") + w.p_o * new) * softsign(new)
        assert_close(layer(some.inputs, initial_state=some.starts), expected, "float64")


class TestGradients:
    @pytest.mark.parametrize("go_backwards", [False, True])
    @pytest.mark.parametrize("mask", [None, "scattered", "leading"])
    def test_of_every_weight_the_inputs_and_the_states(self, mask: str | None, go_backwards: bool) -> None:
        some = plain(mask=mask, **SMALL)
        layer = layer_of(some, return_sequences=True, go_backwards=go_backwards)
        cotangent = outputs_of(some.cotangent, some.mask, go_backwards)

        def loss(inputs, h, c):
            return ops.sum(ops.convert_to_tensor(some.cotangent) * layer(inputs, initial_state=[h, c], mask=some.mask))

        def value(some: Sample) -> complex:
            return np.sum(cotangent * some.path(from_zeros=False, go_backwards=go_backwards).h)

        given = [some.inputs, *some.starts]
        found = autodiff.variable_gradients(
            lambda: loss(*(ops.convert_to_tensor(array) for array in given)), variables(layer.cell)
        )
        by_network = oracle.gradients(some.network, lambda network: value(some._replace(network=network)))
        for gradient, right in zip(found, in_keras(by_network), strict=True):
            assert_close(gradient, right, "float64")
        for gradient, name in zip(autodiff.gradients(loss, given), ("inputs", "start", "memory"), strict=True):
            right = oracle.complex_step(lambda x, name=name: value(some._replace(**{name: x})), getattr(some, name))
            assert_close(gradient, right, "float64")


class TestCell:
    def test_one_step(self) -> None:
        some = plain()
        cell = layer_of(some).cell
        path = some.path(from_zeros=False)
        output, [state, memory] = cell(some.inputs[:, 0], [ops.convert_to_tensor(s) for s in some.starts])
        assert_close(output, path.h[:, 0], "float64")
        assert_close(state, path.h[:, 0], "float64")
        assert_close(memory, path.c[:, 0], "float64")

    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_keras_loops_over_it(self, mask: str | None) -> None:
        some = plain(mask=mask)
        stepwise = keras.layers.RNN(layer_of(some).cell, return_sequences=True, dtype="float64")
        assert_close(stepwise(some.inputs, mask=some.mask), some.outputs(some.path()), "float64")

    def test_stacked_cells(self) -> None:
        below = plain()
        above = plain(1, features=4, units=6)._replace(inputs=below.path().h)
        stacked = keras.layers.StackedRNNCells([layer_of(some).cell for some in (below, above)], dtype="float64")
        layer = keras.layers.RNN(stacked, return_sequences=True, dtype="float64")
        assert_close(layer(ops.convert_to_tensor(below.inputs)), above.path().h, "float64")

    def test_weights(self) -> None:
        layer = PeepholeLSTM(4)
        layer.build((None, None, 5))
        shapes = [tuple(variable.shape) for variable in variables(layer.cell)]
        assert shapes == [(5, 16), (4, 16), (16,), (3, 4)]
        assert len(layer.weights) == 4
        np.testing.assert_array_equal(numpy(layer.cell.bias), np.repeat([0, 1, 0, 0], 4))
        assert layer.count_params() == 5 * 16 + 4 * 16 + 16 + 12

    def test_regularizers_and_constraints_reach_the_peephole(self) -> None:
        layer = PeepholeLSTM(
            4,
            peephole_initializer="ones",
            peephole_regularizer=keras.regularizers.L2(0.1),
            peephole_constraint="non_neg",
        )
        layer(np.ones((2, 3, 5), "float32"))
        assert numpy(sum(layer.losses)) == pytest.approx(1.2, rel=1e-6)
        assert isinstance(layer.cell.peephole.constraint, keras.constraints.NonNeg)
        layer = PeepholeLSTM(4, kernel_initializer="ones", kernel_regularizer=keras.regularizers.L2(0.1))
        layer(np.ones((2, 3, 5), "float32"))
        assert numpy(sum(layer.losses)) == pytest.approx(8, rel=1e-6)


class TestWrappers:
    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_bidirectional(self, mask: str | None) -> None:
        there = plain(mask=mask)
        back = plain(1)._replace(inputs=there.inputs, mask=there.mask)
        layer = keras.layers.Bidirectional(layer_of(there, return_sequences=True), dtype="float64")
        layer.build(there.inputs.shape)
        set_weights(layer.forward_layer.cell, there.network)
        set_weights(layer.backward_layer.cell, back.network)
        outputs = [
            some.outputs(some.path(go_backwards=flag), go_backwards=flag, zero_output_for_mask=True)
            for some, flag in ((there, False), (back, True))
        ]
        expected = np.concatenate([outputs[0], outputs[1][:, ::-1]], axis=-1)
        assert_close(layer(there.inputs, mask=there.mask), expected, "float64")

    def test_stateful_windows_are_one_sequence(self) -> None:
        some = plain()
        layer = layer_of(some, stateful=True, return_sequences=True)
        parts = [numpy(layer(some.inputs[:, window])) for window in (slice(0, 3), slice(3, 5))]
        assert_close(np.concatenate(parts, axis=1), some.path().h, "float64")
        assert_close(layer.states[1].value, some.path().c[:, -1], "float64")
        layer.reset_state()
        assert_close(layer(some.inputs), some.path().h, "float64")

    @pytest.mark.parametrize(("policy", "compute"), [("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")])
    def test_mixed_precision(self, policy: str, compute: str) -> None:
        some = plain()
        layer = layer_of(some, return_sequences=True, return_state=True, dtype=policy)
        assert {weight.dtype for weight in layer.weights} == {"float32"}
        path = some.path()
        for found, expected in zip(layer(some.inputs), (path.h, path.h[:, -1], path.c[:, -1]), strict=True):
            assert keras.backend.standardize_dtype(found.dtype) == compute
            np.testing.assert_allclose(numpy(ops.cast(found, "float32")), expected, atol=0.1)

    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_mixed_precision_carries_the_states_unrounded(self, policy: str) -> None:
        some = plain()
        layer = layer_of(some, stateful=True, return_state=True, dtype=policy)
        layer(some.inputs)
        assert [state.dtype for state in layer.states] == ["float32"] * 2

    @pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function is TensorFlow's")
    @pytest.mark.parametrize("jit_compile", [False, True])
    def test_compiled_for_any_batch_and_time(self, jit_compile: bool) -> None:
        import tensorflow as tf

        some = plain(mask="scattered")
        layer = layer_of(some, return_sequences=True)
        shape = (3, 5, 2) if jit_compile else (None, None, 2)
        signature = [tf.TensorSpec(shape, "float64"), tf.TensorSpec(shape[:2], "bool")]
        compiled = tf.function(lambda x, mask: layer(x, mask=mask), input_signature=signature, jit_compile=jit_compile)
        assert_close(compiled(some.inputs, some.mask), some.outputs(some.path()), "float64")


class TestDropout:
    def test_off_at_inference_and_repeatable_in_training(self) -> None:
        some = plain()
        rates = {"dropout": 0.5, "recurrent_dropout": 0.5, "return_sequences": True, "seed": 3}
        layer, same = layer_of(some, **rates), layer_of(some, **rates)
        assert_close(layer(some.inputs), some.path().h, "float64")
        drawn = numpy(layer(some.inputs, training=True))
        assert np.abs(drawn - some.path().h).max() > 0.1
        np.testing.assert_array_equal(drawn, numpy(same(some.inputs, training=True)))
        assert np.abs(drawn - numpy(layer(some.inputs, training=True))).max() > 1e-3

    def test_one_draw_for_all_steps(self) -> None:
        """Gates wide open, no recurrence: c_t - c_{t-1} is tanh of the thinned input."""
        layer = PeepholeLSTM(4, dropout=0.4, return_state=True, seed=1)
        layer.build((None, None, 4))
        kernel = np.concatenate([np.zeros((4, 8)), np.eye(4), np.zeros((4, 4))], axis=1)
        for variable, array in zip(
            variables(layer.cell),
            [kernel, np.zeros((4, 16)), np.repeat([50.0, 50.0, 0, 0], 4), np.zeros((3, 4))],
            strict=True,
        ):
            variable.assign(array)
        _, _, memory = layer(np.ones((200, 6, 4), "float32"), training=True)
        kept = numpy(memory) > 1
        np.testing.assert_allclose(numpy(memory), 6 * np.where(kept, np.tanh(1 / 0.6), 0), rtol=1e-5, atol=1e-5)
        assert abs(kept.mean() - 0.6) < 0.07  # four standard deviations of 800 draws


NON_DEFAULT = {
    "units": 4,
    "activation": "softsign",
    "recurrent_activation": "hard_sigmoid",
    "use_bias": False,
    "kernel_initializer": keras.initializers.RandomUniform(seed=4),
    "recurrent_initializer": keras.initializers.RandomNormal(stddev=0.2, seed=3),
    "bias_initializer": keras.initializers.RandomNormal(seed=1),
    "peephole_initializer": keras.initializers.RandomNormal(seed=2),
    "unit_forget_bias": False,
    "kernel_regularizer": keras.regularizers.L2(0.3),
    "recurrent_regularizer": keras.regularizers.L2(0.1),
    "bias_regularizer": keras.regularizers.L1(0.2),
    "peephole_regularizer": keras.regularizers.L1(0.1),
    "kernel_constraint": keras.constraints.MaxNorm(2.0),
    "recurrent_constraint": keras.constraints.UnitNorm(axis=0),
    "bias_constraint": keras.constraints.NonNeg(),
    "peephole_constraint": keras.constraints.NonNeg(),
    "dropout": 0.1,
    "recurrent_dropout": 0.2,
    "seed": 7,
}
FLAGS = dict.fromkeys(
    ["return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask"], True
)
KERAS_OWN = {"name": "some_peephole", "trainable": False, "dtype": "mixed_bfloat16"}
every_class = pytest.mark.parametrize("kind", [PeepholeLSTM, PeepholeLSTMCell])


class TestConfiguration:
    def test_every_argument_of_keras_cell_is_taken(self) -> None:
        of_keras = set(inspect.signature(keras.layers.LSTMCell.__init__).parameters)
        assert of_keras - {"self", "kwargs"} <= set(NON_DEFAULT)

    @every_class
    def test_every_argument_survives_the_configuration(self, kind: type) -> None:
        arguments = NON_DEFAULT if kind is PeepholeLSTMCell else {**NON_DEFAULT, **FLAGS}
        layer = kind(**arguments, **KERAS_OWN)
        plain = kind(3).get_config()
        config = json.loads(json.dumps(layer.get_config()))
        again = kind.from_config(copy.deepcopy(config))
        assert json.loads(json.dumps(again.get_config())) == config
        for name, value in arguments.items():
            expected = serialized(name, value)
            if name.endswith("initializer"):
                assert config[name]["class_name"] == expected["class_name"]
                assert config[name]["config"]["seed"] == expected["config"]["seed"]
            else:
                assert config[name] == expected
        for name in (*arguments, *KERAS_OWN):
            assert config[name] != plain[name], f"{name} has its default in {config}"

    @every_class
    def test_registered_so_that_keras_finds_it(self, kind: type) -> None:
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(kind(4)))
        assert type(again) is kind
        assert keras.saving.get_registered_name(kind) == f"keras_interp_rnn>{kind.__name__}"

    def test_a_saved_layer_computes_the_same(self, tmp_path: Path) -> None:
        some = plain()
        inputs = keras.Input((None, 2), dtype="float64")
        model = keras.Model(inputs, layer_of(some, return_sequences=True, go_backwards=True)(inputs))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.inputs), some.path(go_backwards=True).h, "float64")

    def test_fit_moves_every_weight(self) -> None:
        x = np.random.default_rng(0).normal(size=(8, 4, 5)).astype("float32")
        layer = PeepholeLSTM(3)
        model = keras.Sequential([keras.Input((4, 5)), layer])
        before = [numpy(weight).copy() for weight in layer.weights]
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=False if BACKEND == "tensorflow" else "auto")
        model.fit(x, x[:, 0, :3], epochs=1, verbose=0)
        for weight, old in zip(layer.weights, before, strict=True):
            assert np.abs(numpy(weight) - old).max() > 1e-5, weight.path


@every_class
@pytest.mark.parametrize("value", [0, -3, 4.0, True, "4", None])
def test_units_are_a_positive_integer(kind: type, value) -> None:
    with pytest.raises(ValueError, match=says(f"units must be a positive integer. Received: units={value!r}.")):
        kind(value)


def test_one_bool_for_each_step() -> None:
    with pytest.raises(ValueError, match=says("mask must have the shape (batch, time) = (3, 7)", "(3, 6)")):
        PeepholeLSTM(4)(np.zeros((3, 7, 5), "float32"), mask=np.ones((3, 6), bool))


def test_three_axes() -> None:
    with pytest.raises(ValueError, match=says("(3, 5)")):
        PeepholeLSTM(4)(np.zeros((3, 5), "float32"))
