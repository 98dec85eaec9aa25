"""The order of rows: by numbers, by times, or by what a function makes of cells.

Text is a time if it is one of ISO 8601: year of four digits, month, day; or these, hours, minutes and, if any, seconds
with fractions of any length and a zone (Z, UTC, +02:00, +0200, +02). The signs between them may be those of tables:
slashes or dots in dates, a blank for the T. Times with zones are compared as instants. Everything else is refused, as
its order as text need not be that of time: a format tells how to read it. So are times of day without their date, as
midnight may lie between, times of which some have a zone and others none, and formats that leave out a part of what
they read. Of other cells, and of what functions return, those kinds are sorted whose order is known to be that of time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from keras_interp_rnn._checks import is_number
from keras_interp_rnn.datasets._files import DataError
from keras_interp_rnn.datasets._table import Table, is_nothing, is_written_number, listed

__all__ = ["columns_of", "order_keys"]

Key = Any

_TIME = re.compile(
    r"(?P<year>\d{4})(?:(?P<sign>[-/.])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)|(?P<mm>\d\d)(?P<dd>\d\d))"
    r"(?:(?:[Tt]| +)(?P<hour>\d\d?)(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d+))?)?)?"
    r" ?(?P<zone>[Zz]|UTC|GMT|(?P<plus>[+-])(?P<hours>\d\d)(?::?(?P<minutes>[0-5]\d))?)?)?",
    re.ASCII,
)

_CLOCK = re.compile(r"\d{1,3}:\d\d(:\d\d([.,]\d+)?)?", re.ASCII)

_MIDNIGHT = re.compile(r"[ T]0?0:00(:00([.,]0+)?)?$")

FORMATS = (
    *(
        "%d%m%Y",
        "%m%d%Y",
        "%y%m%d",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d.%m.%Y",
        "%d-%m-%Y",
        "%d-%b-%Y",
        "%d %b %Y",
        "%b %d %Y",
        "%b %d, %Y",
    ),
    *("%y/%m/%d %H:%M:%S", "%y%m%d %H%M%S", "%Y-%m-%d-%H.%M.%S.%f", "%Y%m%d%H%M%S", "%Y%m%d-%H:%M:%S:%f"),
    *("%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %Y", "[%a %b %d %H:%M:%S %Y]", "%a, %d %b %Y %H:%M:%S %z"),
    *("%a %b %d %H:%M:%S %z %Y", "%b %d %H:%M:%S", "%m-%d %H:%M:%S.%f", "%d-%m-%Y:%H.%M", "%Y-%m", "%G-W%V-%u"),
    *(f"{day} {clock}" for day in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y") for clock in ("%H:%M", "%H:%M:%S")),
    *(f"{day} {clock} %p" for day in ("%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d") for clock in ("%I:%M", "%I:%M:%S")),
)
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f")
"""Formats that programs write, for the remedy of an error."""

RULES = (
    ("%Z", "", "%Z leaves the zone out; write %z, or the name of the zone as it is written"),
    ("%I", "%p", "%I needs %p, or morning and evening are one"),
    ("%p", "%I", "%p is read with %I alone"),
    ("%U %W", "%a %A %w %u", "%U and %W are read with a day of the week alone"),
    ("%a %A %w %u", "%d %j %c %x %U %W %V", "days of different weeks would be one"),
)
"""Directives that must not be without one of others, and why."""

UNITS = {
    "year": {"%Y", "%y", "%G", "%c", "%x"},
    "month": {"%m", "%b", "%B", "%j", "%U", "%W", "%V", "%c", "%x"},
    "day": {"%d", "%j", "%U", "%W", "%V", "%c", "%x"},
    "hour": {"%H", "%I", "%c", "%X"},
    "minute": {"%M", "%c", "%X"},
    "second": {"%S", "%c", "%X"},
    "fraction": {"%f"},
}
"""Unit of time, from the largest -> directives that read it; a week is read with its day alone."""

TWO_DIGITS = {"%y", "%x"}
"""Directives of a year without its century."""

LARGEST_ZONE = 14 * 60
"""Minutes from UTC, at most."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def columns_of(order: object) -> list[Any]:
    """The names of the columns that an `order` reads."""
    if order is None:
        return []
    if isinstance(order, Mapping):
        return [name for names in order for name in _names(names)]
    if callable(order):
        raise DataError(
            "`order` must name columns. Received: a function. Write order={'time': function}, or several columns "
            "as a tuple in the place of 'time': their cells are its arguments."
        )
    return listed(order)


