"""What is an ISAN's alone: what it reads, how its matrices begin, and what it and its cell refuse.

What it shares with every layer is in test_contract.py, its paths in test_isan_paths.py.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN, FactoredISAN, ISANCell
from tests.layers.common import next_symbols, reads_ids_back, says
from tests.layers.contract import Subject
from tests.layers.subjects import SUBJECTS, parametrized
from tests.oracles import isan as oracle
from tests.samples import sample

IDS = np.zeros((3, 7), "int32")
DISTRIBUTION = np.full((3, 7, 5), 0.2, "float32")


def layer(**arguments) -> ISAN:
    return ISAN(4, vocabulary_size=5, **arguments)


class TestInputs:
    @parametrized([subject for subject in SUBJECTS.values() if subject.reads == "ids" and subject.exact])
    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
    def test_ids_of_any_integer_dtype_with_a_feature_axis_or_without(self, subject: Subject, dtype: str) -> None:
        some = subject.sample()
        layer, ids = some.layer(return_sequences=True), some.inputs.astype(dtype)
        for given in (ids, ops.convert_to_tensor(ids), ids[:, :, None]):
            subject.assert_close(layer(given), some.outputs())

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
    def test_one_hot_vectors_are_ids(self, dtype: str) -> None:
        some = sample()
        layer = some.layer(return_sequences=True)
        found = layer(np.eye(some.vocabulary_size)[some.symbols].astype(dtype))
        SUBJECTS["ISAN"].assert_close(found, some.states())
        assert layer.chosen_path.name == "stepwise"

    def test_mixed_precision_reads_one_hot_vectors_as_ids(self) -> None:
        some = sample()
        layer = some.layer(return_sequences=True, dtype="mixed_bfloat16")
        one_hot = np.eye(some.vocabulary_size, dtype="float32")[some.symbols]
        found, expected = (ops.convert_to_numpy(ops.cast(layer(x), "float32")) for x in (one_hot, some.symbols))
        np.testing.assert_allclose(found, expected, rtol=2**-7)

    @pytest.mark.parametrize("mask", [None, "trailing", "inner"])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_any_distribution_applies_the_expected_map(self, mask: str | None, seed: int) -> None:
        subject = SUBJECTS["ISAN of distributions"]
        some = subject.sample(seed, mask=mask)
        some = some._replace(inputs=np.random.default_rng(seed).dirichlet(np.ones(5), size=(3, 7)))
        subject.assert_close(some.layer(return_sequences=True)(some.inputs, mask=some.mask), some.outputs())

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
        SUBJECTS["ISAN"].assert_close(model(below.symbols), expected)


class TestInitialState:
    @pytest.mark.parametrize("make", [lambda **a: ISAN(4, 5, **a), lambda **a: FactoredISAN(4, 2, 5, **a)])
    def test_that_is_not_learned_stays(self, make) -> None:
        x, y = next_symbols(4)
        layer = make(return_sequences=True, learn_initial_state=False, initial_state_initializer="ones")
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(5)])
        model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
        assert [weight.name for weight in layer.non_trainable_weights] == ["initial_state"]
        assert "initial_state" not in {weight.name for weight in layer.trainable_weights}
        before = [ops.convert_to_numpy(weight).copy() for weight in layer.trainable_weights]
        model.fit(x, y, epochs=1, verbose=0)
        np.testing.assert_array_equal(ops.convert_to_numpy(layer.cell.initial_state), np.ones(4))
        for weight, old in zip(layer.trainable_weights, before, strict=True):
            assert not np.allclose(ops.convert_to_numpy(weight), old)


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

    def test_an_initializer_may_be_a_function(self) -> None:
        layer = ISAN(4, 5, recurrent_initializer=lambda shape, dtype=None: ops.eye(*shape, dtype=dtype))
        layer.build((None, None))
        np.testing.assert_array_equal(layer.get_weights()[0], np.tile(np.eye(4), (5, 1, 1)))


def test_the_layer_and_its_cell_hold_the_same_settings() -> None:
    some = ISAN(4, 5, learn_initial_state=False, recurrent_initializer=keras.initializers.RandomNormal(stddev=0.2))
    assert (some.units, some.vocabulary_size, some.learn_initial_state) == (4, 5, False)
    assert some.cell.recurrent_initializer.stddev == 0.2


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
            layer()(ops.convert_to_tensor(IDS.astype(dtype) + 0.5))

    @pytest.mark.parametrize("shape", [(7,), (3, 7, 4), (3, 7, 6), (3, 7, 5, 1), (3, 7, 1, 1)])
    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_any_other_shape(self, shape: tuple[int, ...], dtype: str) -> None:
        sentence = says(self.RULE, f"Received: shape={shape}. Give each step one id, or 5 numbers.")
        with pytest.raises(ValueError, match=sentence):
            layer()(np.zeros(shape, dtype))

    @pytest.mark.parametrize("shape", [(None, 4), (None, None, 3)])
    def test_any_other_shape_of_a_model_input(self, shape: tuple[int | None, ...]) -> None:
        with pytest.raises(ValueError, match=says(self.RULE, f"Received: shape={(None, *shape)}.")):
            layer()(keras.Input(shape))

    @pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 1)])
    def test_the_cell_names_the_shapes_of_one_step(self, shape: tuple[int, ...]) -> None:
        cell = ISANCell(4, 5)
        rule = "ISANCell reads integer ids (batch, 1), or one-hot vectors or distributions (batch, 5)."
        with pytest.raises(ValueError, match=says(rule, f"Received: shape={shape}")):
            cell(np.full(shape, 0.5, "float32"), cell.get_initial_state(batch_size=3))


class TestRangeOfIds:
    @reads_ids_back
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

    @reads_ids_back
    def test_the_cell_checks_too(self) -> None:
        cell = ISANCell(4, 5)
        with pytest.raises(ValueError, match=says("ids must lie in [0, vocabulary_size) = [0, 5).", "from 0 to 5")):
            cell(np.array([[0], [5], [1]]), cell.get_initial_state(batch_size=3))

    def test_no_ids_at_all_are_all_in_range(self) -> None:
        assert layer()(np.zeros((0, 7), "int32")).shape == (0, 4)


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


@pytest.mark.parametrize("seed", [0, 7])
def test_matrices_of_many_symbols_are_orthogonal_each_its_own(seed: int) -> None:
    start = keras.initializers.Orthogonal(gain=0.9, seed=seed)
    cells = [ISANCell(3, 1_100, recurrent_initializer=start) for _ in range(2)]
    for cell in cells:
        cell.build((None, 1))
    matrices, again = (keras.ops.convert_to_numpy(cell.recurrent_kernel) for cell in cells)
    np.testing.assert_array_equal(matrices, again)
    products = matrices @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(products, np.tile(0.81 * np.eye(3), (1_100, 1, 1)), atol=1e-6)
    assert len(np.unique(matrices[:, 0, 0].round(5))) > 1_000
    assert 0.4 < (np.linalg.det(matrices) > 0).mean() < 0.6  # of Haar's measure half are reflections
