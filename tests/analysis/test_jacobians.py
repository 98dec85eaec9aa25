"""Jacobians of recurrent layers against sixth-order differences of the layers themselves, in float64."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops, tree

from keras_interp_rnn import analysis, layers
from tests.autodiff import gradients
from tests.network.test_own_equations import SilentCell
from tests.samples import make_mask, passing_masks_on
from tests.tolerances import TOLERANCES, assert_close

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


BACKEND = keras.backend.backend()
BATCH, TIME, UNITS, FEATURES = 3, 8, 4, 5

STENCIL = {-3: -1 / 60, -2: 3 / 20, -1: -3 / 4, 1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
TOLERANCE = "jax, tanh" if BACKEND == "jax" else BACKEND
# What a sixth-order difference leaves out falls with STEP^6; the error of the function itself counts 1 / STEP times.
STEP = 3e-3 if BACKEND == "tensorflow" else 0.05
BOUND = TOLERANCES[TOLERANCE, "float64"] / STEP

PHI = (1 + np.sqrt(5)) / 2


@keras.saving.register_keras_serializable("tests")
class TwoStatesCell(keras.layers.Layer):
    """A user's cell: two states of unequal size, a start that is not zero, no `training`."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.state_size = [units, 2]

    def build(self, shape) -> None:
        units, traces = self.state_size
        self.kernel = self.add_weight(shape=(shape[-1], units))
        self.recurrent_kernel = self.add_weight(shape=(units, units))
        self.into_trace = self.add_weight(shape=(units, traces))
        self.out_of_trace = self.add_weight(shape=(traces, units))

    def call(self, inputs, states):
        state, trace = states
        moved = 0.5 * state + ops.sin(inputs @ self.kernel + state @ self.recurrent_kernel + trace @ self.out_of_trace)
        return moved, [moved, 0.7 * trace + state @ self.into_trace]

    def get_initial_state(self, batch_size=None):
        return [ops.full((batch_size, size), 0.3, dtype=self.dtype) for size in self.state_size]


def deep_encoder() -> keras.Model:
    float64 = {"dtype": "float64"}
    hidden = keras.layers.Dense(6, "softplus", **float64)
    return keras.Sequential([keras.Input((FEATURES,), **float64), hidden, keras.layers.Dense(UNITS, **float64)])


def stack() -> keras.layers.StackedRNNCells:
    cells = [keras.layers.LSTMCell(3, dtype="float64"), layers.MinimalRNNCell(UNITS, dtype="float64")]
    return keras.layers.StackedRNNCells(cells, dtype="float64")


KINDS: dict[str, Callable[..., keras.layers.RNN]] = {
    "MinimalRNN": lambda **flags: layers.MinimalRNN(UNITS, **flags),
    "MinimalRNN, deep encoder": lambda **flags: layers.MinimalRNN(UNITS, deep_encoder(), **flags),
    "CFN": lambda **flags: layers.CFN(UNITS, **flags),
    "ISAN": lambda **flags: layers.ISAN(UNITS, FEATURES, **flags),
    "FactoredISAN without shared": lambda **flags: layers.FactoredISAN(UNITS, 2, shared=False, **flags),
    "GRU": lambda **flags: keras.layers.GRU(UNITS, **flags),
    "GRU, reset first": lambda **flags: keras.layers.GRU(UNITS, reset_after=False, **flags),
    "LSTM": lambda **flags: keras.layers.LSTM(UNITS, **flags),
    # Keras 3.15: a SimpleRNN of tanh in float64 does not run on JAX.
    "SimpleRNN": lambda **flags: keras.layers.SimpleRNN(UNITS, "silu", **flags),
    "own cell": lambda **flags: keras.layers.RNN(TwoStatesCell(UNITS, dtype="float64"), **flags),
    "stack": lambda **flags: keras.layers.RNN(stack(), **flags),
}
# seed, mask, go_backwards, lag
CASES = [
    (0, None, False, 0),
    (1, "inner", True, 1),
    (2, "trailing", False, 3),
    (3, "leading", True, 2),
    (4, "scattered", False, 4),
    (5, None, True, 5),
]

every_kind = pytest.mark.parametrize("kind", KINDS)
every_case = pytest.mark.parametrize(("seed", "mask", "go_backwards", "lag"), CASES)


