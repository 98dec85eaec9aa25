"""Files written whole or not at all, progress on one line of a terminal, and errors that name a missing extra.

A file is on the disk, not only in its cache, when it replaces another. JSON is written with a line for each entry on
its two outer levels, and read with one error for whatever is wrong.
"""

from __future__ import annotations

import contextlib
import errno
import json
import lzma
import os
import secrets
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

MAX_JSON = 2**28
"""Bytes of a file of JSON that is read."""

DAMAGED_ARCHIVE = (EOFError, OSError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
"""What a damaged or encrypted archive raises; OSError without a file name, unlike that of the system."""


def as_path(path: Any, name: str = "path") -> Path:
    """A path; ValueError for what is none."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ValueError(f"A path is a string, not empty, or a pathlib.Path. Received: {name}={path!r}.")
    return Path(path)


def expanded(path: Any, name: str = "path") -> Path:
    """A path in which `~` is the home folder; ValueError for what is none."""
    try:
        return as_path(path, name).expanduser()
    except RuntimeError:
        raise ValueError(
            f"A path that begins with ~ must begin with the home folder of a user. Received: {name}={str(path)!r}. "
            "Write the folder out."
        ) from None


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, beside `path` and with its suffix; it takes the place of `path` when the block has ended.

    A process that dies before leaves what was at `path`, and perhaps a file `partial-...`. Processes and threads that
    write the same path at the same time do not disturb each other; the last one counts.
    """
    path = Path(path)
    # `tempfile` would make a file that only its owner may read. Containers may share process ids. A name has 255 bytes.
    partial = path.with_name(f"partial-{secrets.token_hex(8)}-{path.name[-50:]}")
    try:
        yield partial
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except (Exception, KeyboardInterrupt) as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent)) from None
        if isinstance(error, OSError) and error.filename == str(partial):
            error.filename = str(path)  # which the user knows
        raise
    # Windows cannot open a folder.
    with contextlib.suppress(PermissionError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_json(path: Path, rule: str, parts: Mapping[str, type], remedy: str) -> dict[str, Any]:
    """Reads a JSON object.

    Args:
        path: of the file.
        rule: what the file must hold, for the error.
        parts: keys that the object must have, and their types.
        remedy: what to do, for the error.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file holds something else, naming it.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a regular file")
        if path.stat().st_size > MAX_JSON:
            raise OSError(f"more than {MAX_JSON // 2**20} MiB")
        content = json.loads(path.read_text(encoding="utf-8"))
        wrong = [name for name, kind in parts.items() if not isinstance(content[name], kind)]
        if wrong or not isinstance(content, dict):
            raise TypeError(f"{', '.join(wrong)} of another type" if wrong else f"a {type(content).__name__}")
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{rule}. Received: {path} ({error!r}). {remedy}") from None
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes JSON whole or not at all: a line for each entry on the two outer levels, keys in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(_lines(content) + "\n")


def _lines(value: Any, depth: int = 2) -> str:
    if not depth or not value or not isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True)
    indent = " " * (3 - depth)
    if isinstance(value, list):
        if not isinstance(value[0], Mapping | list):
            return json.dumps(value, sort_keys=True)
        opening, closing, inner = "[", "]", [_lines(item, depth - 1) for item in value]
    else:
        opening, closing = "{", "}"
        inner = [f"{json.dumps(str(key))}: {_lines(value[key], depth - 1)}" for key in sorted(value)]
    return opening + "\n" + ",\n".join(indent + line for line in inner) + "\n" + indent[1:] + closing


def in_terminal() -> bool:
    """Whether standard output is a terminal; it is None where it was closed before Python began."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str, stays: bool = False, in_logs: bool = False) -> None:
    """One line that the next one writes over, in a terminal; elsewhere only what stays or belongs in logs.

    Say "" when the work is done, so that nothing is left of the last line.
    """
    if in_terminal():
        print(f"\r\x1b[K{text}", end="\n" if stays else "", flush=True)
    elif stays or in_logs:
        print(text, flush=True)


class Count:
    """Work of a known amount: how much of it is done, and how much time the rest will take if it goes on like that."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.started = what, total, monotonic()

    def say(self, done: int) -> None:
        """The line of progress. The time is left out in the first second, as it would be a guess."""
        spent = monotonic() - self.started
        left = f", about {spent / done * (self.total - done):.0f} s left" if done and spent >= 1 else ""
        say(f"{self.what} {done:,} of {self.total:,}{left}")


@contextlib.contextmanager
def needed(package: str, extra: str, by: str) -> Iterator[None]:
    """Inside, a failed import names the extra of `setup.cfg` that installs the package.

    Args:
        package: what is imported. extra: that brings it. by: what needs it.

    Raises:
        ImportError: in place of one that was raised inside.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{by} needs {package} ({error}): pip install 'keras_interp_rnn[{extra}]'") from error
