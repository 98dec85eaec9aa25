"""The One Billion Word text from small files and from TFDS, and the table of its most frequent bytes."""

import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn.datasets import DataError, _tfds, lm1b


def sentences(count: int, name: str = "dev") -> list[bytes]:
    return [f"Caf\u00e9 {name} {i} .\n".encode() for i in range(count)]


def fill(folder: Path, dev: int = 25, test: int = 12) -> Path:
    (folder / "1b_benchmark.dev.tokens").write_bytes(b"".join(sentences(dev)))
    (folder / "1b_benchmark.test.tokens").write_bytes(b"".join(sentences(test, "test")))
    return folder


def test_splits_of_a_folder(tmp_path: Path) -> None:
    expected = {"train": sentences(25)[:23], "validation": sentences(25)[23:], "test": sentences(12, "test")}
    for split, lines in expected.items():
        symbols = lm1b.load(split, source=fill(tmp_path))
        assert symbols.dtype == np.uint8
        assert symbols.tobytes() == b"".join(lines)


def test_the_last_sentence_ends_too(tmp_path: Path) -> None:
    (tmp_path / "1b_benchmark.test.tokens").write_bytes(b"".join(sentences(12, "test"))[:-1])
    assert lm1b.load("test", source=tmp_path).tobytes() == b"".join(sentences(12, "test"))


def test_files_that_are_missing_or_too_short(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"`source` must be a folder with 1b_benchmark.dev.tokens. Received: .*Put the held-out"
    ):
        lm1b.load("train", source=tmp_path)
    fill(tmp_path, 9, 0)
    for split, count in (("train", 9), ("validation", 9), ("test", 0)):
        with pytest.raises(DataError, match=rf"at least ten sentences.*Received: .*, with {count}. Download it again"):
            lm1b.load(split, source=tmp_path)


def test_a_split_is_one_of_three() -> None:
    with pytest.raises(ValueError, match=r"one of \['train', 'validation', 'test'\]. Received: 'dev'. Choose"):
        lm1b.load("dev")


@pytest.mark.parametrize(
    ("split", "theirs"), [("train", "train[:99%]"), ("validation", "train[99%:]"), ("test", "test")]
)
def test_splits_of_tfds(split: str, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def published(name, split, data_dir, module, remedy):
        assert (name, split, data_dir, module) == ("lm1b", theirs, "here", "lm1b")
        return [{"text": line[:-1]} for line in sentences(3)]

    monkeypatch.setattr(_tfds, "published", published)
    symbols = lm1b.load(split, data_dir="here")
    assert symbols.dtype == np.uint8
    assert symbols.tobytes() == b"".join(sentences(3))


def test_without_network_it_points_at_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    message = r"cannot download lm1b from http.*no network.*by other means and give its folder as `source`"
    with pytest.raises(DataError, match=message):
        lm1b.load("train", data_dir=tmp_path)


def test_without_tfds_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"^`datasets.lm1b` needs.*pip install 'keras_interp_rnn\[datasets\]'$"):
        lm1b.load("train")


@pytest.mark.parametrize("size", [2, 5, 70, 256])
def test_the_most_frequent_bytes_have_ids_by_frequency(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lm1b, "_BLOCK", 1000)
    symbols = (np.random.default_rng(0).normal(100, 20, 30_007) % 256).astype(np.uint8)
    ranked = sorted(Counter(symbols.tolist()).items(), key=lambda item: (-item[1], item[0]))
    expected = {byte: i for i, (byte, _) in enumerate(ranked[: size - 1], 1)}
    table = lm1b.most_frequent(symbols, size)
    assert table.dtype == np.int32
    assert table.tolist() == [expected.get(byte, 0) for byte in range(256)]


def test_bytes_that_do_not_occur_have_the_id_of_the_rare() -> None:
    table = lm1b.most_frequent(np.frombuffer(b"abracadabra", np.uint8))
    assert [table[ord(letter)] for letter in "abrcd"] == [1, 2, 3, 4, 5]
    assert table.sum() == 15


def test_what_the_table_is_made_of() -> None:
    with pytest.raises(ValueError, match=r"`symbols` must be uint8 \(num_bytes,\). Received: int32 \(3,\). Pass what"):
        lm1b.most_frequent(np.arange(3, dtype=np.int32))
    for size in (1, 257):
        with pytest.raises(
            ValueError, match=rf"`num_ids` must be at least 2 and at most 256. Received: {size}. Choose"
        ):
            lm1b.most_frequent(np.zeros(3, np.uint8), size)
