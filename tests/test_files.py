"""Files that are written whole or not at all."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from keras_interp_rnn._io import atomic_write


def test_the_new_content_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as partial:
        assert partial.suffix == ".txt"
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_content_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with atomic_write(path) as partial:
            partial.write_text("half of")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_that_cannot_be_made_is_named_as_the_user_named_it(tmp_path):
    path = tmp_path / "file" / "a.txt"
    path.parent.touch()
    with pytest.raises(FileNotFoundError, match="No such folder"), atomic_write(path) as partial:
        partial.write_text("new")
    missing = tmp_path / "missing" / "a.txt"
    with pytest.raises(FileNotFoundError, match="No such folder: .*missing"), atomic_write(missing):
        pass
    path = tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError) as caught, atomic_write(path) as partial:
        pass
    assert caught.value.filename == str(path)


@pytest.mark.parametrize("name", ["a" * 251 + ".txt", "é" * 125 + ".txt"])
def test_a_name_may_be_as_long_as_a_file_system_takes(tmp_path, name):
    with atomic_write(tmp_path / name) as partial:
        partial.write_text("new")
        assert partial.suffix == ".txt"
    assert (tmp_path / name).read_text() == "new"


@pytest.mark.matrix
def test_two_processes_write_to_separate_files(tmp_path):
    code = """
import sys
from keras_interp_rnn._io import atomic_write
with atomic_write(sys.argv[1]) as partial:
    partial.write_text("theirs")
    print(partial, flush=True)
"""
    path = tmp_path / "a.txt"
    with atomic_write(path) as partial:
        partial.write_text("ours")
        root = Path(__file__).parents[1]
        command = [sys.executable, "-c", code, str(path)]
        theirs = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        assert theirs != str(partial)
        assert path.read_text() == "theirs"
    assert path.read_text() == "ours"


def test_threads_write_to_separate_files(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as of every first process in a container
    path, texts, errors = tmp_path / "a.txt", [str(i) * 100_000 for i in range(4)], []
    all_begun = threading.Barrier(len(texts))

    def write(text):
        try:
            for _ in range(5):
                with atomic_write(path) as partial:
                    all_begun.wait(timeout=60)
                    partial.write_text(text)
                errors.extend([] if path.read_text() in texts else ["half a file"])
        except (OSError, threading.BrokenBarrierError) as error:
            errors.append(error)
            all_begun.abort()

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failed_replacement_leaves_no_file(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path / "there") as partial:
        partial.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
