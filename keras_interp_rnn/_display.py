"""How a symbol is written where people read it: in a terminal, a notebook, a figure, TensorBoard."""

from __future__ import annotations

import unicodedata

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
