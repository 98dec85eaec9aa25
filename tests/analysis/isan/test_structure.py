"""Biases, matrices and states by their subspaces, against least squares and loops."""

import functools
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from tests.oracles import isan as oracle
from tests.oracles import isan_reading as reading

# Units, symbols, outputs: a readout narrower than the state, and one that spans it.
SIZES = [(7, 4, 3), (6, 9, 2), (3, 4, 5)]
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


@functools.cache
def network(units, symbols, outputs, seed):
    """A model with random asymmetric weights, and the same as the paper writes them: W, b, h_0, W_ro, b_ro."""
    rng = np.random.default_rng(seed)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(units, symbols, return_sequences=True, dtype="float64"),
            keras.layers.Dense(outputs, dtype="float64"),
        ]
    )
    weights = [rng.normal(size=w.shape) * 0.6 for w in model.get_weights()]
    model.set_weights(weights)
    kernel, bias, start, readout, readout_bias = weights
    return model, (kernel.transpose(0, 2, 1), bias, start, readout.T, readout_bias)


def isan_of(kernel, bias):
    """A layer with these weights, in row convention."""
    isan = layers.ISAN(bias.shape[1], len(bias), dtype="float64")
    isan.build((None, None))
    isan.set_weights([kernel, bias, np.zeros(bias.shape[1])])
    return isan


def readout_of_rank(rank, units, outputs, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(units, rank)) @ rng.normal(size=(rank, outputs)), rng.normal(size=outputs)


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_parts_of_the_biases_are_their_projections(units, symbols, outputs, seed):
    model, (_, bias, _, W_ro, _) = network(units, symbols, outputs, seed)
    found = analysis.bias_parts(model)
    parallel, orthogonal = reading.parts(W_ro, bias)
    np.testing.assert_array_equal(found.whole, bias)
    np.testing.assert_allclose(found.readout, parallel, **CLOSE)
    np.testing.assert_allclose(found.computational, orthogonal, **CLOSE)


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_readout_of_any_rank_splits_the_space(rank, seed):
    model, (_, bias, _, _, _) = network(7, 4, 3, seed)
    readout = readout_of_rank(rank, 7, 5, seed)
    found = analysis.bias_parts(model.layers[0], readout)
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
    np.testing.assert_allclose(analysis.bias_parts(model).readout, bias, **CLOSE)
    np.testing.assert_allclose(analysis.bias_norms(model).computational, np.zeros(4), atol=1e-12)
    # A layer by itself is read by the identity.
    np.testing.assert_allclose(analysis.bias_parts(model.layers[0]).readout, bias, **CLOSE)


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


