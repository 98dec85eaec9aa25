"""Outputs that no step changes have no intervals: these would be rounding."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.attribution.tables import seen_errors

pytestmark = pytest.mark.core(2)

STEPS = 20


@pytest.mark.parametrize("rounded", [True, False])
def test_an_output_that_does_not_change_has_no_intervals(rounded):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((STEPS, 3))
    states = keras.layers.GRU(4)(inputs)
    ones = keras.layers.Dense(1, kernel_initializer="ones" if rounded else "zeros", bias_initializer="ones")
    model = keras.Model(inputs, ones(keras.layers.Softmax()(states)))
    x = np.random.default_rng(0).normal(size=(2, STEPS, 3)).astype("float32")
    split = analysis.attribution(model, x)
    assert not split.exact
    [_, _, _, *lines] = str(split).splitlines()
    assert not any("±" in line for line in lines)
    for rows, _ in split.tags():
        assert not rows[3 + STEPS : 3 + 2 * STEPS].any()


def test_an_output_that_changes_has_intervals():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((STEPS, 3)), keras.layers.GRU(4), keras.layers.Dense(1)])
    split = analysis.attribution(model, np.random.default_rng(0).normal(size=(1, STEPS, 3)).astype("float32"))
    np.testing.assert_array_equal(seen_errors(split), split.standard_error)
    assert str(split).count("±") > 10
