"""Pieces of C: numbers, places in arrays, static arrays, and the functions that generated code calls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Array

Lines = list[str]

LARGEST_INTEGER = 127
"""The largest integer of int8 that is used; without -128 one scale serves both signs."""

FUNCTIONS = {
    "sigmoid": """\
static float {name}_sigmoid(float x)
{{
    const float e = expf(-fabsf(x)); /* at most 1 */
    return x < 0.0f ? e / (1.0f + e) : 1.0f / (1.0f + e);
}}
""",
    "softplus": """\
static float {name}_softplus(float x)
{{
    return (x < 0.0f ? 0.0f : x) + log1pf(expf(-fabsf(x)));
}}
""",
    "softmax": """\
static void {name}_softmax(float *y, const float *x, int size)
{{
    float largest = x[0], sum = 0.0f;
    for (int i = 1; i < size; i++) if (x[i] > largest) largest = x[i];
    for (int i = 0; i < size; i++) sum += y[i] = expf(x[i] - largest);
    for (int i = 0; i < size; i++) y[i] /= sum;
}}
""",
    "mean": """\
static float {name}_mean(const float *x, int size)
{{
    float sum = 0.0f;
    for (int i = 0; i < size; i++) sum += x[i];
    return sum / (float)size;
}}
""",
    "argmax": """\
static int {name}_argmax(const float *x, int size)
{{
    int largest = 0; /* the first one of equal entries */
    for (int i = 1; i < size; i++) if (x[i] > x[largest]) largest = i;
    return largest;
}}
""",
    "multiply": """\
/* y = x W */
static void {name}_multiply(float *y, const float *x, {matrix}, int rows, int columns)
{{
    for (int j = 0; j < columns; j++) y[j] = 0.0f;
    for (int i = 0; i < rows; i++) {{
        const float factor = x[i];
        for (int j = 0; j < columns; j++) y[j] += factor * {entry};
    }}{rescale}
}}
""",
    "multiply_transposed": """\
/* y = x W^T */
static void {name}_multiply_transposed(float *y, const float *x, {matrix}, int rows, int columns)
{{
    for (int i = 0; i < rows; i++) {{
        float sum = 0.0f;
        for (int j = 0; j < columns; j++) sum += x[j] * {entry}{scaled};
        y[i] = sum;
    }}
}}
""",
}
"""Functions that are written where something calls them; matrices are read as `MATRICES` say."""

MATRICES = {
    "float32": {"matrix": "const float *w", "entry": "w[i * columns + j]", "rescale": "", "scaled": ""},
    "int8": {
        "matrix": "const int8_t *w, const float *scale",
        "entry": "(float)w[i * columns + j]",
        "rescale": "\n    for (int j = 0; j < columns; j++) y[j] *= scale[j];",
        "scaled": " * scale[j]",
    },
}
"""How matrices are stored -> how products read them."""


class Unwritten(ValueError):
    """Raised for what has no C."""


def literal(x: float) -> str:
    """A number as a constant of type float, in the nine digits that tell all floats apart.

    Raises:
        Unwritten: if it is too large.
    """
    with np.errstate(over="ignore"):
        single = float(np.float32(x))
    if not math.isfinite(single):
        raise Unwritten("numbers beyond the range of float")
    return _literal(single)


def _literal(single: float) -> str:
    digits = f"{single:.9g}"
    return f"{digits}f" if "." in digits or "e" in digits else f"{digits}.0f"


def loop(size: int, statement: str) -> Lines:
    """A loop over the index i."""
    return [f"for (int i = 0; i < {size}; i++) {statement}"]


def plus(first: str, second: str) -> str:
    """The sum of two indices."""
    if first.isdigit() and second.isdigit():
        return str(int(first) + int(second))
    return " + ".join(part for part in (first, second) if part != "0")


def times(index: str, size: int) -> str:
    """An index times a number."""
    if index.isdigit():
        return str(int(index) * size)
    return index if size == 1 else f"({index}) * {size}" if " " in index else f"{index} * {size}"


class Place(NamedTuple):
    """Where the entries of a vector are: an array of C, and the index of the first entry."""

    array: str
    first: str = "0"

    def __str__(self) -> str:
        return self.array if self.first == "0" else f"{self.array} + {self.first}"

    def at(self, index: str) -> str:
        """The entry at an index."""
        number, other = sorted((self.first, index), key=str.isdigit, reverse=True)
        return f"{self.array}[{plus(other, number) if number.isdigit() else plus(self.first, index)}]"

    def moved(self, by: str) -> Place:
        """The place of a later entry."""
        return Place(self.array, plus(self.first, by))


class Constant(NamedTuple):
    """A static array: a vector in float, or a matrix (..., rows, columns) in float or in int8.

    Attributes:
        weights: how matrices are stored, a key of `MATRICES`.
        is_transposed: whether it is multiplied by its transpose.
    """

    name: str
    array: Array
    weights: str
    is_transposed: bool = False

    @property
    def is_quantized(self) -> bool:
        """Whether it is stored in int8."""
        return self.weights == "int8" and self.array.ndim > 1

    @property
    def function(self) -> str:
        """The function that multiplies by it."""
        return "multiply_transposed" if self.is_transposed else "multiply"

    def matrix(self, number: str) -> Iterator[Place]:
        """The arguments of that function for one of the matrices: where its entries are, and its scales."""
        rows, columns = self.array.shape[-2:]
        yield Place(self.name, times(number, rows * columns))
        if self.is_quantized:
            yield Place(f"{self.name}_scale", times(number, columns))

    def entry(self, row: str, index: str) -> str:
        """An entry of a row; of a vector with row "0"."""
        size = self.array.size if self.array.ndim == 1 else math.prod(self.array.shape[1:])
        value = Place(self.name, times(row, size)).at(index)
        return f"{value} * {self.name}_scale[{index}]" if self.is_quantized else value

    @property
    def num_bytes(self) -> int:
        """The memory that it takes."""
        return self.array.size + 4 * self._scales().size if self.is_quantized else 4 * self.array.size

    def definition(self) -> Lines:
        """The lines that define it."""
        if not self.is_quantized:
            return _floats(self.name, self.array)
        scales = self._scales()
        integers = np.rint(self.array / np.where(scales == 0, 1, scales)[..., None, :]).astype(int)
        return [
            *_static("int8_t", self.name, map(str, integers.flat)),
            *_floats(f"{self.name}_scale", scales),
        ]

    def _scales(self) -> Array:
        """(..., columns), the value of the integer 1 in each column."""
        return np.asarray(np.abs(self.array).max(axis=-2) / LARGEST_INTEGER)


def _floats(name: str, array: Array) -> Lines:
    return _static("float", name, map(_literal, array.astype(np.float32).ravel().tolist()))


def _static(kind: str, name: str, entries: Iterable[str]) -> Lines:
    texts = list(entries)
    rows = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
    return [
        f"static const {kind} {name}[{len(texts)}] = {{",
        *(f"    {row}," for row in rows[:-1]),
        f"    {rows[-1]}",
        "};",
    ]
