"""Data that TFDS has prepared: damaged, half prepared, and prepared by two processes at once."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from keras_interp_rnn.datasets import DataError, _tfds, languages, text8

PLACE = Path("languages", "tomita_4", "1.0.0")


def read(folder: Path, split: str = "train") -> list[bytes]:
    """The words that TFDS keeps in a folder."""
    return [example["word"] for example in _tfds.in_order(languages.builder("tomita_4", data_dir=folder), split)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert len(read(folder)) > 100
    return folder


def each(name: str, change: Callable[[bytes], bytes | None]) -> Callable[[Path], None]:
    """Changes, or takes away, the files of this name."""

    def damage(folder: Path) -> None:
        [path] = folder.rglob(name)
        found = change(path.read_bytes())
        path.unlink()
        if found is not None:
            path.write_bytes(found)

    return damage


def emptied(folder: Path) -> None:
    for path in (folder / PLACE).iterdir():
        path.unlink()


TRAIN, INFO = "*train*tfrecord*", "dataset_info.json"
DAMAGES = {
    "half the words": each(TRAIN, lambda found: found[: len(found) // 2]),
    "a byte of the words": each(TRAIN, lambda found: found[:500] + bytes([found[500] ^ 1]) + found[501:]),
    "no word": each(TRAIN, lambda found: b""),
    "no file of words": each(TRAIN, lambda found: None),
    "an empty description": each(INFO, lambda found: b""),
    "half a description": each(INFO, lambda found: found[: len(found) // 2]),
    "no description": each(INFO, lambda found: None),
    "a description of nothing": each(INFO, lambda found: b'{"name": "languages"}'),
    "an empty folder": emptied,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_data_name_the_folder_to_delete(name: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(whole, folder)
    DAMAGES[name](folder)
    with pytest.raises(DataError, match=r"(?s)to their end. Received: those in .* \(.*\). Delete this") as caught:
        read(folder)
    named = Path(str(caught.value).split("those in ")[1].split(" (")[0])
    assert named in (folder / PLACE).parents or named == folder / PLACE
    assert folder in named.parents


def test_damaged_data_of_a_source_name_the_folder_to_delete(tmp_path: Path) -> None:
    given = tmp_path / "given.txt"
    given.write_text("a text of some words " * 20)
    load = lambda: text8.load("train", source=given, data_dir=tmp_path / "data").tolist()  # noqa: E731
    before = load()
    each(INFO, lambda found: b"")(tmp_path / "data")
    with pytest.raises(DataError, match="Delete this folder to prepare them again") as caught:
        load()
    shutil.rmtree(Path(str(caught.value).split("those in ")[1].split(" (")[0]))
    assert load() == before


def test_an_unknown_split_is_not_reported_as_damage(whole: Path) -> None:
    for split in ("nothing", "train[:x%]"):
        with pytest.raises(ValueError, match="split") as caught:
            read(whole, split)
        assert not isinstance(caught.value, DataError)


@pytest.mark.matrix
def test_data_that_another_process_prepares_at_the_same_time_are_taken(tmp_path: Path) -> None:
    from keras_interp_rnn.datasets.languages.languages_dataset_builder import Builder

    slower, faster = (Builder(config="tomita_4", data_dir=tmp_path) for _ in range(2))
    generators = slower._split_generators

    def overtaken(*args: object) -> object:
        _tfds.prepare(faster, quiet=True)
        return generators(*args)

    slower._split_generators = overtaken
    made = _tfds.prepare(slower, quiet=True)
    found = list(_tfds.in_order(made, "train"))
    assert [example["word"] for example in found] == [example["word"] for example in _tfds.in_order(faster, "train")]
    assert made.info.splits["train"].num_examples == len(found) > 100
    assert not list(tmp_path.rglob("incomplete*"))


def test_other_errors_of_the_file_system_pass_through(tmp_path: Path) -> None:
    from keras_interp_rnn.datasets.languages.languages_dataset_builder import Builder

    made = Builder(config="tomita_4", data_dir=tmp_path)

    def full(*args: object) -> object:
        raise OSError("No space left on device")

    made._split_generators = full
    with pytest.raises(OSError, match="No space left"):
        _tfds.prepare(made, quiet=True)


def test_a_data_dir_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    for load in (partial(languages.builder, "tomita_4"), partial(text8.load, "train")):
        with pytest.raises(DataError, match="`data_dir` must be a folder. Received: .*file, which is a file. Give a"):
            load(data_dir=path)
