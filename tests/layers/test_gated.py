"""MinimalRNN and CFN: gates, encoders, dropout (of other layers too), initial weights, errors.

The behaviour of every layer is in test_contract.py.
"""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn.layers import CFN, MinimalRNN, MinimalRNNCell
from tests import autodiff
from tests.gated_samples import assert_close
from tests.layers.common import numpy, refusal
from tests.layers.contract import BACKEND, Sample
from tests.layers.subjects import SUBJECTS
from tests.oracles import minimal_rnn as oracle
from tests.state_regularized_samples import GATED, variables

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


X = np.zeros((3, 7, 5), "float32")
IDS = np.zeros((3, 7), "int32")

every_kind = pytest.mark.parametrize("kind", GATED)


def layer_of(kind: str, **arguments) -> MinimalRNN | CFN:
    return getattr(layers, kind)(4, **arguments)


ZEROS, UNIT = np.zeros((4, 4)), np.eye(4)
OPEN: dict[str, tuple[Callable, list[np.ndarray], Callable]] = {
    "MinimalRNN": (
        lambda **arguments: MinimalRNN(4, encoder=keras.layers.Identity(), **arguments),
        [ZEROS, ZEROS, np.full(4, -50.0)],
        np.asarray,
    ),
    "CFN": (
        functools.partial(CFN, 4),
        [np.hstack([ZEROS, ZEROS, UNIT]), np.zeros((4, 8)), np.repeat([-50.0, 50.0, 0.0], 4)],
        np.arctanh,
    ),
    "SRSimpleRNN": (
        functools.partial(layers.SRSimpleRNN, 4, 2, strength=0.0, activation=None),
        [UNIT, ZEROS, np.zeros(4)],
        np.asarray,
    ),
    "PeepholeLSTM": (
        functools.partial(layers.PeepholeLSTM, 4),
        [
            np.hstack([ZEROS, ZEROS, UNIT, ZEROS]),
            np.zeros((4, 16)),
            np.repeat([50.0, -50.0, 0.0, 50.0], 4),
            np.zeros((3, 4)),
        ],
        lambda states: np.arctanh(np.arctanh(states)),
    ),
}
"""Layers whose state is a function of their input, whatever came before; their weights, and the input of a state."""


def open_layer(kind: str, **arguments) -> keras.layers.RNN:
    make, weights, _ = OPEN[kind]
    layer = make(**{"return_sequences": True, "seed": 3, **arguments})
    layer.build((None, None, 4))
    cell = getattr(layer.cell, "cell", layer.cell)
    for variable, array in zip(variables(cell), weights, strict=True):
        variable.assign(array)
    return layer


