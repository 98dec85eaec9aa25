"""Biases and their parts in two subspaces, against least squares and loops."""

import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.isan.biases import bias_parts
from tests.analysis.isan.networks import CLOSE, SIZES, isan_of, network, readout_of_rank
from tests.oracles import isan_reading as reading

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_readout_of_any_rank_splits_the_space(rank, seed):
    model, (_, bias, _, _, _) = network(7, 4, 3, seed)
    readout = readout_of_rank(rank, 7, 5, seed)
    found = bias_parts(model.layers[0], readout)
    parallel, orthogonal = reading.parts(readout[0].T, bias)
    np.testing.assert_array_equal(found.whole, bias)
    np.testing.assert_allclose(found.readout, parallel, **CLOSE)
    np.testing.assert_allclose(found.computational, orthogonal, **CLOSE)
    # No prediction reads the computational part.
    np.testing.assert_allclose(found.computational @ readout[0], np.zeros((4, 5)), atol=1e-12)


def test_a_readout_that_spans_the_space_leaves_no_computational_part():
    model, (_, bias, _, _, _) = network(3, 4, 5, 0)
    np.testing.assert_allclose(bias_parts(model).readout, bias, **CLOSE)
    np.testing.assert_allclose(analysis.bias_norms(model).computational, np.zeros(4), atol=1e-12)
    # A layer by itself is read by the identity.
    np.testing.assert_allclose(bias_parts(model.layers[0]).readout, bias, **CLOSE)


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES[:2])
@pytest.mark.parametrize("seed", [0, 1])
def test_lengths_are_those_of_the_parts(units, symbols, outputs, seed):
    model, (_, bias, _, W_ro, _) = network(units, symbols, outputs, seed)
    for norm, part in zip(analysis.bias_norms(model), (bias, *reading.parts(W_ro, bias)), strict=True):
        np.testing.assert_allclose(norm, reading.lengths(part), **CLOSE)


def test_a_symbol_without_bias_has_no_length():
    bias = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
    isan = isan_of(np.zeros((2, 3, 3)), bias)
    readout = (np.array([[1.0], [0.0], [0.0]]), np.zeros(1))
    np.testing.assert_allclose(analysis.bias_norms(isan, readout).readout, [1, 0])
