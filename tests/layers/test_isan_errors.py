"""What ISAN and ISANCell refuse, and the sentence they say: the rule, what came in, the remedy."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn.layers import ISAN, ISANCell
from tests.layers.common import says
from tests.samples import sample

IDS = np.zeros((3, 7), "int32")
DISTRIBUTION = np.full((3, 7, 5), 0.2, "float32")


def layer(**arguments) -> ISAN:
    return ISAN(4, vocabulary_size=5, **arguments)


@pytest.mark.parametrize("kind", [ISAN, ISANCell])
@pytest.mark.parametrize("name", ["units", "vocabulary_size"])
@pytest.mark.parametrize("value", [0, -3, 4.0, 2.5, True, False, "4", None, np.float64(4), [4]])
def test_sizes_are_positive_integers(kind: type, name: str, value) -> None:
    sentence = says(f"{name} must be a positive integer. Received: {name}={value!r}.")
    with pytest.raises(ValueError, match=sentence):
        kind(**{"units": 4, "vocabulary_size": 5, name: value})


@pytest.mark.parametrize("kind", [ISAN, ISANCell])
def test_sizes_may_be_integers_of_numpy(kind: type) -> None:
    some = kind(np.int64(4), vocabulary_size=np.uint8(5))
    assert type(some.units) is type(some.vocabulary_size) is int


@pytest.mark.parametrize("value", ["yes", "grouped", None, 2])
def test_fused_is_auto_or_a_bool(value) -> None:
    with pytest.raises(ValueError, match=says(f"fused must be 'auto', True or False. Received: fused={value!r}.")):
        layer(fused=value)


@pytest.mark.parametrize("value", [0, np.False_])
def test_what_equals_false_means_false(value) -> None:
    some = layer(fused=value)
    some(IDS)
    assert some.chosen_path == ("stepwise", "fused=False")


class TestShapes:
    RULE = "ISAN reads integer ids (batch, time), or one-hot vectors or distributions (batch, time, 5)."
    REMEDY = "Cast ids to an integer dtype (for a model input: keras.Input(shape, dtype='int32'))."

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_ids_are_integers(self, dtype: str) -> None:
        received = "Received: shape=(3, 7), dtype=float32."  # to which Keras casts
        with pytest.raises(ValueError, match=says(self.RULE, received, self.REMEDY)):
            layer()(ops.convert_to_tensor(IDS.astype(dtype)))

    def test_ids_of_a_model_input_are_integers(self) -> None:
        received = "Received: shape=(None, None), dtype=float32."
        with pytest.raises(ValueError, match=says(self.RULE, received, self.REMEDY)):
            layer()(keras.Input((None,)))

    @pytest.mark.parametrize("shape", [(7,), (3, 7, 4), (3, 7, 6), (3, 7, 5, 1), (3, 7, 1, 1)])
    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_any_other_shape(self, shape: tuple[int, ...], dtype: str) -> None:
        with pytest.raises(ValueError, match=says(self.RULE, f"Received: shape={shape}, dtype={dtype}.")):
            layer()(np.zeros(shape, dtype))

    @pytest.mark.parametrize("shape", [(None, 4), (None, None, 3)])
    def test_any_other_shape_of_a_model_input(self, shape: tuple[int | None, ...]) -> None:
        with pytest.raises(ValueError, match=says(self.RULE, f"Received: shape={(None, *shape)}, dtype=float32.")):
            layer()(keras.Input(shape))

    @pytest.mark.parametrize(("shape", "dtype"), [((3,), "float32"), ((3, 4), "float32"), ((3, 1), "float32")])
    def test_the_cell_names_the_shapes_of_one_step(self, shape: tuple[int, ...], dtype: str) -> None:
        cell = ISANCell(4, 5)
        rule = "ISAN reads integer ids (batch, 1), or one-hot vectors or distributions (batch, 5)."
        with pytest.raises(ValueError, match=says(rule, f"Received: shape={shape}, dtype={dtype}.")):
            cell(np.zeros(shape, dtype), cell.get_initial_state(batch_size=3))


class TestRangeOfIds:
    @pytest.mark.parametrize("fused", ["auto", False])
    @pytest.mark.parametrize(("value", "low", "high"), [(5, 0, 5), (-1, -1, 0), (200, 0, 200)])
    def test_ids_known_in_advance_lie_in_the_vocabulary(self, fused, value: int, low: int, high: int) -> None:
        ids = IDS.copy()
        ids[1, 3] = value
        sentence = says(
            "ids must lie in [0, vocabulary_size) = [0, 5).",
            f"Received: ids from {low} to {high}.",
            "Map the text to ids below 5, or build the layer with a larger vocabulary_size.",
        )
        for given in (ids, ids.astype("int64"), ops.convert_to_tensor(ids), ids[:, :, None]):
            with pytest.raises(ValueError, match=sentence):
                layer(fused=fused)(given)

    def test_the_largest_id_is_one_below_the_size(self) -> None:
        layer()(IDS + 4)

    def test_the_cell_checks_too(self) -> None:
        cell = ISANCell(4, 5)
        with pytest.raises(ValueError, match=says("ids must lie in [0, vocabulary_size) = [0, 5).", "from 0 to 5")):
            cell(np.array([[0], [5], [1]]), cell.get_initial_state(batch_size=3))

    def test_no_ids_at_all_are_all_in_range(self) -> None:
        assert layer()(np.zeros((0, 7), "int32")).shape == (0, 4)


class TestMasks:
    @pytest.mark.parametrize("shape", [(7,), (3, 6), (2, 7), (7, 3), (3, 7, 1)])
    def test_one_bool_for_each_symbol(self, shape: tuple[int, ...]) -> None:
        sentence = says(
            "mask must have the shape (batch, time) = (3, 7) of the sequences, True where a step is to be read.",
            f"Received: mask.shape={shape}.",
            "Give one bool per step.",
        )
        with pytest.raises(ValueError, match=sentence):
            layer()(IDS, mask=np.ones(shape, bool))

    def test_a_mask_of_a_model_input(self) -> None:
        ids = keras.Input((7,), dtype="int32")
        with pytest.raises(ValueError, match=says("mask must have the shape", "Received: mask.shape=(None, 6).")):
            layer()(ids, mask=keras.Input((6,), dtype="bool"))

    def test_numbers_are_taken_as_bools(self) -> None:
        some = sample(mask="scattered")
        expected = ops.convert_to_numpy(some.layer()(some.symbols, mask=some.mask))
        for dtype in ("int32", "float32"):
            found = some.layer()(some.symbols, mask=some.mask.astype(dtype))
            np.testing.assert_array_equal(ops.convert_to_numpy(found), expected)


class TestFused:
    def test_true_refuses_a_distribution(self) -> None:
        sentence = says("fused=True cannot run here: the input is a distribution", "pass integer ids, or fused='auto'.")
        with pytest.raises(ValueError, match=sentence):
            layer(fused=True)(DISTRIBUTION)

    def test_true_refuses_to_unroll(self) -> None:
        sentence = says("fused=True cannot run here: unroll=True", "pass unroll=False, or fused='auto'.")
        with pytest.raises(ValueError, match=sentence):
            layer(fused=True, unroll=True)(IDS)

    def test_auto_takes_both(self) -> None:
        assert layer()(DISTRIBUTION).shape == layer(unroll=True)(IDS).shape == (3, 4)