def order_keys(table: Table, order: object, numbers: Sequence[object]) -> list[tuple[Any, list[Key]]]:
    """Names of columns, and a key for each of their rows by which these are sorted; None where a row has no time.

    Args:
        table: that has the columns.
        order: a column, several, or a mapping of columns to formats or functions.
        numbers: columns that are numbers.

    Raises:
        DataError: if the order of the cells is not evidently that of time.
    """
    read = {name: table.values(name, numbers, is_name=True) for name in columns_of(order)}
    if isinstance(order, Mapping):
        groups = [(_names(names), _by(table, _names(names), how, read)) for names, how in order.items()]
    else:
        groups, names = [], columns_of(order)
        while names:
            joined = _joined(*(read[name] for name in names[:2])) if len(names) > 1 else None
            group, names = (names[:1], names[1:]) if joined is None else (names[:2], names[2:])
            groups.append((group, _plain(table, group[0], read[group[0]] if joined is None else joined, read)))
    lacking = [(name, [None if cell is None else 0 for cell in cells]) for name, cells in read.items()]
    return lacking + [(names[0], keys) for names, keys in groups]


def _names(names: object) -> list[Any]:
    return list(names) if isinstance(names, tuple) else [names]


def _plain(
    table: Table, name: object, cells: list[Any], read: Mapping[Any, list[Any]], made: bool = False
) -> list[Key]:
    """Keys of numbers, of times, or of texts of times; `read` are all columns of the order.

    Args:
        made: whether a format or a function made the cells, which may then be times of day.
    """
    if all(cell is None or isinstance(cell, str) for cell in cells):
        return _one_kind(table, name, [None if cell is None else _instant(cell) or cell for cell in cells], read)
    kinds, keys = zip(*map(_kind_and_key, cells), strict=True)
    found = {kind: cell for kind, cell in zip(kinds, cells, strict=True) if cell is not None}
    if set(found) == {"instant", "datetime"}:
        raise _mixed_zones(name, f"{found['datetime']}")
    if len(found) > 1 or None in found or ("time" in found and not made):
        shown = " and ".join(sorted({_shown_kind(cell) for cell in cells if cell is not None}))
        rule = (
            "A function of `order` must return values that can be compared: numbers, times, or tuples of these"
            if made
            else "`order` must name a column of numbers, of dates with times, or of texts of these"
        )
        remedy = f"Make them one kind, or write order={{{name!r}: function}}."
        raise DataError(f"{rule}. Received: {shown} in column {name!r}. {remedy}")
    table.check_floats(name, (cell for cell in cells if cell is not None))
    return list(keys)


def _kind_and_key(value: Any) -> tuple[Any, Key]:
    """The kind of a value whose order is that of time, otherwise None, and the key by which it is sorted."""
    if isinstance(value, tuple | list):
        kinds, keys = zip(*map(_kind_and_key, value), strict=True) if value else ((None,), ())
        return None if None in kinds else kinds, keys
    if isinstance(value, str):
        found = _instant(value)
        return found and ("text", found[0]), found
    if is_number(value) or isinstance(value, Decimal | Fraction):
        return "number" if value == value else None, value
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return "instant", value - EPOCH  # in one zone Python compares clocks, which show an hour twice when summer ends
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.dtype, value
    if type(value).__name__ == "Period":  # of pandas
        return ("Period", str(value.freq)), value
    for kind in (datetime, date, time, timedelta):
        if isinstance(value, kind):
            is_plain = not getattr(value, "fold", 0) and getattr(value, "tzinfo", None) is None
            return kind.__name__ if is_plain else None, value
    return None, value


def _shown_kind(value: object) -> str:
    """The type of a value, for an error; the second hour of one name has no place without its zone."""
    return f"{type(value).__name__}{' with fold=1' if getattr(value, 'fold', 0) else ''}"


def _one_kind(table: Table, name: object, keys: list[Key], read: Mapping[Any, list[Any]]) -> list[Key]:
    """Keys of instants, all with a zone or all without; a text among them is none."""
    stray = next((row for row, key in enumerate(keys) if isinstance(key, str)), None)
    if stray is not None:
        raise DataError(
            "`order` must name a column whose order is that of time: numbers, or times of ISO 8601 as "
            f"'2024-01-31T09:05:00+02:00'. Received: {keys[stray]!r:.60} in {table.place(stray, name)}, column "
            f"{name!r}. {_remedy(name, read)}"
        )
    with_zone = {key[0] for key in keys if key is not None}
    if len(with_zone) > 1:
        raise _mixed_zones(name, table.place(next(i for i, key in enumerate(keys) if key and not key[0]), name))
    return keys


