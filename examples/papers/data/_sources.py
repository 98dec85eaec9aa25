"""Where data come from: a folder, a tar archive of it, a single file, or a download; and one error for all of them."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from keras_interp_rnn.datasets import DataError

PathLike = str | os.PathLike[str]

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ": lzma.open}
"""By the first bytes of a file."""


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Opens a file, decompressed if it is .gz or .xz, and reads it to its end afterwards, where the checksum is.

    Raises:
        DataError: if the file is missing or damaged.
    """
    if not path.exists():
        raise DataError(f"`source` must be a file or folder. Received: {path}, which does not exist. Check the path.")
    try:
        with path.open("rb") as file:
            start = file.read(6)
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open)
        with opener(path, "rb") as stream:
            yield stream
            while stream.read(1 << 20):
                pass
    except (EOFError, OSError, lzma.LZMAError, tarfile.TarError, zlib.error) as error:
        raise DataError(
            f"A file must be readable to its end. Received: {path}, which is not ({error}). Download it again."
        ) from error


def files(source: PathLike, *patterns: str, what: str) -> dict[str, bytes]:
    """The files of a folder, or of a tar archive of it, that match a pattern.

    Args:
        source: the folder, or a .tar, .tar.gz or .tar.xz archive that has it at any depth.
        patterns: such as `train/neg/*.txt`. Hidden files match none.
        what: where the files are to be had, for the error.

    Returns:
        Path, from where its pattern begins -> content, decompressed; in the order of the paths.

    Raises:
        DataError: if there is no such file, or the archive is damaged.
    """
    path, found = Path(source).expanduser(), {}
    if path.is_dir():
        for pattern in patterns:
            for file in path.glob(pattern):
                if file.is_file() and not file.name.startswith("."):
                    with opened(file) as stream:
                        found[file.relative_to(path).as_posix()] = stream.read()
    else:
        with opened(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                matched = next(filter(name.match, patterns), None)
                if matched and member.isfile() and not name.name.startswith("."):
                    content = archive.extractfile(member)
                    assert content is not None  # of a file
                    found["/".join(name.parts[-len(PurePosixPath(matched).parts) :])] = content.read()
    if not found:
        raise DataError(
            f"A source must be a folder with {' or '.join(patterns)}, or an archive of it. Received: {path}, which has "
            f"none. Check the path; the data: {what}."
        )
    return dict(sorted(found.items()))


@contextmanager
def parsing(name: object, form: str) -> Iterator[None]:
    """Turns the errors of a parser into the one for a damaged file.

    Args:
        name: of the file. form: what it must hold.

    Raises:
        DataError: if the block within raises a ValueError or runs out of fields.
    """
    try:
        yield
    except DataError:
        raise
    except (IndexError, KeyError, ValueError) as error:
        raise DataError(
            f"{name} must hold {form}. Received: one that does not ({error}). Download it again."
        ) from error


def downloaded(url: str, sha256: str) -> Path:
    """An archive from Keras's cache, downloaded if it is not there.

    Raises:
        DataError: if it cannot be downloaded, or is another.
    """
    import keras

    try:
        return Path(keras.utils.get_file(origin=url, fname=url.rpartition("/")[2], file_hash=sha256))
    except Exception as error:  # Keras raises no narrower one
        raise DataError(
            f"Data that are not given must be downloaded. Received: {error}. Get {url} by other means and give it, or "
            "the folder it unpacks to, as `source`."
        ) from error
