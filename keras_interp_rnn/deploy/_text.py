"""The text of a step in C as it is written: lines, static arrays, functions and fields of the state."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import (
    FUNCTIONS,
    MATRICES,
    Constant,
    Lines,
    Place,
    literal,
)
from keras_interp_rnn.deploy._values import Index, Shape, Value


class Text:
    """The text of a step that has been written so far, its constants and its state.

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

    def read(self, weight: object, name: str = "") -> Array:
        """A weight as an array, which is stored under its name."""
        array = as_float64(weight)
        name = re.sub(r"\W", "_", name or str(getattr(weight, "name", "constant")), flags=re.ASCII)
        self._read.append((re.sub("_scale$", "_scales", name), array))  # a matrix has an array NAME_scale
        return array

    def skip_if(self, condition: str) -> None:
        """Ends a masked step, before it changes a state."""
        self.skips_masked = True
        self._append([f"if ({condition}) return{' 0' if self._reads_symbols else ''}; /* masked */"])

    def store(self, value: Value) -> Place:
        """Computes a value here, into an array of its own."""
        value.into(Place(""))  # writes what it reads
        target = Place(unused(value.name, self._names_in_block))
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
            name = unused(f"{self.name}_{self._num_blocks}_{weight}", self._names)
            literal(np.abs(array).max())  # else it has no C
            self._constants[key] = Constant(name, array, self.weights)
        return self._constants[key]

    def function(self, name: str) -> str:
        """The name in C of one of `FUNCTIONS`, or of math.h."""
        if name not in FUNCTIONS:
            return name
        self._functions.add(name)
        return f"{self.name}_{name}"

    def call(self, function: str, *arguments: object) -> str:
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


def unused(name: str, names: set[str]) -> str:
    """The name, or with a number that tells it from those that there are; the set has it from now on."""
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}_{number}"
    names.add(found)
    return found
