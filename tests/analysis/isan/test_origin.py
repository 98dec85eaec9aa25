"""The origin of the state in readings of an ISAN: with `origin=`, each says what it says of the shifted network."""

import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.analysis.isan.test_bases import contracting
from tests.tolerances import assert_close

SYMBOLS = 4


@pytest.fixture(params=range(3))
def networks(request):
    """A network with its readout, a text, an origin, and the same network with that origin."""
    layer, readout, _ = contracting(6, SYMBOLS, SYMBOLS, request.param)
    text = np.random.default_rng(request.param).integers(SYMBOLS, size=60)
    shifted = analysis.change_basis(layer, analysis.centred_basis(layer, [text]), readout=readout)
    return layer, readout, text, analysis.mean_state(layer, [text]), (shifted.layer, shifted.readout)


def fields(result):
    values = vars(result).items()
    return {name: value for name, value in values if isinstance(value, np.ndarray) and value.dtype == np.float64}


@pytest.mark.parametrize(
    "reading",
    [
        lambda network, text, readout, **more: analysis.contributions(network, text[:9], readout=readout, **more),
        lambda network, text, readout, **more: analysis.timescales(network, text, max_age=8, readout=readout, **more),
        lambda network, text, readout, **more: analysis.bias_parts(network, readout, **more),
        lambda network, text, readout, **more: analysis.bias_norms(network, readout, **more),
        lambda network, text, readout, **more: analysis.bias_cosines(network, readout, **more),
    ],
    ids=["contributions", "timescales", "bias_parts", "bias_norms", "bias_cosines"],
)
def test_a_reading_with_an_origin_is_that_of_the_shifted_network(networks, reading):
    layer, readout, text, mean, (shifted, its_readout) = networks
    found, expected = fields(reading(layer, text, readout, origin=mean)), fields(reading(shifted, text, its_readout))
    as_trained = fields(reading(layer, text, readout))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert_close(found[name], value, "float64", "numpy")
    assert any(not np.allclose(found[name], as_trained[name], equal_nan=True) for name in found)


def test_recent_contributions_and_those_by_age_have_an_origin_too(networks):
    layer, readout, text, mean, (shifted, its_readout) = networks
    first = list(analysis.recent_contributions(layer, text[:9], window=3, readout=readout, origin=mean))
    second = list(analysis.recent_contributions(shifted, text[:9], window=3, readout=its_readout))
    for one, other in zip(first, second, strict=True):
        assert_close(one.values, other.values, "float64", "numpy")
        assert_close(one.earlier, other.earlier, "float64", "numpy")
        assert_close(one.logits, other.logits, "float64", "numpy")


def test_no_origin_changes_an_output_and_the_initial_state_as_origin_adds_nothing(networks):
    layer, readout, text, _, _ = networks
    plain = analysis.contributions(layer, text, readout=readout)
    for origin in ("initial", np.full(6, 3.0), np.arange(6)):
        found = analysis.contributions(layer, text, readout=readout, origin=origin)
        assert_close(found.logits, plain.logits, "float64", "numpy")
        assert found.residual < 1e-10
    initial = analysis.contributions(layer, text, readout=readout, origin="initial")
    np.testing.assert_array_equal(initial.values[0], 0)


@pytest.mark.parametrize(
    ("origin", "rule"),
    [
        ("mean", r"An origin is a state, \"initial\" or None. Received: 'mean'"),
        (np.zeros(5), r"a state of 6 finite numbers. Received: shape \(5,\)"),
        (np.full(6, np.nan), "6 finite numbers"),
        (0.0, r"shape \(\)"),
    ],
)
def test_an_origin_that_is_no_state_is_refused(networks, origin, rule):
    layer, readout, text, _, _ = networks
    with pytest.raises(ValueError, match=rule):
        analysis.contributions(layer, text, readout=readout, origin=origin)
