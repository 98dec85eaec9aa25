"""The papers' figures, one matplotlib function each: data in, a `matplotlib.figure.Figure` out.

Needs matplotlib, the extra `figures`. No window is opened: `figure.savefig("name.png")`, or let a notebook show it.
"""

from keras_interp_rnn.figures.minimal_rnn import (
    Progress,
    jacobian_histogram,
    jacobian_percentiles,
    latent_weights,
    metric_progress,
)
from keras_interp_rnn.figures.state_regularized import feature_map, state_paths, temperatures, token_map, transition_map

__all__ = [
    "Progress",
    "feature_map",
    "jacobian_histogram",
    "jacobian_percentiles",
    "latent_weights",
    "metric_progress",
    "state_paths",
    "temperatures",
    "token_map",
    "transition_map",
]
