"""Figures of the papers: each function takes data and returns a `Figure`.

The functions need matplotlib (the extra `figures`) and open no window: use `figure.savefig("name.png")`, or a notebook.
"""

from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures.isan import (
    contribution_column,
    timescales,
)
from keras_interp_rnn.figures.minimal_rnn import (
    jacobian_histogram,
    jacobian_percentiles,
)
from keras_interp_rnn.figures.phase_portraits import phase_portrait
from keras_interp_rnn.figures.state_regularized import (
    transition_map,
)

__all__ = [
    "Figure",
    "contribution_column",
    "jacobian_histogram",
    "jacobian_percentiles",
    "phase_portrait",
    "timescales",
    "transition_map",
]
