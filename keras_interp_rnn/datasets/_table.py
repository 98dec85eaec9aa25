"""A table of events, and the meaning of its cells: which are missing, which are numbers, which are one value.

A cell of a file is text and stays text, except in columns that are called numbers: whole numbers are read exactly,
others as floats. Cells of a mapping or of a data frame keep their types. Two different cells of a column never become
one value: where Python takes them for one, as 1 and True, the column is refused. Texts such as NA are missing among
numbers, among times and among names of sessions; next to numbers that are not called so, they are refused.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

import numpy as np

from keras_interp_rnn._checks import choice, invalid, is_hashable, is_number
from keras_interp_rnn.datasets._files import DataError

__all__ = [
    "MAX_DIGITS",
    "Table",
    "check_distinct",
    "check_names",
    "floats_if_exact",
    "is_no_value",
    "is_nothing",
    "is_written_number",
    "kind_and_value",
    "listed",
    "number",
]

NO_VALUE = {"na", "nan", "nat", "n/a", "#n/a", "none", "null", "<na>", "\\n", "."}
"""Missing values as programs write them, in small letters."""

EXACT_TO = 2**53
"""Up to this, every whole number is a float; beyond it, different ids may have become one float."""

NUM_SHOWN = 20
"""Names of columns in an error, at most."""

MAX_DIGITS = 4000
"""Digits of a whole number that is read as an int, at most."""

MAX_EXPONENT = 300
"""Exponent of a number that is read as a float, at most."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Columns of cells.

    Attributes:
        num_rows: number of rows.
        cells: gives the cells of a column.
        place: gives the place of the cell of a row, counted from 0: "line 3 of log.csv".
        is_text: whether the cells were text, in a file.
        largest_exact: column -> number from which on it may have lost digits, if that is not `EXACT_TO`.
        traces: the trace of each row, in a log whose traces are sessions.
        num_empty: traces without a row.
    """

    num_rows: int
    cells: Callable[[Any], list[Any]]
    place: Callable[[int, Any], str]
    is_text: bool = False
    largest_exact: Mapping[Any, int] = field(default_factory=dict)
    traces: Sequence[int] | None = None
    num_empty: int = 0

    def values(
        self, name: object, numbers: Collection[object] = (), missing: Sequence[object] = (), *, is_name: bool = False
    ) -> list[Any]:
        """The values of a column; None where a cell is missing.

        Missing are None, NaN, a text that is empty or blank, and values of `missing`; among numbers and names also NA
        and its like.

        Args:
            name: of the column.
            numbers: names of columns that are numbers.
            missing: values that also count as missing.
            is_name: whether the cells are names of sessions, or times.
        """
        cells = self.cells(name)
        left_out = {kind_and_value(value) for value in missing}
        if left_out:
            cells = [None if kind_and_value(cell) in left_out else cell for cell in cells]
        if is_name or name in numbers:
            cells = [None if is_no_value(cell) else cell for cell in cells]
        if name in numbers:
            cells = self._as_numbers(name, cells)
            return [None if is_nothing(cell) or kind_and_value(cell) in left_out else cell for cell in cells]
        return [None if is_nothing(cell) else cell for cell in cells]

    def distinct(
        self, name: object, numbers: Collection[object] = (), missing: Sequence[object] = (), *, is_name: bool = False
    ) -> list[Any]:
        """As `values`, of a column whose different cells are different values."""
        values = self.values(name, numbers, missing, is_name=is_name)
        found = check_distinct(values, f"column {name!r}")
        self.check_floats(name, found)
        no_value = [value for value in found if is_no_value(value)]
        if no_value and len(found) > len(no_value) and all(map(_is_number, set(found).difference(no_value))):
            raise DataError(
                f"It must be plain whether {no_value[0]} is a value. Received: column {name!r}, whose other cells are "
                f"numbers. Name the column in `numbers`, in which {no_value[0]} is missing, or write "
                f"missing={no_value[0]!r}."
            )
        return values

    def check_missing(self, names: Sequence[object], missing: Sequence[object]) -> None:
        """Refuses a missing value that is no text if all of these columns are text, and one has it written."""
        columns = {name: self.cells(name) for name in names} if self.is_text else {}
        texts = {cell: name for name, cells in columns.items() for cell in cells if isinstance(cell, str)}
        pairs = itertools.product((value for value in missing if not isinstance(value, str)), texts)
        for value, text in pairs:
            if _is_written(value, text):
                what = f"the number {value!r}" if is_number(value) else repr(value)
                numbers = f"Name the column in `numbers`, or write missing={text!r}."
                raise DataError(
                    f"`missing` must have values of a column's type. Received: {what}; column {texts[text]!r} is text "
                    f"and has the cell {text!r}. {numbers if is_number(value) else f'Write missing={text!r}.'}"
                )

    def check_floats(self, name: object, values: Iterable[object]) -> None:
        """Refuses floats that may be one of several whole numbers."""
        bound = self.largest_exact.get(name, EXACT_TO)
        rounded = next((each for each in values if isinstance(each, float) and bound <= abs(each) < math.inf), None)
        if rounded is not None:
            raise DataError(
                f"Floats must tell whole numbers apart. Received: {rounded!r} in column {name!r}, from where on "
                "several are one float: different cells may have become one. Pass the column as text or as integers."
            )

    def _as_numbers(self, name: object, cells: list[Any]) -> list[Any]:
        """Cells with the number that is written in a text; None for a blank one."""
        read: dict[Any, Any] = {}
        for row, cell in enumerate(cells):
            if isinstance(cell, str):
                if cell not in read:
                    read[cell] = number(cell)
                if read[cell] is not None or is_nothing(cell):
                    continue
            elif cell is None or is_number(cell) or isinstance(cell, Decimal) or is_nothing(cell):
                continue
            raise DataError(
                f"A column of `numbers` must have numbers, such as 3, -0.5 or 1e-3. Received: {cell!r:.60} in "
                f"{self.place(row, name)}, column {name!r}. Correct the cell, name it in `missing`, or leave the "
                "column out of `numbers`: it is then read as text."
            )
        floats = floats_if_exact(read.values())
        return [floats[read[cell]] if isinstance(cell, str) else cell for cell in cells]


def check_distinct(values: Iterable[object], where: str) -> dict[Any, Any]:
    """The different values, without None, or an error if some of them would become one.

    Raises:
        DataError: if a value is none of its own, such as a list; if Python takes two of different types for one.
    """
    present = [value for value in values if value is not None]
    try:
        kinds = dict.fromkeys((_type_of(value), value) for value in present)
        stray = next((value for _, value in kinds if not _is_single(value)), None)
    except TypeError:
        stray = next(value for value in present if not is_hashable(value))
    if stray is not None:
        raise DataError(
            f"A cell must be a text, a number or another single value. Received: {type(stray).__name__} in {where}. "
            "Make a text of it."
        )
    first: dict[Any, Any] = {}
    for kind, value in kinds:
        other = first.setdefault(value, value)
        if _type_of(other) != kind:
            raise DataError(
                "Equal values of a column must have one type, as they would become one. Received: "
                f"{other!r} and {value!r} in {where}. Write them as text, or as numbers of one type."
            )
    return first


def check_names(names: Sequence[object], asked: Iterable[tuple[str, object]]) -> None:
    """Raises an error unless each name that an argument asks for is that of one column."""
    if not names:
        raise DataError("A table must have columns. Received: none. Pass a table or a log with events.")
    for argument, name in asked:
        try:
            if len(names) <= NUM_SHOWN:
                choice(argument, name, names)
            elif name not in names:
                near = difflib.get_close_matches(str(name), map(str, names))
                hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"The first is {names[0]!r}."
                raise invalid(argument, f"one of the names of {len(names):,} columns", name, hint)
        except ValueError as error:
            raise DataError(str(error)) from None
        count = list(names).count(name)
        if count > 1:
            raise DataError(
                f"`{argument}` must be the name of one column. Received: {argument}={name!r}, the name of {count} "
                "columns. Rename them."
            )


def listed(value: object) -> list[Any]:
    """One value, such as a name, or several, as a list; a string is one, None is none."""
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]


def kind_and_value(value: object) -> tuple[str, Any]:
    """A pair that is equal for like values alone: 1 and 1.0 are like, True is not, "1" is not."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_number(value) or isinstance(value, Decimal):
        return "number", value
    return type(value).__name__, value if isinstance(value, Hashable) else id(value)


