"""Tables of events as padded sequences: trials with their choices and rewards, or the lines of a log.

A row of the table is an event, the values of some of its columns its symbol. The rows of a session, in their order, are
a sequence. Step t reads the symbol of row t; its target is the choice of row t + 1, or the symbol of that row. So a
session of one row has a word and a label, but no step.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.datasets._files import DataError, existing_file, unpacked, unpacked_text
from keras_interp_rnn.datasets._xes import columns_of_xes

__all__ = ["Sessions", "sessions"]

Value = Hashable

BOOLS = {"true": True, "false": False}


@dataclass(frozen=True, eq=False, repr=False)
class Sessions(Result):
    """The sessions of a table: words with labels, and sequences padded with zeros to one length.

    Attributes:
        words: the events of each session by name, for `automata` and `analysis.surprise`.
        labels: the label of each session; empty if there is no such column.
        groups: the values of the columns `by`, one tuple for each session.
        x: int (sequences, time), the symbol of each row but the last, of every session of two rows or more.
        y: int (sequences, time), what the next row shows: the number of its value in `targets`.
        weights: (sequences, time), 1 for the steps of a session, 0 for padding.
        session: int (sequences,), the place of each sequence's session in `words`, `labels` and `groups`.
        names: the K symbols: values of a column, or tuples of values of several.
        targets: the values of which `y` are the numbers.
        num_short: sessions of one row, which have no step and so no sequence.
        num_missed: rows that were left out, as a value was missing.
    """

    words: list[tuple[Value, ...]]
    labels: tuple[Value, ...]
    groups: tuple[tuple[Value, ...], ...]
    x: Ints
    y: Ints
    weights: Array
    session: Ints
    names: tuple[Value, ...]
    targets: tuple[Value, ...]
    num_short: int
    num_missed: int

    def __len__(self) -> int:
        """Number of sessions."""
        return len(self.words)

    @property
    def data(self) -> tuple[Ints, Ints, Array]:
        """The triple (x, y, weights), as `fitting.fit_lbfgs` takes it."""
        return self.x, self.y, self.weights

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The names of the symbols as text, for figures: "left, 1"."""
        return tuple(", ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in self.names)

    @property
    def subjects(self) -> tuple[Value, ...]:
        """The values of the first of the columns `by`, each once, of the sessions that have a sequence."""
        return tuple(dict.fromkeys(self.groups[i][0] for i in self.session if self.groups[i]))

    @property
    def by_subject(self) -> NDArray[np.bool_]:
        """Bool (subjects, sequences), the sequences of each subject: `subsets` of `fitting.fit_lbfgs`."""
        return np.array([[self.groups[i][:1] == (subject,) for i in self.session] for subject in self.subjects])

    @property
    def sequences(self) -> list[Ints]:
        """The sequences of symbols in `x`, without padding."""
        return [row[: int(count)] for row, count in zip(self.x, self.weights.sum(axis=1), strict=True)]


def sessions(
    table: Any,
    columns: str | Sequence[str],
    *,
    target: str | None = None,
    by: str | Sequence[str] = (),
    order: str | None = None,
    label: str | None = None,
    missing: Collection[Any] = (),
) -> Sessions:
    """Reads a table of trials, or a log of events, as sequences of symbols.

    A row with a missing value in one of the columns is omitted: the state of a network does not change, and the row
    before predicts the next trial that took place. In a file, values that look like numbers are read as numbers. A
    column whose values are all "true" or "false", in any case, is read as bools.

    Args:
        table: path of a CSV file separated by commas, semicolons or tabs, or of an event log in XES, plain or
            compressed; a data frame; or a mapping of columns. The columns of XES are the keys of events, such as
            "concept:name" and "time:timestamp", and those of traces with the prefix "case:", such as
            "case:concept:name".
        columns: the columns whose values make a symbol, in this order: `["choice", "reward"]`, or `"event"`. There is a
            symbol for each combination of their values, with the last column changing fastest.
        target: the column whose next value is predicted, such as `"choice"`; None for the next symbol.
        by: columns that identify a session, the subject first; without them all rows are one session.
        order: a column, such as the time, by which the rows of a session are sorted; None keeps the order of the table.
        label: a column with one value in each session, such as `labels` of `automata.infer`.
        missing: values that also count as missing, such as -1; NaN, None and empty cells always do.

    Returns:
        `Sessions`. A session of one row has a word and a label, but no step and so no sequence; `num_short` is the
        number of these sessions.

    Raises:
        DataError: if the file cannot be read, a column does not exist, columns have different lengths, a session has
            different labels, or no session has two rows.

    Example:

    >>> data = sessions({"who": [1, 1, 1, 2, 2], "choice": [0, 1, 1, 0, 0], "reward": [1, 0, 1, 1, -1]},
    ...                 ["choice", "reward"], target="choice", by="who", missing=[-1])
    >>> data.names
    ((0, 0), (0, 1), (1, 0), (1, 1))
    >>> data.x.tolist(), data.y.tolist(), data.num_missed
    ([[1, 2]], [[1, 1]], 1)
    """
    several = not isinstance(columns, str)
    of_symbol = [columns] if isinstance(columns, str) else list(columns)
    groups = [by] if isinstance(by, str) else list(by)
    asked = [*(("columns", name) for name in of_symbol), *(("by", name) for name in groups)]
    options = (("target", target), ("order", order), ("label", label))
    asked += [(argument, name) for argument, name in options if name is not None]
    read = {name: _with_bools(column, missing) for name, column in _columns(table, asked).items()}
    count = len(next(iter(read.values())))
    needed = [*of_symbol, *([] if target is None else [target])]
    unread = [any(_is_missing(read[name][row], missing) for name in needed) for row in range(count)]
    present = [row for row in range(count) if not unread[row]]
    values = [_ordered(read[name][row] for row in present) for name in of_symbol]
    combined = list(itertools.product(*values))
    number = {combination: i for i, combination in enumerate(combined)}
    names = tuple(combined if several else (name for (name,) in combined))
    targets = names if target is None else tuple(_ordered(read[target][row] for row in present))
    place = {value: i for i, value in enumerate(targets)}
    rows_of: dict[tuple[Value, ...], list[int]] = {}
    for row in present:
        rows_of.setdefault(tuple(read[name][row] for name in groups), []).append(row)
    if order is not None:
        unordered = sum(_is_missing(read[order][row], ()) for row in present)
        if unordered:
            raise DataError(
                f"Every row must have a value in the column by which rows are sorted. Received: {unordered} rows "
                f"without one in {order!r}. Fill them in, or leave these rows out."
            )
        for rows in rows_of.values():
            rows.sort(key=lambda row: read[order][row])
    with_steps = [i for i, rows in enumerate(rows_of.values()) if len(rows) > 1]
    if not with_steps:
        raise DataError(
            f"`table` must have a session of two rows. Received: {len(present)} rows without a missing value. Pass as "
            "`by` columns whose values several rows share."
        )
    every, length = list(rows_of.values()), max(map(len, rows_of.values())) - 1
    labels = () if label is None else tuple(_label(read[label], rows, group) for group, rows in rows_of.items())
    symbols = [[number[tuple(read[name][row] for name in of_symbol)] for row in rows] for rows in every]
    x, y = np.zeros((2, len(with_steps), length), np.int64)
    weights = np.zeros((len(with_steps), length))
    for i, session in enumerate(with_steps):
        rows, following = every[session], symbols[session][1:]
        x[i, : len(following)], weights[i, : len(following)] = symbols[session][:-1], 1
        y[i, : len(following)] = following if target is None else [place[read[target][row]] for row in rows[1:]]
    return Sessions(
        words=[tuple(names[i] for i in each) for each in symbols],
        labels=labels,
        groups=tuple(rows_of),
        x=x,
        y=y,
        weights=weights,
        session=np.array(with_steps),
        names=names,
        targets=targets,
        num_short=len(every) - len(with_steps),
        num_missed=count - len(present),
    )


def _columns(table: Any, asked: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """The columns of a table as lists of one length.

    Args:
        asked: pairs of an argument of `sessions` and the name of a column.
    """
    if isinstance(table, str | os.PathLike):
        table = _of_file(table)
    known = list(table.keys() if isinstance(table, Mapping) else getattr(table, "columns", ()))
    if not known or "columns" not in dict(asked):
        raise DataError(
            f"`columns` must be names of columns. Received: {[name for _, name in asked]}; the table has {known}."
        )
    try:
        names = [choice(argument, name, known) for argument, name in asked]
    except ValueError as error:
        raise DataError(str(error)) from None
    read = {name: [each.item() if hasattr(each, "item") else each for each in table[name]] for name in names}
    if len(set(map(len, read.values()))) > 1:
        lengths = {name: len(column) for name, column in read.items()}
        raise DataError(f"`table` must have columns of one length. Received: {lengths}.")
    return read


def _of_file(path: str | os.PathLike[str]) -> dict[str, list[Any]]:
    source = existing_file(path, "table")
    if ".xes" in source.suffixes[-2:]:
        with unpacked(source) as stream:
            return columns_of_xes(stream, source)
    text = unpacked_text(source)
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row] or [[]]
    uneven = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if uneven is not None:
        raise DataError(
            f"Every line must have {len(header)} cells, as the first. Received: {len(rows[uneven])} in row "
            f"{uneven + 1} of {source}."
        )
    return {name.strip(): _numbers([row[i] for row in rows]) for i, name in enumerate(header)}


def _numbers(cells: list[str]) -> list[Any]:
    """Cells as numbers, where all that are not empty are numbers."""
    try:
        numbers = [math.nan if not cell.strip() else float(cell) for cell in cells]
    except ValueError:
        return [cell.strip() for cell in cells]
    return [int(number) if number.is_integer() else number for number in numbers]


def _with_bools(column: list[Any], missing: Collection[Any]) -> list[Any]:
    """A column with bools for "true" and "false", if it has no other values; a missing value stays as it is."""
    present = [value for value in column if not _is_missing(value, missing)]
    if not all(isinstance(value, str) and value.strip().lower() in BOOLS for value in present):
        return column
    return [value if _is_missing(value, missing) else BOOLS[value.strip().lower()] for value in column]


def _is_missing(value: Any, missing: Collection[Any]) -> bool:
    if isinstance(value, bool):  # False is 0
        return any(isinstance(each, bool) and value == each for each in missing)
    return value is None or value == "" or value != value or value in missing  # NaN is not itself


def _ordered(values: Any) -> list[Any]:
    """The different values, in their order; of different types by their names."""
    different = list(dict.fromkeys(values))
    try:
        return sorted(different)
    except TypeError:
        return sorted(different, key=str)


def _label(column: list[Any], rows: list[int], group: tuple[Value, ...]) -> Value:
    found: list[Value] = list(dict.fromkeys(column[row] for row in rows))
    if len(found) > 1:
        raise DataError(f"`label` must have one value in each session. Received: {found[:5]} in session {group}.")
    return found[0]
