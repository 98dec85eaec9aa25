"""A folder of logs as one page: all runs and places, without TensorBoard."""

import json
import re

import numpy as np
import pytest

from keras_interp_rnn import views
from tensorboard_plugins.interp_rnn import recording, schema
from tests.tensorboard_plugin.test_hostile_logs import COUNTS, TABLE, lying, write

TEXTS = {"prototypes": [[["a", 0.75]], [], []], "moves": [[0, 1, 2, "<b> a"]]}


@pytest.fixture
def folder(tmp_path):
    logs = tmp_path / "logs"
    write(logs / "first" / "transitions", "transition_counts", COUNTS, symbols=["a", "<b>"])
    write(logs / "first" / "transitions", "transition_texts", json.dumps(TEXTS).encode(), tag="texts")
    write(logs / "second" / "automaton", "automaton", json.dumps(TABLE).encode(), symbols=["a", "b"])
    return logs


def test_the_page_of_a_folder_holds_every_run_and_place_and_refers_to_nothing_outside(folder, tmp_path):
    views.save(folder, tmp_path / "x.html")
    document = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<title>Interpretable RNN: logs</title>" in document
    assert f"embedded.open({{{', '.join(schema.views())}}})" in document
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import| (src|href)=", document)
    assert "default-src 'none'" in document
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', document, re.S)
    runs = json.loads(text)["runs"]
    assert {run: list(tags) for run, tags in runs.items()} == {
        "first/transitions": ["tag", "texts"],
        "second/automaton": ["tag"],
    }
    assert runs["first/transitions"]["texts"]["steps"] == {"0": {"texts": TEXTS}}
    assert all(list(tag["steps"]) == ["0"] for tags in runs.values() for tag in tags.values())


@pytest.mark.parametrize("make", [False, True])
def test_a_folder_without_logs_is_refused(make, tmp_path):
    (tmp_path / "empty").mkdir() if make else None
    with pytest.raises(ValueError, match=r"must hold logs of callbacks .* Received: '.*empty', without any\. Pass"):
        views.save(tmp_path / "empty", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_damaged_tag_is_named(folder, tmp_path):
    write(folder / "third", "outputs", lying(1, 2, 3), tag="damaged", middle=0.5)
    with pytest.raises(ValueError, match=r"logs' cannot be saved as a page\..* 'damaged' of the run 'third'"):
        views.save(folder, tmp_path / "x.html")


def test_logs_that_are_too_large_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="A page holds data of at most"):
        views.save(folder, tmp_path / "x.html")


def test_a_tag_of_another_version_is_left_out(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", 99)
    write(folder / "newer", "transition_counts", np.ones((1, 2, 2), np.float32), symbols=["a"])
    monkeypatch.undo()
    views.save(folder, tmp_path / "x.html")
    assert "newer" not in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["x.txt", "x.svg"])
def test_a_folder_is_a_page_and_nothing_else(folder, path, tmp_path):
    with pytest.raises(ValueError, match=r"`path` must be a file that ends in \.html\. Received"):
        views.save(folder, tmp_path / path)
