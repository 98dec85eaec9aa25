"""Affine maps of rows and their composition, against the oracle's loop and by hand."""

import keras
import numpy as np
import pytest

from keras_interp_rnn.affine import AffineMap
from tests.oracles import isan as oracle
from tests.samples import sample
from tests.tolerances import assert_close

SEEDS = (0, 1, 2)


def random_map(rng: np.random.Generator, rows: int, columns: int) -> AffineMap:
    return AffineMap(rng.normal(size=(rows, columns)), rng.normal(size=columns))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_map_acts_on_each_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    some = random_map(rng, 3, 4)
    states = rng.normal(size=(2, 5, 3))
    result = some.apply(states)
    for i in range(2):
        for j in range(5):
            assert_close(result[i, j], some.matrix.T @ states[i, j] + some.offset, "float64", "numpy")


def test_the_identity_changes_nothing() -> None:
    some = random_map(np.random.default_rng(0), 3, 3)
    identity = AffineMap.identity(3)
    for composed in (identity.then(some), some.then(identity)):
        np.testing.assert_array_equal(composed.matrix, some.matrix)
        np.testing.assert_array_equal(composed.offset, some.offset)
    assert identity.matrix.dtype == identity.offset.dtype == np.float64


@pytest.mark.parametrize("seed", SEEDS)
def test_the_map_of_a_word_is_that_of_its_symbols_in_reading_order(seed: int) -> None:
    some = sample(seed)
    for text in some.symbols:
        word = AffineMap.compose((AffineMap(some.kernel[k], some.bias[k]) for k in text), some.units)
        expected = oracle.states(some.W, some.bias, some.initial_state, text[None])[0, -1]
        assert_close(word.apply(some.initial_state), expected, "float64", "numpy")


def test_maps_with_leading_axes_are_composed_one_by_one() -> None:
    rng = np.random.default_rng(0)
    first = AffineMap(rng.normal(size=(6, 3, 4)), rng.normal(size=(6, 4)))
    second = AffineMap(rng.normal(size=(6, 4, 2)), rng.normal(size=(6, 2)))
    states = rng.normal(size=(6, 3))
    composed, moved = first.then(second), first.apply(states)
    for i in range(6):
        one, other = AffineMap(first.matrix[i], first.offset[i]), AffineMap(second.matrix[i], second.offset[i])
        assert_close(moved[i], one.apply(states[i]), "float64", "numpy")
        assert_close(composed.matrix[i], one.then(other).matrix, "float64", "numpy")
        assert_close(composed.offset[i], one.then(other).offset, "float64", "numpy")


def test_maps_of_tensors_are_maps_of_arrays() -> None:
    rng = np.random.default_rng(0)
    first, second = random_map(rng, 3, 4), random_map(rng, 4, 2)
    tensors = [AffineMap(*(keras.ops.convert_to_tensor(part) for part in some)) for some in (first, second)]
    composed, expected = tensors[0].then(tensors[1]), first.then(second)
    assert_close(composed.matrix, expected.matrix, "float64")
    assert_close(composed.offset, expected.offset, "float64")
