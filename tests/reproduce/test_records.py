"""Records and settings: what is kept is what was asked for."""

import json

import keras
import numpy as np
import pytest

from keras_interp_rnn.reproduce import _records as records
from keras_interp_rnn.reproduce import _training as training


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


def test_versions_are_those_of_what_is_installed(monkeypatch):
    monkeypatch.setattr(records, "PACKAGES", ("keras_interp_rnn", "keras", "a-package-nobody-has"))
    versions = records.environment()["versions"]
    assert set(versions) == {"keras_interp_rnn", "keras", keras.backend.backend()}
    assert versions["keras"] == keras.__version__


def test_a_record_has_a_line_for_each_entry_and_each_point_of_a_curve(tmp_path):
    curve = [{"loss": 2.0, "values": [[1.0, 2.0], []]}, {"loss": None, "values": []}]
    record = {"experiment": "mine", "environment": {}, "protocol": {"b": [1, 2], "a": {"x": {}}}, "curve": curve}
    path = tmp_path / "record.json"
    records.write(path, record)
    assert records.read(path) == {"format": records.FORMAT, **record}
    assert path.read_text().splitlines() == [
        "{",
        ' "curve": [',
        '  {"loss": 2.0, "values": [[1.0, 2.0], []]},',
        '  {"loss": null, "values": []}',
        " ],",
        ' "environment": {},',
        ' "experiment": "mine",',
        f' "format": {records.FORMAT},',
        ' "protocol": {',
        '  "a": {"x": {}},',
        '  "b": [1, 2]',
        " }",
        "}",
    ]


def test_a_record_is_read_again_if_it_was_made_so(tmp_path):
    path = tmp_path / "record.json"
    assert records.load_finished(path, protocol={"epochs": 3}) is None
    records.write(path, {"experiment": "mine", "protocol": {"epochs": 3}, "model": {"seed": 1}})
    found = records.load_finished(path, protocol={"epochs": 3, "newer": 0}, model={"seed": 1})
    assert found["experiment"] == "mine"
    with pytest.raises(ValueError, match=r"it has the same settings. Received: {'seed': 2}, and .* with {'seed': 1}"):
        records.load_finished(path, protocol={"epochs": 3}, model={"seed": 2})


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "3", "{}", '{"experiment": 3}', "[" * 100_000])
def test_what_is_no_record_is_named(content, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"record is JSON with an experiment. Received: .*mine.json \(.*Remove it"):
        records.read(path)


@pytest.mark.parametrize("form", ["a", None, [], 1.5])
def test_a_format_is_a_number(form, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"experiment": "mine", "format": form}))
    with pytest.raises(ValueError, match=r"format of a record is a number. Received: .*mine.json of form.*Remove it"):
        records.read(path)


@pytest.mark.parametrize("name", ["settings.json", "environments.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{", b'{"environments": {}}', b'{"environments": [3]}'])
def test_a_damaged_folder_of_a_run_is_named(name, content, tmp_path):
    records.start_run(tmp_path, {"rate": 0.5})
    (tmp_path / name).write_bytes(content)
    if name == "settings.json" and content.startswith(b'{"'):
        records.start_run(tmp_path, {"rate": 0.5})  # settings may be anything
        return
    with pytest.raises(ValueError, match=rf"^The [a-z]+ of a run are a JSON.* Received: .*{name} .*another folder"):
        records.start_run(tmp_path, {"rate": 0.5})


def test_a_damaged_plan_is_named(tmp_path):
    (tmp_path / "plan.json").write_text('{"steps": "many"}')
    with pytest.raises(ValueError, match=r"plan of a run is JSON with its steps. Received: .*plan.json .*Delete it"):
        training.steps_for_minutes(tmp_path, 1, 1, lambda i: None)


def test_digests_tell_arrays_apart():
    array = np.arange(6, dtype=np.int32)
    assert records.sha256(array) == records.sha256(array.copy()) != records.sha256(array + 1)
    assert len({records.sha256(a) for a in (array, array.reshape(2, 3), array.astype(np.int64), array[:5])}) == 4
    assert records.sha256(array[:3], array[3:]) != records.sha256(array)
    assert records.sha256(array[::2]) == records.sha256(array[::2].copy())
