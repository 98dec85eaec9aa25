"""Event logs in XES, the XML of process mining (IEEE 1849-2016), as a table with a row for each event.

A key of an event is a column, a key of a trace one after "case:". A trace is a session, whose name is text; where it
has none, its place, from 1, stands for it. Values of keys that nobody asks for are not read. Attributes of attributes
and of the log, lists and containers are no columns. A document type is refused, as its entities could expand to any
size.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.parsers import expat

from keras_interp_rnn.datasets._files import DataError
from keras_interp_rnn.datasets._table import Table, check_names, floats_if_exact, is_no_value, number

__all__ = ["CASE", "TRACE", "table_of_xes"]

CASE = "case:"
"""The beginning of columns of traces."""

TRACE = CASE + "concept:name"
"""The column of the names of traces."""

BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"<\x00": "utf-16-le",
    b"\x00<": "utf-16-be",
}
"""First bytes of a file -> its encoding, whatever its first line claims."""

KINDS = {"string", "id", "int", "float", "boolean", "date"}
"""Kinds of attributes that are columns."""

PIECE = 1 << 20
"""Characters that are parsed at a time."""


class Attribute(NamedTuple):
    """A value as the file has it, and whether it is the only one of its key."""

    kind: str
    text: str
    line: int
    is_only: bool


Attributes = dict[str, Attribute]


def _value(attribute: Attribute) -> Any:
    """The value of its kind; a date stays text, of which `order` makes a time.

    Raises:
        ValueError: if it has none.
    """
    kind, text = attribute.kind, attribute.text.strip()
    if kind == "boolean":
        if text.lower() not in BOOLEANS:
            raise ValueError
        return BOOLEANS[text.lower()]
    if kind not in ("int", "float"):
        return attribute.text
    if is_no_value(text):
        return None
    value = number(text)
    if value is None or (kind == "int" and not isinstance(value, int)):
        raise ValueError
    return value


class _Log:
    """The events of a log, and the trace of each, as its elements are read."""

    def __init__(self, parser: Any, path: Path) -> None:
        self.parser, self.path = parser, path
        self.open: list[str] = []
        self.traces: list[Attributes] = []
        self.events: list[Attributes] = []
        self.trace_of: list[int] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, above = tag.rpartition(":")[2], self.open[-1:]
        self.open.append(name)
        if len(self.open) == 1 and name != "log":
            raise self.unreadable(f"the element {name}, not a log")
        if name == "event" and above != ["trace"]:
            raise self.unreadable("an event outside of a trace")
        if name == "trace":
            self.traces.append({})
        elif name == "event":
            self.events.append({})
            self.trace_of.append(len(self.traces) - 1)
        elif name in KINDS and above in (["trace"], ["event"]):
            self.add((self.events if above == ["event"] else self.traces)[-1], name, attributes)

    def add(self, into: Attributes, kind: str, attributes: Mapping[str, str]) -> None:
        key, text = attributes.get("key"), attributes.get("value")
        if key is None or text is None:
            raise self.unreadable(f"the key {key!r} without a value")
        into[key] = Attribute(kind, text, self.parser.CurrentLineNumber, is_only=key not in into)

    def end(self, tag: str) -> None:
        self.open.pop()

    def doctype(self, *_: Any) -> None:
        raise self.unreadable("a document type, whose entities are not read")

    def unreadable(self, found: str, line: int | None = None) -> DataError:
        return DataError(
            "A log in XES must have traces of events with keys and values of their kind. Received: line "
            f"{line or self.parser.CurrentLineNumber} of {self.path}, {found}. Export the log again."
        )

    def attribute(self, row: int, name: str) -> Attribute | None:
        """The attribute of an event, or of its trace, in a column."""
        of_event = self.events[row].get(name)
        of_trace = self.traces[self.trace_of[row]].get(name.removeprefix(CASE)) if name.startswith(CASE) else None
        if of_event and of_trace and of_event.text != of_trace.text:
            raise self.unreadable(f"an event with {name!r}, whose trace has another value of that key", of_event.line)
        found = of_trace or of_event
        if found and not found.is_only:
            raise self.unreadable(f"the key {name.removeprefix(CASE) if of_trace else name!r} twice", found.line)
        return found

    def cells(self, name: str) -> list[Any]:
        """A column; None where an event or its trace has no such key."""
        read: list[Any] = []
        for row in range(len(self.events)):
            found = self.attribute(row, name)
            if name == TRACE:  # text, so that no name is the place of another trace
                read.append(found.text if found and found.text.strip() else self.trace_of[row] + 1)
                continue
            if found is None:
                read.append(None)
                continue
            try:
                read.append(_value(found))
            except ValueError:
                raise self.unreadable(f"the {found.kind} {found.text[:40]!r}", found.line) from None
        floats = floats_if_exact(value for value in read if isinstance(value, Decimal))
        return [floats[value] if isinstance(value, Decimal) else value for value in read]

    def place(self, row: int, name: str) -> str:
        """The line of a value."""
        found = self.attribute(row, name)
        return f"event {row + 1} of {self.path}" if found is None else f"line {found.line} of {self.path}"


def table_of_xes(stream: IO[bytes], path: Path, asked: Sequence[tuple[str, Any]]) -> Table:
    """The events of a log.

    Raises:
        DataError: if it is no well-formed XES, or lacks a column that an argument asks for.
    """
    parser = expat.ParserCreate("utf-8")
    log = _Log(parser, path)
    parser.StartElementHandler, parser.EndElementHandler = log.start, log.end
    parser.StartDoctypeDeclHandler = log.doctype
    encoding = _encoding(stream)
    try:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        while piece := text.read(PIECE):
            parser.Parse(piece.encode("utf-8"), False)
        parser.Parse(b"", True)
        text.detach()
    except expat.ExpatError as error:
        raise log.unreadable(str(error)) from None
    except DataError:
        raise
    except (LookupError, ValueError, OverflowError) as error:
        raise DataError(
            f"A file must be in the encoding of its first line. Received: {path}, in {encoding} ({error}). Convert it "
            "to UTF-8."
        ) from None
    keys = dict.fromkeys(key for event in log.events for key in event)
    keys |= dict.fromkeys(CASE + key for trace in log.traces for key in trace)
    if log.traces:
        keys[TRACE] = None
    check_names(list(keys), asked)
    num_empty = len(log.traces) - len(set(log.trace_of))
    return Table(len(log.events), log.cells, log.place, is_text=True, traces=log.trace_of, num_empty=num_empty)


def _encoding(stream: Any) -> str:
    """The encoding of an XML file, by its first bytes or its first line."""
    first = stream.peek(256)[:256]
    marked = next((encoding for mark, encoding in MARKS.items() if first.startswith(mark)), None)
    declared = re.match(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z][\w.-]*)", first)
    return marked or (declared[1].decode("ascii") if declared else "utf-8")
