"""Tables as users have them: a file of separated values, an event log in XES, a data frame, or a mapping of columns.

A file of separated values is read by Python's `csv`, strictly: what it would guess about, such as a quotation that does
not end, is refused. Where a file has another form than it was read in, the error names that form.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import re
import sys
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from keras_interp_rnn._checks import invalid
from keras_interp_rnn.datasets._files import LOG, TABLE, TEXT, DataError, existing_file, unpacked, unpacked_text
from keras_interp_rnn.datasets._table import MAX_DIGITS, Table, check_names
from keras_interp_rnn.datasets._xes import table_of_xes

__all__ = ["opened"]

DELIMITERS = (",", ";", "\t", "|", " ")
"""Signs that programs put between cells."""

FORMS = {
    "<": "It is XML: a log in XES has a name that ends in .xes, .xes.gz or .xes.xz.",
    "{": "It is JSON: pass a mapping of columns.",
    "[{": "It is JSON: pass a mapping of columns.",
    "#": "It begins with '#', as comments do: remove them from the file.",
}
"""First signs of a file that is no table -> what it is, and the remedy."""

LARGEST_EXACT = {"bfloat16": 2**8, "float16": 2**11, "halffloat": 2**11, "float32": 2**24, "float": 2**24}
"""Type of a column or a cell -> number from which on its floats do not hold all whole numbers; "float" is pyarrow's."""

MAX_LINES = 50
"""Lines in which names of columns are sought, at most."""

_CELLS_OF_ANY_LENGTH = threading.Lock()


def opened(table: object, asked: Sequence[tuple[str, object]], delimiter: str = ",") -> Table:
    """A table of any kind.

    Args:
        table: path, data frame or mapping.
        asked: pairs of an argument and the name of a column that it must be.
        delimiter: sign between the cells of a line.

    Raises:
        DataError: if the table cannot be read, or lacks one of these columns.
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise DataError(str(invalid("delimiter", "one character, such as ';' or '\\t'", delimiter)))
    if isinstance(table, str | os.PathLike):
        source = existing_file(table, "table")
        packed = source.suffix.lower() in (".gz", ".xz", ".zip")
        if Path(source.stem if packed else source.name).suffix.lower() == ".xes":
            with unpacked(source, (LOG,)) as stream:
                return table_of_xes(stream, source, asked)
        return _of_separated_values(source, delimiter, asked)
    return _of_columns(table, asked)


def _of_columns(table: Any, asked: Sequence[tuple[str, object]]) -> Table:
    """A mapping of columns, or a data frame."""
    if callable(getattr(table, "collect", None)):  # before names are asked for, which may run a query
        raise DataError(
            f"A data frame must be in memory. Received: {type(table).__name__}. Pass what its collect() returns."
        )
    names = list(table.keys() if isinstance(table, Mapping) else getattr(table, "columns", ()))
    if not names or not all(isinstance(name, Hashable) for name in names):
        raise DataError(
            "`table` must be a path, a data frame, or a mapping of columns. Received: "
            f"{type(table).__name__}, without names of columns. Pass columns by their names."
        )
    check_names(names, asked)
    columns = {name: table[name] for _, name in asked}
    for name, column in columns.items():
        if not _is_column(column):
            raise DataError(
                f"A column must be a sequence of cells. Received: {column!r:.60} as column {name!r}. Pass a list; of a "
                "data frame, df.to_dict(orient='list')."
            )
    read = {name: _cells_of(column, name) for name, column in columns.items()}
    lengths = {name: len(cells) for name, cells in read.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"`table` must have columns of one length. Received: {lengths}.")
    return Table(
        next(iter(lengths.values())),
        cells=read.__getitem__,
        place=lambda row, name: f"row {row + 1}",
        largest_exact={name: bound for name, column in columns.items() if (bound := _largest_exact(column))},
    )


def _is_column(value: Any) -> bool:
    """Whether a value has cells in an order."""
    try:
        iter(value)
    except TypeError:
        return False
    return not isinstance(value, Mapping | set | frozenset | bytes)


def _largest_exact(column: Any) -> int | None:
    """The number from which on the narrowest floats of a column do not hold all whole numbers."""
    types = {
        getattr(column, "dtype", getattr(column, "type", None)),
        *(getattr(cell, "dtype", None) for cell in column),
    }
    names = {str(getattr(kind, "name", kind)).lower().rpartition(".")[2].partition("[")[0] for kind in types}
    return min((LARGEST_EXACT[name] for name in names if name in LARGEST_EXACT), default=None)


def _cells_of(column: Any, name: object) -> list[Any]:
    """The cells of a column; of times that Python rounds, as polars gives those in nanoseconds, their numbers."""
    cells = [_as_python(cell) for cell in column]
    if any(isinstance(cell, int) and cell.bit_length() > MAX_DIGITS * math.log2(10) for cell in cells):
        raise DataError(
            f"A whole number must have at most {MAX_DIGITS:,} digits. Received: one with more in column {name!r}. Make "
            "a text of it."
        )
    if hasattr(column, "to_physical") and any(isinstance(cell, datetime | time | timedelta) for cell in cells):
        numbers = list(column.to_physical())
        return numbers if len(set(numbers)) > len(set(cells)) else cells
    return cells


def _as_python(cell: Any) -> Any:
    """A scalar of an array, of a tensor or of pyarrow as Python's; a time in nanoseconds stays what it is."""
    if cell is np.ma.masked:
        return None
    if isinstance(cell, np.datetime64 | np.timedelta64):
        value = cell.item()
        return cell if isinstance(value, int) else value
    if hasattr(cell, "as_py"):
        return cell.as_py()
    if getattr(cell, "shape", None) == ():
        return cell.item() if hasattr(cell, "item") else _as_python(cell.numpy())
    return cell


