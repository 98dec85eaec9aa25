"""Errors of every layer of the package: rule, value received, remedy."""

import inspect
from typing import Any

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.layers.common import refusal, regex
from tests.layers.contract import BACKEND, Subject
from tests.layers.subjects import ALL, no_variant, parametrized

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


only_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere a compiled function knows its shapes")
of_features = parametrized([subject for subject in ALL if subject.reads == "features" and not subject.variant])


def layer_of(subject: Subject, **flags: Any) -> keras.layers.RNN:
    return subject.layer(**{"dtype": "float32", **flags})


def sequences(subject: Subject, batch: int = 3, steps: int = 7) -> np.ndarray:
    some = subject.sample(batch=batch, time=max(1, steps)).inputs[:, :steps]
    return some if subject.integers else some.astype("float32")


def starts(subject: Subject, *shape: int) -> list[np.ndarray]:
    return [np.ones(shape, "float32")] * subject.states


class TestInitialStates:
    @no_variant
    def test_initial_states_of_another_shape_or_number_are_refused(self, subject: Subject) -> None:
        layer, n = layer_of(subject), subject.width
        states = starts(subject, 3, n)
        assert layer(sequences(subject), initial_state=states).shape == (3, subject.units)
        shapes = ((3, n + 1), (1, n), (4, n), (n,), (3, 1, n))
        for wrong in (*(starts(subject, *shape) for shape in shapes), [*states, states[0]]):
            with refusal(
                f"`initial_state` must be one array (batch, size) for each state, of sizes {[n] * len(states)}, for a "
                f"batch of 3. Received: {[state.shape for state in wrong]}. Give each sequence a state of its own."
            ):
                layer(sequences(subject), initial_state=wrong)

    @no_variant
    def test_an_initial_state_of_another_shape_as_model_input_is_refused(self, subject: Subject) -> None:
        inputs = subject.input(3, 7, dtype=sequences(subject).dtype.name)
        for shape in ((4, subject.width), (3, subject.width + 1)):
            states = [keras.Input(batch_shape=shape) for _ in starts(subject)]
            with refusal("`initial_state` must be one array (batch, size)", f"[{shape}"):
                layer_of(subject)(inputs, initial_state=states)

    @only_tensorflow
    @no_variant
    @pytest.mark.parametrize("known", [None, 1])
    def test_an_initial_state_of_another_batch_is_refused_in_a_graph(self, subject: Subject, known: int | None) -> None:
        import tensorflow as tf

        layer, some, n = layer_of(subject), sequences(subject), subject.width
        one = starts(subject, 1, n)
        layer(some)
        signature = [tf.TensorSpec((None, *some.shape[1:]), some.dtype), [tf.TensorSpec((known, n))] * subject.states]
        compiled = tf.function(lambda some, states: layer(some, initial_state=states), input_signature=signature)
        np.testing.assert_allclose(compiled(some[:1], one), layer(some[:1], initial_state=one), rtol=1e-5, atol=1e-6)
        # TensorFlow leaves open which of two checks it makes first; where it knows the size, it has one of its own.
        sentence = "initial_state must hold one state for each sequence" + ("|is not compatible" if known else "")
        with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
            compiled(some, one)


class TestMasks:
    @no_variant
    def test_a_mask_of_another_shape_is_refused(self, subject: Subject) -> None:
        for shape in ((7,), (3, 6), (2, 7), (7, 3), (3, 7, 1), (3, 7, 5)):
            with refusal(
                "`mask` must have the shape (batch, time) = (3, 7) of the sequences, True where a step is to be read.",
                f"Received: mask.shape={shape}.",
                "Give one bool per step.",
            ):
                layer_of(subject)(sequences(subject), mask=np.ones(shape, bool))

    @no_variant
    def test_a_mask_of_another_shape_as_model_input_is_refused(self, subject: Subject) -> None:
        inputs = subject.input(None, 7, dtype=sequences(subject).dtype.name)
        with refusal("`mask` must have the shape", "Received: mask.shape=(None, 6)."):
            layer_of(subject)(inputs, mask=keras.Input((6,), dtype="bool"))


