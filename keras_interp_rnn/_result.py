"""What all results share: fields that do not change, a short `repr`, and views for `print` and for notebooks.

A result is a frozen dataclass derived from `Result`. It does not draw itself: `views` registers a function for each
kind of result with `as_text` and `as_html`.
"""

from __future__ import annotations

import dataclasses
import functools
import html
from collections.abc import Iterator
from typing import Any, ClassVar

from keras_interp_rnn._repr import fields_of, short, summary


class Result:
    """Base class of frozen dataclasses: `repr` sums the fields up, `str` and HTML are those that `views` registered."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    __repr__ = short

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


class Sentence(Result):
    """A result whose text is a sentence or a few lines: it is its `repr` too."""

    def __repr__(self) -> str:
        return as_text(self)


class Unpackable(Result):
    """A result that also unpacks into its parts, in order, as a tuple does."""

    def parts(self) -> tuple[Any, ...]:
        """What it unpacks into: all fields, unless a class says otherwise."""
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts())

    def __len__(self) -> int:
        return len(self.parts())

    def __getitem__(self, index: Any) -> Any:
        return self.parts()[index]


@functools.singledispatch
def as_text(result: Any, **options: Any) -> str:
    """A result as text for a terminal; without a view of its own, its fields, summed up."""
    return short(result)


@functools.singledispatch
def as_html(result: Any, **options: Any) -> str:
    """A result as a piece of HTML, everything escaped; without a view of its own, a table of its fields."""
    rows = "".join(
        f'<tr><td style="text-align:left">{html.escape(str(name))}</td>'
        f'<td style="text-align:left"><code>{html.escape(summary(value))}</code></td></tr>'
        for name, value in fields_of(result)
    )
    return (
        f'<table><thead><tr><th colspan="2" style="text-align:left">{html.escape(type(result).__name__)}</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )
