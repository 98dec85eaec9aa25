import csv
import datetime
import gzip
import math
import re
import zipfile
import zoneinfo
from xml.sax.saxutils import escape

import keras
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
    options = {"numbers": ["reward", "session", "trial"], "delimiter": separator}
    data, expected = read(path, **options), read()
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


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        ({"ok": {"True": True, "no": False}}, (), (True, False)),
        ("ok", (), ("True", "no")),
        ("bad", (), ("0", "1")),
        ("bad", "bad", (0, 1)),
        ({"bad": {0: "normal", 1: "flagged"}}, ["bad"], ("normal", "flagged")),
        ({"note": {"": "none", "late": "late"}}, (), ("none", "late")),
    ],
)
def test_labels_in_a_file_are_text_numbers_or_what_a_mapping_says(tmp_path, label, numbers, expected):
    path = tmp_path / "log.csv"
    path.write_text("id,event,ok,bad,note\na,x,True,0,\na,y,True,0,\nb,x,no,1,late\nb,,,1,late\nb,x,no,1,late\n")
    labels = datasets.sessions(path, "event", by="id", label=label, numbers=numbers).labels
    assert labels == expected
    assert [type(value) for value in labels] == [type(value) for value in expected]


LABELLED = {"id": [1, 1, 2, 2], "event": list("abab"), "ok": ["yes", "yes", "no", "no"], "late": [1, 1, None, None]}


@pytest.mark.parametrize(
    ("label", "rule"),
    [
        ({"ok": {"yes": [1], "no": [2]}}, "another single value. Received: list in `label` of column 'ok'"),
        ({"ok": {"yes": 1, "no": True}}, "must have one type, .* Received: 1 and True in `label` of column 'ok'"),
        ({"ok": {"yes": 1, "no": 1.0}}, "must have one type, .* Received: 1 and 1.0 in `label`"),
        ({"ok": {"yes": 1.0, "no": math.nan}}, "`label` must map cells to labels. Received: nan in column 'ok'"),
        (
            {"ok": {"yes": True}},
            "must map every cell of its column. Received: 'no' in row 3, column 'ok', and labels for",
        ),
        ({"late": {True: "late", None: "?"}}, "must map every cell of its column. Received: 1 in row 1"),
        ({"ok": {}, "late": {}}, "`label` must be a column, or map one to what its cells stand for"),
        ({"ok": str}, "`label` must be a column, or map one"),
        ("late", r"one value in each session. Received: none in session \(2,\), from row 3"),
        ("event", r"one value in each session. Received: \['a', 'b'\] in session \(1,\), from row 1"),
    ],
)
def test_labels_that_are_no_labels_are_refused(label, rule):
    with pytest.raises(datasets.DataError, match=rule):
        datasets.sessions(LABELLED, "event", by="id", label=label)


@pytest.mark.parametrize(
    ("column", "missing", "names", "num_missed"),
    [
        (["TRUE", "?", "False", "TRUE"], ["?"], ("False", "TRUE"), 1),
        ([True, False, True], [0, 1], (False, True), 0),  # False equals 0, and is another value
        ([True, False, True], False, (True,), 1),
        (["1", "2", "1"], [1, True], ("1", "2"), 0),
        ([1, 2, 1], ["1"], (1, 2), 0),
        ([1.0, 2.0, 1.0], 2, (1.0,), 1),
        (["A", "N", "NA", "A"], "NA", ("A", "N"), 1),
        (["a", "", " ", None, math.nan, "b"], [], ("a", "b"), 4),
        (["NaN", "None", "null"], [], ("NaN", "None", "null"), 0),  # text of a mapping is text
        (["a", "b"], None, ("a", "b"), 0),
    ],
)
def test_like_counts_as_missing_with_like(column, missing, names, num_missed):
    data = datasets.sessions({"a": column}, "a", missing=missing)
    assert data.names == names
    assert [type(name) for name in data.names] == [type(name) for name in names]
    assert data.num_missed == num_missed