def _mixed_zones(name: object, received: str) -> DataError:
    return DataError(
        f"`order` must name times that all have a zone, or none. Received: some with and some without in column "
        f"{name!r}, such as {received}. Add the zone, or write order={{{name!r}: function}}."
    )


def _remedy(name: object, read: Mapping[Any, list[Any]]) -> str:
    """The text to write for an `order` whose column is no time; of several columns the text is that of all."""
    texts = [cell.strip() for cell in read[name] if cell is not None]
    if all(map(is_written_number, texts)):
        other = f"write order={{{name!r}: {_fitting(texts) or 'format'}}}"
        return f"If these are numbers that grow with time, write numbers=[{name!r}]; if not, {other}."
    if len(read) > 1:
        rows = [cells for cells in zip(*read.values(), strict=True) if None not in cells]
        if all(isinstance(cell, str) for cells in rows for cell in cells):
            forms = _fitting([" ".join(cell.strip() for cell in cells) for cells in rows])
            return f"Write order={{{tuple(read)!r}: {forms or 'format'}}}: the columns are joined by blanks."
        return f"Write order={{{', '.join(f'{each!r}: function' for each in read)}}}, of functions of the cells."
    if all(map(_CLOCK.fullmatch, texts)):
        return (
            f"A time of day needs its date, as midnight may lie between: order=['date', {name!r}]; if none does, "
            f"write order={{{name!r}: {_fitting(texts) or 'function'}}}."
        )
    if forms := _fitting(texts):
        return f"Write order={{{name!r}: {forms}}}."
    return (
        f"Write order={{{name!r}: format}}, of `datetime.strptime` such as '%d/%m/%Y %H:%M', or a function of the cell."
    )


def _fitting(texts: list[str]) -> str:
    """The formats by which all texts can be read and sorted."""
    forms = [form for form in (*FORMATS, *CLOCKS) if texts and _fits(form, texts)]
    return ", or ".join(map(repr, forms))


def _fits(form: str, texts: list[str]) -> bool:
    try:
        _check_format(form)
        return not _may_turn(form, [_parsed(text, form) for text in texts])
    except ValueError:
        return False


def _joined(days: list[Any], clocks: list[Any]) -> list[Any] | None:
    """The times that dates in one column and times of day in the next make; None if the two are something else."""
    pairs = [None if None in pair else pair for pair in zip(days, clocks, strict=True)]
    present = [pair for pair in pairs if pair is not None]
    if all(isinstance(day, str) and isinstance(clock, str) and _CLOCK.match(clock.strip()) for day, clock in present):
        days = [day.strip() for day, _ in present]
        at_midnight = all(map(_MIDNIGHT.search, days))  # as spreadsheets write a date
        texts = [
            None if pair is None else f"{_MIDNIGHT.sub('', day) if at_midnight else day} {clock}"
            for pair in pairs
            for day, clock in [map(str.strip, pair or ("", ""))]
        ]
        return texts if all(text is None or _instant(text) for text in texts) else None
    if all(_is_day(day) and isinstance(clock, time) for day, clock in present):
        return [None if pair is None else datetime.combine(date(*pair[0].timetuple()[:3]), pair[1]) for pair in pairs]
    return None


def _is_day(value: object) -> bool:
    """Whether a value is a date, which spreadsheets and data frames give as its midnight."""
    if isinstance(value, datetime):
        return value.tzinfo is None and value == datetime.combine(value, time())
    return isinstance(value, date)


