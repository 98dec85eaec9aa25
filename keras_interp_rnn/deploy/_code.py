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
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_interp_rnn._network import as_float64
from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import (
    FUNCTIONS,
    MATRICES,
    Constant,
    Lines,
    Place,
    Unwritten,
    literal,
    loop,
    plus,
    times,
)
from keras_interp_rnn.equations import NUMPY

Shape = tuple[int, ...]

ATOM, PRODUCT, SUM, CHOICE = range(4)
"""How tightly an expression binds: an operand that binds less than its operation takes gets parentheses."""


@dataclass(frozen=True)
class Index:
    """An integer of C: the symbol, or the number of the largest entry."""

    expression: Callable[[], str]
    shape: Shape
    dtype: str = "int32"


def _operators(operator: str, level: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator of values and its reflection."""

    def operation(self: Value, other: Any) -> Any:
        return self.code.arithmetic(operator, level, self, other)

    def reflected(self: Value, other: Any) -> Any:
        return self.code.arithmetic(operator, level, other, self)

    return operation, reflected


class Value:
    """An array of one step, row after row, with leading axes of 1. It is computed once, when it is first read.

    Attributes:
        name: of the array that stores it.
        level: how tightly `at` binds.
        is_read: whether the place of its entries was asked for.
    """

    dtype = "float32"
    __array_ufunc__ = None  # arrays of NumPy leave arithmetic to this class
    name = "value"
    level = ATOM
    is_read = False

    def __init__(self, code: Code, shape: Shape) -> None:
        self.code, self.shape = code, tuple(shape)
        self.stored: Place | None = None

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def place(self) -> Place:
        """Where the entries are, which are stored by now."""
        self.is_read = True
        if self.stored is None:
            self.stored = self.code.store(self)
        return self.stored

    def at(self, index: str) -> str:
        """The entry at an index, as an expression."""
        return self.place.at(index)

    def into(self, target: Place) -> Lines:
        """The lines that write all entries to a place."""
        return loop(self.size, f"{target.at('i')} = {self.at('i')};")

    def part(self, first: int, shape: Shape) -> Value:
        """Entries side by side, from `first` on."""
        return Part(self, first, shape)

    def __getitem__(self, key: Any) -> Value:
        chosen = np.arange(self.size).reshape(self.shape)[key]
        first = int(chosen.flat[0])
        if not np.array_equal(chosen.ravel(), np.arange(first, first + chosen.size)):
            raise Unwritten("entries that are not side by side")
        return self.part(first, chosen.shape)

    __add__, __radd__ = _operators("+", SUM)
    __sub__, __rsub__ = _operators("-", SUM)
    __mul__, __rmul__ = _operators("*", PRODUCT)
    __truediv__, __rtruediv__ = _operators("/", PRODUCT)
    __ge__, __le__ = _operators(">=", CHOICE)
    __gt__, __lt__ = _operators(">", CHOICE)

    def __neg__(self) -> Any:
        return -1.0 * self


class Given(Value):
    """An array that exists outside of the block of a layer: inputs, states, the output of the layer before."""

    def __init__(self, code: Code, size: int, place: Place) -> None:
        super().__init__(code, (1, size))
        self.stored = place


class Expression(Value):
    """Arithmetic of entries, written where an entry is read."""

    def __init__(self, code: Code, shape: Shape, level: int, entry: Callable[[str], str]) -> None:
        super().__init__(code, shape)
        self.level, self._entry = level, entry

    def at(self, index: str) -> str:
        return self._entry(index) if self.stored is None else self.stored.at(index)

    def part(self, first: int, shape: Shape) -> Value:
        return Expression(self.code, shape, self.level, lambda index: self.at(plus(index, str(first))))


class Part(Value):
    """Entries of a value that is stored when one of them is read."""

    def __init__(self, whole: Value, first: int, shape: Shape) -> None:
        super().__init__(whole.code, shape)
        self._whole, self._first = whole, first

    @property
    def place(self) -> Place:
        return self._whole.place.moved(str(self._first))


class Computed(Value):
    """A value by the lines that compute it, given the place to which they write."""

    def __init__(self, code: Code, shape: Shape, lines: Callable[[Place], Lines], name: str = "value") -> None:
        super().__init__(code, shape)
        self._lines, self.name = lines, name

    def into(self, target: Place) -> Lines:
        return self._lines(target) if self.stored is None else super().into(target)


class Product(Computed):
    """A vector times a constant matrix; a part of it that is taken first is one with some of the columns."""

    def __init__(self, x: Value, matrix: Array) -> None:
        self._x, self._matrix = x, matrix

        def lines(target: Place) -> Lines:
            constant = x.code.constant(matrix)
            return [x.code.call(constant.function, target, x.place, *constant.matrix("0"), *constant.array.shape)]

        super().__init__(x.code, (*x.shape[:-1], matrix.shape[1]), lines, "product")

    def part(self, first: int, shape: Shape) -> Value:
        size = math.prod(shape)
        if self.stored is not None or size == self.size:
            return super().part(first, shape)
        return Product(self._x, self._matrix[:, first : first + size]).part(0, shape)


class Row(Expression):
    """The entry of a constant (K, ...) at an index."""

    def __init__(self, code: Code, table: Array, index: Index) -> None:
        self.table, self.index = table, index
        shape, level = (*index.shape, *table.shape[1:]), ATOM if code.weights == "float32" else PRODUCT
        super().__init__(code, shape, level, lambda i: code.constant(table).entry(index.expression(), i))

    def part(self, first: int, shape: Shape) -> Value:
        axes = len(self.index.shape)
        if math.prod(shape) != self.size or shape[:axes] != self.index.shape:
            return super().part(first, shape)
        return Row(self.code, self.table.reshape(len(self.table), *shape[axes:]), self.index)


class OneHot(Expression):
    """Zeros, and a one at an index."""

    def __init__(self, code: Code, index: Index, size: int) -> None:
        self.index = index
        super().__init__(code, (*index.shape, size), ATOM, lambda i: f"(float)({i} == {index.expression()})")


def of_constants(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: NumPy computes the function where no argument is a value."""

    @functools.wraps(method)
    def chosen(self: Code, *args: Any, **kwargs: Any) -> Any:
        parts = [part for x in args for part in (x if isinstance(x, list | tuple) else [x])]
        if any(isinstance(part, Value | Index) for part in parts):
            return method(self, *args, **kwargs)
        return getattr(NUMPY, method.__name__)(*args, **kwargs)

    return chosen


def _entry_by_entry(name: str, function: str) -> Callable[..., Any]:
    """A function of the namespace that applies one of C to every entry."""

    def applied(self: Code, x: Any) -> Any:
        def lines(target: Place) -> Lines:
            return loop(x.size, f"{target.at('i')} = {self.function(function)}({x.at('i')});")

        return Computed(self, x.shape, lines)

    applied.__name__ = name
    return of_constants(applied)


class Code:
    """The array namespace, and the text that it has written so far.

    Args:
        name: prefix of all names outside of functions.
        weights: how matrices are stored, a key of `MATRICES`.
        reads_symbols: whether a step reads a symbol, and returns a number.

    Attributes:
        lines: of the function that computes a step.
        states: the fields of the state, with their values at the start.
        symbol: the symbol that a step reads.
        skips_masked: whether there are masked steps, which change nothing.
        num_symbols: rows of the smallest table in which it is looked up; None before the first.
    """

    def __init__(self, name: str, weights: str, *, reads_symbols: bool = False) -> None:
        self.name, self.weights, self._reads_symbols = name, weights, reads_symbols
        self.lines: Lines = []
        self.states: dict[str, Array] = {}
        self.symbol = Index(lambda: "symbol", (1,))
        self.skips_masked = False
        self.num_symbols: int | None = None
        self._num_blocks = 0
        self._read: list[tuple[str, Array]] = []
        self._constants: dict[tuple[Shape, bytes], Constant] = {}
        self._functions: set[str] = set()
        self._names: set[str] = set()
        self._names_in_block: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        """A function that has no C; of constants alone it is NumPy's."""
        if name.startswith("_"):
            raise AttributeError(name)

        def unwritten(code: Code, *args: Any, **kwargs: Any) -> Any:
            raise Unwritten(f"`{name}` of what a step computes")

        unwritten.__name__ = name
        return functools.partial(of_constants(unwritten), self)

    def read(self, weight: Any, name: str = "") -> Array:
        """A weight as an array, which is stored under its name."""
        array = as_float64(weight)
        name = re.sub(r"\W", "_", name or str(getattr(weight, "name", "constant")), flags=re.ASCII)
        self._read.append((re.sub("_scale$", "_scales", name), array))  # a matrix has an array NAME_scale
        return array

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

    def skip_if(self, condition: str) -> None:
        """Ends a masked step, before it changes a state."""
        self.skips_masked = True
        self._append([f"if ({condition}) return{' 0' if self._reads_symbols else ''}; /* masked */"])

    def store(self, value: Value) -> Place:
        """Computes a value here, into an array of its own."""
        value.into(Place(""))  # writes what it reads
        target = Place(_unused(value.name, self._names_in_block))
        self._append([f"float {target}[{value.size}];", *value.into(target)])
        return target

    def _append(self, lines: Lines) -> None:
        self.lines += lines

    def constant(self, array: Array) -> Constant:
        """The static array with these entries; for a transposed weight that of the weight."""
        weights = [weight for _, weight in self._read]
        if array.ndim != 2 or any(np.array_equal(weight, array) for weight in weights):
            return self._constant(array)
        turned = next((weight for weight in weights if np.array_equal(weight.T, array)), None)
        return self._constant(array) if turned is None else self._constant(turned)._replace(is_transposed=True)

    def _constant(self, array: Array) -> Constant:
        key = array.shape, np.ascontiguousarray(array).tobytes()
        if key not in self._constants:
            weight = next((name for name, weight in self._read if weight is array or weight is array.base), "constant")
            name = _unused(f"{self.name}_{self._num_blocks}_{weight}", self._names)
            literal(np.abs(array).max())  # else it has no C
            self._constants[key] = Constant(name, array, self.weights)
        return self._constants[key]

    def function(self, name: str) -> str:
        """The name in C of one of `FUNCTIONS`, or of math.h."""
        if name not in FUNCTIONS:
            return name
        self._functions.add(name)
        return f"{self.name}_{name}"

    def call(self, function: str, *arguments: Any) -> str:
        """A call of a function."""
        return f"{self.function(function)}({', '.join(map(str, arguments))});"

    def definitions(self) -> Iterator[Lines]:
        """The static arrays and the functions that a step needs."""
        for constant in self._constants.values():
            yield constant.definition()
        for name, text in FUNCTIONS.items():
            if name in self._functions:
                yield text.format(name=self.name, **MATRICES[self.weights]).splitlines()

    @property
    def num_bytes(self) -> int:
        """Bytes of the static arrays."""
        return sum(constant.num_bytes for constant in self._constants.values())

    def value(self, x: Any) -> Value:
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

    def arithmetic(self, operator: str, level: int, x: Any, y: Any) -> Any:
        """An operation of entries, one of both a value; with 0 and 1 it may be none."""
        first, second = (_number(each) for each in (x, y))
        if second == (0 if operator in "+-" else 1) and operator in "+-*/":
            return x
        if first == (0 if operator == "+" else 1) and operator in "+*":
            return y
        if (operator == "*" and 0 in (first, second)) or (operator == "-" and x is y):
            return 0.0
        return self.expression(f"{{}} {operator} {{}}", level, x, y)

    def expression(self, template: str, level: int, *operands: Any) -> Value:
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

    @staticmethod
    def shape(x: Any) -> Shape:
        return tuple(x.shape)

    @staticmethod
    def stop_gradient(x: Any) -> Any:
        return x

    @staticmethod
    def ones_like(x: Any) -> Any:
        return np.ones(x.shape)

    @of_constants
    def matmul(self, x: Any, matrix: Any) -> Any:
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
    def take(self, table: Any, index: Any, axis: int = 0) -> Any:
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
            place, name = x.place, _unused("largest", self._names_in_block)
            self._append([f"const int {name} = {self.call('argmax', place, x.size)}"])
            return name

        return Index(expression, x.shape[:-1])

    @of_constants
    def where(self, condition: Any, x: Any, y: Any) -> Any:
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
    def concatenate(self, parts: Sequence[Any], axis: int = -1) -> Any:
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


def _unused(name: str, names: set[str]) -> str:
    """The name, or with a number that tells it from those that there are; the set has it from now on."""
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}_{number}"
    names.add(found)
    return found