def _of_separated_values(path: Path, delimiter: str, asked: Sequence[tuple[str, object]]) -> Table:
    text = unpacked_text(path, (TABLE, TEXT))
    header = _header(text, delimiter, path, [name for _, name in asked])
    check_names(header, asked)
    _, *numbered = itertools.dropwhile(lambda numbered: not numbered[1], _parsed(text, delimiter, path))
    # In a table of one column an empty line is a row without a value.
    numbered = [(line, row or [""]) for line, row in numbered if row or len(header) == 1]
    known = sorted(map(_plain_name, header))
    for line, row in numbered:
        if len(row) != len(header):
            raise DataError(
                f"Every line must have {len(header)} cells, as the first. Received: {len(row)} in line {line} of "
                f"{path}. {_cause_of_uneven(row, header)}"
            )
        if row[0].startswith("# ") and not header[0].startswith("#"):
            raise DataError(
                f"A file must have no comments. Received: {row[0][:60]!r} in line {line} of {path}. Remove the line; "
                "if it is a value, pass a mapping of columns."
            )
        if sorted(map(_plain_name, row)) == known:
            raise DataError(
                f"The names of the columns must be in the first line alone. Received: line {line} of {path}, which "
                "repeats them. Remove the line, as where files were joined."
            )
    return Table(
        len(numbered),
        cells=lambda name: [row[at] for at in [header.index(name)] for _, row in numbered],
        place=lambda row, name: f"line {numbered[row][0]} of {path}",
        is_text=True,
    )


def _header(text: str, delimiter: str, path: Path, asked_for: Sequence[object]) -> list[str]:
    """The names of the columns, or an error with the reason why they are not in the first line."""
    lines = [line.rstrip("\r\n") for line in itertools.islice(io.StringIO(text), MAX_LINES)]
    first = next((line for line in lines if line.strip()), "")
    names = {sign: _names(first, sign) for sign in (delimiter, *DELIMITERS)}
    cause = "" if first else "The file is empty."
    if first and not all(name in names[delimiter] for name in asked_for):
        below = (i for i, line in enumerate(lines, 1) if all(name in _names(line, delimiter) for name in asked_for))
        place = next(below, None)
        cause = _cause(first, delimiter, names, asked_for)
        if not cause and place is not None:
            cause = f"They are in line {place}: remove the lines above."
    if cause:
        raise DataError(
            f"The first line of a file must have the names of its columns. Received: {first[:60]!r} in {path}. {cause}"
        )
    header = next(row for _, row in _parsed(text, delimiter, path) if row)
    return [name.strip() for name in header]


def _plain_name(name: str) -> str:
    """A name without what files that were joined may differ in: a byte order mark, blanks, capitals."""
    return name.replace("\ufeff", "").strip().casefold()


def _names(line: str, delimiter: str) -> list[str]:
    """The names in a line; none if its quotations do not end."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter, strict=True), [])]
    except csv.Error:
        return []


def _cause(first: str, delimiter: str, names: Mapping[str, list[str]], asked_for: Sequence[object]) -> str:
    """Why the first line does not have the names that are asked for, and the remedy; empty if it may be a slip."""
    separator = re.fullmatch(r'"?sep=(.)"?,*', first.strip(), re.IGNORECASE)
    if separator:
        return f"It is Excel's: remove the line, and pass delimiter={separator[1]!r}."
    form = next((form for sign, form in FORMS.items() if first.lstrip().startswith(sign)), None)
    if form is not None:
        return form

    def fits(sign: str) -> tuple[int, int]:
        return sum(name in names[sign] for name in asked_for), len(names[sign]) if sign != " " else 1

    best = max(names, key=fits)
    if fits(best)[0] > fits(delimiter)[0] or (fits(best)[1] > 1 and fits(delimiter)[1] <= 1):
        return f"They are separated by {best!r}: pass delimiter={best!r}."
    return ""


def _parsed(text: str, delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of the line in which each row begins, and its cells; an empty line has none."""
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1
    with _cells_of_any_length():
        try:
            for row in reader:
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                "A quoted cell must end, and have its quotation marks doubled inside. Received: "
                f"line {line} of {path} ({error}). Correct the line."
            ) from None


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lifts the limit of `csv`, which is one for the process, of 131,072 characters in a cell."""
    with _CELLS_OF_ANY_LENGTH:
        limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _cause_of_uneven(row: Sequence[str], header: Sequence[str]) -> str:
    """Why a line may have another number of cells, and the remedy."""
    if row[0].lstrip().startswith("#"):
        return "It begins with '#', as comments do: remove them from the file."
    if len(header) == 1:
        return "The first line must have the names of the columns: remove what is above them."
    if len(row) == len(header) + 1:
        return "Quote a cell that has the delimiter inside; write the table without names of its rows."
    return "Quote a cell that has the delimiter inside."
