"""Exact analysis of trained networks: float64 NumPy, and every exact method reports its residual.

- Any recurrent layer: `trace`, `attribution`, `substitutions`, `fixed_points`, the Jacobians; `generate`, of a
  character model.
- An input-switched affine network (`isan/`): contributions, time scales, biases, spectra, other bases, whole words.
- A state-regularized network (`state_regularized/`): transition probabilities, prototypes, explanations, phrases.
- A weighted automaton, such as an ISAN, a `DFA` or a certified network (`weighted/`): equality of two, the smallest
  one, exact Shapley values.
- Baselines: back-off n-grams and naive Bayes.

`network` (a model, a layer or a cell) is resolved by one rule: a layer or a cell stands for itself, a model
for its one recurrent layer.
"""

from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.attribution import Attribution, attribution
from keras_interp_rnn.analysis.baselines import BackoffModel
from keras_interp_rnn.analysis.fixed_points import CellFixedPoints, fixed_points
from keras_interp_rnn.analysis.generation import generate
from keras_interp_rnn.analysis.isan.bases import (
    Basis,
    TransformedNetwork,
    centred_basis,
    change_basis,
    mean_state,
    readout_basis,
)
from keras_interp_rnn.analysis.isan.biases import BiasParts, bias_cosines, bias_norms, bias_parts
from keras_interp_rnn.analysis.isan.binarization import binarized_network
from keras_interp_rnn.analysis.isan.binary_bases import label_basis, sparse_basis
from keras_interp_rnn.analysis.isan.composition.table import CompositionTable, StatesAfterWords
from keras_interp_rnn.analysis.isan.contributions import (
    Contributions,
    RecentContributions,
    WordContributions,
    contributions,
    recent_contributions,
)
from keras_interp_rnn.analysis.isan.maps import FixedPoints, affine_map, homogeneous_matrices
from keras_interp_rnn.analysis.isan.spectra import TransitionSpectra, state_spectrum, transition_spectra
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials, contributions_by_age, timescales
from keras_interp_rnn.analysis.jacobians import input_output_jacobian, jacobian_singular_values
from keras_interp_rnn.analysis.state_regularized.explanation import Explanation, explain
from keras_interp_rnn.analysis.state_regularized.phrases import Phrases, phrases
from keras_interp_rnn.analysis.state_regularized.prototypes import Prototypes, prototypes
from keras_interp_rnn.analysis.state_regularized.transitions import transition_probabilities
from keras_interp_rnn.analysis.statistics import relative_drift
from keras_interp_rnn.analysis.substitutions import Substitutions, substitutions
from keras_interp_rnn.analysis.traces import Trace, trace
from keras_interp_rnn.analysis.weighted.backgrounds import Background
from keras_interp_rnn.analysis.weighted.equivalence import Equivalence, equivalent
from keras_interp_rnn.analysis.weighted.minimization import Minimization, minimize
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues, shapley_values
from keras_interp_rnn.analysis.weighted.truncation import Truncation, truncate

__all__ = [
    "AffineMap",
    "Attribution",
    "Background",
    "BackoffModel",
    "Basis",
    "BiasParts",
    "CellFixedPoints",
    "CompositionTable",
    "Contributions",
    "Equivalence",
    "Explanation",
    "FixedPoints",
    "Minimization",
    "Phrases",
    "Prototypes",
    "RecentContributions",
    "ShapleyValues",
    "StatesAfterWords",
    "Substitutions",
    "Timescales",
    "Trace",
    "TransformedNetwork",
    "TransitionSpectra",
    "Truncation",
    "TwoExponentials",
    "WordContributions",
    "affine_map",
    "attribution",
    "bias_cosines",
    "bias_norms",
    "bias_parts",
    "binarized_network",
    "centred_basis",
    "change_basis",
    "contributions",
    "contributions_by_age",
    "equivalent",
    "explain",
    "fixed_points",
    "generate",
    "homogeneous_matrices",
    "input_output_jacobian",
    "jacobian_singular_values",
    "label_basis",
    "mean_state",
    "minimize",
    "phrases",
    "prototypes",
    "readout_basis",
    "recent_contributions",
    "relative_drift",
    "shapley_values",
    "sparse_basis",
    "state_spectrum",
    "substitutions",
    "timescales",
    "trace",
    "transition_probabilities",
    "transition_spectra",
    "truncate",
]
