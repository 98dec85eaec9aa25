"""The builder of the 20 newsgroups on small posts, from a folder, from an archive and by hand."""

import gzip
import hashlib
import io
import lzma
import sys
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds

from keras_interp_rnn.datasets import DataError, newsgroups20
from keras_interp_rnn.datasets.newsgroups20 import newsgroups20_dataset_builder

POST = "From: {0}@b.c\nSubject: {0}\n\nCaf\u00e9 {0}.\n\n-- \nAnn\n"


def posts(seed: int = 0) -> dict[str, list[tuple[str, int, str]]]:
    """For each split (group, label, post), in the order of groups and numbers."""
    found: dict[str, list[tuple[str, int, str]]] = {"train": [], "test": []}
    for split, numbers in (("train", (7, 30, 100)), ("test", (999, 1000))):
        for label, group in enumerate(sorted(newsgroups20.CLASSES)):
            count = len(numbers) - label % 2
            found[split] += [
                (f"{group}/{n}", label, POST.format(f"{split}{seed}.{group}.{n}")) for n in numbers[:count]
            ]
    return found


def fill(folder: Path, seed: int = 0) -> Path:
    """Writes the posts as they lie in the unpacked archive, and files that are none."""
    for split, group in posts(seed).items():
        for name, _, post in reversed(group):
            path = folder / f"20news-bydate-{split}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(post.encode("latin-1"))
    (folder / "20news-bydate-train" / ".DS_Store").write_bytes(b"none")
    (folder / "20news-bydate-train" / "sci.med" / "._7").write_bytes(b"none")
    (folder / "README").write_bytes(b"none")
    return folder


def pack(path: Path, folder: Path, prefix: str = "") -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for child in sorted(folder.iterdir()):
            archive.add(child, f"{prefix}{child.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(buffer.getvalue()))
    return path


def check(found: tuple[list[str], np.ndarray], split: str, seed: int = 0) -> None:
    texts, labels = found
    assert texts == [post for _, _, post in posts(seed)[split]]
    assert labels.dtype == np.int32
    assert labels.tolist() == [label for _, label, _ in posts(seed)[split]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("20news"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> dict[str, Path]:
    """Arguments of `load` for data that are prepared already."""
    arguments = {"source": folder, "data_dir": tmp_path_factory.mktemp("data")}
    newsgroups20.builder(**arguments)
    return arguments


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)


@pytest.mark.parametrize("split", ["train", "test"])
def test_posts_of_a_folder_by_group_and_number(split: str, prepared: dict[str, Path]) -> None:
    check(newsgroups20.load(split, **prepared), split)


def test_posts_without_header_and_signature(prepared: dict[str, Path]) -> None:
    texts, labels = newsgroups20.load("test", headers=False, **prepared)
    assert texts[0] == "Caf\u00e9 test0.alt.atheism.999."
    assert len(texts) == len(labels) == 30


@pytest.mark.parametrize(("name", "prefix"), [("20news.tar.gz", ""), ("x.tar.xz", "./"), ("x.tar", "20news-bydate/")])
def test_posts_of_an_archive(name: str, prefix: str, folder: Path, tmp_path: Path) -> None:
    source = pack(tmp_path / name, folder, prefix)
    for split in ("train", "test"):
        check(newsgroups20.load(split, source=source, data_dir=tmp_path), split)


def test_the_builder_is_an_ordinary_tfds_builder(prepared: dict[str, Path], folder: Path) -> None:
    builder = newsgroups20.builder(**prepared)
    assert (builder.name, str(builder.version)) == ("newsgroups20", "1.0.0")
    assert builder.info.features["label"].names == list(newsgroups20.CLASSES)
    assert {split: info.num_examples for split, info in builder.info.splits.items()} == {"train": 50, "test": 30}
    again = tfds.builder_from_directory(builder.data_dir)
    assert again.info.metadata["source"] == folder.name
    assert again.info.metadata["posts"] == 80
    text_and_label = next(iter(again.as_dataset(split="train", as_supervised=True)))
    assert text_and_label[0].numpy().decode() == posts()["train"][0][2]


def test_twenty_names_in_alphabetical_order() -> None:
    assert len(set(newsgroups20.CLASSES)) == 20
    assert list(newsgroups20.CLASSES) == sorted(newsgroups20.CLASSES)


def test_two_sources_are_never_mixed_up(tmp_path: Path) -> None:
    source = fill(tmp_path / "source", 1)
    check(newsgroups20.load("test", source=source, data_dir=tmp_path), "test", 1)
    fill(source, 2)
    check(newsgroups20.load("test", source=source, data_dir=tmp_path), "test", 2)


def test_an_archive_or_folders_put_there_by_hand(folder: Path, tmp_path: Path) -> None:
    manual = tmp_path / "downloads" / "manual"
    fill(manual, 1)
    check(newsgroups20.load("test", data_dir=tmp_path), "test", 1)
    pack(manual / "20news-bydate.tar.gz", folder)  # the archive comes first
    check(newsgroups20.load("test", data_dir=tmp_path), "test")


def test_a_manual_folder_of_tfds(folder: Path, tmp_path: Path) -> None:
    builder = newsgroups20_dataset_builder.Builder(data_dir=tmp_path)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=folder, try_download_gcs=False)
    )
    check(newsgroups20.load("train", data_dir=tmp_path), "train")


