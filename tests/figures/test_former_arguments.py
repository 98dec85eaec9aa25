"""Figures take the arguments of the release before, with a warning, and draw the same."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from keras_interp_rnn import analysis, figures

SPLIT = analysis.Contributions(
    np.array([0, 1]), np.array([1, 2]), np.ones((3, 2, 2)), np.zeros(2), np.array([[3.0, 1.0], [3.0, 1.0]]), 0.0, "ab"
)
NORMS = analysis.BiasParts(np.array([1.0, 2.0]), np.array([1.0, 1.5]), np.array([0.5, 1.7]))
VALUES = [[1.0, 0.5], [0.1, 0.01]]
CALLS = {
    "prediction_stack": (
        lambda: figures.prediction_stack(split=SPLIT),
        lambda: figures.prediction_stack(SPLIT),
        "calls its argument split contributions",
    ),
    "contribution_column": (
        lambda: figures.contribution_column(SPLIT, 0, 1),
        lambda: figures.contribution_column(SPLIT, 0, separator=1),
        "takes separator by keyword alone",
    ),
    "word_contributions": (
        lambda: figures.word_contributions(SPLIT, fewest=1),
        lambda: figures.word_contributions(SPLIT, min_words=1),
        "calls its argument fewest min_words",
    ),
    "bias_norms": (
        lambda: figures.bias_norms(NORMS, [-1.0, -2.0], "ab"),
        lambda: figures.bias_norms(NORMS, [-1.0, -2.0], names="ab"),
        "takes names by keyword alone",
    ),
    "jacobian_histogram": (
        lambda: figures.jacobian_histogram({"LSTM": VALUES}, [0, 9], bins=7),
        lambda: figures.jacobian_histogram({"LSTM": VALUES}, [0, 9], num_bins=7),
        "calls its argument bins num_bins",
    ),
    "pixel_maps": (
        lambda: figures.pixel_maps(np.ones((1, 1, 2, 2)), ["7"], ["x"], highest=2.0),
        lambda: figures.pixel_maps(np.ones((1, 1, 2, 2)), ["7"], columns=["x"], max_value=2.0),
        "calls its argument highest max_value|takes columns by keyword alone",
    ),
}


@pytest.mark.filterwarnings("ignore:pixel_maps now takes columns by keyword alone:DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_former_call_draws_the_same(name):
    former, today, sentence = CALLS[name]
    with pytest.warns(DeprecationWarning, match=f"{name} now ({sentence})"):
        figure = former()
    assert figure._repr_png_() == today()._repr_png_()
