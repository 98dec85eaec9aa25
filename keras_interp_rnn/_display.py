"""How a symbol is written where people read it: in a terminal, a notebook, a figure, TensorBoard."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
"""Signs for the white space of ordinary text. Matplotlib's own font has them, but not the rest of the Unicode block of
control pictures, so all else is escaped."""


def visible(name: str) -> str:
    r"""A name on one line, in which every character can be seen.

    A space by itself is "␣", inside a longer name it stays; a newline is "⏎", a tab "⇥"; other characters that print
    nothing are escaped as Python does, "\x07"; an accent without its letter stands on "◌"; an empty name is "∅".
    """
    if name == " ":
        return _SIGNS[name]
    shown = "".join(c if c.isprintable() else _SIGNS.get(c) or c.encode("unicode_escape").decode() for c in name)
    return "◌" + shown if shown and unicodedata.combining(shown[0]) else shown or "∅"


def symbol_name(alphabet: Sequence[Any] | None, symbol: int) -> str:
    """How a symbol is shown: its name, or its id where it has none."""
    if alphabet is None or not 0 <= symbol < len(alphabet):
        return str(symbol)
    return visible(str(alphabet[symbol]))


def separator(names: Iterable[Any] | None) -> str:
    """What separates the names of a text: nothing where all are single characters, else a blank, as between ids."""
    return "" if names is not None and all(len(str(name)) == 1 for name in names) else " "


def text_of(alphabet: Sequence[Any] | None, symbols: Iterable[int]) -> str:
    """Symbols of a text on one line."""
    return separator(alphabet).join(symbol_name(alphabet, int(symbol)) for symbol in symbols)