def test_a_number_is_not_missing_in_a_column_of_text(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("choice\n1\n-1\n2\n1\n")
    assert datasets.sessions(path, "choice", numbers="choice", missing=-1).names == (1, 2)
    assert datasets.sessions(path, "choice", missing="-1").names == ("1", "2")
    with pytest.raises(
        datasets.DataError, match="of a column's type. Received: the number -1; column 'choice' is text"
    ):
        datasets.sessions(path, "choice", missing=-1)
    with pytest.raises(datasets.DataError, match="Received: the number -1.0; column 'choice' is text"):
        datasets.sessions(path, "choice", missing=-1.0)
    path.write_text("room,choice\n0,1\n0,0\n0,2\n")
    data = datasets.sessions(path, ["room", "choice"], numbers="choice", missing=0)
    assert (data.names, data.missed) == ((("0", 1), ("0", 2)), {"choice": 1})


@pytest.mark.parametrize(
    ("missing", "cell"),
    [
        (-1, "-1.0"),
        (-1, " -1"),
        (-1, "-1e0"),
        (0.1, "0.10"),
        (True, "True"),
        (False, "FALSE"),
        (None, "None"),
        ([9, None], "none"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
    ],
)
def test_a_missing_value_that_is_written_in_text_is_no_text(tmp_path, missing, cell):
    path = tmp_path / "trials.csv"
    path.write_text(f"choice,x\na,1\n{cell},1\nb,1\n")
    with pytest.raises(datasets.DataError, match=f"is text and has the cell '{re.escape(cell)}'. .*missing='"):
        datasets.sessions(path, "choice", missing=missing)
    assert datasets.sessions(path, "choice", missing=cell).names == ("a", "b")


@pytest.mark.parametrize("kind", ["file", "mapping", "mixed", "log"])
@pytest.mark.parametrize(
    "cell", ["NA", "NAN", "nan", "NULL", "null", "N/A", "n/a", "#N/A", "None", "<NA>", "\\N", "NaT", "."]
)
def test_what_may_be_a_value_or_none_among_numbers_is_refused(tmp_path, kind, cell):
    cells = ["1", cell, "0"]
    path = tmp_path / ("trials.xes" if kind == "log" else "trials.csv")
    if kind == "log":
        events = "".join(f'<event><string key="a" value="{escape(each)}"/></event>' for each in cells)
        path.write_text(f"<log><trace>{events}</trace></log>")
    else:
        path.write_text("\n".join(["a,x", *(f"{each},1" for each in cells)]))
    table = {"mapping": {"a": cells}, "mixed": {"a": [1, cell, 0]}}.get(kind, path)
    with pytest.raises(datasets.DataError, match=f"plain whether {re.escape(cell)} is a value. Received: column 'a'"):
        datasets.sessions(table, "a")
    for options in ({"numbers": "a"}, {"missing": cell}):
        data = datasets.sessions(table, "a", **options)
        assert (len(data.names), data.missed) == (2, {"a": 1})


@pytest.mark.parametrize("argument", ["columns", "target", "by", "order", "label"])
def test_a_misspelt_column_is_named_by_its_argument_with_those_spelled_alike(argument):
    log = {"session": [1, 1], "event": ["a", "b"], "time": [0, 1]}
    rule = (
        f"`{argument}` must be one of 'session', 'event', 'time'. Received: {argument}='sesion'. Did you mean "
        "'session'?"
    )
    with pytest.raises(datasets.DataError, match=re.escape(rule)):
        datasets.sessions(log, **{"columns": "event", argument: "sesion"})


def test_names_of_columns_may_be_numbers():
    table = {0: [1, 2], 1: ["a", "b"]}
    assert datasets.sessions(table, 1).words == [("a", "b")]
    assert datasets.sessions(table, [1]).words == [(("a",), ("b",))]


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
        (None, {"columns": "a"}, "`table` must be a path, .* Received: NoneType, without names of columns"),
        ({"a": [1, 2]}, {"columns": None}, "`columns` must be names of columns"),
        ({"a": [1, 2]}, {"columns": "a", "target": ["a"]}, "`target` must be one of 'a'"),
        ({"a": [1, 2]}, {"columns": "a", "label": ["a"]}, "`label` must be one of 'a'"),
        ({"a": [1, 2]}, {"columns": "a", "order": [["a"]]}, "`order` must be one of 'a'"),
        ([[1, 2]], {"columns": "a"}, "`table` must be a path, a data frame, or a mapping of columns. Received: list"),
        ({"a": 3}, {"columns": "a"}, "A column must be a sequence of cells. Received: 3 as column 'a'"),
        ({"a": [[1], [2]]}, {"columns": "a"}, "or another single value. Received: list in column 'a'"),
        ({"a": [1, 2]}, {"columns": "a", "order": len}, "`order` must name columns. Received: a function"),
        ({"a": [1, 2]}, {"columns": "a", "order": {"a": 3}}, "must map columns to formats .* Received: 'a' -> 3"),
        ({"a": [1, 2]}, {"columns": "a", "delimiter": ", "}, "`delimiter` must be one character"),
        ({"a": [1, 2], "b": [1]}, {"columns": ["a", "b"]}, "must have columns of one length"),
        ({"a": [1]}, {"columns": "a"}, "must have a session of two rows. Received: 1 rows"),
        ({"a": [1, None]}, {"columns": "a"}, "must have a session of two rows"),
        (
            {"a": [1, 2.0 + 1j]},
            {"columns": "a", "numbers": "a"},
            "must have numbers, such as 3, .* in row 2, column 'a'",
        ),
        ({"a": [1, 2], "b": [0, 1]}, {"columns": "a", "label": "b"}, "`label` must have one value in each session"),
        ("", {"columns": "a"}, "`table` must be a path"),
        ({"a": {0: "x", 1: "y"}}, {"columns": "a"}, "Received: {0: 'x', 1: 'y'} as column 'a'.*orient='list'"),
        ({"a": {"x", "y"}}, {"columns": "a"}, "A column must be a sequence of cells. Received: {"),
        ({"a": np.array(3)}, {"columns": "a"}, r"A column must be a sequence of cells. Received: array\(3\)"),
        ({"a": b"xy"}, {"columns": "a"}, "A column must be a sequence of cells. Received: b'xy'"),
        ({"a": [frozenset([1]), frozenset([True])]}, {"columns": "a"}, "single value. Received: frozenset in column"),
        ({"a": [(1, [2]), (1, [3])]}, {"columns": "a"}, "single value. Received: tuple in column"),
        ({"a": [(1, math.nan), (1, math.nan)]}, {"columns": "a"}, "single value. Received: tuple in column"),
        ({"a": [object(), object()]}, {"columns": "a"}, "single value. Received: object in column"),
        ({"a": [10**5000, 1]}, {"columns": "a"}, "at most 4,000 digits. Received: one with more in column 'a'"),
        ("not_there.csv", {"columns": "a"}, "`table` must be a file"),
    ],
)
def test_errors_say_what_must_be(table, options, sentence):
    with pytest.raises(datasets.DataError, match=sentence):
        datasets.sessions(table, **options)


