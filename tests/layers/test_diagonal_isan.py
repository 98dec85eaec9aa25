"""Diagonal and block-diagonal ISANs, compared with the ISAN of the same matrices."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from tests import autodiff

K, N = 5, 6


def draw(layer, seed=0):
    layer.build((None, None))
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape) / 2)
    return layer


def isan_of(layer):
    kernel, bias = layer.cell.kernels()
    isan = layers.ISAN(N, K, dtype="float64", recurrent_constraint=None, return_sequences=True)
    isan.build((None, None))
    isan.cell.recurrent_kernel.assign(kernel)
    isan.cell.bias.assign(bias)
    isan.cell.initial_state.assign(layer.cell.initial_state)
    return isan


@pytest.mark.parametrize("block_size", [1, 2, 3, 6])
@pytest.mark.parametrize("distributions", [False, True])
def test_outputs_and_gradients_equal_those_of_the_isan_with_its_matrices(block_size, distributions):
    flags = {"recurrent_constraint": None, "return_sequences": True, "dtype": "float64"}
    layer = draw(layers.DiagonalISAN(N, K, block_size, **flags))
    isan, rng = isan_of(layer), np.random.default_rng(1)
    read = rng.integers(0, K, (3, 7)).astype("int32")
    if distributions:
        read = rng.dirichlet(np.ones(K), (3, 7))
    cotangent = keras.ops.convert_to_tensor(rng.normal(size=(3, 7, N)))

    def gradients(of):
        return autodiff.variable_gradients(
            lambda: keras.ops.sum(cotangent * of(read)),
            [of.cell.recurrent_kernel, of.cell.bias, of.cell.initial_state],
        )

    atol = 1e-5 if keras.backend.backend() == "torch" else 1e-10
    first, second = (keras.ops.convert_to_numpy(of(read)) for of in (layer, isan))
    np.testing.assert_allclose(first, second, atol=atol)
    assert (layer.chosen_path.name == "stepwise") == (block_size > 1)
    (blocks, *others), (kernel, *expected) = gradients(layer), gradients(isan)
    for i in range(N // block_size):
        place = slice(i * block_size, (i + 1) * block_size)
        np.testing.assert_allclose(blocks[:, i], kernel[:, place, place], atol=atol)
    for found, right in zip(others, expected, strict=True):
        np.testing.assert_allclose(found, right, atol=atol)


def test_a_diagonal_isan_is_analysed_as_an_isan():
    layer = draw(layers.DiagonalISAN(N, K, 2, return_sequences=True, dtype="float64"))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(2, dtype="float64")])
    split = analysis.contributions(model, [0, 3, 1, 4])
    assert split.residual < 1e-12
    right = keras.ops.convert_to_numpy(model(np.array([[0, 3, 1, 4]])))[0]
    np.testing.assert_allclose(split.logits, right, atol=1e-5 if keras.backend.backend() == "torch" else 1e-12)


@pytest.mark.parametrize("block_size", [1, 3])
def test_training_never_leaves_the_contractions(block_size):
    """With the default constraint, though the labels demand states that grow."""
    layer = layers.DiagonalISAN(N, K, block_size)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1.0), "mse")
    read = np.random.default_rng(0).integers(0, K, (8, 5)).astype("int32")
    model.fit(read, np.full((8, 1), 10.0), epochs=3, verbose=0)
    kernel, _ = layer.cell.kernels()
    assert np.linalg.norm(kernel, ord=2, axis=(1, 2)).max() < 1 + 1e-5


def test_a_block_size_that_does_not_divide_the_units_is_refused():
    with pytest.raises(ValueError, match=r"`block_size` must divide units. Received: units=5, block_size=2"):
        layers.DiagonalISAN(5, 3, 2)


def test_fused_true_for_blocks_is_refused():
    layer = layers.DiagonalISAN(4, 3, 2, fused=True)
    with pytest.raises(ValueError, match=r"fused=True cannot run here: blocks of several units run step by step"):
        layer(np.zeros((1, 2), "int32"))
