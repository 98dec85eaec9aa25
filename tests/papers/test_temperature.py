"""One network at several temperatures."""

import pytest

from examples.papers import _records as records
from examples.papers import _report as report
from tests.papers.common import EXPERIMENTS, a_run, listed_runs, tables

EXPERIMENT = EXPERIMENTS["temperature"]


def test_temperatures_of_a_network_stand_one_below_the_other():
    def row(temperature, least, exact, right, certified):
        return {"temperature": temperature, "least": least, "exact": exact, "right": right, "certified": certified}

    given = {
        "experiment": "temperature",
        "data": {"name": "Tomita 4"},
        "model": {"seed": 3},
        "protocol": {"centroids": 10, "longest": 7},
        "result": {"temperatures": [row(0.5, 0.99996, True, 1.0, True), row(10.0, 0.13579, True, 0.874, False)]},
        "environment": {**records.environment(), "commit": "c0ffee"},
    }
    last = {**given, "data": {"name": "Tomita 7"}, "result": {"temperatures": [row(2.0, 0.5, False, 0.25, False)]}}
    text = report.section(EXPERIMENT, [given, last], None)
    [[head, *rows]] = tables(text)
    assert head == ["language", "seed", "temperature", "least sure", "automaton exact", "words right", "proved"]
    assert rows == [
        ["Tomita 4", "3", "0.5", "1.0000", "yes", "100.0%", "yes"],
        ["Tomita 4", "3", "10", "0.1358", "yes", "87.4%", "no"],
        ["Tomita 7", "3", "2", "0.5000", "no", "25.0%", "no"],
    ]
    runs = listed_runs(text)
    assert [line.split(":")[0] for line in runs] == ["- Tomita 4", "- Tomita 7"]
    assert all("commit `c0ffee`" in line and "; centroids 10, longest 7." in line for line in runs)


@pytest.mark.matrix
def test_a_run_tries_every_temperature_and_draws_them(tmp_path):
    record = EXPERIMENT.run(a_run(tmp_path, "1", settings=EXPERIMENT.rows["1"]))
    assert record["data"] == {"name": "Tomita 1", "longest": 3, "word": "10"}
    assert [row["temperature"] for row in record["result"]["temperatures"]] == [0.5, 1.0, 5.0]
    least = [row["least"] for row in record["result"]["temperatures"]]
    assert least == sorted(least, reverse=True)
    assert EXPERIMENT.summary(record).startswith("trained at temperature 1, certified up to ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["automaton.svg", "figure3.png", "model.keras"]
