"""Data files, plain or compressed by gzip, xz or zip, and the error for data that cannot be used."""

import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from keras_interp_rnn._io import DAMAGED_ARCHIVE, DataError, existing_file

__all__ = ["LARGEST", "LOG", "TABLE", "TEXT", "DataError", "decoded", "existing_file", "unpacked", "unpacked_text"]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}

LARGEST = 2 << 30
"""Largest decompressed size in bytes. A few megabytes can decompress to more than fits into memory."""


TEXT, TABLE, LOG = ("", ".txt"), (".csv", ".tsv", ".tab"), (".xes",)
"""Suffixes of the files of a kind."""


def decoded(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        DataError: if the file is in another encoding.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"The file must be in UTF-8. Received: {path} ({error}). Convert it.") from None


@contextmanager
def unpacked(path: Path, kinds: Sequence[tuple[str, ...]] = (TEXT,)) -> Iterator[IO[bytes]]:
    """Opens a file for reading its decompressed bytes.

    Args:
        path: a plain file, or a .gz, .xz or .zip by its suffix.
        kinds: suffixes by which the file is found among several of a .zip, the first that any has.

    Yields:
        The stream.

    Raises:
        DataError: if the file cannot be decompressed completely, or to more than `LARGEST` bytes; also while the
            stream is being read.
    """
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_member(path, archive, kinds)) as stream:
                yield io.BufferedReader(_Within(stream, path))
        elif opener := _OPENERS.get(path.suffix.lower()):
            with opener(path, "rb") as stream:
                yield io.BufferedReader(_Within(stream, path))
        else:
            with path.open("rb") as stream:
                yield stream
    except DAMAGED_ARCHIVE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise DataError(
            f"A compressed file must decompress to its end. Received: {path} ({error}). It is truncated, damaged or "
            "encrypted: download it again."
        ) from error


def unpacked_text(path: Path, kinds: Sequence[tuple[str, ...]] = (TEXT,)) -> str:
    """The text of a file in UTF-8, plain or compressed, without its byte order mark.

    Raises:
        DataError: as `unpacked`, and if the file is in another encoding.
    """
    with unpacked(path, kinds) as stream:
        try:
            return stream.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"The file must be in UTF-8. Received: {path} ({error}). Convert it.") from None


class _Within(io.RawIOBase):
    """A stream of decompressed bytes that raises an error if there are more than `LARGEST`."""

    def __init__(self, stream: Any, path: Path) -> None:
        super().__init__()
        self._stream, self._path, self._largest, self._left = stream, path, LARGEST, LARGEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise DataError(
                f"A compressed file must decompress to at most {self._largest:,} bytes. Received: {self._path}, with "
                "more. If you trust it, decompress it and give the file inside."
            )
        buffer[: len(data)] = data
        return len(data)


def _member(path: Path, archive: zipfile.ZipFile, kinds: Sequence[tuple[str, ...]]) -> zipfile.ZipInfo:
    """The file of an archive that contains the data; what a file manager adds is none."""
    hidden = re.compile(r"(^|/)(__MACOSX/|\.[^/]*$)")
    files = [each for each in archive.infolist() if not each.is_dir() and not hidden.search(each.filename)]
    found = [] if len(files) > 1 else files
    for suffixes in kinds:
        found = found or [each for each in files if Path(each.filename).suffix.lower() in suffixes]
    if len(found) != 1:
        endings = [suffix for kind in kinds for suffix in kind]
        rule = f"{'has no suffix or ' * ('' in endings)}ends in {', '.join(filter(None, endings))}"
        raise DataError(
            f"A .zip must hold one file, or one whose name {rule}. Received: {path}, which holds "
            f"{[each.filename for each in found or files]}. Unpack it and give the file."
        )
    return found[0]
