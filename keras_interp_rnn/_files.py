"""Files that are written whole or not at all, and are on the disk, not only in its cache, when they replace another."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, beside `path` and with its suffix; it takes the place of `path` when the block has ended.

    A process that dies before leaves what was at `path`, and perhaps a file `partial-...`. Processes that write the
    same path at the same time do not disturb each other; the last one counts.
    """
    path = Path(path)
    partial = path.with_name(f"partial-{os.getpid()}-{path.name}")
    try:
        yield partial
    except Exception:
        partial.unlink(missing_ok=True)
        raise
    with open(partial, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)
    # Windows cannot open a folder.
    with contextlib.suppress(PermissionError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
