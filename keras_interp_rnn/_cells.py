"""Whose equations are known: cells that bring their own, and Keras's. The only place that knows Keras's cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_interp_rnn import equations
from keras_interp_rnn.equations import CellEquations

Read = Callable[[Any], Any]

NOT_MATHEMATICS = ("__init__", "build", "get_config", "from_config", "compute_output_shape", "get_initial_state")


def equations_of(cell: Any, read: Read) -> CellEquations | None:
    """The equations of a cell with its weights, or None where they are not known.

    They are known of Keras's SimpleRNNCell, GRUCell and LSTMCell, and of any cell with a method `equations(read)`. A
    subclass of one of these is another cell as soon as it overrides a method that computes, unless it brings its own.

    Args:
        cell: built.
        read: makes an array of a weight, e.g. a float64 array of NumPy.
    """
    if hasattr(cell, "equations"):
        return cell.equations(read) if _computes_as_said(cell) else None
    of_keras = _KERAS.get(type(cell))
    return None if of_keras is None else of_keras(cell, read)


def _computes_as_said(cell: Any) -> bool:
    """Whether nothing that is more derived than the class with `equations` overrides a method or a property of it."""
    if "call" in vars(cell):  # set on the cell itself
        return False
    classes = type(cell).__mro__
    for i, part in enumerate(classes):
        if "equations" in vars(part):
            return True
        own = {name for name, value in vars(part).items() if callable(value) or isinstance(value, property)}
        if any(hasattr(base, name) for name in own - set(NOT_MATHEMATICS) for base in classes[i + 1 : -1]):
            return False
    return False


def _bias(cell: Any, read: Read) -> Any:
    return read(cell.bias) if cell.use_bias else None


def unusual(activation: Any, usual: Any) -> Any:
    """An activation, or None for the usual one."""
    return None if activation is usual else activation


def _simple_rnn(cell: Any, read: Read) -> CellEquations:
    activation = unusual(cell.activation, keras.activations.tanh)
    return equations.SimpleRNN(read(cell.kernel), read(cell.recurrent_kernel), _bias(cell, read), activation)


def _gru(cell: Any, read: Read) -> CellEquations:
    bias = _bias(cell, read)
    of_input, of_state = (bias[0], bias[1]) if bias is not None and cell.reset_after else (bias, None)
    return equations.GRU(
        read(cell.kernel),
        read(cell.recurrent_kernel),
        of_input,
        reset_after=cell.reset_after,
        recurrent_bias=of_state,
        activation=unusual(cell.activation, keras.activations.tanh),
        recurrent_activation=unusual(cell.recurrent_activation, keras.activations.sigmoid),
    )


def _lstm(cell: Any, read: Read) -> CellEquations:
    return equations.LSTM(
        read(cell.kernel),
        read(cell.recurrent_kernel),
        _bias(cell, read),
        unusual(cell.activation, keras.activations.tanh),
        unusual(cell.recurrent_activation, keras.activations.sigmoid),
    )


_KERAS: dict[type, Callable[[Any, Read], CellEquations]] = {
    keras.layers.SimpleRNNCell: _simple_rnn,
    keras.layers.GRUCell: _gru,
    keras.layers.LSTMCell: _lstm,
}
