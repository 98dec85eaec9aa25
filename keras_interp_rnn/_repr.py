"""What a result looks like at the prompt: arrays by dtype and shape, numbers in four digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Set
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

LINE = 110
"""Characters of the longest `repr` on one line; a longer one has a line for each field."""
VALUE = 60
"""Characters of the longest value."""


def short_repr(cls: type[T]) -> type[T]:
    """Class decorator for a NamedTuple, a dataclass or a mapping: `repr` names the fields and sums up their values.

    Results hold arrays of millions of numbers; ask for the field to see those.
    """
    cls.__repr__ = short  # type: ignore[method-assign]
    return cls


def short(result: Any) -> str:
    """The `repr` of a result: one line, or a line for each field."""
    line = _line(result)
    if len(line) <= LINE:
        return line
    fields = [(str(name), summary(value)) for name, value in fields_of(result)]
    width = max(len(name) for name, _ in fields)
    return "\n".join([type(result).__name__, *(f"  {name:{width}}  {value}" for name, value in fields)])


def fields_of(result: Any) -> Iterable[tuple[str, Any]]:
    """Names and values of the fields that a result shows."""
    if isinstance(result, Mapping):
        return result.items()
    if dataclasses.is_dataclass(result):
        return [(field.name, getattr(result, field.name)) for field in dataclasses.fields(result) if field.repr]
    return zip(result._fields, result, strict=True)


def summary(value: Any) -> str:
    """A value in at most `VALUE` characters, except for a result within a result, which takes one line."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # of NumPy or of any backend
        return f"{getattr(value.dtype, 'name', value.dtype)} {tuple(value.shape)}"
    if getattr(type(value), "__repr__", None) is short:
        return _line(value)
    long = isinstance(value, tuple | list | Mapping | Set) and len(value) > VALUE // 2
    text = "" if long else _sequence(value) if isinstance(value, tuple | list) else repr(value)
    if text and len(text) <= VALUE and "\n" not in text:
        return text
    if isinstance(value, str):
        return f"{text[: VALUE - 3]}..."
    return f"{type(value).__name__}{f' of {len(value):,}' if hasattr(value, '__len__') else ''}"


def _line(result: Any) -> str:
    return f"{type(result).__name__}({', '.join(f'{name}={summary(value)}' for name, value in fields_of(result))})"


def _sequence(values: tuple[Any, ...] | list[Any]) -> str:
    text = ", ".join(map(summary, values))
    if isinstance(values, list):
        return f"[{text}]"
    return f"({text},)" if len(values) == 1 else f"({text})"
