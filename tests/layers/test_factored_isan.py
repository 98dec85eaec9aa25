"""FactoredISAN: its matrices, factors, gradients of symbols that are read several times, and errors.

The behaviour of every layer is in test_contract.py.
"""

import keras
import numpy as np
import pytest

from keras_interp_rnn.layers import FactoredISAN, FactoredISANCell
from tests.layers.common import numpy, refusal
from tests.layers.contract import QUICK, Subject
from tests.layers.subjects import SUBJECTS, factored_network, parametrized
from tests.oracles import factored_isan as oracle
from tests.tolerances import assert_close

FEATURES, SYMBOLS = SUBJECTS["FactoredISAN"], SUBJECTS["FactoredISAN of symbols"]

every_kind = parametrized([FEATURES, SYMBOLS])


class TestValues:
    @pytest.mark.parametrize("dtype", ["int32", "bool"])
    def test_features_may_be_integers(self, dtype: str) -> None:
        some = FEATURES.sample()
        x = (some.inputs > 0).astype(dtype)
        FEATURES.assert_close(some.layer()(x), some._replace(inputs=x.astype(float)).outputs()[:, -1])


class TestKernels:
    @every_kind
    def test_kernels_equal_the_oracles(self, subject: Subject) -> None:
        some = subject.sample()
        matrices, biases = some.layer().kernels(some.inputs)
        x = oracle.unit_vectors(some.inputs, 5) if subject is SYMBOLS else some.inputs
        for place in np.ndindex(3, 7):
            W, b = oracle.affine_map(factored_network(some.weights), x[place])
            assert_close(matrices[place], W.T, "float64", "numpy")
            assert_close(biases[place], b, "float64", "numpy")

    def test_all_symbols_by_default(self) -> None:
        layer = SYMBOLS.sample().layer()
        for found, expected in zip(layer.kernels(), layer.kernels(range(5)), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_what_is_refused(self) -> None:
        for symbols in ([0, 5], [-1], [0.5]):
            with refusal("`inputs` must", "Map the text"):
                SYMBOLS.sample().layer().kernels(symbols)
        for inputs, received in ((None, "None"), (np.ones((2, 4)), "(2, 4)"), (1.0, "()")):
            with refusal("`inputs` must be real-valued (..., 5). Received: " + received):
                FEATURES.sample().layer().kernels(inputs)
        with refusal("The layer must be built.", "on inputs once."):
            FactoredISAN(4, 2).kernels()


class TestOptimizers:
    """A gradient that lists a symbol once for each reading would be squared reading by reading."""

    def test_the_first_step_of_adam_is_one_step_for_a_symbol_read_several_times(self) -> None:
        ids = np.array([[1, 1, 3, 1, 4], [3, 0, 1, 1, 1]])
        layer = FactoredISAN(4, 2, 6)
        model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
        before = [numpy(table).copy() for table in (layer.cell.switch_kernel, layer.cell.bias)]
        model.compile(keras.optimizers.Adam(0.01, epsilon=1e-12), "mse", jit_compile=QUICK)
        model.fit(ids, np.ones((2, 4)), verbose=0)
        for table, old in zip((layer.cell.switch_kernel, layer.cell.bias), before, strict=True):
            moved = np.abs(numpy(table) - old)
            np.testing.assert_allclose(moved[[0, 1, 3, 4]], 0.01, rtol=1e-2)
            np.testing.assert_array_equal(moved[[2, 5]], 0)


class TestWeights:
    @pytest.mark.parametrize("factors", [8, 64, 96])
    def test_all_matrices_start_near_one_that_is_orthogonal(self, factors: int) -> None:
        layer = FactoredISAN(64, factors, 50)
        layer.build((None, None))
        kernels, _ = layer.kernels()
        shared = numpy(layer.cell.shared_kernel)
        np.testing.assert_allclose(shared.T @ shared, 0.81 * np.eye(64), atol=1e-5)
        norms = np.linalg.norm(kernels - shared, 2, axis=(1, 2))
        assert 0.1 < norms.mean() < 0.35
        assert norms.max() < 0.6  # six standard deviations of a gain

    def test_features_of_mean_square_one_switch_as_much(self) -> None:
        layer = FactoredISAN(16, 300)
        layer.build((None, None, 40))
        x = np.random.default_rng(0).normal(size=(200, 40))
        assert np.std(x @ numpy(layer.cell.switch_kernel)) == pytest.approx(0.1, rel=0.05)

    def test_without_a_shared_kernel_symbols_start_near_a_rotation(self) -> None:
        layer = FactoredISAN(32, 32, 50, shared=False)
        layer.build((None, None))
        values = np.linalg.svd(layer.kernels()[0], compute_uv=False)
        assert values.mean() == pytest.approx(0.9, abs=0.05)
        assert values.min() > 0.3

    def test_the_factors_are_drawn_independently(self) -> None:
        layer = FactoredISAN(4, 4, 3, factor_initializer=keras.initializers.RandomNormal(seed=3))
        layer.build((None, None))
        U, V = numpy(layer.cell.into_factors), numpy(layer.cell.out_of_factors)
        assert np.abs(U - V).max() > 0.01
        assert np.abs(U - V.T).max() > 0.01


class TestErrors:
    def test_inputs_of_other_shapes_and_dtypes_are_refused(self) -> None:
        features = "must be sequences (batch, time, features) with a known number of features."
        ids = "Bring the features into one last axis. If these are ids, pass vocabulary_size."
        shapes = ((3, 7), (7,), (3, 7, 5, 1))
        for layer, given, *sentences in (
            *((FactoredISAN(4, 2), np.zeros(s, "int32"), features, f"Received: shape={s}. {ids}") for s in shapes),
            *((FactoredISAN(4, 2), np.zeros(s, "float32"), features, f"Received: shape={s}. {ids}") for s in shapes),
            (FactoredISAN(4, 2), keras.Input((None, None)), "with a known number of", "Give the Input its last axis."),
        ):
            with refusal(*sentences):
                layer(given)

    def test_a_cell_without_weights_has_no_initial_state(self) -> None:
        with refusal("must be built before its initial state", "cell.build("):
            FactoredISANCell(4, 2).get_initial_state(3)
        assert FactoredISANCell(4, 2, 5).get_initial_state(3)[0].shape == (3, 4)
