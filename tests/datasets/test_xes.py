import gzip
import tracemalloc

import pytest

from keras_interp_rnn import datasets

LOG = """<?xml version="1.0" encoding="UTF-8" ?>
<!-- as ProM and pm4py write it -->
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <global scope="event"><string key="concept:name" value="__INVALID__"/></global>
  <classifier name="Activity" keys="concept:name"/>
  <string key="concept:name" value="a log"/>
  <trace>
    <string key="concept:name" value="17"/>
    <boolean key="normal" value="true"/>
    <event><string key="concept:name" value="B &amp; C"/><date key="time:timestamp" value="2020-01-01T12:00:00+02:00"/>
      <int key="cost" value="3"><string key="concept:name" value="an attribute of an attribute"/></int></event>
    <event><string key="concept:name" value="A"/>
      <date key="time:timestamp" value="2020-01-01T09:59:59.5Z"/></event>
    <event><string key="concept:name" value="D"/><date key="time:timestamp" value="2020-01-01T11:00:01+0100"/></event>
  </trace>
  <trace>
    <string key="concept:name" value="18"/>
    <boolean key="normal" value="false"/>
    <event><string key="concept:name" value="A"/>
      <date key="time:timestamp" value="2020-01-02T00:00:00.000+00:00"/></event>
    <event><string key="concept:name" value="A"/>
      <date key="time:timestamp" value="2020-01-01T00:00:00.123456789Z"/></event>
  </trace>
</log>
"""
COLUMNS = {"by": "case:concept:name", "order": "time:timestamp", "label": "case:normal"}


def read(tmp_path, text=LOG, name="log.xes", **options):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return datasets.sessions(path, "concept:name", **{**COLUMNS, **options})


@pytest.mark.parametrize("name", ["log.xes", "log.xes.gz"])
def test_events_are_sorted_by_time_in_the_sessions_of_their_traces(tmp_path, name):
    data = read(tmp_path, name=name)
    assert data.words == [("A", "B & C", "D"), ("A", "A")]
    assert data.groups == (("17",), ("18",))
    assert data.labels == (True, False)


def test_an_event_without_a_value_is_left_out(tmp_path):
    path = tmp_path / "log.xes"
    path.write_text(LOG.replace('<string key="concept:name" value="D"/>', ""), encoding="utf-8")
    data = datasets.sessions(path, "concept:name", by="case:concept:name", order="time:timestamp")
    assert data.words == [("A", "B & C"), ("A", "A")]
    assert data.num_missed == 1


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("<log", '<!DOCTYPE log [<!ENTITY a "aaaa">]>\n<log', "line 3 of .*, a document type, whose entities"),
        ("</log>", "", "no element found"),
        (LOG[LOG.index("<log") :], "<log/>", "A table must have columns. Received: none"),
        ("<log", "<table", "line 3 of .*, the element table, not a log"),
        ('value="true"', 'value="yes"', "the boolean 'yes'"),
        ("12:00:00+02:00", "noon", "Received: '2020-01-01Tnoon' in line 11 of .*, column 'time:timestamp'"),
        ("12:00:00+02:00", "12:00:00", "times that all have a zone, or none. .* such as line 11 of"),
        (
            '<string key="concept:name" value="17"/>',
            '<string key="concept:name"/>',
            "the key 'concept:name' without a v",
        ),
        ('<string key="concept:name" value="D"/>', '<string key="concept:name" value="D"/>' * 2, "concept:name' twice"),
        (
            '<string key="concept:name" value="D"/>',
            '<string key="concept:name" value="D"/><string key="case:normal" value="x"/>',
            "an event with 'case:normal', whose trace has another value of that key",
        ),
        ("<trace>", "<event></event><trace>", "an event outside of a trace"),
    ],
)
def test_refuses_what_is_no_log_with_the_line(tmp_path, old, new, rule):
    with pytest.raises(datasets.DataError, match=rule):
        read(tmp_path, LOG.replace(old, new, 1))


