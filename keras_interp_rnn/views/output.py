"""Where a view goes: the screen or a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_interp_rnn._files import atomic_write
from keras_interp_rnn._result import Result, as_html, as_text
from keras_interp_rnn.analysis import AffineMap
from keras_interp_rnn.views import html, svg


def show(result: Any) -> None:
    """Shows a result: as HTML in a notebook, as text elsewhere.

    Args:
        result: what a function of `analysis` or `automata` returned.

    Returns:
        None.

    Raises:
        TypeError: if it is not a result.

    Example:

        >>> from keras_interp_rnn import automata, views
        >>> views.show(automata.Agreement(8, 8, 1.0, 1.0, None, up_to=2))
        8 of all 8 words up to length 2
    """
    _check_result(result)
    if _in_notebook():
        sys.modules["IPython.display"].display({"text/html": as_html(result), "text/plain": as_text(result)}, raw=True)
    else:
        print(as_text(result))


def save(result: Any, path: str | os.PathLike[str]) -> None:
    """Writes the view of a result into one file, whole or not at all.

    Args:
        result: what a function of `analysis` or `automata` returned.
        path: ends in ".html" for a page that needs no other file and no network, in ".txt" for the text, or in ".svg"
            for the drawing of an automaton, an extraction, a certificate or a trace.

    Returns:
        None.

    Raises:
        TypeError: if it is not a result, or has no drawing.
        ValueError: for another ending.

    Example:

        >>> import tempfile, pathlib
        >>> from keras_interp_rnn import automata, views
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "automaton.html"
        >>> views.save(automata.tomita(1), path)
        >>> path.read_text().startswith("<!doctype html>")
        True
    """
    _check_result(result)
    suffix = Path(path).suffix.lower()
    writers: dict[str, Callable[[Any], str]] = {
        ".html": html.as_page,
        ".txt": lambda result: as_text(result) + "\n",
        ".svg": svg.as_svg,
    }
    if suffix not in writers:
        raise ValueError(f"A view is saved as {', '.join(writers)}. Received: {os.fspath(path)!r}.")
    document = writers[suffix](result)
    with atomic_write(path) as partial:
        partial.write_text(document, encoding="utf-8")


def _check_result(result: Any) -> None:
    known = isinstance(result, Result | AffineMap) or as_html.dispatch(type(result)) is not as_html.dispatch(object)
    if not known:
        raise TypeError(
            f"A view shows a result of analysis or automata. Received: {type(result).__name__}. Pass what one of their "
            "functions returned."
        )


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; asks IPython, where it is already imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel") and "IPython.display" in sys.modules
