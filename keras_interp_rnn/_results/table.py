"""A result as a table: what was found in a sentence, and columns with names and units. Text, HTML and CSV render it."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._types import Array, Ints

FLOATS = (float, np.floating)
ROUNDING, FAR = 1e-9, 1e-4
"""Sizes of a number, in parts of the largest one, between which a column has no common number of decimals."""
MAX_DECIMALS = 6
"""Most decimals that numbers of significant digits are written with."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    Attributes:
        name: its heading.
        values: one for each row: a number, a text, or None where there is nothing.
        unit: of the numbers, for example "nats"; "" if they have none.
        form: how text and pages write a number, as for `format`; `to_dict` and files have all digits. Of significant
            digits, "+.3g", the largest number has so many, and all have its decimals.
        error: half the width of the 95 % interval of each number; None if the numbers are no estimates.
        sums: whether a sum over rows has a meaning, so that rows that are left out can be added up.
    """

    name: str
    values: Sequence[Any]
    unit: str = ""
    form: str = "+.4g"
    error: Sequence[float] | None = None
    sums: bool = False

    @property
    def heading(self) -> str:
        """The name, and the unit after a comma."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    @property
    def is_text(self) -> bool:
        """Whether it has no number."""
        return all(value is None or isinstance(value, str) for value in self.values)

    @functools.cached_property
    def largest(self) -> float:
        """The size of the largest finite number; 0 if there is none."""
        sizes = (abs(float(x)) for x in self.values if isinstance(x, FLOATS))
        return max((size for size in sizes if math.isfinite(size)), default=0.0)

    @functools.cached_property
    def decimals(self) -> str:
        """The form with the decimals that its three digits or more give the largest number, but for zeros at the ends.

        It is `form` itself where numbers are so far apart, but for rounding, or so large or small, that decimals would
        hide them.
        """
        digits = re.fullmatch(r"(\+?)\.([3-9])g", self.form)
        if digits is None or not self.largest:
            return self.form
        sizes = [abs(float(x)) for x in self.values if isinstance(x, FLOATS) and math.isfinite(x)]
        places, near = int(digits[2]) - 1 - math.floor(math.log10(self.largest)), ROUNDING * self.largest
        is_far = any(near < size < FAR * self.largest for size in sizes)
        if is_far or not 0 <= places <= MAX_DECIMALS:
            return self.form
        while places and all(abs(round(size, places - 1) - size) <= near for size in sizes):
            places -= 1
        return f"{digits[1]}.{places}f"

    def is_empty(self, rows: Iterable[int]) -> bool:
        """Whether it has nothing in these rows."""
        return all(self.values[row] in (None, "") for row in rows)

    def cell(self, row: int) -> str:
        """The value of a row as text and pages write it: with one digit where the decimals would make it 0."""
        value = self.values[row]
        text = written(value, self.decimals)
        if self.decimals == self.form or value is None or isinstance(value, str) or re.search("[1-9a-z–]", text):
            return text
        return (
            text if abs(value) <= ROUNDING * self.largest else written(value, f"{'+' * self.form.startswith('+')}.1g")
        )


def written(value: object, form: str) -> str:
    """A number in a form, "–" for NaN; texts as they are; "" for None."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, FLOATS) and np.isnan(value):
        return "–"
    text = f"{value:{form}}"
    return text[1:] if re.fullmatch(r"[+-]0(\.0+)?%?", text) else text


@dataclass(frozen=True, eq=False)
class Table:
    """A result as a table: `result.table()`.

    Attributes:
        caption: what was found, in a sentence.
        columns: `Column`s of one length.
        notes: further sentences: by which method, how exact.
        bars: the name of the column that is drawn as bars, the last one of that name; "" for none. Where there is no
            room for all rows, those with the longest bars are shown.
        scale: least value of a bar of full length, which otherwise is the largest value.
        base: number of the first rows that are no part of what the network reads: the bias, the output of nothing.
        size: (rows,), what takes the place of the bars' lengths in the choice of rows; None without need.
        outline: what a terminal shows in place of the rows; () for the rows.
        folded: whether a terminal shows no rows. rows: most rows that it shows, besides the base.
        parts: tables below this one.
        drawings: functions that draw the same, as SVG. legend: how to read them, for pages.
        between: what joins the texts of a row, where a drawing names it.
    """

    caption: str
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    bars: str = ""
    scale: float = 0.0
    base: int = 0
    size: Array | None = None
    outline: tuple[str, ...] = ()
    folded: bool = False
    rows: int = 15
    parts: tuple[Table, ...] = ()
    drawings: tuple[Callable[[], str], ...] = ()
    legend: str = ""
    between: str = " "

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def to_dict(self) -> dict[str, list[Any]]:
        """Heading -> values, as pandas and polars take it. An estimate has a column of its own for half its interval.

        A heading that has occurred is numbered: "share", "share (2)".

        Example:

        >>> Table("one row", (Column("share", [0.5], "nats", error=[0.1]),)).to_dict()
        {'share, nats': [0.5], '± share, nats': [0.1]}
        """
        found: dict[str, list[Any]] = {}

        def add(heading: str, values: list[object]) -> None:
            names = itertools.chain([heading], (f"{heading} ({number})" for number in itertools.count(2)))
            found[next(name for name in names if name not in found)] = values

        for column in self.columns:
            add(column.heading, [x.item() if isinstance(x, np.generic) else x for x in column.values])
            if column.error is not None:
                add(f"± {column.heading}", np.asarray(column.error, np.float64).tolist())
        return found

    def to_csv(self) -> str:
        r"""The columns of `to_dict` as comma-separated values, all digits, the headings first; "" without columns.

        Example:

        >>> Table("one row", (Column("share", [0.5], "nats"),)).to_csv()
        '"share, nats"\n0.5\n'
        """
        columns = self.to_dict()
        text = io.StringIO()
        if columns:
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
        return text.getvalue()

    @property
    def bar_column(self) -> Column | None:
        """The column that is drawn as bars; None if there is none."""
        return next((column for column in reversed(self.columns) if self.bars and column.name == self.bars), None)

    def bar_parts(self) -> Array | None:
        """(rows,), the lengths of the bars with their signs, in parts of a full one; None if there are no bars."""
        if (column := self.bar_column) is None:
            return None
        values = np.array([np.nan if value is None else value for value in column.values], np.float64)
        full = max(float(np.abs(values[np.isfinite(values)]).max(initial=0)), self.scale, 1e-300)
        return values / full

    def strongest(self, most: int) -> Ints:
        """At most so many rows besides the base, in their order: the longest bars, or the first rows."""
        size = self.bar_parts() if self.size is None else np.asarray(self.size, np.float64)
        rows = np.arange(self.base, len(self))
        if size is not None:
            rows = rows[np.argsort(-np.nan_to_num(np.abs(size[rows])), kind="stable")]
        return np.concatenate([np.arange(self.base), np.sort(rows[:most])])


def numbered(name: str, count: int) -> Column:
    """A column of places, which count from 1."""
    return Column(name, range(1, count + 1), form="d")


def texts(name: str, values: Sequence[str]) -> Column:
    """A column of texts."""
    return Column(name, tuple(values))


def numbers(name: str, values: ArrayLike, form: str = "+.4g", *, unit: str = "", sums: bool = False) -> Column:
    """A column of numbers."""
    return Column(name, np.asarray(values).tolist(), unit, form, sums=sums)
