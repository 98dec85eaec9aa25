"""Text files, plain or packed by gzip, xz or zip: one way to open them and one error for what goes wrong."""

import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["LARGEST", "TextError", "decoded", "existing_file", "unpacked", "within"]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}

# zipfile raises RuntimeError for an encrypted member, its child NotImplementedError for an unknown method.
_UNPACKING = (EOFError, RuntimeError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

LARGEST = 2 << 30
"""Bytes to which a packed file may unpack. A few megabytes can unpack to more than any memory holds."""


class TextError(ValueError):
    """A text, or the file that should hold one, cannot be used; the message says why and what to do."""


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Checks that a path leads to a file.

    Args:
        path: where the file should be; `~` is the home folder.

    Returns:
        The path.

    Raises:
        TextError: if there is nothing, or a folder.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        raise TextError(f"A text is one file. Received: {path}, which is a folder. Give a file inside it.")
    if not path.is_file():
        raise TextError(f"There is no file {path}. Check the path; a relative one starts at {Path.cwd()}.")
    return path


def decoded(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        TextError: if the file is in another encoding.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TextError(f"A text is in UTF-8. Received: {path}, which is not ({error}). Convert it.") from None


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file for reading its unpacked bytes.

    Args:
        path: a plain file, or a .gz, .xz or .zip by its suffix.

    Yields:
        The stream.

    Raises:
        TextError: if the file cannot be unpacked to its end, or unpacks to more than `LARGEST` bytes; also while the
            stream is being read.
    """
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_member(path, archive)) as stream:
                yield within(stream, path)
        elif opener := _OPENERS.get(path.suffix.lower()):
            with opener(path, "rb") as stream:
                yield within(stream, path)
        else:
            with path.open("rb") as stream:
                yield stream
    except _UNPACKING as error:
        raise TextError(
            f"A packed text unpacks to its end. Received: {path}, which does not ({error}). "
            f"It is truncated, damaged or encrypted: fetch it again."
        ) from error


def within(stream: Any, path: Path, largest: int | None = None) -> IO[bytes]:
    """The same bytes, but for an error where there are more than `largest`.

    Args:
        stream: of unpacked bytes.
        path: the file that it unpacks, for the error.
        largest: `LARGEST`, if it is None.

    Raises:
        TextError: while the stream is being read.
    """
    return io.BufferedReader(_Within(stream, path, LARGEST if largest is None else largest))


class _Within(io.RawIOBase):
    def __init__(self, stream: Any, path: Path, largest: int) -> None:
        super().__init__()
        self._stream, self._path, self._largest, self._left = stream, path, largest, largest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(min(len(buffer), self._left + 1))
        self._left -= len(found)
        if self._left < 0:
            raise TextError(
                f"A packed file unpacks to at most {self._largest:,} bytes. Received: {self._path}, which unpacks to "
                "more. If it is what it should be, unpack it and give the file inside."
            )
        buffer[: len(found)] = found
        return len(found)


def _member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Chooses the file of an archive that holds the text."""
    files = [member for member in archive.infolist() if not member.is_dir()]
    if len(files) > 1:
        files = [member for member in files if Path(member.filename).suffix.lower() in ("", ".txt")]
    if not files:
        raise TextError(
            f"A .zip holds one file, or one whose name has no suffix or ends in .txt. Received: {path}, "
            f"which holds {archive.namelist()}. Unpack it and give the text file."
        )
    return max(files, key=lambda member: member.file_size)
