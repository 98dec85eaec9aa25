"""Tables of events as padded sequences: trials with their choices and rewards, or the lines of a log.

A row of the table is an event, the values of some of its columns its symbol. The rows of a session, in their order, are
a sequence. Step t reads the symbol of row t; its target is the choice of row t + 1, or the symbol of that row. So a
session of one row has a word and a label, but no step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import is_number
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.datasets._files import DataError
from keras_interp_rnn.datasets._sources import opened
from keras_interp_rnn.datasets._table import Table, check_distinct, is_nothing, kind_and_value, listed
from keras_interp_rnn.datasets._times import columns_of, order_keys
from keras_interp_rnn.datasets._xes import TRACE

__all__ = ["Sessions", "sessions"]

Value = Hashable

Reading = str | Callable[..., Any]


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
        names: the K symbols, sorted: values of a column, or the tuples of values of several that occur.
        targets: the values of which `y` are the numbers.
        num_short: sessions of one row, which have no step and so no sequence.
        missed: column -> rows that were left out as it has no value there, or the first of several that have none; for
            "case:concept:name" the traces of a log without events.
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
    missed: Mapping[Any, int]

    @property
    def num_missed(self) -> int:
        """Rows that were left out, whatever they lacked, and traces without events."""
        return sum(self.missed.values())

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
        for text in (str, repr):  # 1 and "1" differ in the second
            names = tuple(", ".join(map(text, each)) if isinstance(each, tuple) else text(each) for each in self.names)
            if len(set(names)) == len(names):
                break
        return names

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
    table: object,
    columns: str | Sequence[str],
    *,
    target: str | None = None,
    by: str | Sequence[str] = (),
    order: str | Sequence[str] | Mapping[str | tuple[str, ...], Reading] | None = None,
    label: str | Mapping[str, Mapping[Any, Value]] | None = None,
    missing: object = (),
    numbers: str | Sequence[str] = (),
    delimiter: str = ",",
) -> Sessions:
    r"""Reads a table of trials, or a log of events, as sequences of symbols.

    Cells of a CSV file are text, except in the columns `numbers`; cells of a data frame or a mapping keep their types.
    Different cells are different symbols, sessions and labels: a column of which Python would make one value of two
    cells, such as 1 and True, is refused.

    A row without a value in one of `columns`, `target`, `by` or `order` is left out, and counted in `missed`: the state
    of a network does not change, and the row before predicts the next trial that took place. Without a value are cells
    that are None, NaN, empty or blank; in `numbers`, `by` and `order` also texts such as NA, null or N/A. In other text
    these are values, and refused among numbers, where they may be either.

    Args:
        table: path of a CSV file with the names of its columns in the first line, or of an event log in XES, plain or
            compressed; a data frame; or a mapping of columns. The columns of XES are the keys of events, such as
            "concept:name" and "time:timestamp", and those of traces with the prefix "case:", such as
            "case:concept:name".
        columns: the columns whose values make a symbol, in this order: `["choice", "reward"]`, or `"event"`. There is a
            symbol for each combination of values that occurs, in sorted order.
        target: the column whose next value is predicted, such as `"choice"`; None for the next symbol.
        by: columns that identify a session, the subject first; without them all rows are one session. In XES each trace
            is one, without `by` or by "case:concept:name". The names of traces are text; a trace without
            one has its place, from 1, for a name, and a trace without events is no session, but counted.
        order: how the rows of a session are sorted; rows of equal times keep the order of the table, as all do without
            it. A column of numbers, of dates with times, or of texts in ISO 8601, such as "2024-01-31T09:05:00+02:00",
            year first; times with zones are compared as instants. Of several columns the first decides, then the
            second; a column of times of day belongs to the dates before it: `["date", "time"]`. Text of another form
            is refused, unless a mapping gives its reading: by a format of `datetime.strptime`, or by a function of
            the cell that returns a number, a time or a tuple of these, `{"time": "%d/%m/%Y %H:%M"}`; of several
            columns, joined by blanks, `{("day", "hour"): "%d.%m.%y %H.%M"}`. A format may not leave out a part of
            time; without a year, the times must evidently lie in one.
        label: a column with one value in each session, such as `labels` of `automata.infer`; or a mapping from this
            column to the labels that its cells stand for, `{"ok": {"yes": True, "no": False}}`.
        missing: a value of `columns` and `target` that also counts as missing, such as -1, or several. Like is compared
            with like: True is not 1, and "1" is not.
        numbers: columns whose texts are numbers: whole numbers are read exactly, others as floats.
        delimiter: the sign between the cells of a CSV file, such as `";"` or `"\t"`.

    Returns:
        `Sessions`. A session of one row has a word and a label, but no step and so no sequence; `num_short` is the
        number of these sessions.

    Raises:
        DataError: if the file cannot be read; if a column does not exist, or two have its name; if columns have
            different lengths, a cell of `numbers` is no number, or the order of a column is not evidently that of time;
            if a session has different labels, or none, or a label is not in the mapping; if no session has two rows.

    Example:

    >>> data = sessions({"who": [1, 1, 1, 2, 2], "choice": [0, 1, 1, 0, 0], "reward": [1, 0, 1, 1, -1]},
    ...                 ["choice", "reward"], target="choice", by="who", missing=-1)
    >>> data.names
    ((0, 1), (1, 0), (1, 1))
    >>> data.x.tolist(), data.y.tolist(), data.missed
    ([[0, 1]], [[1, 1]], {'reward': 1})
    """
    of_symbol, who, as_numbers = listed(columns), listed(by), listed(numbers)
    of_target = [] if target is None else [target]
    if not of_symbol:
        raise DataError("`columns` must be names of columns. Received: none. Name those that make a symbol.")
    named = {"columns": of_symbol, "target": of_target, "by": who, "order": columns_of(order)}
    named |= {"label": [] if label is None else [_column_of(label)], "numbers": as_numbers}
    read = opened(table, [(argument, name) for argument, names in named.items() for name in names], delimiter)

    parts = _parts(read, of_symbol, of_target, as_numbers, [None] if missing is None else listed(missing))
    in_traces = read.traces is not None and (not who or TRACE in who)
    groups = {
        name: read.cells(name) if in_traces and name == TRACE else read.distinct(name, as_numbers, is_name=True)
        for name in who
    }
    times = order_keys(read, order, as_numbers)
    present, missed = _complete(read.num_rows, [*parts.items(), *groups.items(), *times])
    every = _grouped(present, list(groups.values()), read.traces if in_traces else None)
    _sort(every, [keys for _, keys in times])
    _check_steps(every, missed)
    if in_traces and read.num_empty:
        missed[TRACE] = read.num_empty

    symbols = parts[of_symbol[0]] if of_symbol == [columns] else list(zip(*map(parts.get, of_symbol), strict=True))
    words = _of_sessions(symbols, every)
    following = words if target is None else _of_sessions(parts[target], every)
    names, targets = (_sorted({value for each in values for value in each}) for values in (words, following))
    x, y, weights, session = _padded(words, following, names, targets)
    whose = tuple(tuple(column[rows[0]] for column in groups.values()) for rows in every)
    return Sessions(
        words=words,
        labels=() if label is None else _labels(read, label, as_numbers, every, whose),
        groups=whose,
        x=x,
        y=y,
        weights=weights,
        session=session,
        names=names,
        targets=targets,
        num_short=len(every) - len(session),
        missed=missed,
    )


def _parts(
    table: Table,
    of_symbol: Sequence[object],
    of_target: Sequence[object],
    numbers: Sequence[object],
    missing: Sequence[object],
) -> dict[Any, list[Any]]:
    """The columns that make symbols and targets."""
    names = [*of_symbol, *of_target]
    if not set(names) & set(numbers):
        table.check_missing(names, missing)
    return {name: table.distinct(name, numbers, missing) for name in names}


def _complete(num_rows: int, columns: Sequence[tuple[object, list[Any]]]) -> tuple[list[int], dict[Any, int]]:
    """The rows that have a value in every column, and for the others, by the first column without one, their number."""
    present, missed = [], dict.fromkeys((name for name, _ in columns), 0)
    for row in range(num_rows):
        for name, cells in columns:
            if cells[row] is None:
                missed[name] += 1
                break
        else:
            present.append(row)
    return present, {name: count for name, count in missed.items() if count}


def _grouped(rows: Sequence[int], who: Sequence[list[Any]], traces: Sequence[int] | None) -> list[list[int]]:
    """The rows of each session, in the order in which sessions begin."""
    sessions: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        trace = () if traces is None else (traces[row],)
        sessions.setdefault((*trace, *(column[row] for column in who)), []).append(row)
    return list(sessions.values())


def _sort(every: list[list[int]], keys: Sequence[list[Any]]) -> None:
    """Sorts the rows of each session; those of equal keys keep their order."""
    for rows in every:
        rows.sort(key=lambda row: tuple(column[row] for column in keys))


def _check_steps(every: list[list[int]], missed: Mapping[Any, int]) -> None:
    """Refuses sessions that all have one row."""
    if not any(len(rows) > 1 for rows in every):
        without = "".join(f", {count} without a value of {name!r}" for name, count in missed.items())
        raise DataError(
            f"`table` must have a session of two rows. Received: {sum(map(len, every))} rows without a missing "
            f"value{without}. Pass as `by` columns whose values several rows share."
        )


def _of_sessions(values: Sequence[object], every: list[list[int]]) -> list[tuple[Value, ...]]:
    """The values of the rows of each session."""
    return [tuple(values[row] for row in rows) for rows in every]


def _padded(
    words: Sequence[tuple[Value, ...]],
    following: Sequence[tuple[Value, ...]],
    names: Sequence[Value],
    targets: Sequence[Value],
) -> tuple[Ints, Ints, Array, Ints]:
    """x, y, weights, and the place of the session of each of their rows: sessions of one event have none."""
    number, place = ({value: i for i, value in enumerate(values)} for values in (names, targets))
    session = np.array([i for i, word in enumerate(words) if len(word) > 1])
    x, y = np.zeros((2, len(session), max(map(len, words)) - 1), np.int64)
    weights = np.zeros(x.shape)
    for row, i in enumerate(session):
        length = len(words[i]) - 1
        x[row, :length] = [number[symbol] for symbol in words[i][:-1]]
        y[row, :length] = [place[value] for value in following[i][1:]]
        weights[row, :length] = 1
    return x, y, weights, session


def _sorted(values: Collection[object]) -> tuple[Any, ...]:
    """Values in their order, tuples by their first entries first; numbers before others, these by their type."""

    def rank(value: object) -> Any:
        if isinstance(value, tuple):
            return tuple(map(rank, value))
        return (0, value, "") if is_number(value) else (1, 0, f"{type(value).__name__} {value}")

    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=rank))


def _column_of(label: object) -> Any:
    """The name of the column of labels."""
    if not isinstance(label, Mapping):
        return label
    if len(label) != 1 or not all(isinstance(each, Mapping) for each in label.values()):
        raise DataError(
            "`label` must be a column, or map one to what its cells stand for. Received: "
            f"{label!r:.80}. Write label={{'ok': {{'yes': True, 'no': False}}}}."
        )
    return next(iter(label))


def _labels(
    table: Table, label: object, numbers: Sequence[object], every: list[list[int]], whose: Sequence[tuple[Value, ...]]
) -> tuple[Value, ...]:
    """The label of each session, which all of its rows have."""
    name = _column_of(label)
    if isinstance(label, Mapping):
        cells = table.values(name, numbers)
        table.check_floats(name, cells)
        _check_stands_for(label[name], name)
        stands_for = {kind_and_value(cell): value for cell, value in label[name].items()}
        stands_for.setdefault(kind_and_value(None), stands_for.get(kind_and_value("")))
        stray = next((row for rows in every for row in rows if kind_and_value(cells[row]) not in stands_for), None)
        if stray is not None:
            raise DataError(
                f"`label` must map every cell of its column. Received: {cells[stray]!r:.60} in "
                f"{table.place(stray, name)}, column {name!r}, and labels for {list(label[name])!r:.200}. Add it."
            )
        cells = [stands_for.get(kind_and_value(cell)) for cell in cells]
    else:
        cells = table.distinct(name, numbers)
    labels = []
    for rows, group in zip(every, whose, strict=True):
        found = list(dict.fromkeys(cells[row] for row in rows))
        if len(found) > 1 or found == [None]:
            shown = found[:5] if len(found) > 1 else "none"
            raise DataError(
                f"`label` must have one value in each session. Received: {shown} in session {group}, from "
                f"{table.place(rows[0], name)}. Correct the cells, or pass other columns as `by`."
            )
        labels.append(found[0])
    return tuple(labels)


def _check_stands_for(stands_for: Mapping[Any, object], name: object) -> None:
    """Refuses labels that are no values, or that would become one."""
    labels = list(stands_for.values())
    check_distinct(labels, f"`label` of column {name!r}")
    stray = next((each for each in labels if each is not None and not isinstance(each, str) and is_nothing(each)), None)
    if stray is not None:
        raise DataError(
            f"`label` must map cells to labels. Received: {stray!r} in column {name!r}. Leave the rows out, or name a "
            "label for them."
        )
