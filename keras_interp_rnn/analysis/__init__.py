"""Exact analysis of trained layers: float64 NumPy, and every exact method reports its residual."""

from keras_interp_rnn.analysis._weights import affine_map
from keras_interp_rnn.analysis.contributions import Contributions, Recent, Words, contributions, recent_contributions
from keras_interp_rnn.analysis.explanations import Explanation, Prototypes, explain, phrases, prototypes
from keras_interp_rnn.analysis.jacobians import input_output_jacobian, jacobian_singular_values
from keras_interp_rnn.analysis.ngrams import BackoffModel, NaiveBayes
from keras_interp_rnn.analysis.structure import (
    NgramAgreement,
    Parts,
    TransitionSpectra,
    bias_cosines,
    bias_norms,
    bias_parts,
    ngram_agreement,
    state_spectrum,
    transition_spectra,
)
from keras_interp_rnn.analysis.timescales import Timescales, TwoExponentials, by_age, timescales
from keras_interp_rnn.analysis.traces import drift, trace, transition_probabilities

__all__ = [
    "BackoffModel",
    "Contributions",
    "Explanation",
    "NaiveBayes",
    "NgramAgreement",
    "Parts",
    "Prototypes",
    "Recent",
    "Timescales",
    "TransitionSpectra",
    "TwoExponentials",
    "Words",
    "affine_map",
    "bias_cosines",
    "bias_norms",
    "bias_parts",
    "by_age",
    "contributions",
    "drift",
    "explain",
    "input_output_jacobian",
    "jacobian_singular_values",
    "ngram_agreement",
    "phrases",
    "prototypes",
    "recent_contributions",
    "state_spectrum",
    "timescales",
    "trace",
    "transition_probabilities",
    "transition_spectra",
]
