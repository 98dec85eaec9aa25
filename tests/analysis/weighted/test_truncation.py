"""Balanced truncation: what is worth nothing goes for nothing, and the rest by what it is worth."""

import keras
import numpy as np
import pytest
from scipy.special import log_softmax

from keras_interp_rnn import analysis, layers
from tests.analysis.weighted.networks import Network, drawn, gramians, rotation, scales, stored
from tests.oracles import weighted_automata as oracle

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


WORDS = list(oracle.words(3, 4))
TEXTS = [np.random.default_rng(i).integers(3, size=size) for i, size in enumerate((300, 1, 0, 120))]


@pytest.mark.parametrize("seed", range(3))
def test_all_units_give_the_same_outputs(seed):
    network = drawn(seed)
    whole = analysis.truncate(network.pair(), 5, sequences=TEXTS)
    assert whole.residual < 1e-9
    np.testing.assert_allclose(stored(whole).all_outputs(WORDS), network.all_outputs(WORDS), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_useless_units_are_left_out_without_error(seed):
    rng = np.random.default_rng(seed)
    padded = drawn(seed).padded(rng, 6, 4)
    mixed = padded.in_basis(rotation(rng, padded.units))
    small = analysis.truncate(mixed.pair(), 5, sequences=TEXTS)
    assert small.residual < 1e-6
    assert small.singular_values[4] > 1e5 * small.singular_values[5]
    assert small.bits_after == pytest.approx(small.bits_before, abs=1e-6) or np.isnan(small.bits_before)
    with_room = analysis.truncate(padded.pair(), 14, sequences=TEXTS)
    assert with_room.layer.units == 14
    assert with_room.residual < 1e-6


def test_units_that_vary_but_hardly_show_are_left_out_first():
    """Ten units of a hundred times the variance that show a millionth: principal components would keep those."""
    network = drawn(0)
    loud = drawn(1, units=10)
    n = 15
    kernel = np.zeros((3, n, n))
    kernel[:, :5, :5], kernel[:, 5:, 5:] = network.kernel, loud.kernel
    both = Network(
        kernel,
        np.concatenate([network.bias, 100 * loud.bias], axis=1),
        np.concatenate([network.initial, 100 * loud.initial]),
        np.concatenate([network.readout, 1e-6 * loud.readout]),
        network.offset,
    )
    small = analysis.truncate(both.pair(), 5, sequences=TEXTS)
    assert small.logit_error < 1e-3
    np.testing.assert_allclose(stored(small).all_outputs(WORDS), both.all_outputs(WORDS), atol=1e-2)


@pytest.mark.matrix
def test_fewer_units_cost_more_and_the_price_is_what_both_put_out():
    network = drawn(3, units=8, outputs=3)
    texts = [text[:30] for text in TEXTS]
    errors = []
    for units in range(1, 9):
        small = analysis.truncate(network.pair(), units, sequences=texts)
        cut = stored(small)
        gaps, bits = [], []
        for text in texts:
            for t in range(len(text) + 1):
                gap = network.outputs(text[:t]) - cut.outputs(text[:t])
                gaps.append(gap - gap.mean())
                if t < len(text):
                    bits.append(-log_softmax(cut.outputs(text[:t]))[text[t]] / np.log(2))
        assert small.residual == pytest.approx(np.abs(gaps).max(), rel=1e-6, abs=1e-9)
        assert small.logit_error == pytest.approx(np.sqrt(np.mean(np.square(gaps))), rel=1e-6, abs=1e-9)
        assert small.bits_after == pytest.approx(np.mean(bits), rel=1e-9)
        errors.append(small.logit_error)
    assert errors[0] > 3 * errors[3] > 9 * errors[7]
    assert "8 of 8 units" in str(small)
    assert "bits per symbol" in str(small)


def test_singular_values_are_those_of_the_gramians():
    network = drawn(4, units=3, outputs=2)
    text = TEXTS[0][:20]
    found = analysis.truncate(network.pair(), 2, sequences=[text], horizon=4, max_steps=1000).singular_values
    covariance, effects, _ = gramians(network[:4], [text], horizon=4)
    expected = np.sqrt(np.sort(np.linalg.eigvals(covariance @ effects).real)[::-1])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_a_model_with_a_softmax_is_read_before_it():
    layer = layers.ISAN(6, 3, return_sequences=True)
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(3), keras.layers.Softmax()]
    )
    small = analysis.truncate(model, 4, sequences=TEXTS, dtype="float32")
    assert (small.layer.units, small.layer.return_sequences) == (4, True)
    assert np.isfinite(small.bits_after)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"units": 0}, r"`units` must be an integer in \[1, 6\)"),
        ({"units": 6}, r"`units` must be an integer in \[1, 6\)"),
        ({"units": 2.5}, "Received: units=2.5. The network has 5 units"),
        ({"horizon": -1}, "`horizon` must be a non-negative integer"),
        ({"max_steps": 0}, "`max_steps` must be a positive integer"),
        ({"sequences": []}, "Received: no symbol"),
        ({"sequences": [[], []]}, "Received: no symbol"),
    ],
)
def test_refuses_invalid_arguments(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.truncate(drawn().pair(), **{"units": 3, "sequences": TEXTS, **arguments})


def test_the_scales_of_units_do_not_change_what_is_left_out():
    rng = np.random.default_rng(0)
    network, text = drawn(0), [rng.integers(3, size=300)]
    first, second = (
        analysis.truncate(one.pair(), 4, sequences=text) for one in (network, network.in_basis(scales(rng, 5)))
    )
    assert second.logit_error == pytest.approx(first.logit_error, rel=1e-6)
    np.testing.assert_allclose(second.singular_values, first.singular_values, rtol=1e-6)
