"""JSON that is written whole or not at all, and read with one error for whatever is wrong."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def parsed(text: bytes, place: str, remedy: str, **parts: type) -> dict[str, Any]:
    """The JSON object in a text from `place`, with the parts that are named by their type.

    Raises:
        ValueError: if it is something else.
    """
    try:
        content = json.loads(text)
        wrong = [name for name, kind in parts.items() if not isinstance(content[name], kind)]
        if wrong or not isinstance(content, dict):
            raise TypeError(f"{', '.join(wrong)} of another type" if wrong else f"a {type(content).__name__}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f" with {', '.join(parts)}" if parts else ""
        raise ValueError(f"A JSON object{what} must be here. Received: {place} ({error!r}). {remedy}") from None
    return content


def read_json(path: Path, remedy: str, **parts: type) -> dict[str, Any]:
    """The JSON object in a file; arguments and errors as `parsed`."""
    return parsed(path.read_bytes(), str(path), remedy, **parts)


def cached(path: Path, compute: Callable[[], Mapping[str, Any]], **parts: type) -> dict[str, Any]:
    """A part of what a run finds: computed and written, or read if it was written before a kill."""
    if not path.exists():
        write_json(path, compute())
    return read_json(path, "Remove it.", **parts)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, sort_keys=True, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{secrets.token_hex(8)}-{path.name}")
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