class TestDropout:
    SHAPE = (200, 6, 4)

    @pytest.mark.parametrize(
        ("kind", "flags"), [*((kind, {}) for kind in OPEN), ("SRSimpleRNN", {"go_backwards": True})]
    )
    def test_dropout_of_inputs_is_drawn_once_a_sequence(self, kind: str, flags: dict[str, bool]) -> None:
        _, _, inputs_of = OPEN[kind]
        layer = open_layer(kind, dropout=0.4, **flags)
        seen = inputs_of(numpy(layer(np.ones(self.SHAPE, "float32"), training=True)))
        kept = seen > 0.5
        np.testing.assert_array_equal(seen[~kept], 0)
        np.testing.assert_allclose(seen[kept], 1 / 0.6, rtol=1e-4)  # scaled, so that the mean stays
        assert (kept == kept[:, :1]).all(), "one draw for all steps"
        drawn = kept[:, 0]
        assert abs(drawn.mean() - 0.6) < 0.07  # four standard deviations of 800 draws
        assert len(np.unique(drawn, axis=0)) > 8, "another draw for each sequence"
        assert not (drawn == drawn[:, :1]).all(), "another draw for each feature"

    def gates_of_the_state(self, kind: str, start: np.ndarray, x: np.ndarray, **arguments) -> np.ndarray:
        """The gates of a layer that its state enters by a kernel of 1 or not at all; nothing else moves them."""
        layer = open_layer(kind, **arguments)
        layer.cell.recurrent_kernel.assign(np.tile(np.eye(4), {"MinimalRNN": 1, "CFN": 2}[kind]))
        layer.cell.bias.assign(np.zeros(layer.cell.bias.shape))
        if kind == "CFN":
            layer.cell.kernel.assign(np.zeros((4, 12)))
        states = numpy(layer(x, initial_state=start, training=True))
        before = np.concatenate([start[:, None], states[:, :-1]], axis=1)
        return states / (before if kind == "MinimalRNN" else np.tanh(before))

    @every_kind
    def test_dropout_of_the_state_is_drawn_once_a_sequence(self, kind: str) -> None:
        start = np.full((200, 4), 2.0, "float32")
        gates = self.gates_of_the_state(kind, start, np.zeros(self.SHAPE, "float32"), recurrent_dropout=0.4)
        kept = gates[:, 0] > 0.6
        np.testing.assert_allclose(gates[:, 0][~kept], 0.5, rtol=1e-5)
        np.testing.assert_allclose(gates[:, 0][kept], oracle.sigmoid(2 / 0.6), rtol=1e-4)
        assert abs(kept.mean() - 0.6) < 0.07
        # Every later gate is that of the same draw.
        state = start
        for step in range(self.SHAPE[1]):
            np.testing.assert_allclose(gates[:, step], oracle.sigmoid(kept * state / 0.6), rtol=1e-4)
            state = gates[:, step] * (state if kind == "MinimalRNN" else np.tanh(state))

    @every_kind
    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_gradients_equal_those_of_the_network_under_the_dropout_masks(self, kind: str, mask: str | None) -> None:
        """D_r U_h in place of U_h and D_d x in place of x, another r and d for each sequence."""
        some = SUBJECTS[kind].sample(mask=mask, features=4)
        rates = {"dropout": 0.4, "recurrent_dropout": 0.4, "seed": 5, "dtype": "float64"}
        layer = some.layer(return_sequences=True, **rates)
        cotangent = ops.convert_to_tensor(some.cotangent)
        found = autodiff.variable_gradients(
            lambda: ops.sum(cotangent * layer(some.inputs, mask=some.mask, training=True)), some.variables(layer.cell)
        )
        # Layers of the same seed draw the same: one shows what it keeps of its inputs, one what of the state.
        ones = np.ones(some.inputs.shape)
        seen = numpy(open_layer(kind, **rates)(ones, training=True))[:, 0]
        d = np.where(seen > 0.5, 1 / 0.6, 0)
        gates = self.gates_of_the_state(kind, numpy(ones[:, 0]), ones * 0, **rates)[:, 0]
        r = np.where(gates > 0.6, 1 / 0.6, 0)
        assert 0 < np.mean(d > 0) < 1
        assert 0 < np.mean(r > 0) < 1
        total = dict.fromkeys(some.weights, 0.0)
        for row in range(3):
            one = slice(row, row + 1)
            alone = some._replace(
                inputs=some.inputs[one] * d[row],
                cotangent=some.cotangent[one],
                mask=None if mask is None else some.mask[one],
            )
            thin = alone.with_(recurrent_kernel=r[row][:, None] * some.weights["recurrent_kernel"])
            for name, gradient in zip(total, thin.gradients(), strict=True):
                total[name] += gradient * (r[row][:, None] if name == "recurrent_kernel" else 1)
        for gradient, expected in zip(found, total.values(), strict=True):
            assert_close(gradient, expected, "float64")

    @every_kind
    def test_a_bare_cell_draws_dropout_at_every_step(self, kind: str) -> None:
        layer = open_layer(kind, dropout=0.4)
        stepwise = keras.layers.RNN(layer.cell, return_sequences=True)
        seen = numpy(stepwise(np.ones(self.SHAPE, "float32"), training=True)) > 0.5
        assert abs(seen.mean() - 0.6) < 0.07
        again = numpy(stepwise(np.ones(self.SHAPE, "float32"), training=True)) > 0.5
        # On JAX, Keras's loop is traced once, and the draw with it (3.15).
        assert (seen != seen[:, :1]).any() == (BACKEND != "jax"), "another draw for each step"
        assert (again != seen).any() == (BACKEND != "jax"), "another draw for each call"

    @every_kind
    @pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
    def test_dropout_of_integer_inputs_is_refused(self, kind: str, dtype: str) -> None:
        some = layer_of(kind, dropout=0.5)
        with refusal(
            "Inputs must be real-valued for dropout=0.5.",
            "Received: inputs of dtype",
            dtype,
            "Put the dropout into the encoder, after its Embedding.",
        ):
            some(X.astype(dtype), training=True)
        some(X.astype(dtype))

    def test_dropout_of_ids_is_refused(self) -> None:
        some = layer_of("MinimalRNN", dropout=0.5, encoder=keras.layers.Embedding(9, 4))
        with refusal("Inputs must be real-valued for dropout=0.5."):
            some(IDS, training=True)
        layer_of("MinimalRNN", recurrent_dropout=0.5, encoder=keras.layers.Embedding(9, 4))(IDS, training=True)


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


