"""Figures refuse arguments before they draw."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, figures, layers


def test_an_argument_of_another_type_is_refused():
    with pytest.raises(
        ValueError, match=r"`contributions` must be of the type Contributions\. Received: contributions"
    ):
        figures.contribution_column(None)
    with pytest.raises(TypeError, match="missing a required argument: 'tokens'"):
        figures.transition_map([[0.5, 0.5]])


def test_arguments_that_disagree_are_refused():
    with pytest.raises(ValueError, match="steps of .'CFN'., values of .'GRU'., and 1 lags"):
        figures.jacobian_percentiles({"CFN": [0.0]}, {"GRU": np.ones((1, 1, 3))}, lags=[0])
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
    with pytest.raises(ValueError, match="`target` must be an index into 3 targets. Received: target=3"):
        figures.contribution_column(analysis.contributions(model, [0, 2, 1]), 3)
