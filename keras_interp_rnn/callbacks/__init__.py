"""Callbacks for `fit`: they carry states over long texts, resume killed runs, and log a network to TensorBoard."""

from keras_interp_rnn.callbacks.attributions import Attributions
from keras_interp_rnn.callbacks.automaton import Automaton
from keras_interp_rnn.callbacks.carried_state import CarriedState
from keras_interp_rnn.callbacks.contributions import Contributions
from keras_interp_rnn.callbacks.jacobian_histograms import JacobianHistograms
from keras_interp_rnn.callbacks.resumable import Resumable
from keras_interp_rnn.callbacks.shapley_values import ShapleyValues
from keras_interp_rnn.callbacks.stability import Stability
from keras_interp_rnn.callbacks.substitutions import Substitutions
from keras_interp_rnn.callbacks.temperature_schedule import TemperatureSchedule
from keras_interp_rnn.callbacks.traces import Traces
from keras_interp_rnn.callbacks.transition_probabilities import TransitionProbabilities

__all__ = [
    "Attributions",
    "Automaton",
    "CarriedState",
    "Contributions",
    "JacobianHistograms",
    "Resumable",
    "ShapleyValues",
    "Stability",
    "Substitutions",
    "TemperatureSchedule",
    "Traces",
    "TransitionProbabilities",
]