def made(makes: tuple[int | None, ...], step: tuple[int | None, ...]) -> str:
    """The error for an encoder of another width."""
    rule = "`encoder` must output (batch, units) = (batch, 4) for one step. Received:"
    return f"{rule} {makes} for a step of shape {step}."


class TestEncoders:
    def encoded(self, name: str, mask: str | None = None, **arguments) -> tuple[MinimalRNN, np.ndarray, Sample]:
        """A layer, its sequences, and a sample whose inputs are the latents that the encoder computes."""
        make, draw = ENCODERS[name]
        some = SUBJECTS["MinimalRNN"].sample(mask=mask)
        some = some._replace(weights={name: array for name, array in some.weights.items() if "encoder" not in name})
        x = draw(np.random.default_rng(0))
        layer = MinimalRNN(4, encoder=make(), return_sequences=True, **arguments)
        layer.build(x.shape)
        some.give(layer.cell)
        z = np.stack([numpy(layer.encoder(x[:, t])) for t in range(7)], axis=1).astype("float64")
        return layer, x, some._replace(inputs=z)

    @every_encoder
    @pytest.mark.parametrize(
        ("mask", "flags"),
        [(None, {}), ("scattered", {}), (None, {"unroll": True}), (None, {"go_backwards": True})],
        ids=str,
    )
    def test_states_move_among_the_outputs_of_the_encoder(
        self, encoder: str, mask: str | None, flags: dict[str, bool]
    ) -> None:
        layer, x, some = self.encoded(encoder, mask, **flags)
        assert_close(layer(x, mask=some.mask), some.outputs(go_backwards=flags.get("go_backwards", False)), "float32")

    @pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "identity"])
    def test_the_encoders_weights_are_the_layers_and_learn(self, encoder: str) -> None:
        layer, x, some = self.encoded(encoder)
        own = len(layer.encoder.trainable_weights)
        assert len(layer.trainable_weights) == 3 + own
        cotangent = ops.convert_to_tensor(some.cotangent.astype("float32"))
        found = autodiff.variable_gradients(lambda: ops.sum(cotangent * layer(x)), layer.encoder.trainable_weights)
        assert all(np.abs(numpy(gradient)).max() > 0 for gradient in found)

    # Keras's loop reads three axes at least.
    @pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "embedding"])
    def test_an_encoder_in_the_loop_of_keras(self, encoder: str) -> None:
        layer, x, some = self.encoded(encoder)
        assert_close(keras.layers.RNN(layer.cell, return_sequences=True)(x), some.outputs(), "float32")

    @every_encoder
    def test_an_encoder_is_saved_with_the_layer(self, encoder: str, tmp_path: Path) -> None:
        layer, x, some = self.encoded(encoder)
        inputs = keras.Input((None, *x.shape[2:]), dtype=str(x.dtype))
        model = keras.Model(inputs, layer(inputs))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(x), some.outputs(), "float32")
        assert type(again.layers[-1].encoder) is type(layer.encoder)

    @every_encoder
    def test_bidirectional_copies_the_encoder(self, encoder: str) -> None:
        layer, x, _ = self.encoded(encoder)
        both = keras.layers.Bidirectional(layer)
        both(x)
        assert both.backward_layer.encoder is not both.forward_layer.encoder
        assert len(both.weights) == 2 * len(layer.weights)

    def test_a_built_layer_is_taken_as_it_is(self) -> None:
        encoder = keras.layers.Dense(4, "tanh", dtype="float64")
        some = SUBJECTS["MinimalRNN"].sample()
        encoder.build((None, 5))
        encoder.set_weights([some.weights["encoder.kernel"], some.weights["encoder.bias"]])
        layer = some.layer(return_sequences=True, encoder=encoder)
        assert layer.encoder is encoder
        assert_close(layer(some.inputs), some.outputs(), "float64")

    def test_an_encoder_receives_training(self) -> None:
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

    def test_what_is_refused(self) -> None:
        for kind in (MinimalRNN, MinimalRNNCell):
            for value in (np.tanh, "tanh", 4, keras.layers.Dense):
                rule = f"`encoder` must be a Keras layer from (batch, ...) to (batch, 4). Received: {value!r}."
                with refusal(rule, "Wrap a function in keras.layers.Lambda."):
                    kind(4, encoder=value)
        dense, embedding = keras.layers.Dense, keras.layers.Embedding
        for encoder, inputs, *sentences in (
            (dense(3), X, made((3, 3), (3, 5)), "Give the encoder 4 outputs."),
            (keras.layers.Identity(), X, made((3, 5), (3, 5))),
            (dense(4), X[..., None], made((3, 5, 4), (3, 5, 1))),
            (embedding(9, 4), IDS[..., None], made((3, 1, 4), (3, 1))),
            (dense(3), keras.Input((None, 5)), made((None, 3), (None, 5))),
            (keras.layers.GRU(4), X, "expected ndim=3"),
            (None, IDS, "Ids need an Embedding before it, or as its encoder"),
        ):
            with refusal(*sentences):
                layer_of("MinimalRNN", encoder=encoder)(inputs)
        layer = layer_of("MinimalRNN", encoder=embedding(5, 4))
        assert keras.Sequential([keras.Input((7,), dtype="int32"), layer])(IDS).shape == (3, 4)
        # The layer would read padding that its encoder masks: such an Embedding belongs in front of the layer.
        with pytest.raises(
            ValueError, match="`encoder` must be a layer that computes no mask. Received: .*Put an Embedding"
        ):
            layers.MinimalRNN(4, encoder=embedding(6, 4, mask_zero=True))


