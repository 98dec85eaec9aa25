"""Balanced coordinates: the Gramians by brute force, and one result from whatever coordinates a network comes in."""

import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.analysis.weighted.networks import drawn, gramians, rotation, scales

TEXTS = [np.random.default_rng(i).integers(3, size=size) for i, size in enumerate((90, 40))]
STEPS = sum(len(text) + 1 for text in TEXTS)
SETTINGS = {"sequences": TEXTS, "horizon": 6, "max_steps": STEPS}


def balanced(network):
    """Kernel, bias, initial state and readout of the balanced network, and the residual of the change."""
    layer, readout = network.pair()
    basis = analysis.balanced_basis(layer, readout=readout, **SETTINGS)
    changed = analysis.change_basis(layer, basis, readout=readout)
    return (*map(np.asarray, changed.layer.get_weights()), changed.readout.matrix), changed.residual


@pytest.mark.parametrize("seed", range(3))
def test_both_gramians_are_the_same_diagonal_matrix_and_the_outputs_stay(seed):
    weights, residual = balanced(drawn(seed))
    assert residual < 1e-10
    covariance, effects, mean = gramians(weights, TEXTS, SETTINGS["horizon"])
    sigma = np.diagonal(covariance)
    assert np.all(np.diff(sigma) < 0)
    for gramian in (covariance, effects):
        np.testing.assert_allclose(gramian, np.diag(sigma), atol=1e-9 * sigma[0])
    np.testing.assert_allclose(mean, 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_from_any_coordinates_the_result_is_one_network_up_to_signs(seed):
    network, rng = drawn(seed), np.random.default_rng(seed)
    mixed = network.in_basis(rotation(rng, 5)).in_basis(scales(rng, 5, decades=2))
    (kernel, bias, initial, readout), _ = balanced(network)
    (other_kernel, other_bias, other_initial, other_readout), _ = balanced(mixed)
    signs = np.sign((readout * other_readout).sum(axis=1))
    np.testing.assert_allclose(other_readout * signs[:, None], readout, atol=1e-6)
    np.testing.assert_allclose(other_kernel * np.outer(signs, signs), kernel, atol=1e-6)
    np.testing.assert_allclose(other_bias * signs, bias, atol=1e-6)
    np.testing.assert_allclose(other_initial * signs, initial, atol=1e-6)


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"sequences": []}, "`sequences` must have at least one symbol"),
        ({"horizon": -1}, "`horizon` must be a non-negative integer. Received: horizon=-1"),
        ({"max_steps": 0}, "`max_steps` must be a positive integer. Received: max_steps=0"),
        ({"max_steps": 2.5}, "`max_steps` must be a positive integer. Received: max_steps=2.5"),
    ],
)
def test_settings_that_make_no_basis_are_refused(more, rule):
    layer, readout = drawn(0).pair()
    with pytest.raises(ValueError, match=rule):
        analysis.balanced_basis(layer, readout=readout, **{**SETTINGS, **more})


def test_a_network_with_redundant_units_is_refused():
    layer, readout = drawn(0).padded(np.random.default_rng(0), 2, 1).pair()
    with pytest.raises(ValueError, match="must vary on the texts and show in the logits. Received: 3 of 8"):
        analysis.balanced_basis(layer, readout=readout, **SETTINGS)
