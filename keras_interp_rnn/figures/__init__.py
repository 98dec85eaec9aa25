"""The papers' figures, one matplotlib function each: data in, a `Figure` out.

Needs matplotlib, the extra `figures`. No window is opened: `figure.savefig("name.png")`, or let a notebook show it.
"""

from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures.isan import (
    bias_cosines,
    bias_norms,
    bits_by_units,
    contribution_column,
    ngram_agreement,
    prediction_stack,
    state_spectra,
    timescales,
    word_contributions,
)
from keras_interp_rnn.figures.isan_counting import change_of_basis
from keras_interp_rnn.figures.minimal_rnn import (
    Progress,
    jacobian_histogram,
    jacobian_percentiles,
    latent_weights,
    metric_progress,
)
from keras_interp_rnn.figures.state_regularized import (
    counts_read,
    error_curves,
    feature_map,
    pixel_maps,
    state_paths,
    temperatures,
    token_map,
    transition_map,
)

__all__ = [
    "Figure",
    "Progress",
    "bias_cosines",
    "bias_norms",
    "bits_by_units",
    "change_of_basis",
    "contribution_column",
    "counts_read",
    "error_curves",
    "feature_map",
    "jacobian_histogram",
    "jacobian_percentiles",
    "latent_weights",
    "metric_progress",
    "ngram_agreement",
    "pixel_maps",
    "prediction_stack",
    "state_paths",
    "state_spectra",
    "temperatures",
    "timescales",
    "token_map",
    "transition_map",
    "word_contributions",
]