def test_a_line_with_too_few_cells_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(
        datasets.DataError, match="Every line must have 2 cells, as the first. Received: 1 in line 3 of"
    ):
        datasets.sessions(tmp_path / "x.csv", "a")


# Different cells are different values


class Lazy(Frame):
    def collect(self):
        return Frame()


def test_a_query_is_no_table():
    frame = Frame()
    frame.collect = [0, 1, 0]  # a column of that name
    assert len(datasets.sessions(frame, "choice")) == 1
    with pytest.raises(datasets.DataError, match=r"must be in memory. Received: Lazy. Pass what its collect\(\)"):
        datasets.sessions(Lazy(), "choice")


class Scalar:
    """A cell as of TensorFlow, which has no item() and no hash."""

    __hash__ = None

    def __init__(self, value):
        self.value, self.shape = value, ()

    def numpy(self):
        return np.asarray(self.value)[()]


class Arrow:
    """A cell as of pyarrow."""

    def __init__(self, value):
        self.value = value

    def as_py(self):
        return self.value


class Item(Scalar):
    """A cell as of torch: each equals itself alone."""

    __hash__ = object.__hash__

    def item(self):
        return self.value


@pytest.mark.parametrize("cell", [Scalar, Arrow, Item, np.array])
def test_cells_of_tensors_and_of_pyarrow_are_their_values(cell):
    table = {name: [cell(value) for value in values] for name, values in {"a": [0, 1, 0], "t": [2, 1, 3]}.items()}
    data = datasets.sessions(table, "a", order="t")
    assert (data.names, data.words) == ((0, 1), [(1, 0, 0)])
    assert {type(value) for value in data.words[0]} == {int}


