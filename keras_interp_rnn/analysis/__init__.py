"""Exact analysis of trained layers: float64 NumPy, and every exact method reports its residual."""

from keras_interp_rnn.analysis._weights import affine_map
from keras_interp_rnn.analysis.bases import (
    Basis,
    Blocks,
    augmented,
    change_basis,
    label_basis,
    named_blocks,
    near_zero,
    readout_basis,
    rebuilt,
    rounding_error,
    sparse_basis,
)
from keras_interp_rnn.analysis.composition import CompositionTable, FixedPoints, fixed_points
from keras_interp_rnn.analysis.contributions import Contributions, Recent, Words, contributions, recent_contributions
from keras_interp_rnn.analysis.explanations import Explanation, Phrases, Prototypes, explain, phrases, prototypes
from keras_interp_rnn.analysis.generation import generate
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
from keras_interp_rnn.analysis.traces import Trace, drift, trace, transition_probabilities

__all__ = [
    "BackoffModel",
    "Basis",
    "Blocks",
    "CompositionTable",
    "Contributions",
    "Explanation",
    "FixedPoints",
    "NaiveBayes",
    "NgramAgreement",
    "Parts",
    "Phrases",
    "Prototypes",
    "Recent",
    "Timescales",
    "Trace",
    "TransitionSpectra",
    "TwoExponentials",
    "Words",
    "affine_map",
    "augmented",
    "bias_cosines",
    "bias_norms",
    "bias_parts",
    "by_age",
    "change_basis",
    "contributions",
    "drift",
    "explain",
    "fixed_points",
    "generate",
    "input_output_jacobian",
    "jacobian_singular_values",
    "label_basis",
    "named_blocks",
    "near_zero",
    "ngram_agreement",
    "phrases",
    "prototypes",
    "readout_basis",
    "rebuilt",
    "recent_contributions",
    "rounding_error",
    "sparse_basis",
    "state_spectrum",
    "timescales",
    "trace",
    "transition_probabilities",
    "transition_spectra",
]
