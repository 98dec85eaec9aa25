"""benchmarks/README.md has a table of models of public reports: what it says of each model is tried."""

import pytest

from benchmarks.models_of_reports import HEAD, NAME, REPORTS, row
from benchmarks.records import END, README

PART = README.read_text(encoding="utf-8").split(f"<!-- {NAME} -->")[1].split(END)[0]
HEADER, *ROWS = [line.strip("| ").split(" | ") for line in PART.splitlines() if line[:2] == "| "]
LINES = {cells[0]: cells for cells in ROWS}


def test_the_table_has_every_model():
    assert HEAD.strip("| ").split(" | ") == HEADER
    assert list(LINES) == list(REPORTS)
    assert len(REPORTS) >= 50


@pytest.mark.core(2)
@pytest.mark.parametrize("name", REPORTS)
def test_a_model_is_split_as_the_page_says(name):
    found, line = row(name, margin=1.0), LINES[name]
    assert [*found[:4], found.by_feature.split(", ")[0]] == [*line[:4], line[5].split(", ")[0]]
    for residual, shown in ((found.residual, line[4]), (found.by_feature.split(", ")[1], line[5].split(", ")[1])):
        assert shown == "more" or float(residual) <= float(shown)