def test_a_cell_without_a_value_is_missing_in_every_kind_of_column():
    masked = np.ma.array([0, 1, 9, 0], mask=[0, 0, 1, 0])
    for column in (masked, [Arrow(value) for value in (0, 1, None, 0)]):
        data = datasets.sessions({"a": column}, "a")
        assert (data.words, data.missed) == ([(0, 1, 0)], {"a": 1})


def test_the_backends_tensors_are_columns():
    ops = keras.ops
    table = {"a": ops.convert_to_tensor([0, 1, 0, 1], "int32"), "s": ops.convert_to_tensor([7, 7, 8, 8], "int32")}
    data = datasets.sessions(table, "a", by="s")
    assert (data.words, data.groups) == ([(0, 1), (0, 1)], ((7,), (8,)))
    with pytest.raises(datasets.DataError, match="Received: 16777216.0 in column 'a'"):
        datasets.sessions({"a": ops.convert_to_tensor([2.0**24, 1.0], "float32")}, "a")


def from_file(tmp_path, text, columns="event", **options):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return datasets.sessions(path, columns, **options)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9007199254740992", "9007199254740993"),
        ("1e400", "2e400"),
        ("1_1", "11"),
        ("007", "7"),
        ("1.0", "1"),
        ("+1", "1"),
        ("True", "true"),
        ("a", "a "),
        ("inf", "Infinity"),
        ("\u0661", "1"),
        ("0x10", "16"),
    ],
)
def test_ids_and_events_of_a_file_are_text(tmp_path, one, other):
    data = from_file(tmp_path, f"session,event\n{one},{one}\n{one},b\n{other},{other}\n{other},b\n", by="session")
    assert data.groups == ((one,), (other,))
    assert data.words == [(one, "b"), (other, "b")]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["9007199254740993", "9007199254740992"], (9007199254740992, 9007199254740993)),
        (["1.0", "0.5", " 1", "-.5", "1e2"], (-0.5, 0.5, 1, 100)),
        (["9007199254740993.0", "1"], (1, 9007199254740993)),
        (["NA", "1", "NaN", "", "2"], (1, 2)),
        (["-Inf", "1"], (-math.inf, 1)),
        (["1700000000.123456789", "1700000000.123456788"], None),
    ],
)
def test_numbers_are_read_exactly(tmp_path, cells, values):
    names = from_file(tmp_path, "\n".join(["n,a", *(f"{cell},x" for cell in cells)]), "n", numbers="n").names
    if values is None:  # no float tells these apart
        assert list(map(str, names)) == sorted(cells)
    else:
        assert names == values
        assert [type(name) for name in names] == [type(value) for value in values]