def _instant(text: str) -> tuple[bool, int, int, str] | None:
    """Whether a time has a zone, its minutes from year 1, seconds, and digits of the fraction; None if it is none."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    month, day = int(found["month"] or found["mm"]), int(found["day"] or found["dd"])
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    fraction = (found["fraction"] or "").rstrip("0")
    is_end = (hour, minute, second, fraction) == (24, 0, 0, "")
    if not (is_end or hour < 24) or minute > 59 or second > 60:  # 60 is a leap second
        return None
    try:
        days = date(int(found["year"]), month, day).toordinal()
    except ValueError:
        return None
    if found["plus"] and not found["minute"] and not found["minutes"]:
        return None  # "08-12" may be two hours, or an hour and a minute
    away = (int(found["hours"] or 0) * 60 + int(found["minutes"] or 0)) * (-1 if found["plus"] == "-" else 1)
    if abs(away) > LARGEST_ZONE or (len(found["hour"] or "00") == 1 and found["minute"] and not found["colon"]):
        return None
    return found["zone"] is not None, (days * 24 + hour) * 60 + minute - away, second, fraction


def _by(table: Table, names: list[Any], how: object, read: Mapping[Any, list[Any]]) -> list[Key]:
    """Keys that a format or a function makes of the cells of columns."""
    if isinstance(how, str):
        _check_format(how)
    elif not callable(how):
        raise DataError(
            "`order` must map columns to formats of `datetime.strptime` or to functions. Received: "
            f"{names[0]!r} -> {how!r:.60}. Write order={{{names[0]!r}: '%d/%m/%Y %H:%M'}}."
        )
    made: list[Any] = []
    for row, cells in enumerate(zip(*(read[name] for name in names), strict=True)):
        if any(cell is None for cell in cells):
            made.append(None)
            continue
        try:
            found = _parsed(" ".join(cell.strip() for cell in cells), how) if isinstance(how, str) else how(*cells)
        except Exception as error:  # of the user's function
            shown = ", ".join(f"{cell!r:.60}" for cell in cells)
            rule = f"have the format {how!r}" if isinstance(how, str) else "be read by the function"
            raise DataError(
                f"Cells of `order` must {rule}. Received: {shown} in {table.place(row, names[0])}, column "
                f"{names[0]!r} ({type(error).__name__}: {error}). Correct the cell, or write another function."
            ) from error
        made.append(None if is_nothing(found) else found)
    if isinstance(how, str):
        _check_turn(how, names[0], [each for each in made if each is not None])
    return _plain(table, names[0], made, read, made=True)


def _parsed(text: str, form: str) -> datetime:
    """As `datetime.strptime`; without a year it is in a leap year, so that every day exists."""
    if _directives(form) & UNITS["year"]:
        return datetime.strptime(text, form)
    return datetime.strptime(f"2000 {text}", f"%Y {form}")


def _directives(form: str) -> set[str]:
    return {found for found in re.findall("%.", form) if found != "%%"}


def _check_format(form: str) -> None:
    """Refuses formats that leave out a part of what they read."""
    found = _directives(form)
    reasons = [
        reason
        for directives, needed, reason in RULES
        if found & set(directives.split()) and not found & set(needed.split())
    ]
    units = list(UNITS)
    read = [place for place, unit in enumerate(units) if found & UNITS[unit]]
    if read and units[read[0]] == "day":
        read.insert(0, 0)
    reasons += [
        f"{units[after]}s of different {units[before + 1]}s would be one"
        for before, after in itertools.pairwise(read)
        if after > before + 1
    ]
    if not read:
        reasons.append("it reads no time")
    if reasons:
        raise DataError(
            f"A format of `order` must keep the order of time. Received: {form!r}: {reasons[0]}. Change it, or write a "
            "function of the cell."
        )


def _check_turn(form: str, name: object, times: Sequence[datetime]) -> None:
    """Refuses times of which nobody knows on which side they are of the turn of a year, or of a century."""
    if not _may_turn(form, times):
        return
    unit, shown = ("century", "%d %B %Y") if _directives(form) & TWO_DIGITS else ("year", "%d %B")
    raise DataError(
        f"Times without a {unit} must lie in one {unit}. Received: {min(times).strftime(shown)} and "
        f"{max(times).strftime(shown)} in column {name!r}, with the format {form!r}, where either may be first. Write "
        f"order={{{name!r}: function}}, of a function that adds the {unit}."
    )


def _may_turn(form: str, times: Sequence[datetime]) -> bool:
    """Whether times without a year, or a century, may begin in one and end in the next.

    They do not if the widest gap of their circle is the one from the last to the first. Rows that go back from the last
    months to the first are of two years.
    """
    found = _directives(form)
    if not times or not (found & TWO_DIGITS if found & UNITS["year"] else found & UNITS["month"]):
        return False
    days = [each.toordinal() for each in times]
    places = sorted(set(days))
    widest = max((after - before for before, after in itertools.pairwise(places)), default=0)
    if found & UNITS["year"]:
        return widest >= places[0] + 36525 - places[-1]
    goes_back = max((before - after for before, after in itertools.pairwise(days)), default=0)
    both_ends = {1, 12} <= {each.month for each in times}
    return both_ends or widest >= places[0] + 366 - places[-1] or goes_back > 183
