"""Event logs in XES, the XML of process mining (IEEE 1849-2016), as a table with a row for each event.

A key of an event is a column, a key of a trace one after "case:". Attributes of attributes and of the log, lists and
containers are no columns. A document type is refused, as its entities could expand to any size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from keras_interp_rnn.datasets._files import DataError

CASE = "case:"
"""The beginning of columns of traces."""


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


def _date(text: str) -> datetime:
    """A time; without a zone it is in UTC, so that all can be compared.

    Python 3.10 reads fractions of three or six digits alone, and no Z.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError
    fraction = f".{match['fraction'][:6]:0<6}" if match["fraction"] else ""
    zone = "+00:00" if match["zone"] in (None, "Z", "z") else match["zone"]
    return datetime.fromisoformat(f"{match['seconds']}{fraction}{zone}")


_TIME = re.compile(
    r"(?P<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d+))?(?P<zone>[Zz]|[+-]\d\d:\d\d)?"
)


VALUES: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "id": str,
    "int": int,
    "float": float,
    "boolean": _boolean,
    "date": _date,
}
"""Kinds of attributes that are columns -> how their values are read."""


class _Log:
    """The rows of a log as its elements are read."""

    def __init__(self, parser: Any, path: Path) -> None:
        self.parser, self.path = parser, path
        self.open: list[str] = []
        self.trace: dict[str, Any] = {}
        self.event: dict[str, Any] = {}
        self.rows: list[dict[str, Any]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, above = tag.rpartition(":")[2], self.open[-1:]
        self.open.append(name)
        if len(self.open) == 1 and name != "log":
            raise self.unreadable(f"the element {name}, not a log")
        if name == "event" and above != ["trace"]:
            raise self.unreadable("an event outside of a trace")
        if name == "trace":
            self.trace = {}
        elif name == "event":
            self.event = {}
        elif name in VALUES and above in (["trace"], ["event"]):
            self.add(self.event if above == ["event"] else self.trace, name, attributes)

    def add(self, into: dict[str, Any], kind: str, attributes: Mapping[str, str]) -> None:
        key, text = attributes.get("key"), attributes.get("value")
        if key is None or text is None or key in into:
            raise self.unreadable(f"the key {key!r} {'twice' if key in into else 'without a value'}")
        try:
            into[key] = VALUES[kind](text)
        except (ValueError, KeyError):
            raise self.unreadable(f"the {kind} {text[:40]!r}") from None

    def end(self, tag: str) -> None:
        self.open.pop()
        if tag.rpartition(":")[2] == "event":
            self.rows.append({**{CASE + key: value for key, value in self.trace.items()}, **self.event})

    def doctype(self, *_: Any) -> None:
        raise self.unreadable("a document type, whose entities are not read")

    def unreadable(self, found: str) -> DataError:
        return DataError(
            "A log in XES must have traces of events with keys and values of their kind. Received: "
            f"line {self.parser.CurrentLineNumber} of {self.path}, {found}. Export the log again."
        )


def columns_of_xes(stream: IO[bytes], path: Path) -> dict[str, list[Any]]:
    """The columns of a log; None where an event or its trace has no such key.

    Raises:
        DataError: if it is no well-formed XES.
    """
    parser = expat.ParserCreate()
    log = _Log(parser, path)
    parser.StartElementHandler, parser.EndElementHandler = log.start, log.end
    parser.StartDoctypeDeclHandler = log.doctype
    try:
        parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise log.unreadable(str(error)) from None
    keys = dict.fromkeys(key for row in log.rows for key in row)
    return {key: [row.get(key) for row in log.rows] for key in keys}