@pytest.mark.parametrize("shape", [(40, 5), (3, 5), (2, 6), (5, 8, 3), (2, 4, 3, 7), (9, 1)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_spectrum_of_states_is_the_variance_their_principal_components_explain(shape, seed):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=shape) @ rng.normal(size=(shape[-1],) * 2) + 30 * rng.normal(size=shape[-1])
    found = analysis.state_spectrum(states)
    np.testing.assert_allclose(found, reading.explained_variance(states.reshape(-1, shape[-1])), rtol=1e-9, atol=1e-12)
    assert found.shape == shape[-1:]
    assert found.sum() == pytest.approx(1, rel=1e-12)
    assert (np.diff(found) <= 0).all()
    assert (found >= 0).all()


def test_the_spectrum_of_states_in_single_precision_is_computed_in_double():
    states = np.random.default_rng(0).normal(size=(50, 4)).astype("float32") + np.float32(100)
    expected = reading.explained_variance(states.astype("float64"))
    np.testing.assert_allclose(analysis.state_spectrum(states), expected, rtol=1e-9)
    assert analysis.state_spectrum([[0, 0], [3, 0], [0, 4], [3, 4]]).tolist() == pytest.approx([16 / 25, 9 / 25])


@pytest.mark.parametrize("states", [np.ones((1, 4)), np.ones(4), np.ones((1, 1, 3)), np.ones((0, 3))])
def test_a_spectrum_of_fewer_than_two_states_is_refused(states):
    sentence = f"A spectrum needs at least two states. Received: shape {states.shape}."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        analysis.state_spectrum(states)


def test_a_spectrum_of_states_that_do_not_vary_is_refused():
    with pytest.raises(ValueError, match="States must vary. Received: 6 times the same."):
        analysis.state_spectrum(np.tile([1.0, -2.0, 3.0], (2, 3, 1)))


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_spectra_of_matrices_have_the_directions_that_the_paper_calls_right(units, symbols, outputs, seed):
    model, (W, _, _, W_ro, _) = network(units, symbols, outputs, seed)
    found = analysis.transition_spectra(model)
    values, right, alignment = reading.stretch(W, W_ro)
    np.testing.assert_allclose(found.values, values, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(np.abs((found.read * right).sum(axis=1)), np.ones(symbols), rtol=1e-9)
    np.testing.assert_allclose(found.alignment, alignment, atol=1e-8)
    assert found.values.shape == (symbols, units)
    assert found.alignment.shape == (symbols, outputs)
    # A state along `read` becomes one along `written`, stretched by the largest singular value, as no other is.
    moved = np.array([matrix @ direction for matrix, direction in zip(W, found.read, strict=True)])
    np.testing.assert_allclose(moved, found.values[:, :1] * found.written, **CLOSE)
    np.testing.assert_allclose(reading.lengths(found.written), np.ones(symbols), **CLOSE)
    others = np.random.default_rng(seed).normal(size=(100, units))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    for matrix, largest in zip(W, found.values[:, 0], strict=True):
        assert (np.linalg.norm(matrix @ others.T, axis=0) <= largest + 1e-12).all()


def test_the_alignment_is_one_for_the_output_that_reads_what_is_stretched_most():
    # In rows: the first unit is stretched to five times the third one; the second output reads the first unit.
    kernel = np.array([[[0, 0, 5.0], [1, 0, 0], [0, 2, 0]]])
    readout = (np.array([[0.0, -4.0, 3.0, 0.0], [1.0, 0.0, 4.0, 0.0], [1.0, 0.0, 0.0, 0.0]]), np.zeros(4))
    found = analysis.transition_spectra(isan_of(kernel, np.zeros((1, 3))), readout)
    np.testing.assert_allclose(found.values, [[5, 2, 1]])
    np.testing.assert_allclose(np.abs(found.read), [[1, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(np.abs(found.written), [[0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(found.alignment, [[0, 1, 0.6, 0]], atol=1e-15)


def test_the_radius_is_the_largest_eigenvalue_also_of_a_complex_pair():
    turn = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, -0.3]])
    triangle = np.array([[0.2, 9, -7], [0, -0.9, 5], [0, 0, 0.5]])
    found = analysis.transition_spectra(isan_of(np.array([2 * turn, triangle]), np.zeros((2, 3))))
    np.testing.assert_allclose(found.radius, [2, 0.9], rtol=1e-12)


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES[:2])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rotated_basis_changes_no_length_angle_or_spectrum(units, symbols, outputs, seed):
    model, (W, bias, start, W_ro, b_ro) = network(units, symbols, outputs, seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(units, units)))[0]
    kernel = rotation.T @ W.transpose(0, 2, 1) @ rotation
    rotated, readout = isan_of(kernel, bias @ rotation), (rotation.T @ W_ro.T, b_ro)
    for statistic in (analysis.bias_norms, analysis.bias_cosines):
        for one, other in zip(statistic(model), statistic(rotated, readout), strict=True):
            np.testing.assert_allclose(one, other, **CLOSE)
    for one, other in zip(analysis.bias_parts(model), analysis.bias_parts(rotated, readout), strict=True):
        np.testing.assert_allclose(one @ rotation, other, **CLOSE)
    before, after = analysis.transition_spectra(model), analysis.transition_spectra(rotated, readout)
    for name in ("values", "alignment", "radius"):
        np.testing.assert_allclose(getattr(before, name), getattr(after, name), rtol=1e-9, atol=1e-9, err_msg=name)
    same_direction = np.abs(((before.read @ rotation) * after.read).sum(axis=1))
    np.testing.assert_allclose(same_direction, np.ones(symbols), rtol=1e-9)
    text = np.random.default_rng(seed).integers(0, symbols, 30)
    states = oracle.states(W, bias, start, text[None])[0]
    spectrum = analysis.state_spectrum(states)
    np.testing.assert_allclose(analysis.state_spectrum(states @ rotation), spectrum, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(analysis.state_spectrum(3 * states + 1), spectrum, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("units", "symbols"), [(3, 5), (7, 4)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_predictions_after_one_symbol_stand_beside_those_counted(units, symbols, seed):
    model, (_, bias, _, W_ro, b_ro) = network(units, symbols, symbols, seed)
    text = np.random.default_rng(seed).choice(symbols, 60, p=np.arange(1, symbols + 1) / sum(range(symbols + 1)))
    found = analysis.ngram_agreement(model, text)
    unigram, bigram = reading.next_symbols(W_ro, b_ro, bias)
    counted_unigram, counted_bigram = reading.counted(text, symbols)
    np.testing.assert_allclose(found.unigram, unigram, **CLOSE)
    np.testing.assert_allclose(found.bigram, bigram, **CLOSE)
    np.testing.assert_allclose(found.counted_unigram, counted_unigram, **CLOSE)
    np.testing.assert_allclose(found.counted_bigram, counted_bigram, **CLOSE)
    assert found.unigram_correlation == pytest.approx(reading.correlation(unigram, counted_unigram), abs=1e-12)
    for x in range(symbols):
        expected = reading.correlation(bigram[x], counted_bigram[x])
        assert found.bigram_correlations[x] == pytest.approx(expected, abs=1e-12)
        expected = reading.correlation(counted_unigram, counted_bigram[x])
        assert found.unigram_baseline[x] == pytest.approx(expected, abs=1e-12)


def test_what_follows_a_symbol_that_the_text_has_not_is_not_known():
    model = network(3, 5, 5, 0)[0]
    # The text has no 2, and nothing comes after its 4.
    text = [0, 1, 0, 0, 3, 1, 1, 0, 4]
    found = analysis.ngram_agreement(model, text)
    np.testing.assert_allclose(found.counted_bigram, reading.counted(text, 5)[1], **CLOSE)
    for unknown in (found.counted_bigram[:, 0], found.bigram_correlations, found.unigram_baseline):
        np.testing.assert_array_equal(np.isnan(unknown), [False, False, True, False, True])
    assert np.isfinite(found.bigram).all()
    assert np.isfinite(found.unigram_correlation)


def test_predictions_with_large_logits_do_not_overflow():
    model, (_, bias, _, _, _) = network(7, 4, 3, 0)
    readout = (1e4 * np.random.default_rng(0).normal(size=(7, 4)), np.array([0.0, 2000.0, 1.0, 3.0]))
    found = analysis.ngram_agreement(model.layers[0], [0, 1, 2, 3, 1, 1], readout=readout)
    np.testing.assert_allclose(found.unigram, [0, 1, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(found.bigram.argmax(axis=1), (bias @ readout[0] + readout[1]).argmax(axis=1))


@pytest.mark.parametrize(("outputs", "length"), [(3, 10), (5, 10), (4, 1), (4, 0)])
def test_agreement_of_other_outputs_or_too_short_a_text_is_refused(outputs, length):
    model = network(7, 4, outputs, 0)[0]
    sentence = f"the next symbol, 4 of them, and a text has two symbols at least. Received: a head of {outputs}, a text"
    with pytest.raises(ValueError, match=re.escape(f"{sentence} of {length}.")):
        analysis.ngram_agreement(model, np.arange(length) % 4)


def test_agreement_with_symbols_outside_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match=r"symbols must lie in \[0, 4\). Received: 0 to 4"):
        analysis.ngram_agreement(network(7, 4, 4, 0)[0], [0, 4, 1])


@pytest.mark.parametrize(
    "read", [analysis.bias_parts, analysis.bias_norms, analysis.bias_cosines, analysis.transition_spectra]
)
def test_structure_is_read_with_a_linear_head_alone(read):
    isan = layers.ISAN(4, 3, return_sequences=True)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), isan, keras.layers.Dense(3, "tanh")])
    with pytest.raises(ValueError, match="Logits split exactly only if one linear Dense layer reads"):
        read(model)
    with pytest.raises(ValueError, match="Exactly one ISAN can be read at a time"):
        read(keras.Sequential([keras.Input((3, 2)), keras.layers.LSTM(4)]))


def test_a_layer_reads_with_its_head_or_with_arrays_as_the_model_does():
    model, _ = network(7, 4, 3, 1)
    isan, head = model.layers
    for read in (analysis.bias_parts, analysis.bias_norms, analysis.bias_cosines, analysis.transition_spectra):
        for readout in (head, tuple(head.get_weights())):
            for one, other in zip(read(model), read(isan, readout), strict=True):
                np.testing.assert_array_equal(one, other)