@every_kind
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("regularized", [False, True])
def test_states_stay_in_single_precision_along_the_sequence(kind: str, policy: str, regularized: bool) -> None:
    """Small steps towards a limit: half-precision states would stop on the way.

    Weights, inputs and candidates are such that the products are exact.
    """
    x = np.full((2, 300, 4), 16.0, "float32")

    def last(dtype: str) -> np.ndarray:
        if regularized:
            cell = getattr(layers, f"{kind}Cell")(4, recurrent_initializer="zeros", dtype=dtype)
            around = layers.StateRegularizedCell(cell, 2, strength=0.0, dtype=dtype)
            layer = layers.StateRegularizedRNN(around, stateful=True, dtype=dtype)
        else:
            layer = getattr(layers, kind)(4, stateful=True, recurrent_initializer="zeros", dtype=dtype)
            cell = layer.cell
        layer.build(x.shape)
        if kind == "MinimalRNN":
            cell.kernel.assign(np.zeros((4, 4)))
            cell.bias.assign(np.full(4, 5.0))
            cell.encoder.set_weights([np.eye(4), np.zeros(4)])
        else:
            cell.kernel.assign(np.concatenate([np.zeros((4, 8)), np.eye(4)], axis=1))
            cell.bias.assign(np.repeat([5.0, -5.0, 0.0], 4))
        outputs = layer(x)
        assert keras.backend.standardize_dtype(outputs.dtype) != "float32" or dtype == "float32"
        assert layer.states[0].dtype == "float32"
        return numpy(layer.states[0].value)

    np.testing.assert_allclose(last(policy), last("float32"), rtol=1e-4)


