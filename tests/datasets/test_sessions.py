import gzip
import math
import re

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


def test_a_session_of_one_event_has_a_word_and_a_label_and_no_sequence():
    log = {"id": list("abbcdda"), "event": list("xyxzyyz"), "bad": [0, 1, 1, 1, 0, 0, 0]}
    log = {name: [*column, "w" if name == "event" else 9 if name == "id" else 1] for name, column in log.items()}
    data = datasets.sessions(log, "event", by="id", label="bad")
    assert data.words == [("x", "z"), ("y", "x"), ("z",), ("y", "y"), ("w",)]
    assert data.labels == (0, 1, 1, 0, 1)
    assert data.groups == (("a",), ("b",), ("c",), ("d",), (9,))
    assert (len(data), data.num_short, data.num_missed) == (5, 2, 0)
    assert data.session.tolist() == [0, 1, 3]
    assert [tuple(data.names[i] for i in row) for row in data.x] == [("x",), ("y",), ("y",)]
    assert [data.names[row[0]] for row in data.y] == ["z", "x", "y"]
    assert data.subjects == ("a", "b", "d")
    assert data.by_subject.tolist() == np.eye(3, dtype=bool).tolist()


def test_labels_in_a_file_are_bools_or_integers(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "id,event,ok,bad,note\na,x,True,0,true\na,y,True,0,no\nb,x, FALSE,1,false\nb,,,1,false\nb,x,false,1,-\n"
    )
    read_labels = {label: datasets.sessions(path, "event", by="id", label=label).labels for label in ("ok", "bad")}
    assert read_labels == {"ok": (True, False), "bad": (0, 1)}
    assert [type(value) for labels in read_labels.values() for value in labels] == [bool, bool, int, int]
    assert datasets.sessions(path, "note").names == ("-", "false", "no", "true")


@pytest.mark.parametrize(
    ("column", "missing", "names", "num_missed"),
    [
        (["TRUE", "?", "False", "true"], ["?"], (False, True), 1),
        (["True", "False", "True"], [0], (False, True), 0),  # False equals 0, and is another value
        (["True", "False", "True"], ["False"], (True,), 1),
        ([True, False, True], [False], (True,), 1),
        (["true", "yes", "true"], [], ("true", "yes"), 0),
    ],
)
def test_columns_of_true_and_false_are_bools(column, missing, names, num_missed):
    data = datasets.sessions({"a": column}, "a", missing=missing)
    assert data.names == names
    assert [type(name) for name in data.names] == [type(name) for name in names]
    assert data.num_missed == num_missed


@pytest.mark.parametrize("argument", ["columns", "target", "by", "order", "label"])
def test_a_misspelt_column_is_named_by_its_argument_with_those_spelled_alike(argument):
    log = {"session": [1, 1], "event": ["a", "b"], "time": [0, 1]}
    rule = (
        f"`{argument}` must be one of 'session', 'event', 'time'. Received: {argument}='sesion'. Did you mean "
        "'session'?"
    )
    with pytest.raises(datasets.DataError, match=re.escape(rule)):
        datasets.sessions(log, **{"columns": "event", argument: "sesion"})


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


def test_a_row_whose_value_is_missing_is_no_event():
    """So session 2 has one event, and session 3 has none."""
    data = datasets.sessions({"id": [0, 0, 1, 2, 2, 3], "event": ["a", "b", "a", "b", None, None]}, "event", by="id")
    assert data.x.shape == (1, 1)
    assert (data.words, data.num_short, data.num_missed) == ([("a", "b"), ("a",), ("b",)], 2, 2)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (
            {"a": [1, 2]},
            {"columns": "b"},
            r"`columns` must be one of 'a'\. Received: columns='b'",
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
