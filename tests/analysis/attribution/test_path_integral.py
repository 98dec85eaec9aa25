"""The path integral takes points until its sum is right, or says by how much it is not."""

import re
import warnings

import keras
import numpy as np

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.attribution import path_integral as module

STEPS, FEATURES = 4, 3


def network(steepness):
    """A sum of the inputs, of which a unit with a steep slope takes the sign."""
    keras.utils.set_random_seed(0)
    layer = keras.layers.SimpleRNN(1, recurrent_initializer="ones", use_bias=True)
    model = keras.Sequential([keras.Input((None, FEATURES)), layer, keras.layers.Dense(1)])
    model.set_weights(
        [np.full((FEATURES, 1), steepness), np.ones((1, 1)), np.array([-0.7 * steepness]), np.ones((1, 1)), np.zeros(1)]
    )
    return model


def points_used(monkeypatch):
    used, quadrature = [], module._quadrature

    def counted(opened, absent, outputs, chosen, num_points):
        used.append((chosen.tolist(), num_points))
        return quadrature(opened, absent, outputs, chosen, num_points)

    monkeypatch.setattr(module, "_quadrature", counted)
    return used


def batch():
    x = np.zeros((3, STEPS, FEATURES), "float32")
    x[0, :, 0], x[1, :, 1], x[2, -1, 2] = 0.01, 0.25, 1.0
    return x


def test_points_double_until_the_sum_is_right_to_a_hundredth(monkeypatch):
    used = points_used(monkeypatch)
    split = analysis.attribution(network(20.0), batch(), target=0, method="path_integral", num_points=4)
    points = [number for _, number in used]
    assert points == [4 * 2**i for i in range(len(points))]
    assert len(points) > 2
    chosen = [rows for rows, _ in used]
    assert chosen[0] == [0, 1, 2]
    assert all(set(later) <= set(sooner) for sooner, later in zip(chosen, chosen[1:], strict=False))
    assert len(chosen[-1]) < 3  # a sequence whose sum is right has no more points
    change = np.abs(split.output - split.reference_output)
    assert split.residuals.shape == (3,)
    assert (split.residuals <= 0.01 * change).all()
    assert split.residual == split.residuals.max()
    np.testing.assert_allclose(split.features.sum(axis=-1), split.shares, atol=1e-12)
    assert not split.exact


def test_a_sum_that_stays_wrong_is_one_warning():
    model = network(3e4)
    sentence = "path integral of sequence .* misses the change .* with 1024 points, so the shares do not add up"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        split = analysis.attribution(model, batch(), target=0, method="path_integral")
    [warning] = found
    assert re.search(sentence, str(warning.message))
    assert warning.filename == __file__
    wrong = split.residuals > 0.01 * np.abs(split.output - split.reference_output)
    assert wrong.any()
    assert split.residual == split.residuals.max()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert analysis.attribution(model, batch(), target=0).residual < 1e-12


def test_points_that_were_asked_for_beyond_the_most_are_taken(monkeypatch):
    used = points_used(monkeypatch)
    analysis.attribution(network(1.0), batch()[:1], target=0, method="path_integral", num_points=1500)
    assert [number for _, number in used] == [1500]