def built(kind: str, seed: int = 0, **flags: Any) -> keras.layers.RNN:
    """With random asymmetric weights; puts out its states too."""
    layer = KINDS[kind](**{"dtype": "float64", "return_state": True, **flags})
    layer(np.zeros((1, 2, FEATURES)))
    rng = np.random.default_rng(seed)
    layer.set_weights([rng.normal(size=weight.shape) * 0.6 for weight in layer.get_weights()])
    return layer


def sequences(seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, 1]).normal(size=(BATCH, TIME, FEATURES))


def masked(kind: str | None, seed: int = 0) -> np.ndarray | None:
    rng = np.random.default_rng([seed, 2])
    if kind != "scattered":
        return None if kind is None else make_mask(kind, rng, BATCH, TIME)
    return np.array([rng.permutation(TIME) >= 3 for _ in range(BATCH)])  # five steps are read


def ranks_read(mask: np.ndarray | None, go_backwards: bool) -> tuple[np.ndarray, np.ndarray]:
    """In which order steps are read (time,), and which are (batch, time)."""
    ranks = np.arange(TIME)[::-1] if go_backwards else np.arange(TIME)
    return ranks, np.ones((BATCH, TIME), bool) if mask is None else mask


def position(mask: np.ndarray | None, go_backwards: bool, lag: int) -> np.ndarray:
    """(batch,), where the step lies that each sequence reads `lag` read steps before its last."""
    ranks, read = ranks_read(mask, go_backwards)
    return np.array([sorted(np.flatnonzero(row), key=lambda t: ranks[t])[-1 - lag] for row in read])


def differences(function: Callable[[np.ndarray, np.ndarray], Any], at: np.ndarray) -> np.ndarray:
    """df/dx (rows, outputs, entries) at rows (rows, entries); `function(x, row)` takes any number of moved rows."""
    rows, entries = at.shape
    moved = at[:, None, None] + STEP * np.array(list(STENCIL))[:, None, None] * np.eye(entries)
    row = np.repeat(np.arange(rows), len(STENCIL) * entries)
    values = ops.convert_to_numpy(function(moved.reshape(-1, entries), row)).reshape(*moved.shape[:3], -1)
    return np.einsum("s,rseo->roe", list(STENCIL.values()), values) / STEP


def by_input(layer: keras.layers.RNN, inputs: np.ndarray, mask: np.ndarray | None, lag: int) -> np.ndarray:
    where = position(mask, layer.go_backwards, lag)

    def last_output(moved: np.ndarray, row: np.ndarray) -> Any:
        changed = inputs[row]
        changed[np.arange(len(row)), where[row]] = moved.reshape(-1, *inputs.shape[2:])
        return layer(changed, mask=None if mask is None else mask[row])[0]

    return differences(last_output, inputs[np.arange(BATCH), where].reshape(BATCH, -1))


def by_state(layer: keras.layers.RNN, inputs: np.ndarray, mask: np.ndarray | None, lag: int) -> np.ndarray:
    """Reads up to the lag, moves the state, reads the rest."""
    ranks, read = ranks_read(mask, layer.go_backwards)
    passed = ranks <= ranks[position(mask, layer.go_backwards, lag)][:, None]
    parts = [ops.convert_to_numpy(part) for part in tree.flatten(layer(inputs, mask=read & passed)[1:])]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    template = layer.get_initial_state(BATCH)
    of_topmost = 2 if len(parts) == 3 else 0  # h and c of the LSTM below, then the state of the cell on top

    def last_state(moved: np.ndarray, row: np.ndarray) -> Any:
        start = tree.pack_sequence_as(template, [ops.convert_to_tensor(part) for part in np.split(moved, ends, axis=1)])
        return tree.flatten(layer(inputs[row], mask=(read & ~passed)[row], initial_state=start)[1:])[of_topmost]

    return differences(last_state, np.concatenate(parts, axis=1))


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == np.float64
    assert_close(found, expected, "float64", TOLERANCE)


def assert_is_difference(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=BOUND * max(1.0, np.abs(expected).max()))


