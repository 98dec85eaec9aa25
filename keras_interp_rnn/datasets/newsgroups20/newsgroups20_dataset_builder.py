"""TFDS builder of the 20 newsgroups: a post and the group it was sent to, by group and number.

The posts come from the first of these that exists:

1. the archive or folder given as `source`;
2. `20news-bydate.tar.gz`, or the two unpacked folders, in `manual_dir`;
3. the download.

Posts are read as latin-1, in which every byte is a character. The data may be used for research; this package contains
none of them.
"""

import gzip
import hashlib
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._files import DataError, given_path, within
from keras_interp_rnn.datasets.newsgroups20._classes import CLASSES

__all__ = ["ARCHIVE", "FOLDERS", "Builder", "manual_source"]

URL = "https://ndownloader.figshare.com/files/5975967"
ARCHIVE = "20news-bydate.tar.gz"
FOLDERS = {"train": "20news-bydate-train", "test": "20news-bydate-test"}

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ": lzma.open}
_LARGEST = 256 << 20  # bytes of the tar file, which has 36 million
# gzip.BadGzipFile is an OSError.
_UNPACKING = (EOFError, OSError, lzma.LZMAError, tarfile.TarError, zlib.error)

Posts = dict[tuple[str, str, str], bytes]
"""The bytes of each post by folder, group and number."""


