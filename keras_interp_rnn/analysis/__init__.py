"""Exact analysis of trained layers: float64 NumPy, and every exact method reports its residual."""

from keras_interp_rnn.analysis._weights import affine_map
from keras_interp_rnn.analysis.contributions import Contributions, contributions
from keras_interp_rnn.analysis.explanations import Explanation, Prototypes, explain, phrases, prototypes
from keras_interp_rnn.analysis.jacobians import input_output_jacobian, jacobian_singular_values
from keras_interp_rnn.analysis.ngrams import BackoffModel
from keras_interp_rnn.analysis.traces import drift, trace, transition_probabilities

__all__ = [
    "BackoffModel",
    "Contributions",
    "Explanation",
    "Prototypes",
    "affine_map",
    "contributions",
    "drift",
    "explain",
    "input_output_jacobian",
    "jacobian_singular_values",
    "phrases",
    "prototypes",
    "trace",
    "transition_probabilities",
]