def test_an_event_without_a_time_is_left_out_and_counted(tmp_path):
    data = read(tmp_path, LOG.replace('<date key="time:timestamp" value="2020-01-01T11:00:01+0100"/>', ""))
    assert data.words == [("A", "B & C"), ("A", "A")]
    assert data.missed == {"time:timestamp": 1}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<int key="cost" value="3">', '<int key="cost" value="three">'),
        ('<int key="cost" value="3">', '<date key="due" value="tomorrow"/><int key="cost" value="3">'),
        ('<boolean key="normal" value="true"/>', '<boolean key="paid" value="?"/><boolean key="normal" value="true"/>'),
        (
            '<boolean key="normal" value="true"/>',
            '<int key="a" value="1"/>' * 2 + '<boolean key="normal" value="true"/>',
        ),
    ],
)
def test_a_value_that_nobody_asks_for_refuses_no_log(tmp_path, old, new):
    assert read(tmp_path, LOG.replace(old, new, 1)).words == read(tmp_path).words


def test_values_that_are_asked_for_are_of_their_kind(tmp_path):
    path = tmp_path / "log.xes"
    costs = "".join(f'<event><int key="cost" value="{cost}"/></event>' for cost in (2**53 + 1, 2**53, "NaN"))
    path.write_text(f"<log><trace>{costs}</trace></log>")
    data = datasets.sessions(path, "cost")
    assert (data.names, data.missed) == ((2**53, 2**53 + 1), {"cost": 1})
    path.write_text(LOG.replace('value="3"', 'value="three"'), encoding="utf-8")
    with pytest.raises(datasets.DataError, match="line 12 of .*, the int 'three'"):
        datasets.sessions(path, "cost")


def test_a_number_is_not_missing_in_text(tmp_path):
    path = tmp_path / "log.xes"
    path.write_text("<log><trace>" + '<event><string key="a" value="-1"/></event>' * 2 + "</trace></log>")
    with pytest.raises(datasets.DataError, match="Received: the number -1; column 'a' is text"):
        datasets.sessions(path, "a", missing=-1)
    path.write_text(path.read_text().replace("string", "int") + " ")
    with pytest.raises(datasets.DataError, match="Received: 0 rows without a missing value, 2 without a value of 'a'"):
        datasets.sessions(path, "a", missing=-1)


def test_dates_without_a_time_of_day_are_times(tmp_path):
    text = LOG.replace("2020-01-01T12:00:00+02:00", "2020-01-03").replace("2020-01-01T09:59:59.5Z", "2020-01-02")
    text = text.replace("2020-01-01T11:00:01+0100", "2020-01-01T23:59").replace("+00:00", "").replace("789Z", "789")
    assert read(tmp_path, text).words[0] == ("D", "A", "B & C")


def traces(*names):
    events = [("a", "b"), ("a", "c"), ("d", "e")]
    text = "<log>"
    for name, word in zip(names, events, strict=True):
        text += f'<trace><string key="concept:name" value="{name}"/>' if name else "<trace>"
        text += "".join(f'<event><string key="concept:name" value="{event}"/></event>' for event in word) + "</trace>"
    return text + "</log>"


@pytest.mark.parametrize("by", [(), "case:concept:name"])
@pytest.mark.parametrize(
    "names", [("", "", ""), ("x", "", ""), ("x", "x", "y"), ("2", "", "2"), ("NA", "null", "1"), ("1", "1.0", "")]
)
def test_a_trace_is_a_session_whatever_its_name(tmp_path, by, names):
    path = tmp_path / "log.xes"
    path.write_text(traces(*names))
    data = datasets.sessions(path, "concept:name", by=by)
    assert data.words == [("a", "b"), ("a", "c"), ("d", "e")]
    assert data.groups == (tuple((name or i + 1,) for i, name in enumerate(names)) if by else ((),) * 3)