class Builder(tfds.core.GeneratorBasedBuilder):
    """The 20 newsgroups by date, one example per post, in the order of groups and numbers.

    With a `source`, the data are kept in a folder of `data_dir` named by the sha256 of the archive or of the posts, so
    that two sources never share prepared data.

    Args:
        source: the archive, or the folder it was unpacked to, to read instead of the download.
        data_dir: folder of prepared data; None for TFDS's default.
        **kwargs: as `tfds.core.GeneratorBasedBuilder`.

    Raises:
        datasets.DataError: if `source` does not exist, or is a folder without the groups.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Put {ARCHIVE} there, from {URL}, or the folders {list(FOLDERS.values())}."

    def __init__(
        self,
        *,
        source: str | os.PathLike[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._source = None if source is None else _existing(source)
        if self._source is not None:
            data_dir = _tfds.data_root(data_dir) / f"source-{_sha256(self._source)[:12]}"
        with _tfds.undamaged(_tfds.data_root(data_dir) / self.name):
            super().__init__(data_dir=data_dir, **kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        features = {"text": tfds.features.Text(), "label": tfds.features.ClassLabel(names=CLASSES)}
        return tfds.core.DatasetInfo(
            builder=self,
            description="18,846 posts to 20 newsgroups of 1993, without duplicates; the test split has the later ones.",
            features=tfds.features.FeaturesDict(features),
            supervised_keys=("text", "label"),
            disable_shuffling=True,
            homepage="http://qwone.com/~jason/20Newsgroups/",
            license="For research; the posts are their authors'.",
            citation=(
                "@inproceedings{lang1995, title={NewsWeeder: Learning to Filter Netnews}, author={Lang, Ken}, "
                "booktitle={International Conference on Machine Learning}, pages={331--339}, year={1995}}"
            ),
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        path = self._source or _manual_source(dl_manager) or _download(dl_manager)
        posts = _read(path)
        self.info.metadata.update({"source": path.name, "sha256": _sha256(path), "posts": len(posts)})
        return {split: self._generate_examples(posts, folder) for split, folder in FOLDERS.items()}

    def _generate_examples(self, posts: Posts, folder: str) -> Iterator[tuple[int, dict[str, str]]]:
        keys = sorted((key for key in posts if key[0] == folder), key=_place)
        for i, key in enumerate(keys):
            yield i, {"text": posts[key].decode("latin-1"), "label": key[1]}


def manual_source(folder: Path) -> Path | None:
    """The archive in a folder; the folder itself if it has the unpacked folders; or None."""
    if (folder / ARCHIVE).is_file():
        return folder / ARCHIVE
    return folder if any((folder / name).is_dir() for name in FOLDERS.values()) else None


def _manual_source(dl_manager: tfds.download.DownloadManager) -> Path | None:
    try:
        return manual_source(Path(dl_manager.manual_dir))
    except AssertionError:  # raised by TFDS if the folder is missing or empty
        return None


def _download(dl_manager: tfds.download.DownloadManager) -> Path:
    """Downloads the archive; the error says where to put it by hand."""
    try:
        if not (dl_manager.download_dir / Builder.name).is_dir():
            _tfds.reach(URL)
        return Path(dl_manager.download(URL))
    except _tfds.download_errors() as error:
        raise DataError(
            f"The 20 newsgroups cannot be downloaded from {URL} ({error}). Download {ARCHIVE} by other means and put "
            f"it into {dl_manager.download_dir / 'manual'}, or give it, or the folder it unpacks to, as `source`."
        ) from error


def _existing(source: str | os.PathLike[str]) -> Path:
    path = given_path(source, "source")
    if not path.exists():
        raise DataError(
            f"`source` must be a file or folder. Received: {path}, which does not exist. Check the path; a relative "
            f"one starts at {Path.cwd()}."
        )
    return path


def _sha256(path: Path) -> str:
    """The digest of an archive, or of the names and contents of all posts of a folder."""
    sha256 = hashlib.sha256()
    if path.is_dir():
        for key, post in sorted(_read(path).items()):
            sha256.update(f"{'/'.join(key)} {len(post)}\n".encode())
            sha256.update(post)
    else:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                sha256.update(block)
    return sha256.hexdigest()


def _read(path: Path) -> Posts:
    """Reads all posts, and checks that every group has posts in both folders."""
    posts = _of_folder(path) if path.is_dir() else _of_archive(path)
    groups = {key[:2] for key in posts}
    expected = {(folder, group) for folder in FOLDERS.values() for group in CLASSES}
    for what, names in (("no posts in", expected - groups), ("posts in unknown", groups - expected)):
        if names:
            listed = sorted("/".join(name) for name in names)
            more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
            raise DataError(
                f"Each of the 20 groups must have posts in {FOLDERS['train']}/<group> and {FOLDERS['test']}/<group>. "
                f"Received: {path}, with {what} {', '.join(listed[:3])}{more}. Give {ARCHIVE} or the folder it was "
                "unpacked to."
            )
    return posts


def _of_folder(path: Path) -> Posts:
    files = (file for folder in FOLDERS.values() for file in (path / folder).glob("*/*") if file.is_file())
    return {key: file.read_bytes() for file in files if (key := _key(file.parts[-3:]))}


def _of_archive(path: Path) -> Posts:
    try:
        # Decompressed to its end first, where the checksum is; and reading a compressed tar file would seek back and
        # forth. The format is told by the first bytes, as TFDS names downloads without a suffix.
        with path.open("rb") as file:
            start = file.read(6)
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open)
        with opener(path, "rb") as stream:
            data = within(stream, path, _LARGEST).read()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            return _of_members(path, archive)
    except _UNPACKING as error:
        raise DataError(
            f"`source` must be a tar file that can be read to its end. Received: {path}, which cannot ({error}). "
            f"It is truncated, damaged or another file: download {ARCHIVE} from {URL} again."
        ) from error


def _of_members(path: Path, archive: tarfile.TarFile) -> Posts:
    """The posts of the two folders, which are at the top or in one common folder; other files are skipped."""
    members: dict[tuple[str, ...], list[tuple[tuple[str, str, str], tarfile.TarInfo]]] = {}
    for member in archive:
        parts = PurePosixPath(member.name).parts
        if member.isfile() and (key := _key(parts[-3:])):
            members.setdefault(parts[:-3], []).append((key, member))
    posts: Posts = {}
    for key, member in members[min(members, key=len)] if members else ():
        if key in posts or member.issparse():  # a few bytes of a sparse file expand to any number
            raise DataError(
                f"A post must be one plain file. Received: {path}, with {member.name} "
                f"{'twice' if key in posts else 'as a sparse file'}. Download {ARCHIVE} from {URL} again."
            )
        stream = archive.extractfile(member)
        posts[key] = stream.read() if stream else b""
    return posts


def _key(parts: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Folder, group and number; None for other files, hidden ones among them."""
    if len(parts) != 3 or parts[0] not in FOLDERS.values() or any(part.startswith(".") for part in parts[1:]):
        return None
    return parts[0], parts[1], parts[2]


def _place(key: tuple[str, str, str]) -> tuple[str, int, str]:
    """Sort key of a post among those of its folder: group, then number."""
    return key[1], len(key[2]), key[2]
