"""Values that have no numbers yet: rows (1, n) of one step, as expressions, loops or places of C."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import (
    Constant,
    Lines,
    Place,
    Unwritten,
    loop,
    plus,
)

Shape = tuple[int, ...]

ATOM, PRODUCT, SUM, CHOICE = range(4)
"""How tightly an expression binds: an operand that binds less than its operation takes gets parentheses."""


class Code(Protocol):
    """The text that is written, as values ask it: `_code.Code`."""

    weights: str

    def arithmetic(self, operator: str, level: int, x: object, y: object) -> Any: ...

    def store(self, value: Value) -> Place: ...

    def constant(self, array: Array) -> Constant: ...

    def call(self, function: str, *arguments: object) -> str: ...


@dataclass(frozen=True)
class Index:
    """An integer of C: the symbol, or the number of the largest entry."""

    expression: Callable[[], str]
    shape: Shape
    dtype: str = "int32"


def _operators(operator: str, level: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator of values and its reflection."""

    def operation(self: Value, other: object) -> Any:
        return self.code.arithmetic(operator, level, self, other)

    def reflected(self: Value, other: object) -> Any:
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
