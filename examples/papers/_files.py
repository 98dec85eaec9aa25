"""JSON that is written whole or not at all, and read with one error for whatever is wrong."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_json(path: Path, rule: str, parts: Mapping[str, type], remedy: str) -> dict[str, Any]:
    """Reads a JSON object.

    Args:
        path: of an existing file. rule: what the file must hold, for the error.
        parts: keys that the object must have, and their types. remedy: what to do, for the error.

    Raises:
        ValueError: if the file holds something else, naming it.
    """
    return parsed(path.read_bytes(), str(path), rule, parts, remedy)


def parsed(text: bytes, place: str, rule: str, parts: Mapping[str, type], remedy: str) -> dict[str, Any]:
    """The JSON object in a text; arguments and errors as `read_json`, `place` is where the text comes from."""
    try:
        content = json.loads(text)
        wrong = [name for name, kind in parts.items() if not isinstance(content[name], kind)]
        if wrong or not isinstance(content, dict):
            raise TypeError(f"{', '.join(wrong)} of another type" if wrong else f"a {type(content).__name__}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{rule}. Received: {place} ({error!r}). {remedy}") from None
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes JSON."""
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
