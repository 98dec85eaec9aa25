"""Exact analysis of trained networks: float64 NumPy, and every exact method reports its residual.

- Any recurrent layer: `trace`, `patching`, `attribution`, `interactions`, `substitutions`, `fixed_points`,
  `phase_portrait`, Jacobians; `surprise` ranks sessions of events; `generate` writes text.
- An input-switched affine network (`isan/`): contributions, time scales, biases, spectra, bases, maps of whole words.
- A state-regularized network (`state_regularized/`): transition probabilities, prototypes, explanations, phrases.
- A weighted automaton, such as an ISAN, a `DFA` or a certified network (`weighted/`): equivalence of two, the smallest
  equivalent one, exact Shapley values.
- A baseline: back-off n-grams.

`network` is a recurrent layer, a cell, or a model with exactly one recurrent layer.
"""

from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.attribution import affine_surrogate, attribution
from keras_interp_rnn.analysis.baselines import BackoffModel
from keras_interp_rnn.analysis.fixed_points import fixed_points
from keras_interp_rnn.analysis.generation import generate
from keras_interp_rnn.analysis.interactions import interactions
from keras_interp_rnn.analysis.isan.balanced_bases import balanced_basis
from keras_interp_rnn.analysis.isan.bases import Basis, change_basis, mean_state, readout_basis
from keras_interp_rnn.analysis.isan.biases import bias_norms
from keras_interp_rnn.analysis.isan.binary_bases import sparse_basis
from keras_interp_rnn.analysis.isan.composition.table import CompositionTable
from keras_interp_rnn.analysis.isan.contributions import contributions, recent_contributions
from keras_interp_rnn.analysis.isan.maps import affine_map, homogeneous_matrices
from keras_interp_rnn.analysis.isan.spectra import state_spectrum, transition_spectra
from keras_interp_rnn.analysis.isan.timescales import timescales
from keras_interp_rnn.analysis.jacobians import input_output_jacobian, jacobian_singular_values
from keras_interp_rnn.analysis.lyapunov import lyapunov_exponents
from keras_interp_rnn.analysis.patching import patching
from keras_interp_rnn.analysis.phase_portraits import phase_portrait
from keras_interp_rnn.analysis.state_regularized.explanation import explain
from keras_interp_rnn.analysis.state_regularized.phrases import phrases
from keras_interp_rnn.analysis.state_regularized.prototypes import prototypes
from keras_interp_rnn.analysis.state_regularized.transitions import transition_probabilities
from keras_interp_rnn.analysis.substitutions import substitutions
from keras_interp_rnn.analysis.surprise import surprise
from keras_interp_rnn.analysis.traces import trace
from keras_interp_rnn.analysis.weighted.backgrounds import Background
from keras_interp_rnn.analysis.weighted.equivalence import equivalent
from keras_interp_rnn.analysis.weighted.minimization import minimize
from keras_interp_rnn.analysis.weighted.shapley import shapley_values
from keras_interp_rnn.analysis.weighted.truncation import truncate

__all__ = [
    "AffineMap",
    "Background",
    "BackoffModel",
    "Basis",
    "CompositionTable",
    "affine_map",
    "affine_surrogate",
    "attribution",
    "balanced_basis",
    "bias_norms",
    "change_basis",
    "contributions",
    "equivalent",
    "explain",
    "fixed_points",
    "generate",
    "homogeneous_matrices",
    "input_output_jacobian",
    "interactions",
    "jacobian_singular_values",
    "lyapunov_exponents",
    "mean_state",
    "minimize",
    "patching",
    "phase_portrait",
    "phrases",
    "prototypes",
    "readout_basis",
    "recent_contributions",
    "shapley_values",
    "sparse_basis",
    "state_spectrum",
    "substitutions",
    "surprise",
    "timescales",
    "trace",
    "transition_probabilities",
    "transition_spectra",
    "truncate",
]
