"""Cells by other authors, Keras's first: whose equations are known, and how any cell is run along a sequence.

The only place that knows Keras's cells.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import equations
from keras_interp_rnn._types import Array, CellWithEquations, Tensor
from keras_interp_rnn.equations import CellEquations

Read = Callable[[Any], Any]

NOT_MATHEMATICS = ("__init__", "build", "get_config", "from_config", "compute_output_shape", "get_initial_state")


def equations_of(cell: object, read: Read) -> CellEquations | None:
    """The equations of a cell with its weights, or None where they are not known.

    They are known of Keras's SimpleRNNCell, GRUCell and LSTMCell, and of any cell with a method `equations(read)`. A
    subclass of one of these is another cell as soon as it overrides a method that computes, unless it brings its own.

    Args:
        cell: built.
        read: makes an array of a weight, e.g. a float64 array of NumPy.
    """
    if isinstance(cell, CellWithEquations):
        return cell.equations(read) if _computes_as_said(cell) else None
    of_keras = _KERAS.get(type(cell))
    return None if of_keras is None else of_keras(cell, read)


def _computes_as_said(cell: object) -> bool:
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


def is_cell_of_keras(cell: object) -> bool:
    """Whether a cell is one of Keras's, and no subclass, which may compute something else."""
    return type(cell) in _KERAS


def is_of_keras(activation: object) -> bool:
    """Whether an activation is one of Keras's, which treat every row by itself."""
    return any(activation is known for known in vars(keras.activations).values())


class CellActivation:
    """An activation in the equations of a cell, of the backend's tensors or of arrays, which stay float64 arrays.

    Of arrays Keras's activations are computed in float64, and others, which may have weights, in the cell's dtype.

    Args:
        function: of rows (batch, n), as Keras calls it; it may mix the units of a row.
        dtype: in which the cell computes.
    """

    def __init__(self, function: Callable[[Tensor], Tensor], dtype: str) -> None:
        self.function = function
        self._dtype = "float64" if is_of_keras(function) else dtype
        self._rows_are_apart = is_of_keras(function)

    def __call__(self, x: object) -> Any:
        if not isinstance(x, np.ndarray):
            return self.function(x)
        if not self._rows_are_apart:
            self._check_rows(x.shape[-1])
        return self._of_arrays(x)

    def _of_arrays(self, x: Array) -> Array:
        return np.asarray(ops.convert_to_numpy(self.function(ops.convert_to_tensor(x, self._dtype))), np.float64)

    def _check_rows(self, size: int) -> None:
        """Raises ValueError if the function mixes the rows of a batch, which have no derivatives of their own then."""
        rows = np.random.default_rng(0).normal(size=(3, size))
        with_one, with_another = (self._of_arrays(rows[[0, other]])[0] for other in (1, 2))
        if not np.allclose(with_one, with_another, rtol=1e-3, atol=1e-3):
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise ValueError(
                f"An activation must treat each row of a batch by itself. Received: {name}, which gives a row "
                "other values where another row changes. Let it compute along the last axis, axis=-1."
            )
        self._rows_are_apart = True


def activation_of(cell: Any, name: str, usual: Any) -> CellActivation | None:
    """A cell's activation of this name, or None for the usual one."""
    function = getattr(cell, name)
    return None if function is usual else CellActivation(function, cell.compute_dtype)


def _simple_rnn(cell: Any, read: Read) -> CellEquations:
    known = ("tanh", "relu", "linear", "sigmoid")
    activation: Any = next((x for x in known if getattr(keras.activations, x) is cell.activation), None)
    activation = activation or activation_of(cell, "activation", None)
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
        activation=activation_of(cell, "activation", keras.activations.tanh),
        recurrent_activation=activation_of(cell, "recurrent_activation", keras.activations.sigmoid),
    )


def _lstm(cell: Any, read: Read) -> CellEquations:
    return equations.LSTM(
        read(cell.kernel),
        read(cell.recurrent_kernel),
        _bias(cell, read),
        activation_of(cell, "activation", keras.activations.tanh),
        activation_of(cell, "recurrent_activation", keras.activations.sigmoid),
    )


_KERAS: dict[type, Callable[[Any, Read], CellEquations]] = {
    keras.layers.SimpleRNNCell: _simple_rnn,
    keras.layers.GRUCell: _gru,
    keras.layers.LSTMCell: _lstm,
}


def reads_features(cell: object) -> bool:
    """Whether a cell is one of Keras's, which read steps (batch, features)."""
    return isinstance(cell, tuple(_KERAS))


def built_for(cell: object) -> tuple[int | None, ...] | None:
    """The shape of a step without its batch axis for which a cell was built, or None where that is not known."""
    if not getattr(cell, "built", False) or not isinstance(cell, keras.layers.Layer):
        return None
    shape = (cell.get_build_config() or {}).get("input_shape")
    return None if shape is None else tuple(shape[1:])


def run_cell(cell: Any, inputs: Tensor, states: list[Tensor], training: bool) -> tuple[Tensor, list[Tensor]]:
    """One step of any Keras cell: its output, and its new states as a list."""
    arguments = {"training": training} if "training" in inspect.signature(cell.call).parameters else {}
    output, new = cell(inputs, list(states), **arguments)
    return output, list(new) if isinstance(new, (list, tuple)) else [new]


def draw_dropout(cell: object, inputs: Tensor, state: Tensor, training: bool) -> None:
    """Makes the Keras cells inside a cell draw their dropout masks outside the loop, once for all steps.

    Keras's SimpleRNNCell (3.15) draws masks outside training too, and does not use them: in JAX's loop that would leave
    a tracer in its seed.
    """
    for part in _dropout_cells(cell):
        if not training and not isinstance(part, keras.layers.SimpleRNNCell):
            continue
        part.get_dropout_mask(ops.cast(inputs, part.compute_dtype))
        part.get_recurrent_dropout_mask(ops.cast(state, part.compute_dtype))


def forget_dropout(cell: object) -> None:
    """Makes them draw new masks for the next batch."""
    for part in _dropout_cells(cell):
        part.reset_dropout_mask()
        part.reset_recurrent_dropout_mask()


def _dropout_cells(cell: object) -> list[keras.layers.Layer]:
    parts = [cell, *_dropout_cells(cell.cell)] if hasattr(cell, "cell") else [cell]
    return [part for part in parts if hasattr(part, "get_dropout_mask")]
