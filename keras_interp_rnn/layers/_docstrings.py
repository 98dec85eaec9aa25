"""Docstrings of cells and layers, merged with those of their base classes, so that each argument is described once.

A class documents only its own part. It inherits the rest from its base classes, and a layer from its cell: arguments
that it accepts, call arguments, weights, errors. `help` and Sphinx show the merged text.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import weakref
from collections.abc import Iterable

TITLES = (
    *("Args", "Call arguments", "Attributes", "Returns", "Weights", "Precision", "Cost", "Rare symbols"),
    *("Raises", "Example", "Reference"),
)
"""Sections, in order."""

OF_BASES = ("Args", "Call arguments", "Returns", "Weights", "Precision", "Cost", "Raises", "Reference")
OF_CELL = ("Args", "Weights", "Precision", "Raises", "Reference")
"""Inherited sections. Inputs and outputs of a layer differ from those of its cell."""

_TITLE = re.compile(rf"^({'|'.join(TITLES)}):", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(?=\S)", re.MULTILINE)

Sections = dict[str, str]

_WRITTEN: weakref.WeakKeyDictionary[type, Sections] = weakref.WeakKeyDictionary()
"""The sections of each class as written in its file."""


def document(cls: type, *cells: type) -> None:
    """Completes the docstring of a class that has one. Arguments that no class describes are Keras's own.

    Args:
        cls: the class. Its signature has the arguments, in order.
        *cells: the classes of the layer's cells, the outermost first.
    """
    if not vars(cls).get("__doc__"):
        return
    summary, written = sections(cls.__doc__)
    written = _WRITTEN.setdefault(cls, written)
    parts = [written, *_written(cls.__mro__[1:], OF_BASES)]
    for cell in cells:
        parts += _written(cell.__mro__, OF_CELL)
    merged = {title: _merged(title, cls, [part[title] for part in parts if title in part]) for title in TITLES}
    cls.__doc__ = "\n\n".join([summary, *(f"{title}:{text}" for title, text in merged.items() if text)]) + "\n"


def _written(classes: Iterable[type], titles: tuple[str, ...]) -> list[Sections]:
    """These sections of each class of this package or its users'."""
    ours = [cls for cls in classes if cls.__module__.split(".")[0] not in ("keras", "builtins") and cls.__doc__]
    written = [_WRITTEN.setdefault(cls, sections(cls.__doc__)[1]) for cls in ours]
    return [{title: text for title, text in part.items() if title in titles} for part in written]


def sections(docstring: str | None) -> tuple[str, Sections]:
    """The text before the first section, and the text of each section."""
    summary, *rest = _TITLE.split(inspect.cleandoc(docstring or ""))
    return summary.rstrip(), dict(zip(rest[::2], (text.rstrip() for text in rest[1::2]), strict=True))


def _merged(title: str, cls: type, texts: list[str]) -> str:
    """One section: that of the nearest class or, if it lists entries, those of all classes."""
    entries = [entry.rstrip() for text in texts for entry in _ENTRY.split(text)[1:]]
    if title == "Args":
        return _listed(_in_order(entries, [*inspect.signature(cls).parameters]))
    if title == "Call arguments":
        nearest = {entry.split(":")[0]: entry for entry in reversed(entries)}
        return _listed(dict.fromkeys(nearest[entry.split(":")[0]] for entry in entries))
    return _listed(dict.fromkeys(entries)) if title == "Raises" else (texts or [""])[0]


def _in_order(entries: list[str], taken: list[str]) -> list[str]:
    """The first entry of each argument, in the order of the signature."""
    placed: list[tuple[int, str]] = []
    left = dict.fromkeys(taken)
    for entry in [*entries, f"{', '.join(taken)}: as in Keras."]:
        names, text = entry.split(":", 1)
        new = [name for name in re.split(r",\s+", names) if name.lstrip("*") in left]
        if new:
            header = textwrap.fill(", ".join(new), 100, subsequent_indent=" " * 8)
            placed.append((taken.index(new[0].lstrip("*")), f"{header}:{text}"))
        for name in new:
            del left[name.lstrip("*")]
    return [entry for _, entry in sorted(placed)]


def _listed(entries: Iterable[str]) -> str:
    return "".join(f"\n    {entry}" for entry in entries)
