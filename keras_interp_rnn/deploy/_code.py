"""Equations as C: an array namespace whose functions write the loops that compute them.

`equations.step(code, states, drive)` runs the package's one copy of a cell's equations on values that have no numbers
yet: rows (1, n) of one step. Arithmetic of entries stays an expression until a whole vector is read; then a loop is
written. Matrix products, and functions such as tanh, are written where they are first read, and not at all if nothing
reads them. Arrays of NumPy are constants: NumPy computes in float64 what depends on them alone, and those that are left
become static arrays.

What it leaves out: batches, products of two computed matrices, expressions of vectors of different lengths. They raise
`Unwritten`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import (
    Lines,
    Place,
    Unwritten,
    literal,
    loop,
    plus,
    times,
)
from keras_interp_rnn.deploy._namespace import Namespace, of_constants
from keras_interp_rnn.deploy._text import Text, unused
from keras_interp_rnn.deploy._values import (
    ATOM,
    CHOICE,
    Computed,
    Expression,
    Given,
    Index,
    OneHot,
    Product,
    Row,
    Value,
)


def _entry_by_entry(name: str, function: str) -> Callable[..., Any]:
    """A function of the namespace that applies one of C to every entry."""

    def applied(self: Code, x: Any) -> Any:
        def lines(target: Place) -> Lines:
            return loop(x.size, f"{target.at('i')} = {self.function(function)}({x.at('i')});")

        return Computed(self, x.shape, lines)

    applied.__name__ = name
    return of_constants(applied)


class Code(Namespace, Text):
    """The array namespace, whose functions write what they compute."""

    written = (Value, Index)

    def state(self, name: str, start: Array) -> Value:
        """A new field of the state."""
        self.states[name] = self.read(start, f"{name}_start")
        return Given(self, start.size, Place(f"state->{name}"))

    def block(self, comment: Lines, compute: Callable[[], Value]) -> Value:
        """Writes a layer, and returns its output, which other layers can read."""
        self._num_blocks += 1
        before, self.lines, self._names_in_block = self.lines, [], set()
        value = compute()
        if isinstance(value, Given):
            output, declared = value, []
        else:
            output = Given(self, value.size, Place(f"y{self._num_blocks}"))
            declared = [f"float {output.place}[{output.size}];"]
            self._append(value.into(output.place))
        self.lines = [*before, "", *comment, *declared, "{", *(f"    {line}" for line in self.lines), "}"]
        return output

    def value(self, x: object) -> Value:
        """A constant as a value."""
        if isinstance(x, Value):
            return x
        if isinstance(x, Index):
            raise Unwritten("arithmetic of symbols")
        array = np.asarray(x, np.float64)
        if array.size == 1:
            return Expression(self, array.shape, ATOM, lambda i: literal(array.item()))
        return Expression(self, array.shape, ATOM, lambda i: self.constant(array.ravel()).entry("0", i))

    def computed_once(self, x: Value) -> Value:
        """A value that is stored before it is read, as where it is read several times."""
        return Computed(self, x.shape, x.into, x.name)

    def arithmetic(self, operator: str, level: int, x: object, y: object) -> Any:
        """An operation of entries, one of both a value; with 0 and 1 it may be none."""
        first, second = (_number(each) for each in (x, y))
        if second == (0 if operator in "+-" else 1) and operator in "+-*/":
            return x
        if first == (0 if operator == "+" else 1) and operator in "+*":
            return y
        if (operator == "*" and 0 in (first, second)) or (operator == "-" and x is y):
            return 0.0
        return self.expression(f"{{}} {operator} {{}}", level, x, y)

    def expression(self, template: str, level: int, *operands: object) -> Value:
        """An expression of the entries at one index; an operand of one entry is the same for all."""
        values = [self.value(x) for x in operands]
        shape = np.broadcast_shapes(*(x.shape for x in values))
        if any(x.size not in (1, math.prod(shape)) for x in values):
            raise Unwritten(f"arithmetic of vectors of shapes {' and '.join(str(x.shape) for x in values)}")

        def entry(index: str) -> str:
            texts = []
            for number, x in enumerate(values):
                text = x.at("0" if x.size == 1 else index)
                bare = x.stored is not None or x.level < level or (x.level == level < CHOICE and number == 0)
                texts.append(text if bare else f"({text})")
            return template.format(*texts)

        return Expression(self, shape, level, entry)

    # The functions that equations call

    sigmoid = _entry_by_entry("sigmoid", "sigmoid")
    softplus = _entry_by_entry("softplus", "softplus")
    tanh = _entry_by_entry("tanh", "tanhf")
    exp = _entry_by_entry("exp", "expf")
    expm1 = _entry_by_entry("expm1", "expm1f")
    sqrt = _entry_by_entry("sqrt", "sqrtf")

    @of_constants
    def matmul(self, x: object, matrix: object) -> Any:
        if isinstance(x, Value) and isinstance(matrix, Row):
            return self._times_row(x, matrix)
        if not isinstance(x, Value) or not isinstance(matrix, np.ndarray) or x.size != matrix.shape[0]:
            raise Unwritten("products of computed matrices")
        return self.take(matrix, x.index) if isinstance(x, OneHot) else Product(x, matrix)

    def _times_row(self, x: Value, matrices: Row) -> Value:
        """Products of blocks x (..., 1, n) and the matrices (..., n, m) that a symbol chooses."""
        *blocks, rows, columns = matrices.shape
        count = math.prod(blocks)
        if x.size != count * rows or x.shape[-1] != rows:
            raise Unwritten("products of computed matrices")

        def lines(target: Place) -> Lines:
            constant, block = self.constant(matrices.table), "0" if count == 1 else "i"
            matrix = constant.matrix(plus(times(matrices.index.expression(), count), block))
            vectors = target.moved(times(block, columns)), x.place.moved(times(block, rows))
            call = self.call(constant.function, *vectors, *matrix, rows, columns)
            return [call] if count == 1 else loop(count, call)

        return Computed(self, (*x.shape[:-1], columns), lines, "product")

    @of_constants
    def take(self, table: object, index: object, axis: int = 0) -> Any:
        if not isinstance(index, Index) or not isinstance(table, np.ndarray) or axis != 0:
            raise Unwritten("entries at computed places")
        self._look_up(index, len(table))
        return Row(self, table, index)

    @of_constants
    def one_hot(self, index: Any, num_classes: int, axis: int = -1, dtype: Any = None) -> Any:
        self._look_up(index, num_classes)
        return OneHot(self, index, num_classes)

    def _look_up(self, index: Index, size: int) -> None:
        if index is self.symbol:
            self.num_symbols = min(size, self.num_symbols or size)

    @of_constants
    def softmax(self, x: Any, axis: int = -1) -> Any:
        _check_row(x, axis)
        return Computed(self, x.shape, lambda target: [self.call("softmax", target, x.place, x.size)])

    @of_constants
    def mean(self, x: Any, axis: int = -1, keepdims: bool = False) -> Any:
        _check_row(x, axis)
        shape = (*x.shape[:-1], 1) if keepdims else x.shape[:-1]

        def lines(target: Place) -> Lines:
            return [f"{target.at('0')} = {self.call('mean', x.place, x.size)}"]

        return Computed(self, shape, lines, "mean")

    @of_constants
    def argmax(self, x: Any, axis: int = -1) -> Any:
        _check_row(x, axis)

        @functools.cache
        def expression() -> str:
            place, name = x.place, unused("largest", self._names_in_block)
            self._append([f"const int {name} = {self.call('argmax', place, x.size)}"])
            return name

        return Index(expression, x.shape[:-1])

    @of_constants
    def where(self, condition: object, x: object, y: object) -> Any:
        return self.expression("{} ? {} : {}", CHOICE, condition, x, y)

    @of_constants
    def maximum(self, x: Any, y: float) -> Any:
        x = self.computed_once(x)
        return self.where(x < y, y, x)  # NaN stays NaN

    @of_constants
    def minimum(self, x: Any, y: float) -> Any:
        x = self.computed_once(x)
        return self.where(x > y, y, x)

    @of_constants
    def reshape(self, x: Any, shape: Any) -> Any:
        return x.part(0, np.empty(x.shape).reshape(shape).shape)

    @of_constants
    def split(self, x: Any, num_parts: int, axis: int = -1) -> Any:
        _check_row(x, axis)
        size = x.size // num_parts
        return [x[..., i * size : (i + 1) * size] for i in range(num_parts)]

    @of_constants
    def concatenate(self, parts: Sequence[object], axis: int = -1) -> Any:
        values = [self.value(part) for part in parts]
        for x in values:
            _check_row(x, axis)
        *firsts, size = np.cumsum([0, *(x.size for x in values)]).tolist()

        def lines(target: Place) -> Lines:
            places = (target.moved(str(first)) for first in firsts)
            return [line for x, place in zip(values, places, strict=True) for line in x.into(place)]

        return Computed(self, (*values[0].shape[:-1], size), lines)


def _number(x: Any) -> float | None:
    """A constant of one entry as a number; None for anything else."""
    return None if isinstance(x, Value | Index) or np.size(x) != 1 else float(np.asarray(x).item())


def _check_row(x: Any, axis: int) -> None:
    if x.size != x.shape[-1] or axis not in (-1, x.ndim - 1):
        raise Unwritten("functions of several rows")
