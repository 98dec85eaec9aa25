"""Validation in the middle of training must leave no trace in it."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_interp_rnn import losses
from keras_interp_rnn._network import carried_states
from keras_interp_rnn.callbacks import CarriedState
from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.layers import ISAN

BATCH, LENGTH = 3, 7


def text(seed: int, size: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, size)


class Wrapped(keras.layers.Layer):
    """A layer with a stateful layer inside, which it does not list."""

    def __init__(self, inner: keras.layers.Layer) -> None:
        super().__init__()
        self.inner = inner

    def build(self, shape) -> None:
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)

    def compute_output_shape(self, shape):
        return (*shape, 4)


def recurrent(kind: str) -> list[keras.layers.Layer]:
    flags = {"return_sequences": True, "stateful": True}
    layers = {
        "ISAN": lambda: [ISAN(4, 5, **flags)],
        "grouped ISAN": lambda: [ISAN(26, 5, **flags)],
        "LSTM": lambda: [keras.layers.Embedding(5, 3), keras.layers.LSTM(4, **flags)],
        "GRU on ISAN": lambda: [ISAN(4, 5, **flags), keras.layers.GRU(6, **flags)],
        "a model in the model": lambda: [
            keras.Sequential([keras.Input(batch_shape=(BATCH, None), dtype="int32"), ISAN(4, 5, **flags)])
        ],
        "bidirectional": lambda: [keras.layers.Bidirectional(ISAN(4, 5, **flags))],
        "a layer in a layer": lambda: [Wrapped(ISAN(4, 5, **flags))],
    }
    return layers[kind]()


LSTM = pytest.param(
    "LSTM",
    marks=[
        pytest.mark.skipif(
            keras.version().startswith("3.12."),
            reason="Keras 3.12's stateful LSTM asks for the truth of a symbolic tensor",
        ),
        pytest.mark.skipif(
            keras.backend.backend() == "jax", reason="Keras's own layers carry no states in `fit` there"
        ),
    ],
)
KINDS = ("ISAN", "grouped ISAN", LSTM, "GRU on ISAN", "a model in the model", "bidirectional", "a layer in a layer")


def model(kind: str) -> keras.Model:
    keras.utils.set_random_seed(1)
    built = keras.Sequential(
        [keras.Input(batch_shape=(BATCH, None), dtype="int32"), *recurrent(kind), keras.layers.Dense(5)]
    )
    built.compile(keras.optimizers.SGD(0.1), losses.BitsPerSymbol())
    return built


def train(some: keras.Model, callbacks: list, validated: bool = True, epochs: int = 2) -> keras.callbacks.History:
    return some.fit(
        Windows(text(0), BATCH, length=LENGTH),
        validation_data=Windows(text(1, 100), BATCH, length=LENGTH) if validated else None,
        epochs=epochs,
        shuffle=False,
        callbacks=callbacks,
        verbose=0,
    )


def assert_same_weights(one: keras.Model, other: keras.Model) -> None:
    for found, expected in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.matrix
@pytest.mark.parametrize("kind", KINDS)
def test_training_with_validation_is_training_without(kind: str) -> None:
    validated, alone = model(kind), model(kind)
    train(validated, [CarriedState(across_epochs=True)])
    train(alone, [], validated=False)
    assert_same_weights(validated, alone)


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["ISAN", LSTM, "GRU on ISAN"])
def test_each_epoch_begins_with_the_initial_state(kind: str) -> None:
    some, expected = model(kind), model(kind)
    train(some, [CarriedState()], epochs=3)
    stateful = [layer for layer in expected.layers if getattr(layer, "stateful", False)]
    # As the documentation of Keras recommends.
    reset = keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_: [layer.reset_state() for layer in stateful])
    train(expected, [reset], validated=False, epochs=3)
    assert_same_weights(some, expected)
    carried = model(kind)
    train(carried, [CarriedState(across_epochs=True)], epochs=3)
    assert max(np.abs(a - b).max() for a, b in zip(some.get_weights(), carried.get_weights(), strict=True)) > 1e-5


@pytest.mark.matrix
def test_without_the_callback_validation_leaves_a_trace() -> None:
    disturbed, alone = model("ISAN"), model("ISAN")
    train(disturbed, [])
    train(alone, [], validated=False)
    assert np.abs(disturbed.get_weights()[0] - alone.get_weights()[0]).max() > 1e-4


@pytest.mark.matrix
def test_validation_begins_with_the_initial_state() -> None:
    some = model("ISAN")
    reported = train(some, [CarriedState()], epochs=1).history["val_loss"]
    some.layers[0].reset_state()
    again = some.evaluate(Windows(text(1, 100), BATCH, length=LENGTH), verbose=0)
    assert reported == [pytest.approx(again, rel=1e-6)]


@pytest.mark.matrix
def test_evaluation_by_itself_gives_the_states_back() -> None:
    some = model("GRU on ISAN")
    train(some, [], validated=False)
    before = carried_states.read(some)
    assert [state.shape for state in before] == [(BATCH, 4), (BATCH, 6)]
    some.evaluate(Windows(text(1), BATCH, length=LENGTH), callbacks=[CarriedState()], verbose=0)
    for found, expected in zip(carried_states.read(some), before, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.matrix
def test_an_evaluation_before_training_leaves_the_initial_state_to_be_learned() -> None:
    evaluated, alone = model("ISAN"), model("ISAN")
    evaluated.evaluate(Windows(text(1), BATCH, length=LENGTH), callbacks=[CarriedState()], verbose=0)
    for some in (evaluated, alone):
        train(some, [], validated=False, epochs=1)
    assert np.abs(alone.layers[0].get_weights()[2]).max() > 1e-4
    assert_same_weights(evaluated, alone)


def test_the_read_states_are_a_copy() -> None:
    some = model("ISAN")
    x, _ = Windows(text(0), BATCH, length=LENGTH)[0]
    some(x)
    [before] = carried_states.read(some)
    expected = before.copy()
    some(x)
    np.testing.assert_array_equal(before, expected)
    assert np.abs(carried_states.read(some)[0] - expected).max() > 1e-3


def test_the_next_batch_begins_with_the_written_states() -> None:
    some = model("GRU on ISAN")
    x, _ = Windows(text(0), BATCH, length=LENGTH)[0]
    some(x)
    states = carried_states.read(some)
    first = keras.ops.convert_to_numpy(some(x))
    some(x)
    carried_states.write(some, states)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(some(x)), first)


def test_layers_that_carry_nothing_are_left_alone() -> None:
    some = keras.Sequential([keras.Input((None,), dtype="int32"), ISAN(4, 5, return_sequences=True)])
    assert carried_states.read(some) == []
    carried_states.write(some, [])
