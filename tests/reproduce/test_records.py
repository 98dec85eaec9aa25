"""Records and settings: what is kept is what was asked for."""

import json

import numpy as np
import pytest

from keras_interp_rnn.reproduce import records, training


def test_settings_are_kept_and_compared(tmp_path):
    settings = {"rate": 0.5, "lags": (0, 5), "data": {"name": "a", "sha256": "12"}}
    records.begin(tmp_path / "run", settings)
    records.begin(tmp_path / "run", settings)
    for changed in ({"rate": 0.25}, {"lags": [0]}, {"data": {"name": "a", "sha256": "13"}}):
        [(name, value)] = changed.items()
        with pytest.raises(ValueError, match="goes on with the settings it began with") as error:
            records.begin(tmp_path / "run", {**settings, **changed})
        assert f"Received: {{'{name}': {value!r}}}, and " in str(error.value)


def test_a_run_began_where_it_began(tmp_path, monkeypatch):
    first = records.begin(tmp_path, {})
    assert first == records.begun(tmp_path) == records.environment()
    assert records.begin(tmp_path, {}) == first
    monkeypatch.setattr(records, "_commit", lambda: "c0ffee")
    found = records.begin(tmp_path, {})
    assert {**found, "resumed": None} == {**first, "resumed": None}
    assert [other["commit"] for other in found["resumed"]] == ["c0ffee"]
    monkeypatch.undo()
    assert records.begin(tmp_path, {}) == found


def test_a_record_is_read_again_if_it_was_made_so(tmp_path):
    path = tmp_path / "record.json"
    assert records.made_before(path, protocol={"epochs": 3}) is None
    records.write(path, {"experiment": "mine", "protocol": {"epochs": 3}, "model": {"seed": 1}})
    found = records.made_before(path, protocol={"epochs": 3, "newer": 0}, model={"seed": 1})
    assert found["experiment"] == "mine"
    with pytest.raises(
        ValueError, match=r"made with the same settings. Received: {'seed': 2}, and .* with {'seed': 1}"
    ):
        records.made_before(path, protocol={"epochs": 3}, model={"seed": 2})


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "3", "{}", '{"experiment": 3}', "[" * 100_000])
def test_what_is_no_record_is_named(content, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"record is JSON with an experiment. Received: .*mine.json \(.*Take it away"):
        records.read(path)


@pytest.mark.parametrize("form", ["a", None, [], 1.5])
def test_a_format_is_a_number(form, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"experiment": "mine", "format": form}))
    with pytest.raises(ValueError, match=r"format of a record is a number. Received: .*mine.json of format .*Take it"):
        records.read(path)


@pytest.mark.parametrize("name", ["settings.json", "environments.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{", b'{"environments": {}}', b'{"environments": [3]}'])
def test_a_damaged_folder_of_a_run_is_named(name, content, tmp_path):
    records.begin(tmp_path, {"rate": 0.5})
    (tmp_path / name).write_bytes(content)
    if name == "settings.json" and content.startswith(b'{"'):
        records.begin(tmp_path, {"rate": 0.5})  # settings may be anything
        return
    with pytest.raises(ValueError, match=rf"^The [a-z]+ of a run are .*JSON.* Received: .*{name} .*another folder"):
        records.begin(tmp_path, {"rate": 0.5})


def test_a_damaged_plan_is_named(tmp_path):
    (tmp_path / "plan.json").write_text('{"steps": "many"}')
    with pytest.raises(ValueError, match=r"plan of a run is JSON with its steps. Received: .*plan.json .*Delete it"):
        training.steps_within(tmp_path, 1, 1, lambda i: None)


def test_digests_tell_arrays_apart():
    array = np.arange(6, dtype=np.int32)
    assert records.sha256(array) == records.sha256(array.copy()) != records.sha256(array + 1)
    assert len({records.sha256(a) for a in (array, array.reshape(2, 3), array.astype(np.int64), array[:5])}) == 4
    assert records.sha256(array[:3], array[3:]) != records.sha256(array)
    assert records.sha256(array[::2]) == records.sha256(array[::2].copy())
