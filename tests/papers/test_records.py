"""Records and settings: what is kept is what was asked for."""

import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import _training as training


def test_settings_are_kept_and_compared(tmp_path):
    settings = {"rate": 0.5, "lags": (0, 5), "data": {"name": "a", "sha256": "12"}}
    records.start_run(tmp_path / "run", settings)
    records.start_run(tmp_path / "run", settings)
    for changed in ({"rate": 0.25}, {"lags": [0]}, {"data": {"name": "a", "sha256": "13"}}):
        [(name, value)] = changed.items()
        with pytest.raises(ValueError, match="resumes with the settings it was started with") as error:
            records.start_run(tmp_path / "run", {**settings, **changed})
        assert f"Received: {{'{name}': {value!r}}}, and " in str(error.value)


def test_a_run_began_where_it_began(tmp_path, monkeypatch):
    first = records.start_run(tmp_path, {})
    assert first == records.run_environment(tmp_path) == records.environment()
    assert records.start_run(tmp_path, {}) == first
    monkeypatch.setattr(records, "_commit", lambda: "c0ffee")
    found = records.start_run(tmp_path, {})
    assert {**found, "resumed": None} == {**first, "resumed": None}
    assert [other["commit"] for other in found["resumed"]] == ["c0ffee"]
    monkeypatch.undo()
    assert records.start_run(tmp_path, {}) == found


def test_each_record_is_a_line_and_the_last_of_a_run_counts(tmp_path):
    one, other = ({"experiment": "mine", "environment": {}, "run": run, "result": {}} for run in ("a", "b"))
    records.append(tmp_path, one)
    records.append(tmp_path, other)
    path = records.path_of(tmp_path, "mine")
    assert len(path.read_text().splitlines()) == 2
    assert records.read(path) == [{"format": records.FORMAT, **one}, {"format": records.FORMAT, **other}]
    records.append(tmp_path, {**one, "result": {"error": 0.5}})
    assert {record["run"]: record["result"] for record in records.read(path)} == {"a": {"error": 0.5}, "b": {}}
    assert records.find(tmp_path, "mine", "a")["result"] == {"error": 0.5}
    assert records.find(tmp_path, "mine", "c") is records.find(tmp_path, "other", "a") is None


def test_a_record_says_where_it_was_made_and_is_written_whole_or_not_at_all(tmp_path):
    assert records.append(tmp_path, {"experiment": "mine", "run": "a"})["environment"] == records.environment()
    with pytest.raises(TypeError):
        records.append(tmp_path, {"experiment": "mine", "run": "b", "result": object()})
    assert [record["run"] for record in records.read(tmp_path / "mine.jsonl")] == ["a"]


@pytest.mark.parametrize("content", ["{", "[]", "null", "3", "{}", '{"experiment": 3}', "[" * 100_000])
def test_what_is_no_record_is_named(content, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"experiment": "mine", "run": "a"}\n' + content)
    says = r"A JSON object with experiment, run must be here. Received: .*mine.jsonl, line 2, \(.*Remove the line"
    with pytest.raises(ValueError, match=says):
        records.read(path)


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ('"data": 3', "data of a record must be objects. Received: .*mine.jsonl, line 1. Remove"),
        ('"format": 99', "The format of a record must be 1. Received: .* of format 99. Check out"),
    ],
)
def test_a_record_with_another_part_or_format_is_named(part, says, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"experiment": "mine", "run": "a", {part}}}')
    with pytest.raises(ValueError, match=says):
        records.read(path)


@pytest.mark.parametrize("name", ["settings.json", "environments.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{", b'{"environments": {}}'])
def test_a_damaged_folder_of_a_run_is_named(name, content, tmp_path):
    records.start_run(tmp_path, {"rate": 0.5})
    (tmp_path / name).write_bytes(content)
    if name == "settings.json" and content.startswith(b'{"'):
        records.start_run(tmp_path, {"rate": 0.5})  # settings may be anything
        return
    with pytest.raises(ValueError, match=rf"^A JSON object .*must be here. Received: .*{name} .*another folder"):
        records.start_run(tmp_path, {"rate": 0.5})


def test_a_damaged_plan_is_named(tmp_path):
    (tmp_path / "plan.json").write_text('{"steps": "many"}')
    with pytest.raises(ValueError, match=r"A JSON object with steps must be here. Received: .*plan.json .*Remove it"):
        training.steps_for_minutes(tmp_path, 1, 1, lambda: None)


def test_digests_tell_arrays_apart():
    array = np.arange(6, dtype=np.int32)
    assert records.sha256(array) == records.sha256(array.copy()) != records.sha256(array + 1)
    assert len({records.sha256(a) for a in (array, array.reshape(2, 3), array.astype(np.int64), array[:5])}) == 4
    assert records.sha256(array[:3], array[3:]) != records.sha256(array)
    assert records.sha256(array[::2]) == records.sha256(array[::2].copy())
