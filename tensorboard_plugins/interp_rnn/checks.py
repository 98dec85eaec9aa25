"""Rules for the description of a tag and for JSON texts, as logs may come from anyone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

LARGEST = 2**53
"""The largest integer up to which a browser counts exactly."""


class UnknownContent(ValueError):
    """A tag or a value that this version cannot read; the message gives the reason."""


class Rule(NamedTuple):
    """A rule for an entry of a JSON object, in words and as a check."""

    name: str
    words: str
    holds: Callable[[Any], bool]
    needed: bool = True


def parsed(text: bytes | str) -> dict[str, Any]:
    """A JSON object. NaN and Infinity, which Python reads but browsers do not, are rejected.

    Raises:
        UnknownContent: if the text is not a JSON object.
    """
    try:
        entries = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise UnknownContent(f"It must be JSON: {error}.") from None
    except RecursionError:
        raise UnknownContent("It must be JSON that is not nested so deeply.") from None
    if not isinstance(entries, dict):
        raise UnknownContent(f"It must be a JSON object. Received: {_short(entries)}.")
    return entries


def checked(entries: Mapping[str, Any], what: str, rules: Sequence[Rule]) -> dict[str, Any]:
    """The entries that have a rule; other entries are left out.

    Raises:
        UnknownContent: if an entry is missing or breaks its rule.
    """
    for rule in rules:
        if rule.name not in entries and rule.needed:
            raise UnknownContent(f"{what} must have {rule.name}, {rule.words}. Received: {_short(sorted(entries))}.")
        if rule.name in entries and not rule.holds(entries[rule.name]):
            raise UnknownContent(f"{what}: {rule.name} must be {rule.words}. Received: {_short(entries[rule.name])}.")
    return {rule.name: entries[rule.name] for rule in rules if rule.name in entries}


def integer(value: Any, low: int = 0, high: int = LARGEST) -> bool:
    """Whether a value is an int from `low` to below `high`."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < high


def number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return integer(value, -LARGEST) or isinstance(value, float) and math.isfinite(value)


def number_or_null(value: Any) -> bool:
    """Whether a value is a number, or null if it was not measured."""
    return value is None or number(value)


def flag(value: Any) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool)


def name(value: Any) -> bool:
    """Whether a value is a string that is not empty."""
    return isinstance(value, str) and value != ""


def list_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    """Whether a value is a list and every entry passes a check."""
    return isinstance(value, list) and all(map(holds, value))


def names(value: Any) -> bool:
    """Whether a value is a list of strings."""
    return list_of(value, lambda name: isinstance(name, str))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
