"""What MinimalRNN, CFN and their cells refuse, and the sentence they say: the rule, what came in, the remedy."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.layers import CFN, CFNCell, MinimalRNN, MinimalRNNCell
from tests.gated_samples import KINDS, sample
from tests.layers.common import says

X = np.zeros((3, 7, 5), "float32")
IDS = np.zeros((3, 7), "int32")

every_kind = pytest.mark.parametrize("kind", KINDS)
every_class = pytest.mark.parametrize("kind", [MinimalRNN, MinimalRNNCell, CFN, CFNCell])


def layer(kind: str, **arguments) -> MinimalRNN | CFN:
    return getattr(layers, kind)(4, **arguments)


@every_class
@pytest.mark.parametrize("value", [0, -3, 4.0, 2.5, True, False, "4", None, np.float64(4), [4]])
def test_units_are_a_positive_integer(kind: type, value) -> None:
    with pytest.raises(ValueError, match=says(f"units must be a positive integer. Received: units={value!r}.")):
        kind(value)


@every_class
def test_units_may_be_an_integer_of_numpy(kind: type) -> None:
    assert type(kind(np.int64(4)).units) is int


@every_class
@pytest.mark.parametrize("name", ["dropout", "recurrent_dropout"])
class TestRates:
    @pytest.mark.parametrize("value", [1, 1.0, 1.5, -0.1, -1, float("nan"), True, np.float32(1)])
    def test_lie_from_zero_to_below_one(self, kind: type, name: str, value) -> None:
        sentence = says(f"{name} is a share of units, at least 0 and below 1. Received: {name}={value!r}.")
        with pytest.raises(ValueError, match=sentence):
            kind(4, **{name: value})

    @pytest.mark.parametrize("value", [0, 0.0, 0.999, np.float32(0.5)])
    def test_may_be_nothing_or_nearly_all(self, kind: type, name: str, value) -> None:
        assert kind(4, **{name: value}).get_config()[name] == float(value)


@pytest.mark.parametrize("value", ["0.5", None, [0.1]])
def test_rates_are_numbers(value) -> None:
    with pytest.raises(ValueError, match=says("dropout is a share of units", f"Received: dropout={value!r}.")):
        MinimalRNN(4, dropout=value)


class TestEncoders:
    @pytest.mark.parametrize("kind", [MinimalRNN, MinimalRNNCell])
    @pytest.mark.parametrize("value", [np.tanh, "tanh", 4, keras.layers.Dense])
    def test_are_layers(self, kind: type, value) -> None:
        sentence = says(
            f"encoder must be a Keras layer from (batch, ...) to (batch, 4). Received: {value!r}.",
            "Wrap a function in keras.layers.Lambda.",
        )
        with pytest.raises(ValueError, match=sentence):
            kind(4, encoder=value)

    @pytest.mark.parametrize(
        ("encoder", "inputs", "makes", "step"),
        [
            (lambda: keras.layers.Dense(3), X, (3, 3), (3, 5)),
            (keras.layers.Identity, X, (3, 5), (3, 5)),
            (lambda: keras.layers.Dense(4), X[..., None], (3, 5, 4), (3, 5, 1)),
            (lambda: keras.layers.Embedding(9, 4), IDS[..., None], (3, 1, 4), (3, 1)),
        ],
    )
    def test_put_out_the_units_for_one_step(self, encoder, inputs: np.ndarray, makes: tuple, step: tuple) -> None:
        sentence = says(
            "The encoder must put out (batch, units) = (batch, 4) for one step.",
            f"Received: an encoder that makes {makes} of a step of shape {step}.",
            "Give it 4 outputs.",
        )
        with pytest.raises(ValueError, match=sentence):
            layer("MinimalRNN", encoder=encoder())(inputs)

    def test_of_a_model_input(self) -> None:
        with pytest.raises(ValueError, match=says("makes (None, 3) of a step of shape (None, 5).")):
            layer("MinimalRNN", encoder=keras.layers.Dense(3))(keras.Input((None, 5)))

    def test_that_read_sequences_have_no_place(self) -> None:
        with pytest.raises(ValueError, match="expected ndim=3"):
            layer("MinimalRNN", encoder=keras.layers.GRU(4))(X)


class TestDropout:
    @every_kind
    @pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
    def test_of_inputs_takes_real_numbers(self, kind: str, dtype: str) -> None:
        some = layer(kind, dropout=0.5)
        sentence = says(
            "dropout=0.5 zeroes features of real-valued inputs.",
            "Received: inputs of dtype",
            dtype,
            "Put the dropout into the encoder, after its Embedding.",
        )
        with pytest.raises(ValueError, match=sentence):
            some(X.astype(dtype), training=True)
        some(X.astype(dtype))

    def test_of_ids(self) -> None:
        some = layer("MinimalRNN", dropout=0.5, encoder=keras.layers.Embedding(9, 4))
        with pytest.raises(ValueError, match=says("dropout=0.5 zeroes features of real-valued inputs.")):
            some(IDS, training=True)
        layer("MinimalRNN", recurrent_dropout=0.5, encoder=keras.layers.Embedding(9, 4))(IDS, training=True)


class TestMasks:
    @every_kind
    @pytest.mark.parametrize("shape", [(7,), (3, 6), (2, 7), (7, 3), (3, 7, 1), (3, 7, 5)])
    def test_one_bool_for_each_step(self, kind: str, shape: tuple[int, ...]) -> None:
        sentence = says(
            "mask must have the shape (batch, time) = (3, 7) of the sequences, True where a step is to be read.",
            f"Received: mask.shape={shape}.",
            "Give one bool per step.",
        )
        with pytest.raises(ValueError, match=sentence):
            layer(kind)(X, mask=np.ones(shape, bool))

    @every_kind
    def test_a_mask_of_a_model_input(self, kind: str) -> None:
        with pytest.raises(ValueError, match=says("mask must have the shape", "Received: mask.shape=(None, 6).")):
            layer(kind)(keras.Input((7, 5)), mask=keras.Input((6,), dtype="bool"))

    @every_kind
    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_numbers_are_taken_as_bools(self, kind: str, dtype: str) -> None:
        some = sample(kind, mask="scattered")
        found, expected = (some.layer()(some.inputs, mask=some.mask.astype(dtype)) for dtype in (dtype, bool))
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(found), keras.ops.convert_to_numpy(expected))


class TestShapes:
    @every_kind
    def test_a_built_layer_reads_sequences(self, kind: str) -> None:
        some = layer(kind)
        some(X)
        sentence = says(f"{kind} reads sequences (batch, time", "Received: shape=(7,).", "Add the missing axes.")
        with pytest.raises(ValueError, match=sentence):
            some(X[0, :, 0])

    @every_kind
    def test_a_layer_that_is_not_built_reads_sequences(self, kind: str) -> None:
        with pytest.raises(ValueError, match=says(f"{kind} reads s", "Received:", "shape", "(7,)")):
            layer(kind)(X[0, :, 0])

    @pytest.mark.parametrize("shape", [(7,), (7, 5), (3, 7, 5, 1)])
    def test_cfn_reads_three_axes(self, shape: tuple[int, ...]) -> None:
        sentence = says(
            "CFN reads steps (batch, features) of a known number of features.",
            f"Received: a step of shape {(*shape[:1], *shape[2:])}.",
            "Flatten the features, or embed ids first.",
        )
        with pytest.raises(ValueError, match=sentence):
            layer("CFN")(np.zeros(shape, "float32"))

    @pytest.mark.parametrize("shape", [(None,), (None, None), (7, None), (None, 5, 2)])
    def test_cfn_reads_three_axes_of_a_model_input(self, shape: tuple[int | None, ...]) -> None:
        sentence = says("CFN reads steps (batch, features)", f"Received: a step of shape {(None, *shape[1:])}.")
        with pytest.raises(ValueError, match=sentence):
            layer("CFN")(keras.Input(shape))

    @every_kind
    def test_a_built_layer_reads_as_many_features_as_before(self, kind: str) -> None:
        some = layer(kind)
        some(X)
        with pytest.raises(ValueError, match="5.*3"):
            some(X[..., :3])


class TestStateful:
    @every_kind
    @pytest.mark.parametrize("batch", [1, 2, 4])
    def test_the_batch_size_stays(self, kind: str, batch: int) -> None:
        some = layer(kind, stateful=True)
        some(X)
        sentence = says(
            "stateful=True carries one state per sequence, of 3.",
            f"Received: a batch of {batch}.",
            "Keep the batch size, and drop a smaller last batch.",
        )
        with pytest.raises(ValueError, match=sentence):
            some(np.zeros((batch, 7, 5), "float32"))

    @every_kind
    def test_the_batch_size_must_be_known(self, kind: str) -> None:
        with pytest.raises(ValueError, match="the batch size must be static"):
            layer(kind, stateful=True)(keras.Input((7, 5)))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow runs with an unknown time")
@every_kind
def test_unrolling_needs_the_number_of_steps(kind: str) -> None:
    import tensorflow as tf

    some = layer(kind, unroll=True)
    sentence = says(
        "unroll=True needs a known number of steps.",
        "Received: sequences of shape (3, None, 5).",
        "Give the model's Input its time, or pass unroll=False.",
    )
    with pytest.raises(ValueError, match=sentence):
        tf.function(some, input_signature=[tf.TensorSpec((3, None, 5))])(X)
