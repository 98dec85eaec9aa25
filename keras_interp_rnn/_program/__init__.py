"""A Keras model as a program: a list of about a dozen kinds of operations, read once, for every interpreter."""

from keras_interp_rnn._program.many import stack_of
from keras_interp_rnn._program.read import Program, read

__all__ = ["Program", "read", "stack_of"]
