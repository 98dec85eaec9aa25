"""Networks that are trained into the automata of Tomita's languages."""

import pytest

from examples.papers import _records as records
from examples.papers import _report as report
from tests.papers.common import EXPERIMENTS, a_run, tables

EXPERIMENT = EXPERIMENTS["tomita"]


def a_record(language, seed, **result):
    found = {
        **{"exact": True, "states": 2, "certified": True, "temperature": 0.5, "largest_temperature": 1.0},
        **{"long_words": 200, "long_agreeing": 200, "attempts": 1, "seconds": 20.0, **result},
    }
    return {
        "experiment": "tomita",
        "data": {"name": f"Tomita {language}"},
        "model": {"seed": seed},
        "protocol": {"attempts": 4, "longest": 10},
        "result": found,
        "environment": records.environment(),
    }


def test_a_language_has_a_line_over_its_seeds():
    given = [
        a_record(3, 0),
        a_record(1, 0, long_agreeing=190, seconds=30.4),
        a_record(1, 1, largest_temperature=0.75, attempts=3, seconds=10.0),
        a_record(1, 2, exact=False, certified=False, largest_temperature=0.0, seconds=70.0),
    ]
    text = report.section(EXPERIMENT, given, None)
    [[_, first, second]] = tables(text)
    assert first == ["Tomita 1", "3", "2", "2", "590 of 600", "1.50 to 2.00", "3 at most", "30"]
    assert second == ["Tomita 3", "1", "1", "1", "200 of 200", "2.00 to 2.00", "1 at most", "20"]
    assert text.count("- Tomita 1: ") == text.count("; attempts 4, longest 10.") - 1 == 1


def test_without_a_certificate_there_is_no_temperature():
    [[_, row]] = tables(report.section(EXPERIMENT, [a_record(6, 0, certified=False)], None))
    assert row[5] == ""


def test_a_result_in_one_line():
    assert EXPERIMENT.summary(a_record(1, 0)) == "the language's automaton, 2 states, certified, 20 s"
    other = a_record(1, 0, exact=False, certified=False, states=7)
    assert EXPERIMENT.summary(other) == "another automaton, 7 states, not certified, 20 s"


@pytest.mark.matrix
def test_a_run_reads_an_automaton_and_draws_it(tmp_path):
    record = EXPERIMENT.run(a_run(tmp_path, "1", settings=EXPERIMENT.rows["1"]))
    assert record["data"] == {"name": "Tomita 1", "longest": 3, "words": 15, "positives": 4}
    assert record["result"]["long_words"] == 2
    assert record["result"]["searched_words"] <= 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["automaton.svg", "centroids.svg", "model.keras"]