class TestSequences:
    @pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow's")
    @no_variant
    @pytest.mark.parametrize("kind", ["sparse", "ragged"])
    @pytest.mark.parametrize("symbolic", [False, True])
    def test_sparse_and_ragged_sequences_are_refused(self, subject: Subject, kind: str, symbolic: bool) -> None:
        import tensorflow as tf

        some = sequences(subject)
        if symbolic:
            if kind == "ragged" and "ragged" not in inspect.signature(keras.Input).parameters:
                pytest.skip("Keras 3.12 has no ragged inputs")
            given = keras.Input(batch_shape=some.shape, dtype=some.dtype.name, **{kind: True})
        else:
            given = tf.sparse.from_dense(some) if kind == "sparse" else tf.RaggedTensor.from_tensor(some, ragged_rank=1)
        with refusal(f"`sequences` must be a dense tensor. Received: a {kind} tensor. Use its to_"):
            layer_of(subject)(given)

    @no_variant
    def test_sequences_without_steps_are_refused(self, subject: Subject) -> None:
        layer = layer_of(subject)
        layer(sequences(subject))
        with pytest.raises(ValueError, match="`sequences` must have at least one step. Received: shape"):
            layer(sequences(subject, steps=0))

    @of_features
    @pytest.mark.parametrize("built", [False, True])
    def test_sequences_without_a_time_axis_are_refused(self, subject: Subject, built: bool) -> None:
        layer = layer_of(subject)
        if built:
            layer(sequences(subject))
        arrays = [np.zeros(shape, "float32") for shape in ((), (7,), (3, 5), (3, 7, 5, 1))]
        for given in (keras.Input((None,)), keras.Input((5,)), keras.Input((None, None)), *arrays):
            with refusal(
                f"Inputs of {type(layer).__name__} must be sequences (batch, time, features)",
                f"Received: shape={tuple(given.shape)}.",
            ):
                layer(given)

    @parametrized([subject for subject in ALL if subject.integers])
    def test_ids_without_a_time_axis_are_refused(self, subject: Subject) -> None:
        for shape in ((), (7,)):
            layer = layer_of(subject)
            with pytest.raises(ValueError, match=f"Inputs of {type(layer).__name__} must be .*Received: shape="):
                layer(np.zeros(shape, "int32"))

    @of_features
    def test_another_number_of_features_than_built_is_refused(self, subject: Subject) -> None:
        """By the layer, and by its cell alone."""
        layer, steps = layer_of(subject), sequences(subject)
        layer(steps)
        sentence = "must have the shape (5,), for which it was built. Received: steps of shape (3,). Pass inputs of"
        with refusal(f"Steps of this {type(layer).__name__} {sentence}"):
            layer(steps[..., :3])
        with refusal(f"Steps of this {type(layer.cell).__name__} {sentence}"):
            layer.cell(steps[:, 0, :3], layer.get_initial_state(3))

    @only_tensorflow
    @no_variant
    def test_unrolling_an_unknown_number_of_steps_is_refused(self, subject: Subject) -> None:
        import tensorflow as tf

        some = sequences(subject)
        sentence = regex(
            "The number of steps must be known for unroll=True.",
            "Received: sequences of shape (3, None",
            "Give the model's Input its time, or pass unroll=False.",
        )
        signature = [tf.TensorSpec((3, None, *subject.step_shape), some.dtype)]
        with pytest.raises(ValueError, match=sentence):
            tf.function(layer_of(subject, unroll=True), input_signature=signature)(some)


