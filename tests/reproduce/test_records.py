"""Records and settings: what is kept is what was asked for."""

import numpy as np
import pytest

from keras_interp_rnn.reproduce import records


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


def test_digests_tell_arrays_apart():
    array = np.arange(6, dtype=np.int32)
    assert records.sha256(array) == records.sha256(array.copy()) != records.sha256(array + 1)
    assert len({records.sha256(a) for a in (array, array.reshape(2, 3), array.astype(np.int64), array[:5])}) == 4
    assert records.sha256(array[:3], array[3:]) != records.sha256(array)
    assert records.sha256(array[::2]) == records.sha256(array[::2].copy())
