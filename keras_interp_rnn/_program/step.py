"""Interprets a program one symbol at a time, with states that are kept from step to step.

Where all operations are known (`Steps`), a step of a small network takes some 20 microseconds: whatever depends on the
symbol alone is computed once for all symbols, embeddings, layers on them, and the parts of a recurrence's step that
depend on its inputs (`drive`). Other values are rows (1, n) of one step. Of any other program (`AnySteps`) each
operation is run on sequences of one step, opaque ones by Keras; that this is the same is checked on a few symbols. What
rounds to half precision is opaque, but for its cells, which run by their own code: there the model's rounding is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import tree

from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import Mask, draws_noise, output_size, read_by_equations, treats_steps_alike
from keras_interp_rnn._program.read import Program
from keras_interp_rnn._program.values import CLOSED, RULES, Cells, Equation, Function, Step, forward, with_functions
from keras_interp_rnn._types import AnyArray, Array
from keras_interp_rnn.equations import NUMPY

TAKEN = (o.Lookup, o.OneHot, o.NotEqual, o.Join, o.Sum)
"""Operations that compute the same of a row as of sequences, besides those of rows."""


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
        tables: dict[o.Value, AnyArray] = {program.inputs[0]: np.arange(num_symbols)}
        self._steps: list[tuple[Callable[..., Array], list[o.Value], o.Value]] = []
        self._with_states: list[_Recurrence | _Recent] = []
        for operation in program.operations:
            reads = operation.reads
            tabled = all(value in tables for value in reads)
            if isinstance(operation, o.Recur):
                recurrence = _Recurrence(operation, tables.get(reads[0]))
                self._with_states.append(recurrence)
                masks = [] if operation.mask is None else [operation.mask]
                given = [*(reads if recurrence.drives is None else program.inputs), *masks]
                self._steps.append((recurrence.step, given, operation.makes[0]))
            elif isinstance(operation, o.Windows):
                recent = _Recent(operation)
                self._with_states.append(recent)
                self._steps.append((recent.value, reads, operation.makes[0]))
            elif tabled:
                tables[operation.makes[0]] = _function(operation)(*(tables[value] for value in reads))
            else:
                self._steps.append((_function(operation), reads, operation.makes[0]))
        [self._output] = program.outputs
        needed = {self._output, *(value for _, reads, _ in self._steps for value in reads)}
        self._tables = {value: table for value, table in tables.items() if value in needed}

    def reset(self) -> None:
        """Begins a text."""
        for each in self._with_states:
            each.reset()

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


class _Recent(Equation):
    """Windows that end at each step: the last steps are kept."""

    def __init__(self, operation: o.Windows) -> None:
        super().__init__(self._window)
        self._rank, self._lags = len(operation.makes[0].shape), np.array(operation.lags)
        self.reset()

    def reset(self) -> None:
        self._steps: Array | None = None

    def _window(self, x: Array) -> Array:
        """The window of a step (1, n), or (1, 1, n)."""
        before = np.zeros((self._lags.max() + 1, x.shape[-1])) if self._steps is None else self._steps
        self._steps = np.concatenate([before[1:], x.reshape(1, -1)])
        window: Array = self._steps[-1 - self._lags].reshape(1, -1)
        return window[:, None] if x.ndim == self._rank == 3 else window


class AnySteps:
    """As `Steps`, of any program that looks back in its recurrences and windows alone."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._steps = [
            Step(operation, _with_states(operation) or function)
            for operation, function in with_functions(program.operations)
        ]

    def reset(self) -> None:
        for _, function in self._steps:
            if isinstance(function, _Carried | _Recent):
                function.reset()

    def read(self, symbol: int) -> Array:
        [output] = outputs(self._program, self._steps, np.array([[symbol]]))
        return output.reshape(1, -1)


def _with_states(operation: o.Operation) -> Function | None:
    """An operation that looks back as one whose runs go on where the one before ended; None for any other."""
    if isinstance(operation, o.Recur):
        return _Carried(operation)
    return _Recent(operation) if isinstance(operation, o.Windows) and operation.lags is not None else None


class _Carried(Cells):
    """The cells of a recurrent layer, of which each run goes on where the one before ended."""

    def __init__(self, operation: o.Recur) -> None:
        super().__init__(operation)
        if not is_precise(operation.layer):
            for cell in self.cells:
                cell.equations = None  # its own code rounds as the model does
        self.reset()

    def reset(self) -> None:
        self._states, self._output = [start[None] for start in self.starts], np.zeros((1, self.cells[-1].num_outputs))

    def forward(self, reads: Sequence[Any], masks: Sequence[Mask | None]) -> list[Any]:
        there = all(mask is None or mask.all() for mask in masks)
        if there:
            made, *_ = super().forward([reads[0], *self._states], masks)
            self._output = made.reshape(1, -1)
            self._states = [state for cell in self.cells for state in cell.after]
        output = self._output if there or not self.operation.zeros else np.zeros_like(self._output)
        return [output[:, None] if self.operation.sequences else output, *self._states][: len(self.operation.makes)]


def outputs(program: Program, steps: Sequence[Step], ids: AnyArray) -> list[Array]:
    """The outputs of a program of one input for ids (batch, time)."""
    known = dict(zip(program.inputs, [ids], strict=True))
    forward(steps, known)
    return [known[value] for value in program.outputs]


def steps_of(program: Program, num_symbols: int) -> Steps | None:
    """The steps of a program of one input, its symbols; None if an operation is not known."""
    alone = len(program.inputs) == len(program.outputs) == 1
    return Steps(program, num_symbols) if alone and all(map(_is_known, program.operations)) else None


def is_precise(layer: keras.Layer) -> bool:
    return layer.compute_dtype in ("float32", "float64")


def _is_known(operation: o.Operation) -> bool:
    made = operation.makes[0]
    if isinstance(operation, o.Elementwise):
        return operation.function in CLOSED
    if isinstance(operation, o.Cast):
        return "int" in made.dtype
    if isinstance(operation, o.Reshape):  # of ids, with one more axis
        return len(operation.reads[0].shape) == 2 and len(made.shape) == 3 and made.shape[-1] == 1
    if isinstance(operation, o.Windows):
        return operation.lags is not None
    if not isinstance(operation, o.Recur):
        return operation.of_rows or isinstance(operation, TAKEN)
    alone = len(operation.reads) == len(operation.makes) == 1 and not operation.backwards
    alike = treats_steps_alike(operation.layer) and not draws_noise(operation.cell)
    return alone and alike and equations_of(operation.cell, as_float64) is not None
