import gzip
import math

import numpy as np
import pytest

from keras_interp_rnn import datasets

TRIALS = {
    "subject": ["b", "b", "b", "b", "a", "a", "a", "b", "b"],
    "session": [1, 1, 1, 1, 1, 1, 1, 2, 2],
    "trial": [2, 1, 3, 4, 1, 2, 3, 1, 2],
    "choice": ["left", "right", "left", None, "right", "right", "left", "left", "left"],
    "reward": [1, 0, 1, 1, 0, 1, math.nan, 0, 1],
}
OPTIONS = {"target": "choice", "by": ["subject", "session"], "order": "trial"}


def read(table=TRIALS, columns=("choice", "reward"), **options):
    return datasets.sessions(table, columns, **{**OPTIONS, **options})


def test_trials_become_padded_sequences():
    data = read()
    assert data.names == (("left", 0), ("left", 1), ("right", 0), ("right", 1))
    assert data.targets == ("left", "right")
    assert data.groups == (("b", 1), ("a", 1), ("b", 2))
    assert data.x.tolist() == [[2, 1], [2, 0], [0, 0]]
    assert data.y.tolist() == [[0, 0], [1, 0], [0, 0]]
    assert data.weights.tolist() == [[1, 1], [1, 0], [1, 0]]
    assert data.num_missed == 2
    assert [row.tolist() for row in data.sequences] == [[2, 1], [2], [0]]


def test_the_sessions_of_a_subject_are_a_subset():
    data = read()
    assert data.subjects == ("b", "a")
    assert data.by_subject.tolist() == [[True, False, True], [False, True, False]]
    assert [part.shape for part in data.data] == [(3, 2)] * 3
    assert len(data) == 3


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_file_is_read_as_the_mapping_is(tmp_path, separator, suffix):
    blank = {None: "", math.nan: ""}
    cells = [
        ["" if value != value else blank.get(value, value) for value in row]
        for row in zip(*TRIALS.values(), strict=True)
    ]
    text = "\n".join(separator.join(map(str, row)) for row in [TRIALS, *cells])
    path = tmp_path / f"trials{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else ("\ufeff" + text).encode())
    data, expected = read(path), read()
    assert data.names == expected.names
    assert data.groups == expected.groups
    for part, other in zip(data.data, expected.data, strict=True):
        np.testing.assert_array_equal(part, other)


def test_an_event_log_is_read_by_the_same_function():
    log = {
        "id": [7, 8, 7, 7, 8],
        "event": ["open", "open", "send", "close", "close"],
        "time": [0.5, 0.1, 0.7, 0.9, 0.2],
        "ok": [True, False, True, True, False],
    }
    data = datasets.sessions(log, "event", by="id", order="time", label="ok")
    assert data.names == data.targets == ("close", "open", "send")
    assert data.labels == (True, False)
    assert data.x.tolist() == [[1, 2], [1, 0]]
    assert data.y.tolist() == [[2, 0], [0, 0]]


def test_other_values_may_count_as_missing():
    data = datasets.sessions({"choice": [0, -1, 1, 1]}, "choice", missing=[-1])
    assert data.names == (0, 1)
    assert data.x.tolist() == [[0, 1]]
    assert data.groups == ((),)
    assert data.subjects == ()


class Frame:
    """As pandas: `columns`, and columns of NumPy scalars by name."""

    columns = ("choice", "reward")

    def __getitem__(self, name):
        return np.array([0, 1, 0]) if name == "choice" else np.array([1.0, np.nan, 0.0])


def test_a_data_frame_is_read():
    data = datasets.sessions(Frame(), ["choice", "reward"], target="choice")
    assert data.names == ((0, 0.0), (0, 1.0))
    assert data.x.tolist() == [[1]]


def test_sessions_of_one_row_are_counted_and_left_out():
    """A row whose value is missing is none, so session 2 has one row and session 3 has none."""
    data = datasets.sessions({"id": [0, 0, 1, 2, 2, 3], "event": ["a", "b", "a", "b", None, None]}, "event", by="id")
    assert (data.words, data.num_short, data.num_missed) == ([("a", "b")], 2, 2)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (
            {"a": [1, 2]},
            {"columns": "b"},
            r"`columns` must be names of columns. Received: \['b'\]; the table has \['a'\]",
        ),
        ({"a": [1, 2]}, {"columns": []}, "`columns` must be names of columns"),
        ({"a": [1, 2], "b": [1]}, {"columns": ["a", "b"]}, "must have columns of one length"),
        ({"a": [1]}, {"columns": "a"}, "must have a session of two rows. Received: 1 rows"),
        ({"a": [1, None]}, {"columns": "a"}, "must have a session of two rows"),
        ({"a": [1, 2], "b": [0, 1]}, {"columns": "a", "label": "b"}, "`label` must have one value in each session"),
        ("not_there.csv", {"columns": "a"}, "`table` must be a file"),
    ],
)
def test_errors_say_what_must_be(table, options, sentence):
    with pytest.raises(datasets.DataError, match=sentence):
        datasets.sessions(table, **options)


def test_a_line_with_too_few_cells_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(datasets.DataError, match="Every line must have 2 cells, as the first. Received: 1 in row 2"):
        datasets.sessions(tmp_path / "x.csv", "a")
