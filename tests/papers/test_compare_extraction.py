"""Automata that are read off networks, and automata that are learned from them by queries."""

import sys

import pytest

from examples.papers import _records as records
from examples.papers import _report as report
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run, listed_runs, tables

EXPERIMENT = EXPERIMENTS["compare-extraction"]

NAMES = ("network", "method", "states", "seconds", "read", "agreement", "true")
ROWS = [
    ("SR-GRU", "exact", 4, 0.0316, 8, 1.0, True),
    ("GRU", "L*, W-method", 1234, 56.789, 19_876, 0.876, False),
    ("GRU", "KV, words", None, None, 20_000, None, None),
]
RECORD = {
    "experiment": "compare-extraction",
    "data": {"name": "Tomita 4"},
    "protocol": {"most": 20_000},
    "result": {"rows": [dict(zip(NAMES, row, strict=True)) for row in ROWS]},
    "environment": records.environment(),
}


def test_extractions_stand_by_network_and_method_and_those_that_gave_up_have_no_automaton():
    text = report.section(EXPERIMENT, [RECORD], None)
    [[head, *found]] = tables(text)
    assert head == "language network method states seconds symbols agreement".split() + ["true language"]
    assert found == [
        ["Tomita 4", "SR-GRU", "exact", "4", "0.03", "8", "100.0%", "yes"],
        ["Tomita 4", "GRU", "L*, W-method", "1234", "56.79", "19,876", "87.6%", "no"],
        ["Tomita 4", "GRU", "KV, words", "gave up", "", "20,000", "", ""],
    ]
    [run] = listed_runs(text)
    assert run.startswith("- Tomita 4: ")
    assert run.endswith("; most 20000.")


def test_a_result_in_one_line():
    assert EXPERIMENT.summary(RECORD) == "2 of 3 automata learned, 1 of them right"


def test_without_aalpy_nothing_is_trained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "aalpy.learning_algs", None)
    monkeypatch.setattr(automata, "train_recognizer", lambda *args, **kwargs: pytest.fail("it was trained"))
    sentence = r"^compare-extraction needs AALpy \(.+\): pip install 'keras_interp_rnn\[automata\]'$"
    with pytest.raises(ImportError, match=sentence):
        EXPERIMENT.run(a_run(tmp_path, "1", settings=EXPERIMENT.rows["1"]))


@pytest.mark.matrix
def test_a_run_tries_every_method_on_every_network(tmp_path):
    record = EXPERIMENT.run(a_run(tmp_path, "1", settings=EXPERIMENT.rows["1"]))
    tried = [(row["network"], row["method"]) for row in record["result"]["rows"]]
    methods = [f"{learner}, {oracle}" for learner in ("L*", "KV") for oracle in ("W-method", "words", "prefixes")]
    assert tried == [("SR-GRU", "exact"), *(("SR-GRU", m) for m in methods), *(("GRU", m) for m in methods)]
    assert record["protocol"] == {"longest": 3, "most": 500, "seed": 0}
    for row in record["result"]["rows"]:
        if row["states"] is None:
            assert row["read"] == 500
        else:
            assert row["read"] <= 501
            assert 0 <= row["agreement"] <= 1
