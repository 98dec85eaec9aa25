"""Interprets a program one symbol at a time, in float64 NumPy: a step of a small network takes some 20 microseconds.

Whatever depends on the symbol alone is computed once for all symbols: embeddings, layers on them, and the parts of a
recurrence's step that depend on its inputs (`drive`). Other values are rows (1, n) of one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import draws_noise, output_size, read_by_equations
from keras_interp_rnn._program.arrays import as_float64
from keras_interp_rnn._program.graph import runs_its_graph
from keras_interp_rnn._program.interface import vocabulary_sizes
from keras_interp_rnn._program.read import Program, read
from keras_interp_rnn._program.values import CLOSED, RULES, Equation
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY

TAKEN = (o.Lookup, o.OneHot, o.NotEqual, o.Affine, o.Scale, o.Normalize, o.Join, o.Sum)
"""Operations that compute the same of a row as of sequences."""


def _function(operation: o.Operation) -> Callable[..., Array]:
    """An operation as a function of rows of what it reads."""
    if isinstance(operation, o.Reshape):
        return lambda x: x[:, None]
    function = RULES[type(operation)](operation)
    assert isinstance(function, Equation)
    return function.value


NUMBERS = 2**24
"""The most that are computed for all symbols at once for one recurrence."""


class Steps:
    """A program along a text: its states are those of the layers at first, and are kept from step to step."""

    def __init__(self, program: Program, num_symbols: int) -> None:
        tables: dict[o.Value, NDArray[Any]] = {program.inputs[0]: np.arange(num_symbols)}
        self._steps: list[tuple[Callable[..., Array], list[o.Value], o.Value]] = []
        self._recurrences: list[_Recurrence] = []
        for operation in program.operations:
            reads = operation.reads
            tabled = all(value in tables for value in reads)
            if isinstance(operation, o.Recur):
                recurrence = _Recurrence(operation, tables.get(reads[0]))
                self._recurrences.append(recurrence)
                masks = [] if operation.mask is None else [operation.mask]
                given = [*(reads if recurrence.drives is None else program.inputs), *masks]
                self._steps.append((recurrence.step, given, operation.makes[0]))
            elif tabled:
                tables[operation.makes[0]] = _function(operation)(*(tables[value] for value in reads))
            else:
                self._steps.append((_function(operation), reads, operation.makes[0]))
        [self._output] = program.outputs
        needed = {self._output, *(value for _, reads, _ in self._steps for value in reads)}
        self._tables = {value: table for value, table in tables.items() if value in needed}

    def reset(self) -> None:
        """Begins a text."""
        for recurrence in self._recurrences:
            recurrence.reset()

    def read(self, symbol: int) -> Array:
        """The output (1, n) after one more symbol."""
        known = {value: table[symbol : symbol + 1] for value, table in self._tables.items()}
        for function, reads, makes in self._steps:
            known[makes] = function(*[known[value] for value in reads])
        return known[self._output]


class _Recurrence:
    """A cell from step to step.

    Attributes:
        drives: those of all symbols; None where they depend on other steps, or take more than 2^24 numbers.

    Args:
        table: (K, ...), what it reads of each symbol; None where that depends on other steps.
    """

    def __init__(self, operation: o.Recur, table: Array | None) -> None:
        self._operation = operation
        self._equations: Any = equations_of(operation.cell, as_float64)
        states = tree.flatten(operation.layer.get_initial_state(batch_size=1))
        self._start = np.zeros((1, output_size(operation.cell))), tuple(map(as_float64, states))
        self.drives: tuple[Array, ...] | None = None
        if table is not None and len(table) * sum(part.size for part in self._drive(table[:1])) <= NUMBERS:
            self.drives = self._drive(table)
        self.reset()

    def _drive(self, x: Array) -> tuple[Array, ...]:
        """The drive of rows (m, ...), which need not follow each other."""
        drive = self._equations.drive(NUMPY, read_by_equations(self._operation.cell, x[None]))
        return tuple(part[0] for part in drive)

    def reset(self) -> None:
        self._output, self._states = self._start

    def step(self, x: Array, there: Array | None = None) -> Array:
        """The output (1, n) after a step.

        Args:
            x: its symbol (1,), where there are `drives`, or what it reads (1, n). there: (1,), whether it is read.
        """
        if there is not None and not there[0]:
            return np.zeros_like(self._output) if self._operation.zeros else self._output
        now = self._drive(x) if self.drives is None else tuple(part[x] for part in self.drives)
        self._states = self._equations.step(NUMPY, self._states, now).states
        self._output = self._equations.output(NUMPY, self._states, now)
        return self._output


def steps_of(model: keras.Model) -> Steps | None:
    """The steps of a model of symbols; None if an operation is not known, or if layers round to half precision."""
    if not runs_its_graph(model) or len(model.inputs) != 1 or len(model.outputs) != 1:
        return None
    [num_symbols], program = vocabulary_sizes(model), read(model)
    precise = all(layer.compute_dtype in ("float32", "float64") for layer in walk_layers(model))
    if num_symbols is None or not precise or not all(map(_is_known, program.operations)):
        return None
    return Steps(program, num_symbols)


def _is_known(operation: o.Operation) -> bool:
    made = operation.makes[0]
    if isinstance(operation, o.Elementwise):
        return operation.function in CLOSED
    if isinstance(operation, o.Cast):
        return "int" in made.dtype
    if isinstance(operation, o.Reshape):  # of ids, with one more axis
        return len(operation.reads[0].shape) == 2 and len(made.shape) == 3 and made.shape[-1] == 1
    if not isinstance(operation, o.Recur):
        return isinstance(operation, TAKEN)
    alone = len(operation.reads) == len(operation.makes) == 1 and not operation.backwards
    alike = getattr(operation.layer, "regularize_last_step", True) and not draws_noise(operation.cell)
    return alone and alike and equations_of(operation.cell, as_float64) is not None
