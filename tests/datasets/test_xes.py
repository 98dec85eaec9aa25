import gzip

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
    <event><string key="concept:name" value="D"/><date key="time:timestamp" value="2020-01-01T10:00:01"/></event>
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
        ("<log", "<table", "line 3 of .*, the element table, not a log"),
        ('value="3"', 'value="three"', "line 12 of .*, the int 'three'"),
        ('value="true"', 'value="yes"', "the boolean 'yes'"),
        ("12:00:00+02:00", "noon", "the date '2020-01-01Tnoon'"),
        (
            '<string key="concept:name" value="17"/>',
            '<string key="concept:name"/>',
            "the key 'concept:name' without a v",
        ),
        ('<string key="concept:name" value="A"/>', '<string key="a" value=""/>' * 2, "the key 'a' twice"),
        ("<trace>", "<event></event><trace>", "an event outside of a trace"),
    ],
)
def test_refuses_what_is_no_log_with_the_line(tmp_path, old, new, rule):
    with pytest.raises(datasets.DataError, match=rule):
        read(tmp_path, LOG.replace(old, new, 1))


def test_an_event_without_a_time_has_no_place(tmp_path):
    with pytest.raises(datasets.DataError, match="Received: 1 rows without one in 'time:timestamp'"):
        read(tmp_path, LOG.replace('<date key="time:timestamp" value="2020-01-01T10:00:01"/>', ""))


def test_a_column_that_the_log_lacks_is_named(tmp_path):
    with pytest.raises(datasets.DataError, match="case:concept:name"):
        read(tmp_path, label="case:ok")


@pytest.mark.parametrize("target", [None, "b"])
def test_words_have_all_events_whatever_is_predicted(target):
    table = {"a": [1, 2, 1], "b": [0, 1, 1]}
    assert datasets.sessions(table, ["a", "b"], target=target).words == [((1, 0), (2, 1), (1, 1))]
