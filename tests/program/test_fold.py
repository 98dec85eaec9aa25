"""Which models are read as ISANs: those read agree with their own logits, all others are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers

UNITS, SYMBOLS, OUTPUTS = 4, 5, 3
TEXT = np.array([1, 2, 0, 3, 4, 1, 2, 2])


def ids() -> Any:
    return keras.Input((None,), dtype="int32")


def isan(**flags: Any) -> layers.ISAN:
    return layers.ISAN(UNITS, SYMBOLS, return_sequences=True, **flags)


def dense(**flags: Any) -> keras.layers.Dense:
    return keras.layers.Dense(OUTPUTS, **flags)


def of_states(after: Callable[[Any], Any], **flags: Any) -> keras.Model:
    inputs = ids()
    return keras.Model(inputs, after(isan(**flags)(inputs)))


def of_ids(before: Callable[[Any], Any], layer: Any = None) -> keras.Model:
    inputs = ids()
    return keras.Model(inputs, dense()((layer or isan())(before(inputs))))


def over_cell(cell: Any, layer: type = keras.layers.RNN) -> keras.Model:
    return of_ids(lambda x: ops.expand_dims(x, -1), layer(cell, return_sequences=True))


def randomized(model: keras.Model, seed: int = 0) -> keras.Model:
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(ops.cast(rng.normal(size=variable.shape) * 0.5, variable.dtype))
    return model


def quantized() -> keras.Model:
    model = randomized(of_states(dense()))
    model.layers[-1].quantize("int8")
    return model


def with_lora() -> keras.Model:
    model = randomized(of_states(dense()))
    model.layers[-1].enable_lora(2)
    return randomized(model, seed=1)


class Twice(keras.layers.Dense):
    def call(self, inputs: Any) -> Any:
        return 2 * super().call(inputs)


class AlwaysDropout(keras.layers.Dropout):
    def call(self, inputs: Any) -> Any:
        return super().call(inputs, training=True)


class ShiftedISAN(layers.ISAN):
    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False) -> Any:
        return super().call((sequences + 1) % SYMBOLS, initial_state, mask, training)


class TrainedOtherwise(keras.Model):
    def train_step(self, data: Any) -> Any:
        raise NotImplementedError


class CalledOtherwise(keras.Model):
    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        return -super().call(inputs, training=training)


class Own(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.isan, self.head = isan(), dense()

    def call(self, inputs: Any) -> Any:
        return -self.head(self.isan(inputs))


def subclassed(kind: type) -> keras.Model:
    inputs = ids()
    return kind(inputs, dense()(isan()(inputs)))


def own() -> keras.Model:
    model = Own()
    model(TEXT[None])
    return model


def nested(**arguments: Any) -> keras.Model:
    inner, inputs = of_states(lambda x: dense()(keras.layers.Dropout(0.5)(x))), ids()
    return keras.Model(inputs, inner(inputs, **arguments))


def begun() -> keras.Model:
    inputs = ids()
    start = keras.layers.Embedding(SYMBOLS, UNITS)(inputs[:, 0])
    return keras.Model(inputs, dense()(isan()(inputs, initial_state=start)))


def masked() -> keras.Model:
    inputs = ids()
    return keras.Model(inputs, dense()(isan()(inputs, mask=ops.not_equal(inputs, 0))))


def masked_one_hot() -> keras.Model:
    inputs = keras.Input((None, SYMBOLS))
    return keras.Model(inputs, dense()(isan()(keras.layers.Masking(0.0)(inputs))))


def two_isans() -> keras.Model:
    inputs = ids()
    start = layers.ISAN(UNITS, SYMBOLS)(inputs)
    return keras.Model(inputs, dense()(isan()(inputs, initial_state=start)))


def skipping() -> keras.Model:
    inputs = ids()
    return keras.Model(inputs, dense()(isan()(inputs)) + keras.layers.Embedding(SYMBOLS, OUTPUTS)(inputs))


def stack() -> Any:
    return keras.layers.StackedRNNCells([layers.ISANCell(UNITS, SYMBOLS), keras.layers.GRUCell(UNITS)])


def regularized() -> layers.StateRegularizedCell:
    return layers.StateRegularizedCell(layers.ISANCell(UNITS, SYMBOLS), 3)


def masked_lstm() -> keras.Model:
    x = ids()
    states = keras.layers.LSTM(3)(keras.layers.Embedding(SYMBOLS, 2)(x), mask=ops.not_equal(x, 0))
    return keras.Model(x, dense()(states))


REFUSED: dict[str, tuple[Callable[[], keras.Model], str]] = {
    "int8": (quantized, r"dense.* \(Dense, quantized to int8\), on its states"),
    "a subclass of Dense": (lambda: of_states(Twice(OUTPUTS)), r"twice.* \(Twice\), on its states"),
    "a Dropout that always drops": (
        lambda: of_states(lambda x: dense()(AlwaysDropout(0.5)(x))),
        r"always_dropout.* \(AlwaysDropout\), on its states",
    ),
    "a Dropout called in training": (
        lambda: of_states(lambda x: dense()(keras.layers.Dropout(0.5)(x, training=True))),
        "dropout.*, which is called with training",
    ),
    "a nested model called in training": (lambda: nested(training=True), "functional.*, which is called with training"),
    "a mask": (masked, "isan.*, which is called with mask"),
    "an LSTM with a mask": (masked_lstm, r"; it has lstm.* \(LSTM over LSTMCell\), on its vectors. Of other"),
    "a Masking layer before": (masked_one_hot, r"masking.* \(Masking\), on its symbols"),
    "an initial state": (begun, "isan.*, which is called with initial_state"),
    "shifted ids": (lambda: of_ids(lambda x: (x + 1) % SYMBOLS), r"add.* \(Add\), on its symbols"),
    "an unknown layer before": (
        lambda: of_ids(keras.layers.Lambda(lambda x: SYMBOLS - 1 - x, dtype="int32")),
        r"lambda.* \(Lambda\), on its symbols",
    ),
    "an ISAN of another kind": (
        lambda: of_ids(lambda x: x, ShiftedISAN(UNITS, SYMBOLS)),
        r"\(ShiftedISAN over ISANCell",
    ),
    "two ISANs": (two_isans, "with 2"),
    "a way around the ISAN": (skipping, r"add.* \(Add\), on its logits"),
    "squared states": (lambda: of_states(lambda x: dense()(x * x)), r"multiply.* \(Multiply\), on its states"),
    "inverse logits": (lambda: of_states(lambda x: 2 / dense()(x)), r"true_divide.* \(TrueDivide\), on its logits"),
    "normalized states": (
        lambda: of_states(lambda x: dense()(keras.layers.LayerNormalization()(x))),
        r"layer_normalization.* \(LayerNormalization\), on its states",
    ),
    "states replaced where they are 1": (
        lambda: of_states(lambda x: dense()(keras.layers.Masking(1.0)(x))),
        r"masking.* \(Masking\), on its states",
    ),
    "a softmax twice": (
        lambda: of_states(lambda x: keras.layers.Softmax()(keras.layers.Softmax()(dense()(x)))),
        r"softmax.* \(Softmax\), on its activated logits",
    ),
    "a bent layer in the head": (
        lambda: of_states(lambda x: dense()(dense(activation="tanh")(x))),
        r"dense.* \(Dense\), on its activated logits",
    ),
    "two heads": (lambda: of_states(lambda x: [dense()(x), dense()(x)]), "with 2 Dense heads"),
    "no head": (lambda: of_states(lambda x: x), "with 0 Dense heads"),
    "a head and something else": (
        lambda: of_states(lambda x: [dense()(x), ops.tanh(x)]),
        r"tanh.* \(Tanh\), on its states",
    ),
    "backwards": (lambda: of_states(dense(), go_backwards=True), "a model whose ISAN has go_backwards=True"),
    "a state-regularized ISAN": (
        lambda: over_cell(regularized(), layers.StateRegularizedRNN),
        r"with 0; it has .* \(StateRegularizedRNN over StateRegularizedCell\), on its symbols",
    ),
    "a state-regularized cell": (
        lambda: over_cell(regularized()),
        r"with 0; it has rnn.* \(RNN over StateRegularizedCell\), on its symbols",
    ),
    "a stack of cells": (lambda: over_cell(stack()), r"with 0; it has rnn.* \(RNN over StackedRNNCells\)"),
    "a model that calls otherwise": (lambda: subclassed(CalledOtherwise), "called_otherwise.*, a CalledOtherwise"),
    "a model that calls its layers itself": (own, "own.*, a Own"),
}


def normalized(**flags: Any) -> keras.Model:
    layer = keras.layers.BatchNormalization(**flags)
    model = of_states(lambda x: dense()(layer(x)))
    layer.moving_mean.assign(np.linspace(-1, 1, UNITS))
    layer.moving_variance.assign(np.linspace(0.5, 2, UNITS))
    return model


def both_by_hand(x: Any) -> Any:
    ways = layers.ISAN(UNITS, SYMBOLS)(x), layers.ISAN(UNITS, SYMBOLS, go_backwards=True)(x)
    return keras.layers.Add()([*ways])


def harmless(x: Any) -> Any:
    """After layers that change nothing outside training."""
    for layer in (
        keras.layers.Dropout(0.3),
        keras.layers.SpatialDropout1D(0.5),
        keras.layers.GaussianDropout(0.3),
        keras.layers.AlphaDropout(0.3),
        keras.layers.GaussianNoise(1.0),
        keras.layers.Identity(),
        keras.layers.Activation("linear"),
        keras.layers.ActivityRegularization(l2=0.1),
    ):
        x = layer(x)
    return x


READ: dict[str, Callable[[], keras.Model]] = {
    "plain": lambda: of_states(dense()),
    "without a bias": lambda: of_states(dense(use_bias=False)),
    "LoRA": with_lora,
    "two Dense layers": lambda: of_states(lambda x: dense()(keras.layers.Dense(5)(x))),
    "a Dense layer on each step": lambda: of_states(keras.layers.TimeDistributed(dense())),
    "normalized by moving averages": normalized,
    "normalized alone": lambda: normalized(center=False, scale=False),
    "the last state": lambda: keras.Sequential([ids(), layers.ISAN(UNITS, SYMBOLS), dense()]),
    "a last state returned": lambda: of_states(lambda x: dense()(x[1]), return_state=True),
    "called in training": lambda: of_ids(lambda x: x, lambda x: isan()(x, training=True)),
    "layers that do nothing": lambda: of_states(lambda x: harmless(dense()(harmless(x)))),
    "a Masking that zeroes zeros": lambda: of_states(lambda x: dense()(keras.layers.Masking(0.0)(x))),
    "both directions": lambda: of_ids(lambda x: x, keras.layers.Bidirectional(isan())),
    "both directions by hand": lambda: of_ids(lambda x: x, both_by_hand),
    "scaled and shifted by numbers": lambda: of_states(lambda x: 1 - dense()(2 * x + 3) / 4),
    "scaled by Rescaling": lambda: of_states(
        lambda x: keras.layers.Rescaling(0.5, 1.0)(dense()(keras.layers.Rescaling(2.0)(x)))
    ),
    "nested": nested,
    "a nested head": lambda: of_states(keras.Sequential([keras.Input((None, UNITS)), dense()])),
    "a cell in an RNN": lambda: over_cell(layers.ISANCell(UNITS, SYMBOLS)),
    "a factored cell in an RNN": lambda: over_cell(layers.FactoredISANCell(UNITS, 2, SYMBOLS)),
    "factored": lambda: of_ids(lambda x: x, layers.FactoredISAN(UNITS, 2, SYMBOLS, return_sequences=True)),
    "ids with an axis": lambda: of_ids(keras.layers.Reshape((-1, 1))),
    "ids of another type": lambda: of_ids(lambda x: ops.cast(x, "int64")),
    "one-hot vectors": lambda: of_ids(lambda x: ops.one_hot(x, SYMBOLS)),
    "states besides": lambda: of_states(lambda x: [dense()(x), x]),
    "trained in its own way": lambda: subclassed(TrainedOtherwise),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_is_no_isan_and_a_linear_head_is_refused_with_the_reason(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(ValueError, match=f"Received: .*{reason}.* (Pass the ISAN|of an ISAN pass the layer)"):
        analysis.contributions(make(), TEXT)


@pytest.mark.parametrize("name", READ)
def test_a_model_that_is_read_has_the_logits_it_outputs(name: str) -> None:
    model = randomized(READ[name]())
    output = model(TEXT[None])
    output = ops.convert_to_numpy(output[0] if isinstance(output, list) else output)[0]
    found = analysis.contributions(model, TEXT).logits
    np.testing.assert_allclose(found if output.ndim == 2 else found[-1], output, rtol=1e-5, atol=1e-5)


HEADS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda x: dense(activation="sigmoid")(x),
    "softmax": lambda x: dense(activation="softmax")(x),
    "tanh": lambda x: keras.layers.Activation("tanh")(dense()(x)),
    "relu": lambda x: dense(activation="relu")(keras.layers.Dense(5)(x)),
}


@pytest.mark.parametrize("name", HEADS)
def test_of_a_head_with_an_activation_the_logits_before_it_are_split(name: str) -> None:
    model = randomized(of_states(HEADS[name]))
    split = analysis.contributions(model, TEXT)
    assert split.residual < 1e-12
    activated = getattr(keras.activations, name)(ops.convert_to_tensor(split.logits))
    output = ops.convert_to_numpy(model(TEXT[None]))
    np.testing.assert_allclose(ops.convert_to_numpy(activated), output[0], rtol=1e-5, atol=1e-5)
    shares = analysis.shapley_values(model, TEXT)
    np.testing.assert_allclose(shares.logits[0], split.logits[-1])
    by_steps = analysis.attribution(model, TEXT[None], target=1, method="contributions")
    assert by_steps.output[0] == split.logits[-1, 1]
    assert by_steps.difference < 1e-5
    of_output = analysis.attribution(model, TEXT[None], target=1)  # which an activation makes of the sum
    are_logits = name in ("linear", "softmax", "sigmoid")
    assert of_output.method == ("contributions" if are_logits else "shapley")
    right = split.logits[-1, 1] if are_logits else output[0, -1, 1]
    np.testing.assert_allclose(of_output.output, [right], atol=1e-5)
    assert analysis.minimize(model).residual < 1e-8


def test_of_two_inputs_the_layer_and_the_rows_of_its_head_are_passed() -> None:
    inputs, other = ids(), keras.Input((2,))
    layer = layers.ISAN(UNITS, SYMBOLS)
    head = dense()
    model = randomized(keras.Model([inputs, other], head(keras.layers.Concatenate()([layer(inputs), other]))))
    with pytest.raises(
        ValueError, match=r"one input, its symbols. Received: .*, with 2 inputs. Pass the ISAN layer and"
    ):
        analysis.contributions(model, TEXT)
    kernel, bias = map(ops.convert_to_numpy, (head.kernel, head.bias))
    split = analysis.contributions(layer, TEXT, readout=(kernel[:UNITS], bias))
    output = ops.convert_to_numpy(model([TEXT[None], np.zeros((1, 2))]))[0]
    np.testing.assert_allclose(split.logits[-1], output, rtol=1e-4, atol=1e-5)


ARRAYS = (np.ones((UNITS, OUTPUTS)), np.zeros(OUTPUTS))


def isan_of(model: keras.Model) -> Any:
    return next(layer for layer in model.layers if isinstance(layer, layers.ISAN))


@pytest.mark.parametrize("make", [lambda: ShiftedISAN(UNITS, SYMBOLS), lambda: keras.layers.Bidirectional(isan())])
def test_a_layer_that_may_step_otherwise_is_refused(make: Callable[[], Any]) -> None:
    layer = make()
    layer(TEXT[None])
    with pytest.raises(ValueError, match=rf"Exactly one ISAN can be read.*Received: {layer.name} \("):
        analysis.contributions(layer, TEXT)


def test_a_readout_besides_a_model_replaces_its_head_and_not_what_the_isan_reads() -> None:
    model = randomized(of_states(dense(activation="tanh")))
    found = analysis.contributions(model, TEXT, readout=ARRAYS)
    expected = ops.convert_to_numpy(isan_of(model)(TEXT[None]))[0] @ ARRAYS[0]
    np.testing.assert_allclose(found.logits, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"add.* \(Add\), on its symbols"):
        analysis.contributions(REFUSED["shifted ids"][0](), TEXT, readout=ARRAYS)


def test_a_deep_model_without_an_isan_is_refused() -> None:
    inputs = keras.Input((UNITS,))
    x = inputs
    for _ in range(600):
        x = x + 1
    with pytest.raises(ValueError, match=r"with 0; it has add.* \(Add\), on its symbols"):
        analysis.contributions(keras.Model(inputs, x), TEXT)
