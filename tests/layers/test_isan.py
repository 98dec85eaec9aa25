"""ISAN: its inputs, its initial matrices, and its errors.

The behaviour of every layer is in test_contract.py, the paths of ISAN in test_isan_paths.py.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN, FactoredISAN, ISANCell
from tests.layers.common import next_symbols, reads_ids_back, refusal
from tests.layers.contract import QUICK, Subject
from tests.layers.subjects import SUBJECTS, parametrized
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


class TestInitialState:
    @pytest.mark.parametrize("make", [lambda **a: ISAN(4, 5, **a), lambda **a: FactoredISAN(4, 2, 5, **a)])
    def test_a_fixed_initial_state_is_not_trained(self, make) -> None:
        x, y = next_symbols(4)
        layer = make(return_sequences=True, learn_initial_state=False, initial_state_initializer="ones")
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(5)])
        model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol(), jit_compile=QUICK)
        assert [weight.name for weight in layer.non_trainable_weights] == ["initial_state"]
        assert "initial_state" not in {weight.name for weight in layer.trainable_weights}
        before = [ops.convert_to_numpy(weight).copy() for weight in layer.trainable_weights]
        model.fit(x, y, epochs=1, verbose=0)
        np.testing.assert_array_equal(ops.convert_to_numpy(layer.cell.initial_state), np.ones(4))
        for weight, old in zip(layer.trainable_weights, before, strict=True):
            assert not np.allclose(ops.convert_to_numpy(weight), old)


class TestInitialization:
    def test_each_matrix_is_orthogonal(self) -> None:
        layer = ISAN(6, 5)
        layer.build((None, None))
        kernel = layer.get_weights()[0]
        assert kernel.shape == (5, 6, 6)
        for matrix in kernel:
            np.testing.assert_allclose(matrix @ matrix.T, 0.81 * np.eye(6), atol=1e-6)

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


def test_fused_accepts_values_equal_to_false() -> None:
    for value in (0, np.False_):
        some = layer(fused=value)
        some(IDS)
        assert some.chosen_path == ("stepwise", "fused=False")


def refused(call, given, *sentences: str, **options) -> None:
    with refusal(*sentences):
        call(given, **options)


def test_inputs_of_other_shapes_are_refused() -> None:
    rule = "Inputs of ISAN must be integer ids (batch, time), or one-hot vectors or distributions (batch, time, 5)."
    for dtype in ("float32", "float64"):
        received = "Received: shape=(3, 7), dtype=float32."  # to which Keras casts
        remedy = "Cast ids to an integer dtype (for a model input: keras.Input(shape, dtype='int32'))."
        refused(layer(), ops.convert_to_tensor(IDS.astype(dtype) + 0.5), rule, received, remedy)
    for shape in ((7,), (3, 7, 4), (3, 7, 6), (3, 7, 5, 1), (3, 7, 1, 1)):
        received = f"Received: shape={shape}. Give each step one id, or 5 numbers."
        for dtype in ("int32", "float32"):
            refused(layer(), np.zeros(shape, dtype), rule, received)
    for shape in ((None, 4), (None, None, 3)):
        refused(layer(), keras.Input(shape), rule, f"Received: shape={(None, *shape)}.")
    cell = ISANCell(4, 5)
    start = cell.get_initial_state(batch_size=3)
    rule = "Inputs of ISANCell must be integer ids (batch, 1), or one-hot vectors or distributions (batch, 5)."
    for shape in ((3,), (3, 4), (3, 1)):
        refused(cell, np.full(shape, 0.5, "float32"), rule, f"Received: shape={shape}", states=start)


@reads_ids_back
@pytest.mark.parametrize(("value", "low", "high"), [(5, 0, 5), (-1, -1, 0), (200, 0, 200)])
def test_ids_outside_the_vocabulary_are_refused(value: int, low: int, high: int) -> None:
    ids = IDS.copy()
    ids[1, 3] = value
    rule = f"Ids must lie in [0, vocabulary_size) = [0, 5). Received: ids from {low} to {high}."
    remedy = "Map the text to ids below 5, or build the layer with a larger vocabulary_size."
    for fused in ("auto", False):
        for given in (ids, ids.astype("int64"), ops.convert_to_tensor(ids), ids[:, :, None]):
            refused(layer(fused=fused), given, rule, remedy)
    refused(FactoredISAN(4, 2, 5), ids, rule, remedy)
    cell = ISANCell(4, 5)
    start = cell.get_initial_state(batch_size=3)
    refused(cell, np.array([[0], [value], [0]]), rule, states=start)


def test_the_largest_id_and_no_ids_at_all_are_in_range() -> None:
    layer()(IDS + 4)
    assert layer()(np.zeros((0, 7), "int32")).shape == (0, 4)


def test_fused_refuses_what_auto_takes_step_by_step() -> None:
    mixes = "the input is a distribution over symbols, which mixes all matrices at every step"
    for given, flags, obstacle, remedy in (
        (DISTRIBUTION, {}, mixes, "pass integer ids"),
        (IDS, {"unroll": True}, "unroll=True asks for the cell step by step", "pass unroll=False"),
    ):
        sentence = f"fused=True cannot run here: {obstacle}: {remedy}, or fused='auto'."
        refused(layer(fused=True, **flags), given, sentence)
        some = layer(**flags)
        assert some(given).shape == (3, 4)
        assert some.chosen_path.name == "stepwise"
        assert some.chosen_path.reason.startswith(obstacle)


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
