"""Interprets a program for many networks of one architecture at once: each has its own weights and sequences.

F networks have every weight F times, (F, ...), and their values are (F, batch, ...). Operations by whose equations a
product with a matrix is a product of stacks (F, rows, n) @ (F, n, m) run on them as they are. A cell that looks weights
up by a symbol reads one table of F K rows, in which network f has the rows from f K on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_interp_rnn import _backend, equations
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._cells import CellActivation, equations_of, is_of_keras
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.graph import runs_its_graph
from keras_interp_rnn._program.read import read
from keras_interp_rnn._sequence.diagonal import diagonal_states
from keras_interp_rnn._types import Tensor

ReadAll = Callable[[keras.Variable], Tensor]
"""The values of a weight in all networks, (F, ...)."""

Stack = Callable[[ReadAll, list[Tensor]], Tensor]
"""The outputs (F, batch, ...) of all networks, from their weights and inputs (F, batch, ...)."""

TABLES = (equations.ISAN, equations.DiagonalISAN)
"""Cells that look their weights up by a symbol."""

PRODUCTS = (equations.SimpleRNN, equations.GRU, equations.LSTM, equations.MinGRU, equations.MinLSTM)
"""Cells that multiply by matrices."""

DIAGONAL = (equations.DiagonalISAN, equations.MinGRU)
"""Cells whose states `diagonal_states` computes."""


def stack_of(model: keras.Model) -> Stack | None:
    """The computation of many copies of a model of one output.

    None if an operation is not known, if steps are masked, or if a layer adds to the loss.
    """
    if not runs_its_graph(model) or len(model.outputs) != 1:
        return None
    program = read(model)
    is_known = program.outputs[0].mask is None and all(map(_is_known, program.operations))
    if not is_known or any(layer.activity_regularizer is not None for layer in walk_layers(model)):
        return None

    def stack(weights: ReadAll, inputs: list[Tensor]) -> Tensor:
        known = dict(zip(program.inputs, inputs, strict=True))
        for operation in program.operations:
            reads = [known[value] for value in operation.reads]
            known[operation.makes[0]] = RULES[type(operation)](operation, weights, *reads)
        return known[program.outputs[0]]

    return stack


def _is_known(operation: o.Operation) -> bool:
    if type(operation) not in RULES or operation.mask is not None or len(operation.makes) > 1:
        return False
    if isinstance(operation, o.Elementwise):
        return is_of_keras(operation.function)
    if not isinstance(operation, o.Recur):
        return not (isinstance(operation, o.Affine | o.Lookup) and operation.adapted)
    if len(operation.reads) > 1 or operation.stateful:
        return False
    known = equations_of(operation.cell, lambda weight: weight)
    if type(known) in TABLES:
        [symbols] = operation.reads
        return "int" in symbols.dtype and len(symbols.shape) == 2
    # A function of the user may treat the rows of other networks as its own.
    activations = [value for value in vars(known).values() if isinstance(value, CellActivation)] if known else []
    return type(known) in PRODUCTS and all(is_of_keras(activation.function) for activation in activations)


def _affine(operation: o.Affine, weights: ReadAll, x: Tensor) -> Tensor:
    matrix, offset = operation.arrays(weights)
    matrix = ops.reshape(matrix, (matrix.shape[0], -1, matrix.shape[-1]))
    product = ops.matmul(ops.reshape(x, (x.shape[0], -1, x.shape[-1])), matrix)
    product = ops.reshape(product, (*x.shape[:-1], matrix.shape[-1]))
    return product if offset is None else product + _to_rows(offset, product)


def _scale(operation: o.Scale, weights: ReadAll, x: Tensor) -> Tensor:
    arrays = operation.arrays(weights)
    if operation.of_weights:
        centre, factor, offset = (_to_rows(array, x) if np.ndim(array) else array for array in arrays)
    else:
        centre, factor, offset = (ops.cast(array, x.dtype) for array in arrays)
    return (x - centre) * factor + offset


def _to_rows(vectors: Tensor, x: Tensor) -> Tensor:
    """A vector of each network, (F, n), for rows (F, batch, ..., n)."""
    return ops.reshape(vectors, (vectors.shape[0], *[1] * (len(x.shape) - 2), vectors.shape[-1]))


def _normalize(operation: o.Normalize, weights: ReadAll, x: Tensor) -> Tensor:
    return operation.value(_Exact, x, lambda weight, _: _to_rows(weights(weight), x))


class _Exact:
    """Functions of tensors in their dtype: `keras.ops.mean` of float64 is one of float32 on JAX and torch."""

    sqrt = staticmethod(ops.sqrt)

    @staticmethod
    def mean(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        return ops.sum(x, axis=axis, keepdims=keepdims) / x.shape[axis]


def _lookup(operation: o.Lookup, weights: ReadAll, ids: Tensor) -> Tensor:
    table = operation.table(weights)
    return ops.take(ops.reshape(table, (-1, table.shape[-1])), _shifted(ids, table.shape[1]), axis=0)


def _shifted(ids: Tensor, size: int) -> Tensor:
    """Ids (F, ...) of one table for all networks."""
    first = np.arange(ids.shape[0], dtype=np.int32) * size
    return ops.cast(ids, "int32") + ops.convert_to_tensor(first.reshape(-1, *[1] * (len(ids.shape) - 1)))


def _reshape(operation: o.Reshape, weights: ReadAll, x: Tensor) -> Tensor:
    return ops.reshape(x, (*x.shape[:2], *(-1 if size is None else size for size in operation.makes[0].shape[1:])))


def _windows(operation: o.Windows, weights: ReadAll, x: Tensor) -> Tensor:
    places, rank = operation.places(x.shape[2]), len(operation.makes[0].shape)
    zeros = ops.zeros((*x.shape[:2], 1, x.shape[-1]), x.dtype)
    steps = ops.take(ops.concatenate([x, zeros], axis=2), places % (x.shape[2] + 1), axis=2)
    return ops.reshape(steps, (*x.shape[:2], *places.shape[: rank - 2], places.shape[1] * x.shape[-1]))


def _recur(operation: o.Recur, weights: ReadAll, x: Tensor) -> Tensor:
    layer, cell, (count, batch, time) = operation.layer, operation.cell, x.shape[:3]
    x = ops.flip(x, axis=2) if operation.backwards else x

    def tables(weight: keras.Variable) -> Tensor:
        value = weights(weight)
        return ops.reshape(value, (-1, *value.shape[2:]))

    def matrices(weight: keras.Variable) -> Tensor:
        """Matrices (F, n, m), vectors (F, 1, n); of a GRU's two biases each (F, 1, n)."""
        value = weights(weight)
        if len(value.shape) == 2:
            return value[:, None]
        return ops.swapaxes(value, 0, 1)[:, :, None] if weight is getattr(cell, "bias", None) else value

    looks_up = type(equations_of(cell, lambda weight: weight)) in TABLES
    known: Any = equations_of(cell, tables if looks_up else matrices)
    if looks_up:
        ids = _shifted(x, cell.vocabulary_size)
        drive = known.drive(ops, ops.reshape(ops.transpose(ids, (2, 0, 1)), (time, -1)))
    else:
        parts = known.drive(ops, ops.reshape(x, (count, batch * time, -1)))
        each = [ops.reshape(part, (count, batch, time, -1)) for part in parts]
        drive = tuple(ops.reshape(ops.transpose(part, (2, 0, 1, 3)), (time, count * batch, -1)) for part in each)
    start = [ops.zeros((count * batch, size), layer.variable_dtype) for size in tree.flatten(cell.state_size)]
    if hasattr(cell, "initial_state"):
        start = [start[0] + ops.repeat(weights(cell.initial_state), batch, axis=0)]

    def of_networks(outputs: Tensor) -> Tensor:
        """Outputs (time, F batch, n) as (F, batch, time, n), or those of the last step."""
        outputs = ops.transpose(ops.reshape(outputs, (-1, count, batch, outputs.shape[-1])), (1, 2, 0, 3))
        if not operation.sequences:
            return outputs[:, :, -1]
        return ops.flip(outputs, axis=2) if operation.backwards and operation.in_order else outputs

    if type(known) in DIAGONAL and getattr(cell, "block_size", 1) == 1:
        decay, addend = drive if looks_up else known.coefficients(ops, drive)
        return of_networks(diagonal_states("loop", decay, addend, start[0], None))

    def step(states: list[Tensor], now: tuple[Tensor, ...]) -> tuple[list[Tensor], tuple[Tensor]]:
        if looks_up:
            after = known.step(ops, tuple(states), now).states
        else:
            by_network = [tuple(ops.reshape(part, (count, batch, -1)) for part in parts) for parts in (states, now)]
            after = known.step(ops, *by_network).states
            after = [ops.reshape(part, (count * batch, -1)) for part in after]
        # tanh of keras.ops gives float32 on JAX (Keras 3.15), whatever it is given.
        after = [ops.cast(x, old.dtype) for x, old in zip(after, states, strict=True)]
        return after, (after[0],)

    last, [outputs] = _backend.scan(step, start, drive, (cell.units,))
    return of_networks(outputs if operation.sequences else last[0][None])


RULES: dict[type[o.Operation], Callable[..., Tensor]] = {
    o.Lookup: _lookup,
    o.Affine: _affine,
    o.Scale: _scale,
    o.Elementwise: lambda operation, weights, x: operation.function(x),
    o.Normalize: _normalize,
    o.Mean: lambda operation, weights, x: _Exact.mean(x, axis=2),
    o.Join: lambda operation, weights, *parts: ops.concatenate(parts, axis=-1),
    o.Sum: lambda operation, weights, *parts: sum(f * x for f, x in zip(operation.factors, parts, strict=True)),
    o.Reshape: _reshape,
    o.Windows: _windows,
    o.Recur: _recur,
}
"""Operation -> its value of all networks, from their weights and the values that it reads."""