class TestStateful:
    @no_variant
    def test_another_batch_size_of_a_stateful_layer_is_refused(self, subject: Subject) -> None:
        layer = layer_of(subject, stateful=True)
        layer(sequences(subject))
        for batch in (1, 2, 4):
            with refusal(
                "Every batch must have 3 sequences, as the first one, with stateful=True.",
                f"Received: a batch of {batch}.",
                "Keep the batch size, and drop a smaller last batch.",
            ):
                layer(sequences(subject, batch))

    @no_variant
    def test_an_unknown_batch_size_of_a_stateful_layer_is_refused(self, subject: Subject) -> None:
        with pytest.raises(ValueError, match="the batch size must be static"):
            layer_of(subject, stateful=True)(subject.input(None, 7, dtype=sequences(subject).dtype.name))


# The sizes of every class that has such.
SIZES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("ISAN", "ISANCell"), {"units": 4, "vocabulary_size": 5}),
    **dict.fromkeys(("FactoredISAN", "FactoredISANCell"), {"units": 4, "factors": 2, "vocabulary_size": 5}),
    **dict.fromkeys(("DiagonalISAN", "DiagonalISANCell"), {"units": 4, "vocabulary_size": 5, "block_size": 2}),
    **dict.fromkeys(
        ("MinimalRNN", "MinimalRNNCell", "CFN", "CFNCell", "PeepholeLSTM", "PeepholeLSTMCell"), {"units": 4}
    ),
    **{name + part: {"units": 4} for name in ("MinGRU", "MinLSTM", "LRU", "RGLRU") for part in ("", "Cell")},
    **{
        name + part: {"units": 8, "num_heads": 2, "key_dim": 3, "value_dim": 5}
        for name in ("GatedLinearAttention", "DeltaNet")
        for part in ("", "Cell")
    },
    **dict.fromkeys(("SRSimpleRNN", "SRGRU", "SRLSTM", "SRPeepholeLSTM"), {"units": 4, "num_centroids": 3}),
    "StateRegularizedCell": {"num_centroids": 3},
}
every_kind = pytest.mark.parametrize("kind", SIZES)


def of_size(kind: str, **sizes: Any) -> keras.layers.Layer:
    own = {"cell": keras.layers.GRUCell(4)} if kind == "StateRegularizedCell" else {}
    return getattr(layers, kind)(**own, **{**SIZES[kind], **sizes})


def test_no_class_with_sizes_is_forgotten() -> None:
    assert set(SIZES) == set(layers.__all__) - {"StateRegularizedRNN", "WordDropout"}


@pytest.mark.core
@every_kind
def test_sizes_other_than_positive_integers_are_refused(kind: str) -> None:
    for name in SIZES[kind]:
        for value in (0, 4.0, None):
            optional = ("vocabulary_size",) if kind.startswith("FactoredISAN") else ("key_dim", "value_dim")
            if value is None and name in optional:
                continue  # for real-valued inputs, or as many as fit
            with refusal(f"`{name}` must be a positive integer. Received: {name}={value!r}."):
                of_size(kind, **{name: value})
        for integer in (np.int64, np.uint8):
            layer = of_size(kind, **{name: integer(4)})
            found = getattr(layer, name, None) or getattr(layer.cell, name)
            assert type(found) is type(layer.get_config()[name]) is int
            assert found == 4


WITH_DROPOUT = [name + part for name in ("MinimalRNN", "CFN", "PeepholeLSTM") for part in ("", "Cell")]


@pytest.mark.parametrize("kind", WITH_DROPOUT)
def test_dropout_rates_outside_zero_to_below_one_are_refused(kind: str) -> None:
    for name in ("dropout", "recurrent_dropout"):
        for value in (1.0, -0.1, None):
            with refusal(f"`{name}` must be a number in [0, 1). Received: {name}={value!r}."):
                of_size(kind, **{name: value})
        for value in (0, 0.0, 0.999, np.float32(0.5)):
            assert of_size(kind, **{name: value}).get_config()[name] == float(value)


def test_a_misspelt_argument_is_refused() -> None:
    for kind in SIZES:
        if not kind.startswith("StateRegularized"):
            with pytest.raises((TypeError, ValueError), match="recurent_dropout"):
                of_size(kind, recurent_dropout=0.1)