@every_kind
@pytest.mark.parametrize(("policy", "gate"), [("mixed_bfloat16", 0.5), ("float32", 1 / (1 + np.exp(-1)))])
def test_the_state_enters_the_gates_in_the_compute_dtype(kind: str, policy: str, gate: float) -> None:
    """1 + 2^-10 is 1 in bfloat16, and the gate reads 1024 of it less 1024."""
    layer = getattr(layers, kind)(4, stateful=True, dtype=policy)
    layer.build((2, 1, 3))
    cell = layer.cell
    for weight in layer.trainable_weights:
        weight.assign(np.zeros(weight.shape))
    cell.recurrent_kernel.assign(np.tile(1024 * np.eye(4), cell.recurrent_kernel.shape[1] // 4))
    cell.bias.assign(np.where(np.arange(cell.bias.shape[0]) < cell.recurrent_kernel.shape[1], -1024.0, 0.0))
    state = 1 + 2.0**-10
    layer.set_states([np.full((2, 4), state, "float32")])
    layer(np.zeros((2, 1, 3), "float32"))
    kept = state if kind == "MinimalRNN" else np.tanh(state)
    np.testing.assert_allclose(numpy(layer.states[0].value), np.full((2, 4), gate * kept), rtol=1e-3)


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

    def test_each_part_of_the_kernel_is_drawn_separately(self) -> None:
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


def test_features_of_cfn_lie_in_one_axis() -> None:
    for shape in ((7, 5), (3, 7, 5, 1)):
        with refusal("Inputs of CFN must be sequences", f"shape={shape}.", "last axis. Ids need an Embedding before."):
            layer_of("CFN")(np.zeros(shape, "float32"))


def test_an_initial_state_needs_an_integer_batch_size() -> None:
    for batch_size in (None, "3", -1, 1.5, True, np.zeros(2)):
        with pytest.raises(ValueError, match="`batch_size` must be a non-negative integer. Received: batch_size="):
            layer_of("CFN").cell.get_initial_state(batch_size)


@pytest.mark.parametrize("regularized", [True, False])
def test_an_encoder_draws_step_by_step_but_not_on_jax(regularized):
    encoder = keras.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5)])
    if regularized:
        cell = layers.StateRegularizedCell(layers.MinimalRNNCell(4, encoder=encoder), 3)
        layer = layers.StateRegularizedRNN(cell, fused=False)
    else:
        layer = layers.MinimalRNN(4, encoder=encoder, fused=False)
    model = keras.Sequential([keras.Input((None, 3)), layer])
    model.compile("sgd", "mse")
    x = np.ones((2, 5, 3))
    assert model.predict(x, verbose=0).shape == (2, 4)
    refused = pytest.raises(
        ValueError, match="On JAX random layers must be outside of the loop over the steps. Received: dropout"
    )
    with refused if keras.backend.backend() == "jax" else contextlib.nullcontext():
        model.fit(x, np.ones((2, 4)), verbose=0)
