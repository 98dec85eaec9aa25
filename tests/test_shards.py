"""The shards have every file of tests once in each of its lanes, and an outcome counts for one tree."""

import json
import subprocess

import pytest

from tests import shards

FILES = ["tests/test_checks.py", "tests/layers/test_isan.py", "tests/views/test_browser.py", "tests/test_benchmarks.py"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of two tests, of which one fails."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one():\n    pass\n")
    (tmp_path / "tests" / "test_two.py").write_text("def test_two():\n    pass\n\n\ndef test_three():\n    assert 0\n")
    (tmp_path / "CHANGELOG.md").write_text("")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(shards, "ROOT", tmp_path)
    monkeypatch.setattr(shards, "OUTCOMES", tmp_path / "outcomes")
    monkeypatch.setattr(shards, "DURATIONS", tmp_path / "tests" / "durations.json")
    return tmp_path


def test_every_file_is_in_one_shard_and_those_of_the_backends_in_three():
    files = [path for path in shards.tracked() if path.startswith("tests/") and "/test_" in path]
    files = [path for path in files if path.endswith(".py")]
    dealt = shards.shards(files, {})
    assert len(dealt) == shards.NUM_SHARDS == 24
    on_tensorflow = [path for lane, part in dealt for path in part if shards.LANES[lane].backend == "tensorflow"]
    assert sorted(on_tensorflow) == sorted(files)
    for backend in ("jax", "torch"):
        on_backend = [path for lane, part in dealt for path in part if lane == backend]
        assert sorted(on_backend) == sorted(path for path in files if shards.on_backends(path))
        assert {"tests/layers/test_contract.py", "tests/test_fitting.py"} <= set(on_backend)


def test_lanes_are_told_by_what_a_file_needs():
    assert [shards.lane_of(path) for path in FILES] == ["numpy", "keras", "browsers", "processes"]


def test_long_files_are_dealt_first(monkeypatch):
    durations = {f"numpy tests/{name}": took for name, took in {"a": 9, "b": 8, "c": 5, "d": 4, "e": 1}.items()}
    monkeypatch.setattr(shards, "lane_of", lambda path: "numpy")
    dealt = [part for lane, part in shards.shards([f"tests/{name}" for name in "edcba"], durations) if lane == "numpy"]
    assert dealt == [["tests/a"], ["tests/b", "tests/e"], ["tests/c", "tests/d"]]


def test_the_tree_changes_with_a_file_and_not_with_the_changelog_or_a_record(repository):
    before = shards.tree()
    (repository / "CHANGELOG.md").write_text("More.")
    (repository / "records").mkdir()
    (repository / "records" / "one.jsonl").write_text("{}")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    assert shards.tree() == before
    (repository / "tests" / "test_one.py").write_text("")
    assert shards.tree() != before


def test_a_red_shard_runs_twice_and_a_green_outcome_counts_for_its_files_alone(repository):
    at = shards.tree()
    red = shards.run(1, "numpy", ["tests/test_two.py"], at)
    assert not red.green
    assert red.counts == {"passed": 1, "failed": 1}
    assert (repository / "outcomes" / at / "01.again.log").is_file()
    assert shards.run(2, "numpy", ["tests/test_one.py"], at).green
    assert shards.outcome_of(2, "numpy", ["tests/test_one.py"], at).counts == {"passed": 1}
    assert shards.outcome_of(2, "numpy", ["tests/test_two.py"], at) is None
    written = json.loads((repository / "outcomes" / at / "02.json").read_text())
    written["versions"]["keras"] = "2.0"
    (repository / "outcomes" / at / "02.json").write_text(json.dumps(written))
    assert shards.outcome_of(2, "numpy", ["tests/test_one.py"], at) is None


def test_a_test_that_fails_once_is_named_as_a_flake(repository):
    flake = "from pathlib import Path\n\n\ndef test_flake():\n    before = Path('ran').exists()\n"
    (repository / "tests" / "test_one.py").write_text(flake + "    Path('ran').touch()\n    assert before\n")
    outcome = shards.run(1, "numpy", ["tests/test_one.py"], shards.tree())
    assert outcome.green
    assert outcome.flakes == ["tests/test_one.py::test_flake"]


@pytest.mark.parametrize("argument", ["0/24", "25/24", "7/6", "seven", "7"])
def test_rejects_a_shard_that_is_none(argument):
    with pytest.raises(SystemExit, match=r"must be one of 1/24 to 24/24\. Received"):
        shards.main([argument])
