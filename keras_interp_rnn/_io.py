"""Files, atomic writes, JSON, progress on one line of a terminal, and errors that name a missing extra.

A file is synced to disk before it replaces another. JSON is written with a line for each entry of its two outer levels,
and read with one kind of error for any damage.
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

from keras_interp_rnn._checks import expanded_path

MAX_JSON = 2**28
"""Largest JSON file that is read, in bytes."""

DAMAGED_ARCHIVE = (EOFError, OSError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
"""Errors of damaged or encrypted archives; their OSError has no file name, unlike the system's."""


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary file in the folder of `path`, with its suffix, which replaces `path` when the block ends.

    A process that dies before that leaves the old file, and perhaps a file `partial-...`. Processes and threads may
    write the same path at the same time; the last one wins.
    """
    path = Path(path)
    # `tempfile` makes files that only the owner may read. Containers may share process ids. Names have up to 255 bytes.
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
            error.filename = str(path)  # the name that the user knows
        raise
    # Windows cannot open a folder.
    with contextlib.suppress(PermissionError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class DataError(ValueError):
    """Raised if data, or their file or folder, cannot be used; the message states the reason and the remedy.

    Example:

    >>> from keras_interp_rnn import datasets
    >>> try:
    ...     datasets.text.load("not_there.txt")
    ... except datasets.DataError as error:
    ...     print(str(error).partition(", which")[0])
    `path` must be a file. Received: not_there.txt
    """


def existing_file(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Checks that a path is an existing file.

    Args:
        path: of the file; `~` is the home folder.
        argument: name of the argument, for the error.

    Returns:
        The path.

    Raises:
        DataError: if it does not exist or is not a file.
    """
    try:
        path = expanded_path(argument, path)
    except ValueError as error:
        raise DataError(str(error)) from None
    if os.path.isdir(path):
        raise DataError(f"`{argument}` must be a file. Received: {path}, which is a folder. Give a file inside it.")
    if not os.path.isfile(path):  # unlike pathlib's, also for names that no file system accepts
        raise DataError(
            f"`{argument}` must be a file. Received: {path}, which {_trouble(path)}. Check the path; a relative one "
            f"starts at {Path.cwd()}."
        )
    return path


def _trouble(path: Path) -> str:
    try:
        path.stat()
    except PermissionError as error:
        return f"cannot be reached ({error.strerror})"
    except (OSError, ValueError):
        return "does not exist"
    return "is not a file"


def read_json(path: Path, rule: str, parts: Mapping[str, type], remedy: str) -> dict[str, Any]:
    """Reads a JSON object.

    Args:
        path: of the file.
        rule: for the error, what the file must contain.
        parts: keys that the object must have, and their types.
        remedy: for the error, what to do.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file has other content; the message names the file.
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


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Writes a JSON file atomically: a line for each entry of the two outer levels, keys in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(_lines(content) + "\n")


def _lines(value: object, depth: int = 2) -> str:
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
    """Whether standard output is a terminal; it is None if it was closed before Python started."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str, stays: bool = False, in_logs: bool = False) -> None:
    """Prints a line that the next one overwrites, in a terminal; elsewhere only lines that stay or belong in logs.

    Say "" at the end, to erase the last line.
    """
    if in_terminal():
        print(f"\r\x1b[K{text}", end="\n" if stays else "", flush=True)
    elif stays or in_logs:
        print(text, flush=True)


class Count:
    """Progress of work of a known amount, with an estimate of the remaining time."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.started = what, total, monotonic()

    def say(self, done: int) -> None:
        """Prints the progress, without an estimate of the time in the first second."""
        spent = monotonic() - self.started
        left = f", about {spent / done * (self.total - done):.0f} s left" if done and spent >= 1 else ""
        say(f"{self.what} {done:,} of {self.total:,}{left}")


@contextlib.contextmanager
def needed(package: str, extra: str, by: str) -> Iterator[None]:
    """Turns a failed import in the block into an error that names the extra of `setup.cfg` to install.

    Args:
        package: the imported package. extra: the extra that installs it. by: the part that needs it.

    Raises:
        ImportError: in place of the one raised in the block.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{by} needs {package} ({error}): pip install 'keras_interp_rnn[{extra}]'") from error