class TestValues:
    @every_kind
    @every_case
    def test_by_the_input(self, kind: str, seed: int, mask: str | None, go_backwards: bool, lag: int) -> None:
        layer, inputs, read = built(kind, seed, go_backwards=go_backwards), sequences(seed), masked(mask, seed)
        found = analysis.input_output_jacobian(layer, inputs, lag=lag, mask=read)
        assert_is_difference(found, by_input(layer, inputs, read, lag))

    @every_kind
    @every_case
    def test_by_the_whole_state(self, kind: str, seed: int, mask: str | None, go_backwards: bool, lag: int) -> None:
        layer, inputs, read = built(kind, seed, go_backwards=go_backwards), sequences(seed), masked(mask, seed)
        found = analysis.input_output_jacobian(layer, inputs, lag=lag, mask=read, with_respect_to="state")
        assert_is_difference(found, by_state(layer, inputs, read, lag))

    @pytest.mark.parametrize("name", ["SilentCell", "MinimalRNNCell", "CFNCell", "ISANCell"])
    @pytest.mark.parametrize("with_respect_to", ["input", "state"])
    def test_a_users_cell_may_have_any_name_and_no_initial_state(self, name: str, with_respect_to: str) -> None:
        cell = type(name, (SilentCell,), {})(UNITS, dtype="float64")
        layer, inputs = keras.layers.RNN(cell, dtype="float64", return_state=True), sequences()
        expected = {"input": by_input, "state": by_state}[with_respect_to](layer, inputs, None, 2)
        found = analysis.input_output_jacobian(layer, inputs, lag=2, with_respect_to=with_respect_to)
        assert_is_difference(found, expected)

    def test_the_state_of_a_stack_in_a_stack_is_that_of_the_topmost_cell(self) -> None:
        flags = {"dtype": "float64"}
        above = keras.layers.StackedRNNCells([keras.layers.GRUCell(n, **flags) for n in (2, UNITS)], **flags)
        cell = keras.layers.StackedRNNCells([keras.layers.GRUCell(3, **flags), above], **flags)
        layer, inputs = keras.layers.RNN(cell, return_state=True, **flags), sequences()
        assert_is_difference(analysis.input_output_jacobian(layer, inputs, lag=2), by_input(layer, inputs, None, 2))

    def test_by_steps_of_several_axes(self) -> None:
        float64 = {"dtype": "float64"}
        dense = keras.layers.Dense(UNITS, "tanh", **float64)
        encoder = keras.Sequential([keras.Input((2, 3), **float64), keras.layers.Flatten(**float64), dense])
        layer = layers.MinimalRNN(UNITS, encoder, return_state=True, **float64)
        inputs = np.random.default_rng(0).normal(size=(BATCH, TIME, 2, 3))
        found = analysis.input_output_jacobian(layer, inputs, lag=2)
        assert found.shape == (BATCH, UNITS, 6)
        assert_is_difference(found, by_input(layer, inputs, None, 2))

    @pytest.mark.parametrize("mask", [None, "scattered"])
    def test_ids_of_an_isan_are_one_hot_vectors(self, mask: str | None) -> None:
        layer, read = built("ISAN"), masked(mask)
        ids = np.random.default_rng(0).integers(0, FEATURES, (BATCH, TIME))
        for by in ("input", "state"):
            options = {"lag": 2, "mask": read, "with_respect_to": by}
            expected = analysis.input_output_jacobian(layer, np.eye(FEATURES)[ids], **options)
            for form in (ids, ids[..., None], ids.astype("uint8")):
                assert_same(analysis.input_output_jacobian(layer, form, **options), expected)

    def test_by_the_state_if_an_encoder_embeds_ids(self) -> None:
        encoder = keras.layers.Embedding(7, UNITS, "normal", dtype="float64")
        layer = layers.MinimalRNN(UNITS, encoder, dtype="float64", return_state=True)
        ids = np.random.default_rng(0).integers(0, 7, (BATCH, TIME))
        found = analysis.input_output_jacobian(layer, ids, lag=3, with_respect_to="state")
        assert_is_difference(found, by_state(layer, ids, None, 3))

    @pytest.mark.parametrize("kind", ["MinimalRNN", "LSTM", "own cell"])
    @pytest.mark.parametrize("with_respect_to", ["input", "state"])
    def test_singular_values_are_those_of_the_jacobians(self, kind: str, with_respect_to: str) -> None:
        layer, inputs, read, lags = built(kind), sequences(), masked("inner"), np.array([3, 0, 1, 3])
        found = analysis.jacobian_singular_values(layer, inputs, lags=lags, mask=read, with_respect_to=with_respect_to)
        assert found.shape == (4, BATCH, UNITS)
        assert (np.diff(found, axis=-1) <= 0).all()
        for lag, values in zip(lags, found, strict=True):
            jacobian = analysis.input_output_jacobian(
                layer, inputs, lag=lag, mask=read, with_respect_to=with_respect_to
            )
            assert_same(values, np.linalg.svd(jacobian, compute_uv=False))

    @pytest.mark.parametrize("kind", ["MinimalRNN", "CFN", "LSTM", "GRU", "SimpleRNN"])
    def test_half_precision_comes_close(self, kind: str) -> None:
        inputs = sequences()
        single, half = (built(kind, dtype=dtype) for dtype in ("float32", "mixed_float16"))
        for by in ("input", "state"):
            expected, found = (
                analysis.input_output_jacobian(each, inputs, lag=3, with_respect_to=by) for each in (single, half)
            )
            # Some ten roundings to 11 bits on the way through four steps.
            bound = 10 * np.finfo(np.float16).eps * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def test_two_units_of_a_minimal_rnn_come_close_to_the_bound_of_an_orthogonal_matrix() -> None:
    """A state near (1, 0), a latent near (-1, 0), gates of 1 / phi and of almost 1: above the paper's bound of 1."""
    layer = layers.MinimalRNN(2, encoder=keras.layers.Activation("linear", dtype="float64"), dtype="float64")
    first = np.array([2 * PHI**-3, np.sqrt(1 - 4 * PHI**-6)])
    states = np.array([[[1.0 - 1e-9, 0.0]] * 80 + [[-1.0 + 1e-9, 0.0]]])
    layer(states)
    layer.cell.kernel.assign(np.zeros((2, 2)))
    layer.cell.recurrent_kernel.assign(np.stack([first, [-first[1], first[0]]], axis=1))
    layer.cell.bias.assign([np.log(PHI) - first[0], 30.0])
    largest = analysis.jacobian_singular_values(layer, states, lags=[1], with_respect_to="state")[0, 0, 0]
    assert 1.1664 < largest < np.sqrt(1 + 4 * PHI**-5) < 1.1665