@pytest.mark.parametrize(
    "cell", ["three", "1,5", "1_0", "0x1", "1.2.3", "\u0661", "--1", "1e99999999999999999999", "unknown"]
)
def test_a_cell_that_is_no_number_is_named(tmp_path, cell):
    with pytest.raises(datasets.DataError, match=re.escape(f"Received: {cell!r} in line 3 of")) as caught:
        from_file(tmp_path, f'n,a\n1,x\n"{cell}",x\n', "n", numbers="n")
    assert "column 'n'. Correct the cell, name it in `missing`" in str(caught.value)
    assert from_file(tmp_path, f'n,a\n1,x\n"{cell}",x\n2,x\n', "n", numbers="n", missing=cell).names == (1, 2)


def test_a_table_of_r_has_its_missing_values(tmp_path):
    text = "subj\tchoice\toutcome\n" + "".join(f"1\t{c}\t{o}\n" for c, o in ((1, 2), (2, 1), ("NA", 1), (1, -1)))
    options = {"columns": ["choice", "outcome"], "target": "choice", "by": "subj", "delimiter": "\t"}
    trials = from_file(tmp_path, text, numbers=["choice", "outcome"], **options)
    assert (trials.targets, trials.names, trials.missed) == ((1, 2), ((1, -1), (1, 2), (2, 1)), {"choice": 1})
    with pytest.raises(
        datasets.DataError, match="plain whether NA is a value. Received: column 'choice', whose other c"
    ):
        from_file(tmp_path, text, **options)
    assert from_file(tmp_path, text, missing="NA", **options).targets == ("1", "2")
    assert from_file(tmp_path, "land\nDE\nNA\nFR\n", "land").names == ("DE", "FR", "NA")


AUTUMN = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ([1, True, 1], "1 and True"),
        ([1, 1.0], "1 and 1.0"),
        ([False, 0.0], "False and 0.0"),
        (np.array([1, True, 2.5], object), "1 and True"),
        ([(1, "x"), (True, "x")], "(1, 'x') and (True, 'x')"),
        ([AUTUMN, AUTUMN.replace(fold=1)], f"{AUTUMN!r} and {AUTUMN.replace(fold=1)!r}"),
        ([(AUTUMN,), (AUTUMN.replace(fold=1),)], f"({AUTUMN!r},) and "),
    ],
)
@pytest.mark.parametrize("argument", ["columns", "by", "label"])
def test_cells_that_python_takes_for_one_are_refused(column, shown, argument):
    table = {"a": list("xyxyxy")[: len(column)], "b": column}
    with pytest.raises(
        datasets.DataError, match=f"must have one type, .* Received: {re.escape(shown)}.* in column 'b'"
    ):
        datasets.sessions(table, **{"columns": "a", argument: "b"})


def test_texts_and_numbers_that_look_alike_are_different():
    data = datasets.sessions({"who": [1, 1, "1", "1"], "event": ["2", 2, "2", 3]}, "event", by="who")
    assert data.groups == ((1,), ("1",))
    assert data.names == (2, 3, "2")
    assert data.alphabet == ("2", "3", "'2'")


class Typed(list):
    """As a column of a data frame."""

    def __init__(self, cells, dtype):
        super().__init__(cells)
        self.dtype = dtype


@pytest.mark.parametrize(
    ("column", "bound"),
    [
        ([9007199254740992.0, 1.0], "9007199254740992.0"),
        (np.array([2**24, 1], np.float32), "16777216.0"),
        (np.array([2048, 1], np.float16), "2048.0"),
        ([np.float32(2**24), 1.0], "16777216.0"),
        (np.array([np.float16(2048), 1.0], object), "2048.0"),
        (Typed([2048.0, 1.0], "halffloat[pyarrow]"), "2048.0"),
        (Typed([2.0**24, 1.0], "float[pyarrow]"), "16777216.0"),
        (Typed([2.0**24, 1.0], "Float32"), "16777216.0"),
        (Typed([256.0, 1.0], "torch.bfloat16"), "256.0"),
    ],
)
@pytest.mark.parametrize("argument", ["columns", "by", "order"])
def test_floats_that_stand_for_several_ids_are_refused(column, bound, argument):
    with pytest.raises(
        datasets.DataError, match=f"Floats must tell whole numbers apart. Received: {bound} in column 'b'"
    ):
        datasets.sessions({"a": list("xy"), "b": column}, **{"columns": "a", argument: "b"})


