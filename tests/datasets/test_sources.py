"""Errors of all loaders, for a `source` or `data_dir` that is not a path, and for a damaged or too large archive."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_interp_rnn import datasets
from keras_interp_rnn.datasets import _files

LOADERS: dict[str, Callable[..., Any]] = {
    "imdb": lambda **where: datasets.imdb.load("train", **where),
    "interactions": lambda **where: datasets.interactions.load(*where.values()),
    "lm1b": lambda **where: datasets.lm1b.load("train", **where),
    "mlregtest": lambda **where: datasets.mlregtest.load("train", language="04.04.SL.2.1.0", **where),
    "mnist": lambda **where: datasets.mnist.load("train", **where),
    "newsgroups20": lambda **where: datasets.newsgroups20.load("train", **where),
    "pautomac": lambda **where: datasets.pautomac.load("train", problem=1, **where),
    "text": lambda **where: datasets.text.load(*where.values()),
    "text8": lambda **where: datasets.text8.load("train", **where),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("value", [3, "", b"folder"])
def test_a_source_is_a_path(loader: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"A path is a string, not empty, or a pathlib\.Path\. Received: "):
        LOADERS[loader](source=value)


@pytest.mark.parametrize("loader", ["imdb", "lm1b", "mnist", "newsgroups20", "text8"])
@pytest.mark.parametrize("value", [3, ""])
def test_a_folder_of_prepared_data_is_a_path(loader: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"A path is a string, .* Received: data_dir="):
        LOADERS[loader](data_dir=value)


READERS = {
    "member": lambda path: _files.member(path, "x.txt", "files", "name", encoding="latin-1"),
    "members": lambda path: _files.members(path, ".txt", "files"),
}


def archive(path: Path, kind: str, content: bytes) -> Path:
    """A tar archive with the file x.txt and a last one."""
    with tarfile.open(path, f"w:{kind}") as made:
        for name in ("folder/x.txt", "folder/last.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", [0.3, 0.8])
def test_a_damaged_archive_is_refused(tmp_path: Path, kind: str, reader: str, place: float) -> None:
    path = archive(tmp_path / f"all.tar.{kind}", kind, os.urandom(20_000))
    READERS[reader](path)
    damaged = bytearray(path.read_bytes())
    damaged[int(place * len(damaged))] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(datasets.DataError, match=r"cannot be read.*Give the folder with files"):
        READERS[reader](path)


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
@pytest.mark.parametrize("reader", READERS)
def test_an_archive_has_the_limit_of_other_compressed_files(
    tmp_path: Path, kind: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "all", kind, bytes(20_000))
    READERS[reader](path)
    monkeypatch.setattr(_files, "LARGEST", 40_000)
    with pytest.raises(
        datasets.DataError, match=r"decompress to at most 40,000 bytes\. Received: .*all, which has more"
    ):
        READERS[reader](path)


def test_a_sparse_file_in_an_archive_has_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = tarfile.TarInfo("x.txt")
    member.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"00000000000\0" + b"00000000000\0"  # a part of no bytes at the beginning
    block[483:495] = b"00000100000\0"  # the size of the expanded file
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    path = tmp_path / "all.tar"
    path.write_bytes(bytes(block) + bytes(1024))
    assert READERS["member"](path) == "\0" * 0o100000
    monkeypatch.setattr(_files, "LARGEST", 30_000)
    with pytest.raises(datasets.DataError, match="decompress to at most 30,000 bytes"):
        READERS["member"](path)
