"""The digits from small idx files and from TFDS, and how TFDS's own datasets are fetched."""

import gzip
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds

from keras_interp_rnn.datasets import DataError, _files, _tfds, mnist

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)
LABELS = np.array([3, 1, 4, 9, 0], np.uint8)


def idx(*header: int, values: np.ndarray) -> bytes:
    return struct.pack(f">{len(header)}I", *header) + values.tobytes()


def fill(folder: Path, prefix: str = "train", packed: bool = False) -> Path:
    for name, content in (
        ("images-idx3", idx(2051, 5, 28, 28, values=IMAGES)),
        ("labels-idx1", idx(2049, 5, values=LABELS)),
    ):
        path = folder / f"{prefix}-{name}-ubyte{'.gz' * packed}"
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("split", "prefix"), [("train", "train"), ("test", "t10k")])
def test_images_and_labels_of_a_folder(split: str, prefix: str, packed: bool, tmp_path: Path) -> None:
    images, labels = mnist.load(split, source=fill(tmp_path, prefix, packed))
    assert (images.dtype, labels.dtype) == (np.uint8, np.int32)
    np.testing.assert_array_equal(images, IMAGES)
    np.testing.assert_array_equal(labels, LABELS)
    assert images.flags.writeable


def test_a_split_is_one_of_two() -> None:
    with pytest.raises(ValueError, match=r"`split` must be one of \['train', 'test'\]. Received: 'validation'. Choose"):
        mnist.load("validation")


def test_a_missing_file_says_where_it_is_to_be_had(tmp_path: Path) -> None:
    message = (
        r"folder with t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz. Received: .*Download it from https.*"
        "put it there"
    )
    with pytest.raises(DataError, match=message):
        mnist.load("test", source=fill(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"begin with the numbers \(2051, 'number of items', 28, 28\). Received: .*begins with fewer"),
        (idx(2049, 5, values=LABELS), "begins with fewer. It is damaged or another file: download it again"),
        (idx(2052, 5, 28, 28, values=IMAGES), r"begins with \(2052, 5, 28, 28\)"),
        (idx(2051, 5, 14, 56, values=IMAGES), r"begins with \(2051, 5, 14, 56\)"),
        (
            idx(2051, 5, 28, 28, values=IMAGES[:4]),
            "By its header the file must have 3936 bytes. Received: .* 3152. Download",
        ),
        (idx(2051, 4, 28, 28, values=IMAGES), "must have 3152 bytes. Received: .*, with 3936"),
        (
            idx(2051, 4, 28, 28, values=IMAGES[:4]),
            "Each image must have a label. Received: .*4 images and .* 5 labels. Download",
        ),
    ],
)
def test_images_that_do_not_fit(content: bytes, message: str, tmp_path: Path) -> None:
    (fill(tmp_path) / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(DataError, match=message):
        mnist.load("train", source=tmp_path)


def test_labels_that_do_not_fit(tmp_path: Path) -> None:
    labels = fill(tmp_path) / "train-labels-idx1-ubyte"
    labels.write_bytes(idx(2051, 5, values=LABELS))
    with pytest.raises(DataError, match=r"numbers \(2049, 'number of items'\). Received: .*\(2051, 5\)"):
        mnist.load("train", source=tmp_path)
    labels.write_bytes(idx(2049, 5, values=LABELS + np.uint8(1)))
    with pytest.raises(DataError, match="A label must be a digit. Received: .*, with 10. Download"):
        mnist.load("train", source=tmp_path)


def test_a_damaged_packed_file_says_so(tmp_path: Path) -> None:
    path = fill(tmp_path, packed=True) / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"decompress to its end.*images-idx3-ubyte.gz.*download it again"):
        mnist.load("train", source=tmp_path)


def test_a_header_of_more_than_memory_holds_is_refused_before_it_is_believed(tmp_path: Path) -> None:
    path = fill(tmp_path) / "train-images-idx3-ubyte"
    path.write_bytes(idx(2051, 2**32 - 1, 28, 28, values=IMAGES))
    message = (
        r"By its header the file must have 3367254359296 bytes, and at most 2,147,483,648 are allowed. Received: .*3936"
    )
    with pytest.raises(DataError, match=message):
        mnist.load("train", source=tmp_path)


@pytest.mark.parametrize("header", [(2051, 5, 28, 28), (2051, 9, 28, 28), ()])
def test_a_packed_file_unpacks_no_further_than_is_allowed(
    header: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fill(tmp_path, packed=True) / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx(*header, values=np.zeros(10_000_000, np.uint8))))
    monkeypatch.setattr(_files, "LARGEST", 1_000_000)
    message = "decompress to at most 1,000,000 bytes. Received: .*train-images-idx3-ubyte.gz, which has more"
    with pytest.raises(DataError, match=message):
        mnist.load("train", source=tmp_path)


def test_images_of_tfds(monkeypatch: pytest.MonkeyPatch) -> None:
    def published(name, split, data_dir, module, remedy):
        assert (name, split, data_dir, module) == ("mnist", "test", "here", "mnist")
        return [{"image": image[:, :, None], "label": label} for image, label in zip(IMAGES, LABELS, strict=True)]

    monkeypatch.setattr(_tfds, "published", published)
    images, labels = mnist.load("test", data_dir="here")
    assert (images.dtype, labels.dtype) == (np.uint8, np.int32)
    np.testing.assert_array_equal(images, IMAGES)
    np.testing.assert_array_equal(labels, LABELS)


def test_a_dataset_of_tfds_is_prepared_once_and_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tfds, "builder", lambda name, data_dir, try_gcs: tfds.testing.DummyDataset(data_dir=data_dir))
    for _ in range(2):
        found = list(_tfds.published("dummy_dataset", "train", tmp_path, "dummy", "Give it."))
        assert sorted(int(example["id"]) for example in found) == [0, 1, 2]


def test_without_network_it_points_at_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    message = r"cannot download mnist from https.*no network.*four idx files by other means and give their folder"
    with pytest.raises(DataError, match=message):
        mnist.load("train", data_dir=tmp_path)


def test_without_tfds_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"^`datasets.mnist` needs.*pip install 'keras_interp_rnn\[datasets\]'$"):
        mnist.load("train")