@pytest.mark.parametrize("manual", [False, True])
def test_without_network_it_says_where_to_put_the_archive(manual: bool, tmp_path: Path) -> None:
    if manual:
        (tmp_path / "downloads" / "manual" / "unrelated").mkdir(parents=True)
    message = r"cannot be downloaded from https://ndown.*no network.*put it into .*manual, or give it, .* as `source`"
    with pytest.raises(DataError, match=message):
        newsgroups20.load("train", data_dir=tmp_path)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serves a folder on this machine in place of the archive's own site."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *args: None)
    monkeypatch.setattr(urllib.request, "urlopen", urllib.request.build_opener().open)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=site)) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        monkeypatch.setattr(newsgroups20_dataset_builder, "URL", f"http://127.0.0.1:{serving.server_port}/5975967")
        yield site
        serving.shutdown()
        thread.join()


def register(monkeypatch: pytest.MonkeyPatch, size: int, sha256: str) -> None:
    info = tfds.core.download.checksums.UrlInfo(size=size, checksum=sha256, filename="20news-bydate.tar.gz")
    infos = {newsgroups20_dataset_builder.URL: info}
    monkeypatch.setattr(newsgroups20_dataset_builder.Builder, "url_infos", infos)


def test_a_download(server: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "20news-bydate.tar.gz", folder).rename(server / "5975967").read_bytes()
    register(monkeypatch, len(archive), hashlib.sha256(archive).hexdigest())
    check(newsgroups20.load("train", data_dir=tmp_path), "train")


def test_a_download_with_another_checksum(
    server: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(tmp_path / "20news-bydate.tar.gz", folder).rename(server / "5975967")
    register(monkeypatch, 14_464_277, "8f1b" * 16)
    with pytest.raises(DataError, match=r"(?s)cannot be downloaded from .*has wrong checksum.*by other means"):
        newsgroups20.load("train", data_dir=tmp_path)


def test_a_page_that_is_not_there(server: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)cannot be downloaded from .*404"):
        newsgroups20.load("train", data_dir=tmp_path)


def test_the_archives_own_checksum_is_registered() -> None:
    registered = newsgroups20_dataset_builder.Builder.url_infos["https://ndownloader.figshare.com/files/5975967"]
    assert registered.size == 14_464_277
    assert registered.checksum == "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.tar"])
