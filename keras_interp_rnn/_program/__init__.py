"""A Keras model as a program: a list of about a dozen kinds of operations, read once, for every interpreter.

- `many`: the tensors of many networks of one architecture, for fits.
- `step`: one symbol after the other, for `generate`.
- `fold`: what is affine in the state of one layer, for contributions, weighted automata and affine maps.
"""

from keras_interp_rnn._program.affine_reading import AffineReading, ISANWeights, OpenedText, Way
from keras_interp_rnn._program.linear_recurrences import feature_addends
from keras_interp_rnn._program.made_isans import isan_like, isan_model, isan_of
from keras_interp_rnn._program.many import stack_of
from keras_interp_rnn._program.read import Program, read, read_layer
from keras_interp_rnn._program.stepper import Stepper

__all__ = [
    "AffineReading",
    "ISANWeights",
    "OpenedText",
    "Program",
    "Stepper",
    "Way",
    "feature_addends",
    "isan_like",
    "isan_model",
    "isan_of",
    "read",
    "read_layer",
    "stack_of",
]
