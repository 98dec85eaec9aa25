"""Biases and their parts in two subspaces, against least squares and loops."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.biases import bias_parts
from tests.analysis.isan.networks import CLOSE, SIZES, isan_of, network, readout_of_rank
from tests.oracles import isan_reading as reading


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_parts_of_the_biases_are_their_projections(units, symbols, outputs, seed):
    model, (_, bias, _, W_ro, _) = network(units, symbols, outputs, seed)
    found = bias_parts(model)
    parallel, orthogonal = reading.parts(W_ro, bias)
    np.testing.assert_array_equal(found.whole, bias)
    np.testing.assert_allclose(found.readout, parallel, **CLOSE)
    np.testing.assert_allclose(found.computational, orthogonal, **CLOSE)


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_readout_of_any_rank_splits_the_space(rank, seed):
    model, (_, bias, _, _, _) = network(7, 4, 3, seed)
    readout = readout_of_rank(rank, 7, 5, seed)
    found = bias_parts(model.layers[0], readout)
    parallel, _ = reading.parts(readout[0].T, bias)
    np.testing.assert_allclose(found.readout, parallel, **CLOSE)
    np.testing.assert_allclose(found.readout + found.computational, bias, **CLOSE)
    # No prediction reads the computational part: the logits of the readout part are those of the bias.
    np.testing.assert_allclose(found.computational @ readout[0], np.zeros((4, 5)), atol=1e-12)
    np.testing.assert_allclose(found.readout @ readout[0], bias @ readout[0], **CLOSE)
    np.testing.assert_allclose((found.readout * found.computational).sum(axis=1), np.zeros(4), atol=1e-12)
    np.testing.assert_allclose(found.readout @ found.computational.T, np.zeros((4, 4)), atol=1e-12)
    assert np.linalg.matrix_rank(found.readout, tol=1e-9) == min(rank, 4)


def test_a_readout_that_spans_the_space_leaves_no_computational_part():
    model, (_, bias, _, _, _) = network(3, 4, 5, 0)
    np.testing.assert_allclose(bias_parts(model).readout, bias, **CLOSE)
    np.testing.assert_allclose(analysis.bias_norms(model).computational, np.zeros(4), atol=1e-12)
    # A layer by itself is read by the identity.
    np.testing.assert_allclose(bias_parts(model.layers[0]).readout, bias, **CLOSE)


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES[:2])
@pytest.mark.parametrize("seed", [0, 1])
def test_lengths_and_angles_are_those_of_the_parts(units, symbols, outputs, seed):
    model, (_, bias, _, W_ro, _) = network(units, symbols, outputs, seed)
    norms, cosines = analysis.bias_norms(model), analysis.bias_cosines(model)
    for norm, cosine, part in zip(norms, cosines, (bias, *reading.parts(W_ro, bias)), strict=True):
        np.testing.assert_allclose(norm, reading.lengths(part), **CLOSE)
        np.testing.assert_allclose(cosine, reading.cosines(part), **CLOSE)
        np.testing.assert_allclose(np.diag(cosine), np.ones(symbols), **CLOSE)
    np.testing.assert_allclose(norms.whole**2, norms.readout**2 + norms.computational**2, **CLOSE)


def test_a_symbol_without_bias_has_no_length_and_no_angle():
    bias = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
    isan = isan_of(np.zeros((2, 3, 3)), bias)
    readout = (np.array([[1.0], [0.0], [0.0]]), np.zeros(1))
    np.testing.assert_allclose(analysis.bias_norms(isan, readout).readout, [1, 0])
    for cosine in analysis.bias_cosines(isan, readout):
        np.testing.assert_allclose(cosine, [[1, 0], [0, 0]], atol=1e-15)


def test_opposite_biases_have_the_cosine_minus_one():
    isan = isan_of(np.zeros((2, 3, 3)), np.array([[1.0, 2.0, 0.5], [-2.0, -4.0, 1.0]]))
    cosines = analysis.bias_cosines(isan, (np.eye(3)[:, :2], np.zeros(2)))
    assert cosines.readout[0, 1] == pytest.approx(-1)
    assert cosines.computational[0, 1] == pytest.approx(1)
    assert cosines.whole[0, 1] == pytest.approx(-9.5 / (np.sqrt(5.25) * np.sqrt(21)))


@pytest.mark.parametrize("read", [bias_parts, analysis.bias_norms, analysis.bias_cosines, analysis.transition_spectra])
def test_structure_is_read_with_an_affine_head_alone(read):
    isan = layers.ISAN(4, 3, return_sequences=True)
    model = keras.Sequential(
        [keras.Input((5,), dtype="int32"), isan, keras.layers.Dense(3, "tanh"), keras.layers.Dense(2)]
    )
    with pytest.raises(ValueError, match="Logits split exactly if Dense layers alone read"):
        read(model)
    with pytest.raises(ValueError, match="Exactly one ISAN can be read at a time"):
        read(keras.Sequential([keras.Input((3, 2)), keras.layers.LSTM(4)]))


def test_a_layer_reads_with_its_head_or_with_arrays_as_the_model_does():
    model, _ = network(7, 4, 3, 1)
    isan, head = model.layers
    for read in (bias_parts, analysis.bias_norms, analysis.bias_cosines, analysis.transition_spectra):
        for readout in (head, tuple(head.get_weights())):
            for one, other in zip(read(model), read(isan, readout), strict=True):
                np.testing.assert_array_equal(one, other)