def test_a_truncated_archive_says_so(name: str, folder: Path, tmp_path: Path) -> None:
    source = pack(tmp_path / name, folder)
    source.write_bytes(source.read_bytes()[: -100 if name != "x.tar" else 10_000])
    with pytest.raises(DataError, match=r"read to its end. Received: .*which cannot .* again|no posts in"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


def test_a_damaged_archive_says_so(folder: Path, tmp_path: Path) -> None:
    source = pack(tmp_path / "x.tar.gz", folder)
    packed = bytearray(source.read_bytes())
    packed[-8] ^= 1  # the checksum of the contents
    source.write_bytes(packed)
    with pytest.raises(DataError, match=r"read to its end.*x\.tar\.gz, which cannot .*CRC.*download 20news"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)
    source.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"read to its end.*another file: download 20news"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


def add(path: Path, *members: tuple[str, bytes]) -> Path:
    """The same archive with more members."""
    with tarfile.open(path, "a") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("prefix", ["", "20news-bydate/"])
def test_posts_elsewhere_in_an_archive_are_none(prefix: str, folder: Path, tmp_path: Path) -> None:
    name = "20news-bydate-train/alt.atheism/7"
    strays = [(f"{where}{name}", b"another") for where in ("x/y/", "../../", f"{prefix}z/", f"{prefix}{name}/")]
    source = add(pack(tmp_path / "x.tar", folder, prefix), *strays)
    check(newsgroups20.load("train", source=source, data_dir=tmp_path), "train")


def test_a_post_stands_once_in_an_archive(folder: Path, tmp_path: Path) -> None:
    source = add(pack(tmp_path / "x.tar", folder), ("20news-bydate-train/alt.atheism/7", b"another"))
    with pytest.raises(DataError, match=r"must be one plain file. Received: .*alt.atheism/7 twice. Download"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


def sparse(name: str, size: int) -> bytes:
    """A member of a tar file that holds one block and says that it unpacks to `size` bytes."""
    member = tarfile.TarInfo(name)
    member.size = 512
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[156:157] = b"S"
    block[386:398], block[398:410], block[483:495] = b"00000000000\0", b"00000001000\0", b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"x" * 512


def test_a_sparse_post_is_not_unpacked(folder: Path, tmp_path: Path) -> None:
    source = pack(tmp_path / "x.tar", folder)
    source.write_bytes(sparse("20news-bydate-train/alt.atheism/77", 8**11 - 1) + source.read_bytes())
    with pytest.raises(
        DataError, match=r"must be one plain file. Received: .*alt.atheism/77 as a sparse file. Download"
    ):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.tar"])
def test_an_archive_unpacks_no_further_than_is_allowed(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = pack(tmp_path / name, folder)
    monkeypatch.setattr(newsgroups20_dataset_builder, "_LARGEST", 10_000)
    message = r"decompress to at most 10,000 bytes. Received: .*x\.tar.*, which has more"
    with pytest.raises(DataError, match=message):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


def test_every_group_has_posts_in_both_folders(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"`source` must be a file or folder. Received: .*nowhere, which does not exist. Check the path"
    ):
        newsgroups20.load("train", source=tmp_path / "nowhere", data_dir=tmp_path)
    with pytest.raises(DataError, match=r"no posts in 20news-bydate-test/alt.atheism, .* and 37 more. Give 20news"):
        newsgroups20.load("train", source=tmp_path, data_dir=tmp_path)
    source = fill(tmp_path / "source")
    for file in (source / "20news-bydate-test" / "sci.space").iterdir():
        file.unlink()
    with pytest.raises(DataError, match=r"no posts in 20news-bydate-test/sci.space. Give 20news-bydate.tar.gz or"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)
    (source / "20news-bydate-test" / "sci.space").rename(source / "20news-bydate-test" / "sci.math")
    with pytest.raises(DataError, match=r"no posts in 20news-bydate-test/sci.space. Give"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)
    (fill(source) / "20news-bydate-test" / "sci.math" / "1").write_bytes(b"a")
    with pytest.raises(DataError, match=r"posts in unknown 20news-bydate-test/sci.math. Give"):
        newsgroups20.load("train", source=source, data_dir=tmp_path)


def test_a_split_is_one_of_two(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`split` must be one of \['train', 'test'\]. Received: 'validation'. Choose"):
        newsgroups20.load("validation", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("One.\nTwo.", "One.\nTwo."),
        ("One.\n\n-- \nAnn\n\nUtrecht", "One."),
        ("One.\n\n----\nAnn\n----\n", "One."),
        ("One.\n\nTwo.\n\nAnn\nUtrecht\n", "One.\n\nTwo."),
        ("One.\n\n" + "Two.\n" * 5, "One.\n\n" + "Two.\n" * 4 + "Two."),
        ("One.\n--\n" + "Two.\n" * 11, "One.\n--\n" + "Two.\n" * 10 + "Two."),
        ("-- \nAnn", "-- \nAnn"),
        ("> -- \n> Bob\nNo.", "> -- \n> Bob\nNo."),
        ("One - two -- three", "One - two -- three"),
        ("", ""),
    ],
)
def test_the_body_of_a_post(written: str, kept: str) -> None:
    assert newsgroups20.body(f"From: a@b.c\nSubject: x\n\n{written}") == kept
    assert newsgroups20.body(f"From: a@b.c\nSubject: x\n \t\n{written}") == kept


def test_a_header_alone_has_no_body() -> None:
    assert newsgroups20.body("From: a@b.c\nSubject: x\n") == ""


def test_without_tfds_it_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    wanted = r"^`datasets.newsgroups20` needs.*pip install 'keras_interp_rnn\[datasets\]'$"
    with pytest.raises(ImportError, match=wanted):
        newsgroups20.load("train", data_dir=tmp_path)