def is_no_value(value: object) -> bool:
    """Whether a value is a text by which programs say that there is none, such as NA."""
    return isinstance(value, str) and value.strip().casefold() in NO_VALUE


def is_written_number(text: str) -> bool:
    """Whether a text is a finite number."""
    return _NUMBER.fullmatch(text.strip()) is not None


def number(text: str) -> int | float | Decimal | None:
    """The number that is written in a text, exactly; None if there is none."""
    text = text.strip()
    if _INFINITY.fullmatch(text):
        return float(text)
    if not is_written_number(text):
        return None
    try:
        exact = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return None
    whole = exact.is_zero() or (0 <= exact.adjusted() < MAX_DIGITS and exact == exact.to_integral_value())
    return int(exact) if whole else exact


def floats_if_exact(values: Iterable[Any]) -> dict[Any, Any]:
    """Number -> the float in its place, if it is a fraction and the floats have the order of the numbers.

    Where two numbers would become one float, all stay as they are written.
    """
    exact = sorted({value for value in values if value is not None})
    floats = {value: float(value) if _is_short(value) else value for value in exact}
    if not all(before < after for before, after in itertools.pairwise(floats.values())):
        floats = {value: value for value in exact}
    return {**floats, None: None}


def _type_of(value: object) -> Any:
    """A value's type; of a tuple those of its entries too, of a time which of two hours of one name it is in."""
    if isinstance(value, tuple):
        return (tuple, *map(_type_of, value))
    return (type(value), value.fold) if isinstance(value, datetime | time) else type(value)


def _is_single(value: object) -> bool:
    """Whether a value is one, which others may equal: no container but a tuple, nothing that equals itself alone."""
    if isinstance(value, tuple):
        return all(each is None or each == "" or (not is_nothing(each) and _is_single(each)) for each in value)
    is_container = isinstance(value, Collection) and not isinstance(value, str | bytes)
    equals_others = getattr(type(value), "__eq__", None) is not object.__eq__
    return not is_container and (equals_others or isinstance(value, Enum))


def _is_number(value: object) -> bool:
    """Whether a value is a number or a bool, or a text of one."""
    return number(value) is not None if isinstance(value, str) else isinstance(value, int | float | Decimal)


def _is_written(value: object, text: str) -> bool:
    """Whether a text is how a program writes a value that is no text."""
    if is_number(value) and number(text) is not None:
        return bool(number(text) == Decimal(str(value)))
    return str(value).casefold() == text.strip().casefold()


def _is_short(value: object) -> bool:
    return isinstance(value, Decimal) and abs(value.adjusted()) < MAX_EXPONENT


def is_nothing(value: object) -> bool:
    """Whether a cell is None, NaN or its like in a data frame, or a text that is empty or blank."""
    if isinstance(value, str):
        return not value or value.isspace()
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth; neither has an array
        return type(value).__name__ == "NAType"
