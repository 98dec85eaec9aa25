"""Base classes of results: immutable fields, a short `repr`, names and colours, and views.

A result is a frozen dataclass derived from `Result`. It does not draw itself: `views` registers functions for each kind
of result with `as_text` and `as_html`.
"""

from __future__ import annotations

import dataclasses
import functools
import html
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, SupportsInt, TypeVar

import numpy as np

from tensorboard_plugins.interp_rnn import tokens

FOR, AGAINST = tokens.LIGHT["for"], tokens.LIGHT["against"]
"""Colours of positive and negative terms, or of a network and its reference."""
RAMP = tokens.LIGHT["ramp"]
"""Colour of the largest magnitude."""
LINES = tokens.RUNS
"""Colours of several lines in one drawing."""
GREY = tokens.GUIDE
"""Colour of guide lines."""
INK = tokens.LIGHT["ink"]
"""Colour of text and outlines."""
LINE = tokens.EDGE
"""Colour of edges."""


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of a colour "#rrggbb"."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def signed(value: float) -> str:
    """The colour of a signed number."""
    return FOR if value > 0 else AGAINST


def visible(name: str) -> str:
    r"""A name on one line with every character visible.

    A single space becomes "␣" and is kept inside a longer name; a newline becomes "⏎", a tab "⇥"; other unprintable
    characters are escaped as in Python, "\x07"; a combining accent follows "◌"; an empty name becomes "∅".
    """
    if name == " ":
        return tokens.SIGNS[name]
    shown = "".join(c if c.isprintable() else tokens.SIGNS.get(c) or c.encode("unicode_escape").decode() for c in name)
    return "◌" + shown if shown and unicodedata.combining(shown[0]) else shown or "∅"


def symbol_name(alphabet: Sequence[Any] | None, symbol: int) -> str:
    """The displayed name of a symbol: its name, or its id if it has none."""
    if alphabet is None or not 0 <= symbol < len(alphabet):
        return str(symbol)
    return visible(str(alphabet[symbol]))


def nth(noun: str, index: SupportsInt) -> str:
    """The displayed name of a thing that has a place and no name, counted from 1: "step 3" for the index 2."""
    return f"{noun} {int(index) + 1}"


def output_name(alphabet: Sequence[Any] | None, output: int, num_outputs: int, *, again: bool = False) -> str:
    """The displayed name of an output: that of a symbol if their numbers agree, otherwise "output 4 (index 3)".

    Args:
        again: whether the text named the output before, so that "output 4" suffices.
    """
    if alphabet is not None and len(alphabet) == num_outputs:
        return symbol_name(alphabet, output)
    return nth("output", output) if again else f"{nth('output', output)} (index {int(output)})"


def named_output(result: Any, output: SupportsInt, *, again: bool = False) -> str:
    """The displayed name of an output of a result, of which `output_names` has the names, if there are any."""
    return output_name(result.output_names or None, int(output), len(result.output_names), again=again)


def class_name(names: Sequence[str], label: SupportsInt) -> str:
    """The displayed name of a class: its own, or "class 1", by its index."""
    return visible(str(names[int(label)])) if names else f"class {int(label)}"


def separator(names: Iterable[Any] | None) -> str:
    """The separator of names in a text: empty if all are single characters, otherwise a space, as between ids."""
    return "" if names is not None and all(len(str(name)) == 1 for name in names) else " "


def text_of(alphabet: Sequence[Any] | None, symbols: Iterable[int]) -> str:
    """Symbols of a text on one line."""
    return separator(alphabet).join(symbol_name(alphabet, int(symbol)) for symbol in symbols)


T = TypeVar("T")

MAX_LINE = 110
"""Longest `repr` on one line, in characters; a longer one has a line for each field."""
MAX_VALUE = 60
"""Longest value, in characters."""


def short_repr(cls: type[T]) -> type[T]:
    """Class decorator for a NamedTuple, a dataclass or a mapping: `repr` names the fields and summarizes their values.

    Results may hold arrays of millions of numbers, which a field returns in full.
    """
    cls.__repr__ = short  # type: ignore[method-assign]
    return cls


def short(result: Any) -> str:
    """The `repr` of a result: one line, or a line for each field."""
    line = _line(result)
    if len(line) <= MAX_LINE:
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
    """A value in at most `MAX_VALUE` characters; a nested result takes one line."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # of NumPy or of any backend
        return f"{getattr(value.dtype, 'name', value.dtype)} {tuple(value.shape)}"
    if getattr(type(value), "__repr__", None) is short:
        return _line(value)
    long = isinstance(value, tuple | list | Mapping | Set) and len(value) > MAX_VALUE // 2
    text = "" if long else _sequence(value) if isinstance(value, tuple | list) else repr(value)
    if text and len(text) <= MAX_VALUE and "\n" not in text:
        return text
    if isinstance(value, str):
        return f"{text[: MAX_VALUE - 3]}..."
    return f"{type(value).__name__}{f' of {len(value):,}' if hasattr(value, '__len__') else ''}"


def _line(result: Any) -> str:
    return f"{type(result).__name__}({', '.join(f'{name}={summary(value)}' for name, value in fields_of(result))})"


def _sequence(values: tuple[Any, ...] | list[Any]) -> str:
    text = ", ".join(map(summary, values))
    if isinstance(values, list):
        return f"[{text}]"
    return f"({text},)" if len(values) == 1 else f"({text})"


class Result:
    """Base class of frozen dataclasses: `repr` summarizes the fields, `str` and HTML come from `views`."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    __repr__ = short

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


class Sentence(Result):
    """A result whose text, a few lines at most, is also its `repr`."""

    def __repr__(self) -> str:
        return as_text(self)


class Unpackable(Result):
    """A result that unpacks into its parts, like a tuple."""

    def parts(self) -> tuple[Any, ...]:
        """The parts: all fields, unless a class overrides this."""
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts())

    def __len__(self) -> int:
        return len(self.parts())

    def __getitem__(self, index: Any) -> Any:
        return self.parts()[index]


@functools.singledispatch
def as_text(result: Any, **options: Any) -> str:
    """A result as text for a terminal; without a registered view, a summary of its fields."""
    return short(result)


@functools.singledispatch
def as_html(result: Any, **options: Any) -> str:
    """A result as escaped HTML; without a registered view, a table of its fields."""
    rows = "".join(
        f'<tr><td style="text-align:left">{html.escape(str(name))}</td>'
        f'<td style="text-align:left"><code>{html.escape(summary(value))}</code></td></tr>'
        for name, value in fields_of(result)
    )
    return (
        f'<table><thead><tr><th colspan="2" style="text-align:left">{html.escape(type(result).__name__)}</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )
