"""Many networks of one architecture as one computation: each has its own weights, and reads its own sequences.

A stack of F networks has every weight F times, (F, ...), and its sequences are (F, batch, time, ...). Layers by whose
equations a product with a matrix is a product of stacks (F, rows, n) @ (F, n, m) run on them as they are. A layer that
looks weights up by a symbol reads one table of F K rows, in which network f has the rows from f K on.

Left out: masks, and every layer that is not on the list; `stack_of` then returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_interp_rnn import _backend, equations
from keras_interp_rnn._cells import CellActivation, equations_of, is_of_keras
from keras_interp_rnn._network.graph import evaluate
from keras_interp_rnn._network.parts import IDENTITIES
from keras_interp_rnn._sequence.diagonal import diagonal_states
from keras_interp_rnn._types import Tensor

Read = Callable[[keras.Variable], Tensor]
"""The values of a weight in all networks, (F, ...)."""

Stack = Callable[[Read, list[Tensor]], Tensor]
"""The outputs (F, batch, ...) of all networks, from their weights and inputs (F, batch, ...)."""

TABLES = (equations.ISAN, equations.DiagonalISAN)
"""Cells that look their weights up by a symbol."""

PRODUCTS = (equations.SimpleRNN, equations.GRU, equations.LSTM, equations.MinGRU, equations.MinLSTM)
"""Cells that multiply by matrices."""

DIAGONAL = (equations.DiagonalISAN, equations.MinGRU)
"""Cells whose states `diagonal_states` computes."""


def stack_of(model: keras.Model) -> Stack | None:
    """The computation of many copies of a functional model of one output; None if a layer is not known."""
    if not getattr(model, "inputs", None) or len(model.outputs) != 1:
        return None
    known = []

    def note(operation: Any, node: Any, _: Any) -> list[None]:
        known.append(_rule_of(operation, node) is not None)
        return [None] * len(node.output_tensors)

    inputs = tree.flatten(model.inputs)
    evaluate(model, [None] * len(inputs), note)
    if not all(known):
        return None

    def stack(read: Read, values: list[Tensor]) -> Tensor:
        def call(operation: Any, node: Any, so_far: dict[int, Tensor]) -> list[Tensor]:
            rule: Any = _rule_of(operation, node)
            return [rule(operation, read, *(so_far[id(tensor)] for tensor in node.input_tensors))]

        return evaluate(model, values, call)[0]

    return stack


def _rule_of(operation: Any, node: Any) -> Callable[..., Tensor] | None:
    kind = type(operation)
    if getattr(operation, "activity_regularizer", None) is not None or len(node.output_tensors) != 1:
        return None
    if kind in IDENTITIES:
        return lambda layer, read, x: x
    if kind is keras.layers.Dense and operation.quantization_mode is None and is_of_keras(operation.activation):
        return _dense
    if kind is keras.layers.Embedding and not operation.mask_zero:
        return _embedding
    if kind is keras.layers.Concatenate and operation.axis == -1:
        return lambda layer, read, *parts: ops.concatenate(parts, axis=-1)
    return _recurrent if isinstance(operation, keras.layers.RNN) and _is_known(operation, node) else None


def _is_known(layer: Any, node: Any) -> bool:
    if len(node.input_tensors) != 1 or layer.go_backwards or layer.stateful or layer.return_state:
        return False
    known = equations_of(layer.cell, lambda weight: weight)
    if type(known) in TABLES:
        [symbols] = node.input_tensors
        return "int" in symbols.dtype and len(symbols.shape) == 2
    # A function of the user may treat the rows of other networks as its own.
    activations = [value for value in vars(known).values() if isinstance(value, CellActivation)] if known else []
    return type(known) in PRODUCTS and all(is_of_keras(activation.function) for activation in activations)


def _dense(layer: Any, read: Read, x: Tensor) -> Tensor:
    count, units = x.shape[0], layer.units
    product = ops.matmul(ops.reshape(x, (count, -1, x.shape[-1])), read(layer.kernel))
    if layer.use_bias:
        product = product + read(layer.bias)[:, None]
    return layer.activation(ops.reshape(product, (*x.shape[:-1], units)))


def _embedding(layer: Any, read: Read, ids: Tensor) -> Tensor:
    table = read(layer.embeddings)
    return ops.take(ops.reshape(table, (-1, table.shape[-1])), _shifted(ids, layer.input_dim), axis=0)


def _shifted(ids: Tensor, size: int) -> Tensor:
    """Ids (F, ...) of one table for all networks."""
    first = np.arange(ids.shape[0], dtype=np.int32) * size
    return ops.cast(ids, "int32") + ops.convert_to_tensor(first.reshape(-1, *[1] * (len(ids.shape) - 1)))


def _recurrent(layer: Any, read: Read, x: Tensor) -> Tensor:
    cell, (count, batch, time) = layer.cell, x.shape[:3]

    def tables(weight: keras.Variable) -> Tensor:
        value = read(weight)
        return ops.reshape(value, (-1, *value.shape[2:]))

    def matrices(weight: keras.Variable) -> Tensor:
        """Matrices (F, n, m), vectors (F, 1, n); of a GRU's two biases each (F, 1, n)."""
        value = read(weight)
        if len(value.shape) == 2:
            return value[:, None]
        return ops.swapaxes(value, 0, 1)[:, :, None] if weight is getattr(cell, "bias", None) else value

    looks_up = type(equations_of(cell, lambda weight: weight)) in TABLES
    known: Any = equations_of(cell, tables if looks_up else matrices)
    if looks_up:
        ids = _shifted(x, cell.vocabulary_size)
        drive = known.drive(ops, ops.reshape(ops.transpose(ids, (2, 0, 1)), (time, -1)))
    else:
        each = known.drive(ops, ops.reshape(x, (count, batch * time, -1)))
        each = [ops.reshape(part, (count, batch, time, -1)) for part in each]
        drive = tuple(ops.reshape(ops.transpose(part, (2, 0, 1, 3)), (time, count * batch, -1)) for part in each)
    start = [ops.zeros((count * batch, size), layer.variable_dtype) for size in tree.flatten(cell.state_size)]
    if hasattr(cell, "initial_state"):
        start = [start[0] + ops.repeat(read(cell.initial_state), batch, axis=0)]

    if type(known) in DIAGONAL and getattr(cell, "block_size", 1) == 1:
        decay, addend = drive if looks_up else known.coefficients(ops, drive)
        outputs = diagonal_states("loop", decay, addend, start[0], None)
        return _by_network(outputs if layer.return_sequences else outputs[-1:], count, layer.return_sequences)

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
    return _by_network(outputs if layer.return_sequences else last[0][None], count, layer.return_sequences)


def _by_network(outputs: Tensor, count: int, sequences: bool) -> Tensor:
    """Outputs (time, F batch, n) as (F, batch, time, n), or without the time."""
    time, _, units = outputs.shape
    outputs = ops.transpose(ops.reshape(outputs, (time, count, -1, units)), (1, 2, 0, 3))
    return outputs if sequences else outputs[:, :, 0]