# What is left out is counted


def test_rows_that_lack_something_are_counted_by_what_they_lack(tmp_path):
    text = "id,event,time\nu1,a,3\nu1,b,1\n,c,1\n ,d,2\nNA,e,1\nNone,j,1\nu2,,1\nu2,f,\nu2,g,NA\n,,\nu2,h,2\nu2,i,10\n"
    data = from_file(tmp_path, text, by="id", order="time", numbers="time")
    assert data.words == [("b", "a"), ("h", "i")]
    assert data.groups == (("u1",), ("u2",))
    assert data.missed == {"event": 2, "id": 4, "time": 2}
    assert data.num_missed == 8
    with pytest.raises(datasets.DataError, match="Received: 0 rows without a missing value, 2 without a value of 'id'"):
        datasets.sessions({"id": [None, math.nan], "event": ["a", "b"]}, "event", by="id")


def test_only_combinations_that_occur_are_symbols():
    rows = range(3000)
    data = datasets.sessions(dict.fromkeys(("user", "item", "place"), rows), ["user", "item", "place"])
    assert data.names == tuple((i, i, i) for i in rows)
    mixed = datasets.sessions({"a": [2, 1, 2, 1], "b": ["x", 10, 9, "x"]}, ["a", "b"])
    assert mixed.names == ((1, 10), (1, "x"), (2, 9), (2, "x"))


# Columns and lines of files


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("id;event\n1;a\n", "Received: 'id;event' in .*log.csv. They are separated by ';': pass delimiter=';'"),
        ("id\tevent\n1\ta\n", r"separated by '\\t'"),
        ("id|event\n1|a\n", r"separated by '\|'"),
        ("id event\n1 a\n", "separated by ' '"),
        ('"id, of the case";"event"\n1;a\n', "separated by ';'"),
        ("x;events\n1;a\n", "separated by ';'"),
        ("sep=;\nid;event\n1;a\n", "It is Excel's: remove the line, and pass delimiter=';'"),
        ("# exported\nid,event\n1,a\n", "It begins with '#', as comments do: remove them"),
        ("<?xml version='1.0'?><log/>", "It is XML: a log in XES has a name that ends in .xes"),
        ('[{"id": 1, "event": "a"}]', "It is JSON: pass a mapping of columns"),
        ("", "The file is empty"),
        ("Export of 2024\n\nid,event\n1,a\n", "They are in line 3: remove the lines above"),
    ],
)
def test_a_file_of_another_form_is_refused_with_that_cause(tmp_path, text, cause):
    with pytest.raises(datasets.DataError, match=f"must have the names of its columns. .*{cause}"):
        from_file(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("id,event\n1,a\n# of 2024,b\n", "must have no comments. Received: '# of 2024' in line 3"),
        ("id,event\n1,a\n# two\n", "Received: 1 in line 3 of .*It begins with '#'"),
        ("event\n1,a\n", "must have 1 cells, .* the names of the columns: remove what is above them"),
        ("id,event\nx,1,a\n", "Received: 3 in line 2 .* without names of its rows"),
        ('id,event\n1,"a\n1,b\n', "A quoted cell must end, .* Received: line 2 of"),
        ('id,event\n1,a\n1,"a"b\n', "quotation marks doubled inside. Received: line 3 of"),
        ("id,event\n1,a\nid,event\n1,b\n", "in the first line alone. Received: line 3 of .*, which repeats them"),
        ("id,event\n1,a\n\ufeffid,event\n1,b\n", "in the first line alone. Received: line 3 of"),
        ("id,event\n1,a\nID, Event\n1,b\n", "in the first line alone. Received: line 3 of"),
        ("id,event\n1,a\nevent,id\nb,1\n", "in the first line alone. Received: line 3 of"),
        ("event\na\nevent\nb\n", "in the first line alone. Received: line 3 of"),
        ("id,event,event \n1,a,b\n1,a,b\n", "the name of one column. Received: columns='event', the name of 2 columns"),
    ],
)
def test_lines_that_are_no_rows_are_refused_by_their_number(tmp_path, text, rule):
    with pytest.raises(datasets.DataError, match=rule):
        from_file(tmp_path, text)


