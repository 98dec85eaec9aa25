"""Base classes of results: immutable fields, a short `repr`, a table and the views of it.

A result is a frozen dataclass derived from `Result`. Its `table` has what it found, which text, HTML and
files render.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, ClassVar, TypeVar

import numpy as np

from keras_interp_rnn._results import drawings, text
from keras_interp_rnn._results.html import as_element
from keras_interp_rnn._results.table import Table, numbered, numbers, texts
from keras_interp_rnn._results.tags import View
from keras_interp_rnn._types import Array
from tensorboard_plugins.interp_rnn.document import page
from tensorboard_plugins.interp_rnn.recording import TooLarge

T = TypeVar("T")

MAX_LINE = 110
"""Longest `repr` on one line, in characters; a longer one has a line for each field."""
MAX_VALUE = 60
"""Longest value, in characters."""
MAX_ROWS = 2**15
"""Longest table in a page as comma-separated values, in characters; without it a page saves what it draws."""


def short_repr(cls: type[T]) -> type[T]:
    """Class decorator for a NamedTuple, a dataclass or a mapping: `repr` names the fields and summarizes their values.

    Results may hold arrays of millions of numbers, which a field returns in full.
    """
    cls.__repr__ = short  # type: ignore[method-assign]
    return cls


def short(result: object) -> str:
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


def summary(value: object) -> str:
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


def _line(result: object) -> str:
    return f"{type(result).__name__}({', '.join(f'{name}={summary(value)}' for name, value in fields_of(result))})"


def _sequence(values: tuple[object, ...] | list[Any]) -> str:
    text = ", ".join(map(summary, values))
    if isinstance(values, list):
        return f"[{text}]"
    return f"({text},)" if len(values) == 1 else f"({text})"


class Shown:
    """Anything that can be shown: it has a table and, in some cases, a drawing and a view of the TensorBoard plugin."""

    title: ClassVar[str] = ""
    """The title of its page; "" for the name of the class in words."""
    reads_typing: ClassVar[bool] = False
    """Whether its page is of what is typed there, so that its table is not that of the page."""

    def table(self) -> Table:
        """The result as a table: a sentence about what was found, and columns with names and units."""
        return table_of_fields(self)

    def summary(self) -> Table:
        """The table for a terminal: the whole one, unless that is of many texts."""
        return self.table()

    def drawing(self) -> str:
        """The result as SVG; by default the first drawing of the table, or its bars.

        Raises:
            ValueError: if there is none.
        """
        table = self.summary()
        draw = next((one.drawings[0] for one in (table, *table.parts) if one.drawings), None)
        return drawings.bars(table) if draw is None else draw()

    def page_view(self) -> View | None:
        """The view of the TensorBoard plugin that draws it; None if there is none.

        Raises:
            TooLarge: if its data are too large for a page.
        """
        return None

    def _repr_html_(self) -> str:
        return as_html(self)


class Result(Shown):
    """Base class of frozen dataclasses: `repr` summarizes the fields, `str` and HTML are views of `table`."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    __repr__ = short

    def __str__(self) -> str:
        return as_text(self)


class Fields(Shown):
    """A NamedTuple, which cannot be derived from `Shown`, as something that is shown: its fields."""

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.parts = parts
        self.title = words_of(type(parts))  # type: ignore[misc]

    def table(self) -> Table:
        """The fields, as `table_of_fields`."""
        return table_of_fields(self.parts)


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


def as_text(result: Shown) -> str:
    """A result as text for a terminal."""
    return "\n".join(text.as_lines(result.summary()))


def as_html(result: Shown) -> str:
    """A result as escaped HTML, one element: the page in a frame with the numbers folded below it, or the numbers."""
    view = None
    with contextlib.suppress(TooLarge):
        view = result.page_view()
    numbers = as_element(result.summary())
    if view is None:
        return numbers
    drawn = html.escape(_interactive_page(result, view, numbers))
    return (
        f'<div><iframe srcdoc="{drawn}" title="{html.escape(title_of(result))}" width="100%" height="640" '
        f'sandbox="allow-scripts allow-downloads"></iframe><details><summary>Without scripts</summary>'
        f"{numbers}</details></div>"
    )


def as_page(result: Shown) -> str:
    """A result as an HTML document: the plugin's view if it has one, otherwise its table."""
    view, left_out = None, ""
    try:
        view = result.page_view()
    except TooLarge as error:
        left_out = f"<p>The interactive view is left out. {html.escape(str(error))}</p>"
    numbers = as_element(result.summary())
    if view is None:
        return page(title_of(result), f"{numbers}{left_out}")
    return _interactive_page(result, view, numbers)


def _interactive_page(result: Shown, view: View, numbers: str) -> str:
    """The plugin's view above the numbers. The file of numbers that it saves is the table of the result."""
    rows = "" if result.reads_typing else _rows_for_a_page(result.table())
    data = {**view.data, "csv": rows} if rows else view.data
    return page(view.title or title_of(result), numbers, views=[view.name], data=data, lead=view.lead)


def _rows_for_a_page(table: Table) -> str:
    """A table as comma-separated values; "" if it has no columns, or is too long: a cell takes a character at least."""
    rows = table.to_csv() if len(table) * len(table.columns) <= MAX_ROWS else ""
    return rows if len(rows) <= MAX_ROWS else ""


def words_of(cls: type) -> str:
    """The name of a class in words: "Fixed points"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).capitalize()


def title_of(result: Shown) -> str:
    """The title of the page of a result."""
    return result.title or words_of(type(result))


def table_of_fields(result: object) -> Table:
    """The fields of a result: a row for each, and below them the arrays, those of one length side by side.

    An array with one axis is a line too, one with two a map.
    """
    fields = list(fields_of(result))
    arrays = {str(name): np.asarray(value) for name, value in fields if _is_numeric(value)}
    lines: dict[int, list[str]] = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            lines.setdefault(len(array), []).append(name)
    parts = [_lines({name: arrays[name] for name in names}) for names in lines.values()]
    parts += [_map(name, array) for name, array in arrays.items() if array.ndim == 2]
    shown = [(str(name), _range_of(arrays[name]) if name in arrays else summary(value)) for name, value in fields]
    names, values = zip(*shown, strict=True) if shown else ((), ())
    return Table(words_of(type(result)), (texts("field", names), texts("value", values)), parts=tuple(parts))


def _is_numeric(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim > 0 and value.size > 0


def _range_of(array: Array) -> str:
    known = array[np.isfinite(array)]
    span = f"{known.min():.4g} to {known.max():.4g}" if known.size else "nothing known"
    return f"{' x '.join(map(str, array.shape))} numbers, {span}"


def _lines(arrays: Mapping[str, Array]) -> Table:
    """Arrays of one length as columns and as lines."""
    count = len(next(iter(arrays.values())))
    columns = [numbers(name, array, ".4g") for name, array in arrays.items()]
    drawn = (lambda: drawings.line_chart(list(arrays.values()), list(arrays)),) if count > 1 else ()
    return Table(", ".join(arrays), (numbered("place", count), *columns), drawings=drawn)


def _map(name: str, array: Array) -> Table:
    rows, columns = array.shape
    names = [str(i + 1) for i in range(rows)]
    return Table(
        f"{name}: {rows} rows, {columns} columns, {_range_of(array)}",
        drawings=(lambda: drawings.heat_map(array.T, names, column="column", least=0.0, labelled=True),),
    )