def ids_with_padding() -> np.ndarray:
    ids = np.random.default_rng(0).integers(1, 6, (BATCH, TIME))
    ids[0, 6:] = ids[1, :2] = ids[2, 3] = 0
    return ids


def embedded(recurrent: list[keras.layers.Layer], with_input: bool = True) -> keras.Model:
    embedding = keras.layers.Embedding(6, FEATURES, "normal", mask_zero=True)
    front = [keras.Input((None,), dtype="int32")] if with_input else []
    recurrent = [*map(passing_masks_on, recurrent)]
    return keras.Sequential([*front, embedding, keras.layers.Dropout(0.5), *recurrent, keras.layers.Dense(2)])


class TestModels:
    @staticmethod
    def assert_same_as_the_layer(model: keras.Model, inputs: Any) -> None:
        [embedding] = [part for part in model.layers if isinstance(part, keras.layers.Embedding)]
        [layer] = [part for part in model.layers if isinstance(part, keras.layers.RNN)]
        ids = ids_with_padding()
        expected = analysis.jacobian_singular_values(layer, embedding(ids), lags=[0, 2], mask=ids != 0)
        np.testing.assert_allclose(analysis.jacobian_singular_values(model, inputs, lags=[0, 2]), expected, rtol=1e-6)
        one_lag = analysis.input_output_jacobian(layer, embedding(ids), lag=2, mask=ids != 0)
        np.testing.assert_allclose(analysis.input_output_jacobian(model, inputs, lag=2), one_lag, rtol=0, atol=1e-6)

    @pytest.mark.parametrize(
        ("layer", "with_input"), [(layers.MinimalRNN, True), (layers.CFN, False), (keras.layers.LSTM, False)]
    )
    def test_a_sequential_model_is_read_up_to_its_layer_with_its_mask(self, layer: type, with_input: bool) -> None:
        model = embedded([layer(UNITS)], with_input)
        analysis.input_output_jacobian(model, ids_with_padding(), lag=2)  # builds one that has no input yet
        self.assert_same_as_the_layer(model, ids_with_padding())

    @pytest.mark.parametrize("by_name", [False, True])
    def test_a_functional_model_takes_its_inputs_in_order_or_by_name(self, by_name: bool) -> None:
        ids, other = keras.Input((None,), dtype="int32", name="ids"), keras.Input((2,), name="other")
        x = keras.layers.GRU(UNITS)(keras.layers.Embedding(6, FEATURES, "normal", mask_zero=True)(ids))
        inputs = {"ids": ids, "other": other} if by_name else [ids, other]
        model = keras.Model(inputs, keras.layers.Concatenate()([x, other]))
        read = {"other": np.ones((BATCH, 2)), "ids": ids_with_padding()}
        self.assert_same_as_the_layer(model, read if by_name else [read["ids"], read["other"]])

    def test_a_mask_that_the_model_passes_to_the_layer(self) -> None:
        steps, mask = keras.Input((TIME, FEATURES)), keras.Input((TIME,), dtype="bool")
        layer, read = layers.CFN(UNITS), masked("trailing")
        model = keras.Model([steps, mask], layer(steps, mask=mask))
        expected = analysis.input_output_jacobian(layer, sequences(), lag=2, mask=read)
        found = analysis.input_output_jacobian(model, [sequences(), read], lag=2)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

    def test_refuses_subclassed_models_and_models_without_a_single_layer(self) -> None:
        class Own(keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.recurrent = layers.CFN(UNITS)

            def call(self, x):
                return self.recurrent(x)

        rule = r"must be Sequential or functional, for what.*Received: own.*, a Own. Pass the layer and its own inputs"
        refused(rule, sequences(), Own())
        rule = "`mask` must be None for a model.*Received: a mask.*Pass the layer itself"
        refused(rule, ids_with_padding(), embedded([layers.CFN(UNITS)]), mask=ids_with_padding() != 0)
        refused(
            r"One recurrent layer of a model.*Received: .* with \[\].*Pass the layer", ids_with_padding(), embedded([])
        )


def chain(*recurrent: keras.layers.Layer, norm: Any = keras.layers.LayerNormalization) -> keras.Model:
    """Of vectors, in float64, with layers between and above."""
    between = norm(dtype="float64"), keras.layers.Dense(4, "relu", dtype="float64")
    parts = [recurrent[0], *between, *recurrent[1:]] if len(recurrent) > 1 else recurrent
    return keras.Sequential([keras.Input((TIME, FEATURES), dtype="float64"), *parts])


def two_way(layer: keras.layers.Layer) -> keras.layers.Layer:
    return keras.layers.Bidirectional(layer, dtype="float64")


class TestSeveralLayers:
    @pytest.mark.parametrize(
        "build",
        {
            "stack": lambda: chain(
                keras.layers.LSTM(4, return_sequences=True, dtype="float64"),
                layers.MinGRU(UNITS, return_sequences=True, dtype="float64"),
                norm=keras.layers.UnitNormalization,  # has no equations here
            ),
            "both ways": lambda: chain(two_way(keras.layers.GRU(3, dtype="float64"))),
            "both ways above": lambda: chain(
                layers.CFN(3, return_sequences=True, dtype="float64"), two_way(layers.CFN(3, dtype="float64"))
            ),
        }.items(),
        ids=lambda item: item[0],
    )
    def test_they_are_differences_of_the_uppermost_output(self, build: Any) -> None:
        name, build = build
        model, x = build(), sequences()
        head = [keras.layers.GlobalAveragePooling1D(dtype="float64")] if len(model.output_shape) == 3 else []
        network = keras.Sequential([*model.layers, *head, keras.layers.Dense(2, dtype="float64")])
        network(x)
        for lag in (0, 3):
            found = analysis.input_output_jacobian(network, x, lag=lag)
            moved = np.tile(x, (FEATURES, len(STENCIL), 1, 1, 1))
            for feature, step in itertools.product(range(FEATURES), range(len(STENCIL))):
                moved[feature, step, :, TIME - 1 - lag, feature] += list(STENCIL)[step] * STEP
            output = ops.convert_to_numpy(model(moved.reshape(-1, *x.shape[1:])))
            output = (output if output.ndim == 2 else output[:, -1]).reshape(*moved.shape[:3], -1)
            expected = np.einsum("s, fsbu -> buf", np.array(list(STENCIL.values())) / STEP, output)
            np.testing.assert_allclose(found, expected, rtol=0, atol=BOUND)
            assert found.method == ("autodiff" if name == "stack" else "closed form")

    def test_masked_steps_do_not_count(self) -> None:
        model, ids = embedded([keras.layers.GRU(3, return_sequences=True), keras.layers.LSTM(2)]), ids_with_padding()
        row = ids[1:2]
        read = row[row > 0][None]
        assert read.shape[1] < row.shape[1]
        found = analysis.jacobian_singular_values(model, row, lags=[2, 0])
        expected = analysis.jacobian_singular_values(model, read, lags=[2, 0])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

    def test_refusals(self) -> None:
        model, x = chain(two_way(layers.CFN(3, dtype="float64"))), sequences()
        refused("`with_respect_to` must be 'input' for a network of several", x, model, with_respect_to="state")
        refused(rf"at least {TIME + 1} steps.*sequence 1 with {TIME}", x, model, lag=TIME)
        model.layers[0].forward_layer.cell.bias.assign(np.full(9, np.nan))
        refused("weights must be finite", x, model)


def refused(sentence: str, inputs: Any, layer: Any, find: Any = analysis.input_output_jacobian, **options: Any) -> None:
    with pytest.raises(ValueError, match=sentence):
        find(layer, inputs, **({"lag": 1, **options} if find is analysis.input_output_jacobian else options))


class TestErrors:
    def test_refuses_invalid_arguments(self) -> None:
        values, cfn, x = analysis.jacobian_singular_values, built("CFN"), sequences()
        for lag in (-1, 2.0, True, "1", None, np.float64(1)):
            rule = (
                rf"`lag` must be a non-negative integer. Received: lag={re.escape(repr(lag))}. Pass a number of steps"
            )
            refused(rule, x, cfn, lag=lag)
            refused(rule, x, cfn, values, lags=[0, lag])
        refused(r"`lags` must be a list of at least one lag. Received: lags=\[\]", x, cfn, values, lags=[])
        for name in ("states", None, 0):
            rule = f"`with_respect_to` must be one of 'input', 'state'. Received: with_respect_to={name!r}"
            refused(rule, x, cfn, with_respect_to=name)
        for shape in ((0, TIME, FEATURES), (BATCH, 0, FEATURES), (TIME,), ()):
            rule = r"must be sequences \(batch, time, \.\.\.\), at least one.*Received: shape=\("
            refused(rule, np.zeros(shape), cfn, lag=0)
        for shape in ((BATCH, TIME + 1), (TIME, BATCH), (TIME,), (BATCH, TIME, 1)):
            rule = r"`mask` must have the shape \(batch, time\) = \(3, 8\) of the inputs. Received"
            refused(rule, x, cfn, mask=np.ones(shape, bool))
        for symbol in (-1, FEATURES):
            refused(rf"must lie in \[0, .*Received: .*{symbol}", np.array([[0, symbol, 1]]), built("ISAN"))

    @pytest.mark.parametrize("kind", ["MinimalRNN", "ISAN", "LSTM"])
    def test_refuses_a_lag_beyond_the_steps_read(self, kind: str) -> None:
        layer, inputs, read = built(kind), sequences(), np.ones((BATCH, TIME), bool)
        analysis.input_output_jacobian(layer, inputs, lag=TIME - 1)
        rule = rf"at least {TIME + 1} steps for a lag of {TIME}.*sequence 1 with {TIME} \(of {TIME}"
        refused(rule, inputs, layer, lag=TIME)
        read[1, 2:6] = False
        rule = r"at least 5 steps for a lag of 4. Received: sequence 2 with 4 \(of 8 .*longer sequences or a sho"
        refused(rule, inputs, layer, analysis.jacobian_singular_values, lags=[0, 4], mask=read)

    def test_refuses_layers_without_one_state_vector(self) -> None:
        x = sequences()
        for layer in (keras.layers.Dense(2), layers.CFNCell(2), None):
            rule = "must be a recurrent layer.*Received: .*Pass the layer itself, or keras.lay"
            refused(rule, x, layer)
        embeds = layers.MinimalRNN(UNITS, keras.layers.Embedding(6, UNITS))
        rule = "real numbers.*dtype int64. Ask for with_respect_to='state', or pass"
        refused(rule, ids_with_padding(), embeds)
        convolving = keras.layers.ConvLSTM1D(2, 3, padding="same", name="convolving")
        rule = r"States must be vectors, \(batch, n\), for Jacobians. Received: states of shapes .* in conv"
        refused(rule, np.zeros((BATCH, TIME, 5, 1)), convolving)

    def test_refuses_weights_that_are_not_finite_or_overflow(self) -> None:
        for kind, value in (("MinimalRNN", np.nan), ("ISAN", np.inf)):
            layer = built(kind)
            weight = layer.cell.recurrent_kernel
            weight.assign(np.full(weight.shape, value))
            rule = f"weights must be finite. Received: NaN or infinity in {weight.path}. Train with a lower learning ra"
            refused(rule, sequences(), layer)
        layer = built("ISAN")
        layer.set_weights([np.full(weight.shape, 1e200) for weight in layer.get_weights()])
        rule = "at lag 4 must be finite. Received: weights whose products overflow. Ask for a shorter lag"
        with np.errstate(all="ignore"):
            refused(rule, sequences(), layer, lag=4)
            refused(rule, sequences(), layer, analysis.jacobian_singular_values, lags=[4])

    def test_an_isan_differentiates_ids_and_distributions_alone(self) -> None:
        for layer in (layers.ISAN(UNITS, FEATURES), keras.layers.RNN(layers.ISANCell(UNITS, FEATURES))):
            layer(np.zeros((1, 2, 1), int))
            for inputs, received in (
                (np.ones((2, 6)), r"float\d+ of shape \(2, 6\)"),
                (np.ones((2, 6), bool), r"bool of shape \(2, 6\)"),
                (np.ones((2, 6, 1)), r"float\d+ of shape \(2, 6, 1\)"),
                (np.ones((2, 6, 3)) / 3, r"float\d+ of shape \(2, 6, 3\)"),
                ("ab", "'ab', without one. Pass alphabet=..., or put `Alphabet.layer"),
                (None, "NoneType"),
            ):
                refused(f"Received: {received}", inputs, layer)


def differentiated(layer: keras.layers.RNN, inputs: np.ndarray, mask: np.ndarray | None, lag: int) -> np.ndarray:
    """The Jacobian by the backend's differentiation of the layer itself."""

    def entry(i: int) -> Callable[[Any], Any]:
        def summed(x: Any) -> Any:
            if layer.stateful:
                layer.reset_state()
            output = layer(x, mask=mask)
            return ops.sum((output[:, -1] if layer.return_sequences else output)[:, i])

        return summed

    rows = np.stack([gradients(entry(i), [inputs])[0] for i in range(UNITS)], axis=1)
    return rows[np.arange(BATCH), :, position(mask, layer.go_backwards, lag)]


REGULARIZED: dict[str, Callable[..., keras.layers.RNN]] = {
    "SRGRU": lambda **flags: layers.SRGRU(UNITS, 3, **flags),
    "SRLSTM": lambda **flags: layers.SRLSTM(UNITS, 3, **flags),
    "SRPeepholeLSTM": lambda **flags: layers.SRPeepholeLSTM(UNITS, 3, **flags),
    "soft_argmax": lambda **flags: layers.SRGRU(UNITS, 3, transition="soft_argmax", **flags),
    "straight through": lambda **flags: layers.SRLSTM(UNITS, 3, transition="gumbel", straight_through=True, **flags),
    "half the strength": lambda **flags: layers.SRGRU(UNITS, 3, strength=0.5, **flags),
}


@pytest.mark.skipif(BACKEND == "jax", reason="Keras 3.15: an activation of tanh in float64 does not run on JAX")
class TestStateRegularized:
    @pytest.mark.parametrize("kind", REGULARIZED)
    @pytest.mark.parametrize("regularize_last_step", [True, False])
    @pytest.mark.parametrize(
        ("seed", "mask", "flags", "lag"),
        [
            (0, None, {}, 0),
            (1, "scattered", {"go_backwards": True}, 2),
            (2, "trailing", {"return_sequences": True, "stateful": True}, 1),
            (3, "inner", {"zero_output_for_mask": True}, 0),
        ],
    )
    def test_the_last_step_is_taken_as_the_layer_takes_it(
        self, kind: str, regularize_last_step: bool, seed: int, mask: str | None, flags: dict[str, Any], lag: int
    ) -> None:
        flags = {"temperature": 0.5, "dtype": "float64", "regularize_last_step": regularize_last_step, **flags}
        layer, inputs, read = REGULARIZED[kind](**flags), sequences(seed), masked(mask, seed)
        layer(inputs)
        rng = np.random.default_rng(seed)
        for weight in layer.trainable_variables:
            weight.assign(rng.normal(size=weight.shape) * 0.6)
        found = analysis.input_output_jacobian(layer, inputs, lag=lag, mask=read)
        assert_same(found, differentiated(layer, inputs, read, lag))
        assert np.abs(found).max() > 1e-6