def test_names_of_traces_are_text_and_traces_without_events_are_counted(tmp_path):
    path = tmp_path / "log.xes"
    text = traces("2", "", "1.0").replace(
        '<string key="concept:name" value="2"/>', '<int key="concept:name" value="2"/>'
    )
    text = text.replace('<string key="concept:name" value="1.0"/>', '<float key="concept:name" value="1.0"/>')
    path.write_text(text.replace("</log>", '<trace><string key="concept:name" value=" "/></trace><trace/></log>'))
    data = datasets.sessions(path, "concept:name", by="case:concept:name")
    assert (data.groups, data.missed) == ((("2",), (2,), ("1.0",)), {"case:concept:name": 2})
    assert datasets.sessions(path, "concept:name").num_missed == 2
    path.write_text(
        text.replace("<trace>", '<trace><string key="concept:name" value=""/>', 1).replace("<int", "<id", 1)
    )
    with pytest.raises(datasets.DataError, match="the key 'concept:name' twice"):
        datasets.sessions(path, "concept:name", by="case:concept:name")


def test_a_trace_whose_name_is_empty_has_its_place_for_one(tmp_path):
    path = tmp_path / "log.xes"
    path.write_text(traces("x", "y", "z").replace('value="y"', 'value=""', 1))
    assert datasets.sessions(path, "concept:name", by="case:concept:name").groups == (("x",), (2,), ("z",))


def test_events_of_several_traces_may_be_one_session(tmp_path):
    path = tmp_path / "log.xes"
    path.write_text(traces("x", "x", "y"))
    assert datasets.sessions(path, "concept:name", by="concept:name").words == [("a", "a"), *((e,) for e in "bcde")]


@pytest.mark.parametrize(
    ("encoding", "declared", "event"),
    [
        ("utf-8", "", "été"),
        ("utf-8-sig", "UTF-8", "été"),
        ("utf-16", "UTF-16", "été"),
        ("utf-16-le", "UTF-16", "été"),
        ("latin-1", "ISO-8859-1", "été"),
        ("cp1252", "windows-1252", "été"),
        ("shift_jis", "Shift_JIS", "開始"),
        ("gb18030", "GB18030", "开始"),
        ("euc_jp", "EUC-JP", "開始"),
    ],
)
def test_logs_of_any_encoding_are_read(tmp_path, encoding, declared, event):
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    path = tmp_path / "log.xes"
    path.write_bytes((head + traces("x", "y", "z").replace('"a"', f'"{event}"')).encode(encoding))
    assert datasets.sessions(path, "concept:name").words[0] == (event, "b")


@pytest.mark.parametrize("declared", ["base64", "rot13", "no-such", "undefined", "hex", "utf-16", "utf-32"])
def test_an_encoding_that_does_not_fit_is_named(tmp_path, declared):
    path = tmp_path / "log.xes"
    path.write_text(f'<?xml version="1.0" encoding="{declared}"?>' + traces("x", "y", "z") + " ")
    with pytest.raises(datasets.DataError, match=f"in the encoding of its first line. Received: .*, in {declared} "):
        datasets.sessions(path, "concept:name")


def test_a_log_with_a_key_for_each_event_has_no_cell_for_each_pair(tmp_path):
    path, count = tmp_path / "log.xes", 20_000
    attributes = "".join(f'<int key="t{i}" value="1"/>' for i in range(count))
    events = "".join(f'<event><int key="k{i}" value="1"/></event>' for i in range(count))
    path.write_text(f"<log><trace>{attributes}{events}</trace></log>")
    tracemalloc.start()
    with pytest.raises(datasets.DataError, match="Received: 1 rows"):
        datasets.sessions(path, "k1")
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 100e6, "4e8 cells would take 3.2 GB"


def test_a_column_that_the_log_lacks_is_named(tmp_path):
    with pytest.raises(datasets.DataError, match="case:concept:name"):
        read(tmp_path, label="case:ok")


@pytest.mark.parametrize("target", [None, "b"])
def test_words_have_all_events_whatever_is_predicted(target):
    table = {"a": [1, 2, 1], "b": [0, 1, 1]}
    assert datasets.sessions(table, ["a", "b"], target=target).words == [((1, 0), (2, 1), (1, 1))]
