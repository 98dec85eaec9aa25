"""What the tests of experiments share."""

from pathlib import Path

import pytest

from examples import papers
from examples.papers import _records
from examples.papers._experiment import Run

RECORDS = Path(__file__).parents[2] / "examples" / "papers" / "records"

needs_records = pytest.mark.skipif(not RECORDS.is_dir(), reason="the source archive has no records")

EXPERIMENTS = {experiment.name: experiment for experiment in papers.EXPERIMENTS}


def committed(experiment: str) -> list[dict]:
    """The records of an experiment in this repository."""
    return _records.read(path) if (path := RECORDS / f"{experiment}.jsonl").exists() else []


def a_run(folder: Path, row: str = "test", seed: int = 0, **more) -> Run:
    """A run of a row without settings, silent and on generated data unless `more` says otherwise."""
    given = {"settings": {}, "data": None, "model": None, "minutes": None, "smoke": True, "verbose": 0}
    return Run(row=row, seed=seed, folder=folder, **{**given, **more})


def tables(text: str) -> list[list[list[str]]]:
    """The cells of every Markdown table, row by row, all rows as long as the first; the rule below it left out."""
    found = []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if i == 0 or not lines[i - 1].startswith("|"):
            found.append([])
        found[-1].append(cells)
    for table in found:
        assert {len(row) for row in table} == {len(table[0])}
        assert set(table.pop(1)) == {"---"}
    return found


def listed_runs(text: str) -> list[str]:
    """The lines of the records."""
    return [line for line in text.splitlines() if line.startswith("- ") and not line.startswith("- [")]
