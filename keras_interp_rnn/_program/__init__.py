"""A Keras model as a program: a list of about a dozen kinds of operations, read once, for every interpreter."""

from keras_interp_rnn._program.many import Stack, stack_of
from keras_interp_rnn._program.operations import (
    Affine,
    Cast,
    Elementwise,
    Join,
    Lookup,
    Mean,
    Normalize,
    NotEqual,
    OneHot,
    Opaque,
    Operation,
    Recur,
    Reshape,
    Sum,
    Unmasked,
    Value,
)
from keras_interp_rnn._program.read import Program, read

__all__ = [
    "Affine",
    "Cast",
    "Elementwise",
    "Join",
    "Lookup",
    "Mean",
    "Normalize",
    "NotEqual",
    "OneHot",
    "Opaque",
    "Operation",
    "Program",
    "Recur",
    "Reshape",
    "Stack",
    "Sum",
    "Unmasked",
    "Value",
    "read",
    "stack_of",
]