def test_an_empty_line_of_a_single_column_is_a_row_without_a_value(tmp_path):
    data = from_file(tmp_path, "\nevent\na\n\nb\n")
    assert (data.words, data.missed) == ([("a", "b")], {"event": 1})
    data = from_file(tmp_path, "\nid,event\n1,a\n\n1,b\n")
    assert (data.words, data.missed) == ([("a", "b")], {})


@pytest.mark.parametrize(
    ("files", "received"),
    [
        (["log.csv"], None),
        (["data"], None),
        (["README.txt", "log.csv", "LICENSE"], None),
        (["log.csv", "__MACOSX/._log.csv", ".DS_Store"], None),
        (["data.txt", "picture.png"], None),
        (["a.csv", "b.csv", "c.txt"], "'a.csv', 'b.csv'"),
        (["a.txt", "b.txt"], "'a.txt', 'b.txt'"),
        (["a.png", "b.png"], "'a.png', 'b.png'"),
    ],
)
def test_the_table_of_an_archive_is_found_or_none_is(tmp_path, files, received):
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in files:
            is_table = name in ("log.csv", "data", "data.txt")
            archive.writestr(name, "id,event\n1,a\n1,b\n" if is_table else "something else, longer than the table")
    if received is None:
        assert datasets.sessions(path, "event").words == [("a", "b")]
    else:
        with pytest.raises(datasets.DataError, match=re.escape(f"which holds [{received}]. Unpack it")):
            datasets.sessions(path, "event")


def test_two_columns_of_one_name_may_stand_beside_those_that_are_read(tmp_path):
    assert from_file(tmp_path, "id,event,x,x,,\n1,a,1,2,,\n1,b,1,2,,\n").words == [("a", "b")]


class Nanoseconds:
    """As a column of polars: Python's objects are rounded to microseconds."""

    def __iter__(self):
        return iter([datetime.datetime(2024, 1, 1)] * 2)

    def to_physical(self):
        return [2, 1]


def test_times_that_python_rounds_are_sorted_by_their_numbers():
    assert datasets.sessions({"event": "ba", "time": Nanoseconds()}, "event", order="time").words == [("a", "b")]


class Twice:
    """As a data frame of pandas with two columns of one name."""

    columns = ("a", "a", "b")

    def __getitem__(self, name):
        return [1, 2]


def test_two_columns_of_one_name_in_a_data_frame_are_refused():
    with pytest.raises(datasets.DataError, match="Received: columns='a', the name of 2 columns. Rename them"):
        datasets.sessions(Twice(), "a")
    assert datasets.sessions(Twice(), "b").words == [(1, 2)]


def test_quoted_cells_and_long_ones_are_whole(tmp_path):
    long = "x" * 200_000
    limit = csv.field_size_limit()
    data = from_file(tmp_path, f'id,event\r\n1,"a, ""b""\r\nc"\r\n\r\n1,{long}\r\n')
    assert data.words == [('a, "b"\r\nc', long)]
    assert csv.field_size_limit() == limit


def test_a_misspelt_column_of_many_is_named_in_one_line():
    table = {f"column {i}": [1, 2] for i in range(3000)}
    with pytest.raises(
        datasets.DataError, match="one of the names of 3,000 columns. Received: .* Did you mean"
    ) as caught:
        datasets.sessions(table, "columm 17")
    assert len(str(caught.value)) < 200
