"""The text8 builder on small generated texts, against a split computed by hand."""

import hashlib
import shutil
import sys
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

from keras_interp_rnn.datasets import DataError, text, text8
from keras_interp_rnn.datasets.text8 import text8_dataset_builder
from tests.archives import packed

SIZE = 30_007
CHUNK = 100


def some_text(seed: int = 0, size: int = SIZE) -> str:
    return "".join(np.random.default_rng(seed).choice(list(text.ALPHABET), size))


def write(path: Path, characters: str) -> Path:
    """Writes a text, packed by the suffix of its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(characters.encode("ascii"), path.suffix))
    return path


def parts(characters: str) -> dict[str, np.ndarray]:
    """The split, from its definition: ninety in a hundred characters, then five, then five."""
    codes = np.array([0 if character == " " else ord(character) - 96 for character in characters])
    first, second = (len(codes) * 90 + 50) // 100, (len(codes) * 95 + 50) // 100
    return {"train": codes[:first], "validation": codes[first:second], "test": codes[second:]}


@pytest.fixture(autouse=True)
def small_chunks_no_network_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(text8_dataset_builder, "CHUNK", CHUNK)
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelname != "INFO"] == []


@pytest.mark.parametrize("name", ["text8.zip", "mine.txt", "mine.xz", "mine.gz"])
def test_splits_are_the_text_in_order(name: str, tmp_path: Path) -> None:
    source = write(tmp_path / "sources" / name, some_text())
    for split, expected in parts(some_text()).items():
        symbols = text8.load(split, source=source, data_dir=tmp_path)
        assert symbols.dtype == np.uint8
        assert symbols.flags.c_contiguous
        np.testing.assert_array_equal(symbols, expected)


def test_a_split_in_several_files_is_read_in_order(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.xz", some_text())
    builder = text8_dataset_builder.Builder(source=source, data_dir=tmp_path)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=7))
    assert builder.info.splits["train"].num_shards == 7
    np.testing.assert_array_equal(text8.load("train", source=source, data_dir=tmp_path), parts(some_text())["train"])


def test_a_slice_is_cut_between_chunks(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.xz", some_text())
    np.testing.assert_array_equal(
        text8.load("train[:3]", source=source, data_dir=tmp_path), parts(some_text())["train"][: 3 * CHUNK]
    )


def test_the_builder_is_an_ordinary_tfds_builder(tmp_path: Path) -> None:
    builder = text8.builder(source=write(tmp_path / "mine.txt", some_text()), data_dir=tmp_path)
    assert (builder.name, str(builder.version)) == ("text8", "1.0.0")
    assert builder.info.disable_shuffling
    examples = {split: builder.info.splits[split].num_examples for split in builder.info.splits}
    assert examples == {"train": 271, "validation": 16, "test": 15}  # 27006, 1501 and 1500 characters
    again = tfds.builder_from_directory(builder.data_dir)
    assert again.info.splits["test"].num_examples == 15


def test_two_sources_are_never_mixed_up(tmp_path: Path) -> None:
    first = write(tmp_path / "one" / "mine.txt", some_text(1))
    second = write(tmp_path / "two" / "mine.txt", some_text(2))
    for _ in range(2):
        for source, seed in ((first, 1), (second, 2)):
            symbols = text8.load("test", source=source, data_dir=tmp_path)
            np.testing.assert_array_equal(symbols, parts(some_text(seed))["test"])
    write(first, some_text(3))
    symbols = text8.load("test", source=first, data_dir=tmp_path)
    np.testing.assert_array_equal(symbols, parts(some_text(3))["test"])


def of_text8(monkeypatch: pytest.MonkeyPatch, characters: str) -> None:
    """Lets a text pass for text8."""
    monkeypatch.setattr(text8_dataset_builder, "SHA256", hashlib.sha256(characters.encode()).hexdigest())


def test_a_file_in_the_manual_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "downloads" / "manual" / "text8.zip", some_text())
    with pytest.raises(DataError, match=r"text8 must have the sha256 6e8901.*Received: .*text8\.zip.*Download"):
        text8.load("train", data_dir=tmp_path)
    of_text8(monkeypatch, some_text())
    np.testing.assert_array_equal(text8.load("test", data_dir=tmp_path), parts(some_text())["test"])
    file.unlink()
    np.testing.assert_array_equal(text8.load("test", data_dir=tmp_path), parts(some_text())["test"])


@pytest.mark.parametrize("manual", [False, True])
def test_without_network_the_error_names_the_place_of_the_file(manual: bool, tmp_path: Path) -> None:
    if manual:
        write(tmp_path / "downloads" / "manual" / "unrelated.txt", "a")
    message = r"must be downloadable from http://mattmahoney.net/dc/text8.zip. .*no network.*put it into .*manual"
    with pytest.raises(DataError, match=message):
        text8.load("train", data_dir=tmp_path)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serves a folder on this machine in place of text8's own site."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *args: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        monkeypatch.setattr(text8_dataset_builder, "URL", f"http://127.0.0.1:{site.server_port}/text8.zip")
        yield folder
        site.shutdown()
        thread.join()


def test_a_download_is_read(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(server / "text8.zip", some_text())
    of_text8(monkeypatch, some_text())
    monkeypatch.setattr(urllib.request, "urlopen", urllib.request.build_opener().open)
    np.testing.assert_array_equal(text8.load("test", data_dir=tmp_path), parts(some_text())["test"])


def test_a_missing_page_is_reported(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", urllib.request.build_opener().open)
    with pytest.raises(DataError, match=r"must be downloadable from .*404"):
        text8.load("train", data_dir=tmp_path)


def test_the_checksum_of_text8_is_registered() -> None:
    registered = text8_dataset_builder.Builder.url_infos["http://mattmahoney.net/dc/text8.zip"]
    assert registered.size == 31_344_016
    assert registered.checksum == "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232"


def test_a_damaged_source_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.xz", some_text())
    source.write_bytes(source.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"decompress to its end.*mine\.xz.*download it again"):
        text8.load("train", source=source, data_dir=tmp_path)
    write(source, some_text())
    assert len(text8.load("train", source=source, data_dir=tmp_path)) == 27_006


def test_a_missing_or_short_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"`source` must be a file. Received: .*nowhere\.xz, which does not exist"):
        text8.load("train", source=tmp_path / "nowhere.xz", data_dir=tmp_path)
    with pytest.raises(DataError, match=r"at least two symbols. Received: 9 symbols"):
        text8.load("train", source=write(tmp_path / "mine.txt", "too short"), data_dir=tmp_path)


@pytest.mark.parametrize("name", ["*train*tfrecord*", "dataset_info.json"])
def test_damaged_data_name_the_folder_to_delete(name: str, tmp_path: Path) -> None:
    source = write(tmp_path / "mine.txt", some_text())
    text8.load("train", source=source, data_dir=tmp_path / "data")
    [path] = (tmp_path / "data").rglob(name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=r"(?s)to their end. Received: those in .* \(.*\). Delete this") as caught:
        text8.load("train", source=source, data_dir=tmp_path / "data")
    shutil.rmtree(Path(str(caught.value).split("those in ")[1].split(" (")[0]))
    assert len(text8.load("train", source=source, data_dir=tmp_path / "data")) == 27_006


def test_an_unknown_split_is_not_reported_as_damage(tmp_path: Path) -> None:
    for split in ("nothing", "train[:x%]"):
        with pytest.raises(ValueError, match="split") as caught:
            text8.load(split, source=write(tmp_path / "mine.txt", some_text()), data_dir=tmp_path)
        assert not isinstance(caught.value, DataError)


def test_a_folder_of_data_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`data_dir` must be a folder. Received: .*, which is a file"):
        text8.load("train", data_dir=write(tmp_path / "mine.txt", "a"))


def test_prepared_data_are_read_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "mine.txt", some_text())
    text8.load("train", source=source, data_dir=tmp_path)
    capfd.readouterr()
    text8.load("train", source=source, data_dir=tmp_path)
    assert capfd.readouterr().out == ""


def test_without_tfds_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"^`datasets.text8` needs.*pip install 'keras_interp_rnn\[datasets\]'$"):
        text8.load("train", data_dir=tmp_path)


@pytest.mark.parametrize("value", [3, "", b"folder"])
def test_a_source_and_a_folder_of_data_are_paths(value: object) -> None:
    for name in ("source", "data_dir"):
        with pytest.raises(ValueError, match=rf"`{name}` must be a path: a string, not empty, .* Received: {name}="):
            text8.load("train", **{name: value})
    with pytest.raises(ValueError, match=r"must be a path: a string, not empty, .* Received: path="):
        text.load(value)
