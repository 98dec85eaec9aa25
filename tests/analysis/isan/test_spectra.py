"""Spectra of states and of matrices, against principal components and loops."""

import re

import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.isan.spectra import TransitionSpectra
from tests.analysis.isan.networks import CLOSE, SIZES, isan_of, network
from tests.oracles import isan_reading as reading

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


@pytest.mark.parametrize("shape", [(40, 5), (3, 5), (2, 6), (5, 8, 3), (2, 4, 3, 7), (9, 1)])
@pytest.mark.parametrize("seed", [0, 1])
def test_state_spectrum_is_the_variance_that_principal_components_explain(shape, seed):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=shape) @ rng.normal(size=(shape[-1],) * 2) + 30 * rng.normal(size=shape[-1])
    found = analysis.state_spectrum(states)
    np.testing.assert_allclose(found, reading.explained_variance(states.reshape(-1, shape[-1])), rtol=1e-9, atol=1e-12)
    assert found.shape == shape[-1:]
    assert (found >= 0).all()


def test_the_spectrum_of_states_in_single_precision_is_computed_in_double():
    states = np.random.default_rng(0).normal(size=(50, 4)).astype("float32") + np.float32(100)
    expected = reading.explained_variance(states.astype("float64"))
    np.testing.assert_allclose(analysis.state_spectrum(states), expected, rtol=1e-9)
    assert analysis.state_spectrum([[0, 0], [3, 0], [0, 4], [3, 4]]).tolist() == pytest.approx([16 / 25, 9 / 25])


@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_transition_spectra_are_those_of_the_paper(units, symbols, outputs, seed):
    model, (W, _, _, W_ro, _) = network(units, symbols, outputs, seed)
    found = analysis.transition_spectra(model)
    values, right, alignment = reading.stretch(W, W_ro)
    np.testing.assert_allclose(found.values, values, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(np.abs((found.read * right).sum(axis=1)), np.ones(symbols), rtol=1e-9)
    np.testing.assert_allclose(found.alignment, alignment, atol=1e-8)
    # A state along `read` becomes one along `written`, stretched by the largest singular value.
    moved = np.array([matrix @ direction for matrix, direction in zip(W, found.read, strict=True)])
    np.testing.assert_allclose(moved, found.values[:, :1] * found.written, **CLOSE)
    np.testing.assert_allclose(reading.lengths(found.written), np.ones(symbols), **CLOSE)


def test_the_radius_is_the_largest_eigenvalue_also_of_a_complex_pair():
    turn = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, -0.3]])
    triangle = np.array([[0.2, 9, -7], [0, -0.9, 5], [0, 0, 0.5]])
    found = analysis.transition_spectra(isan_of(np.array([2 * turn, triangle]), np.zeros((2, 3))))
    np.testing.assert_allclose(found.radius, [2, 0.9], rtol=1e-12)


def test_print_shows_the_radius_of_every_symbol_by_its_name():
    spectra = TransitionSpectra(np.array([[2.0, 0.5], [0.75, 0.5]]), *np.zeros((3, 2, 2)), np.array([0.5, 0.625]), "xy")
    said, head, *lines = str(spectra).splitlines()
    assert said.startswith("“y” has the largest radius, 0.625: states grow under 0 symbols of 2 ")
    assert head.split() == ["symbol", "radius", "largest", "singular", "value"]
    assert [line.split() for line in lines] == [["y", "0.625", "0.75"], ["x", "0.500", "2.00"]]
    assert len(spectra) == 5
    many = analysis.transition_spectra(*network(4, 40, 3, seed=0)[:1])
    assert str(many).splitlines()[-1] == "and 25 more"
    assert many._repr_html_().count("<tr>") == 1 + 40


def test_refuses_states_without_a_spectrum():
    for shape in ((1, 4), (4,), (1, 1, 3), (0, 3), (3, 0)):
        sentence = re.escape(f"must be (samples, n), at least two states. Received: shape {shape}.")
        with pytest.raises(ValueError, match=sentence):
            analysis.state_spectrum(np.ones(shape))
    for state in ([1.0, -2.0, 3.0], [0.1] * 3, [0.7] * 3):
        with pytest.raises(ValueError, match="`states` must vary. Received: 6 times the same state."):
            analysis.state_spectrum(np.tile(state, (2, 3, 1)))
    with pytest.raises(ValueError, match="`states` must be finite. Received: NaN or infinity."):
        analysis.state_spectrum([[0.0, np.nan], [1.0, 2.0]])
