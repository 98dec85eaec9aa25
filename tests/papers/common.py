"""What the tests of experiments share."""

import contextlib
from pathlib import Path

import numpy as np
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
    usual = {"settings": {}, "data": None, "model": None, "minutes": None, "smoke": True, "verbose": 0}
    return Run(row=row, seed=seed, folder=folder, **{**usual, **more})


class Kill(KeyboardInterrupt):
    """What ends a training in a test; Ctrl-C still ends the test."""


def killed_at_every_other_call(monkeypatch, module, name: str, train, number: int = 100):
    """What a training returns in the end that dies at every other call of a function, `number` times at most."""
    called, function = [], getattr(module, name)

    def killed(*args, **kwargs):
        called.append(name)
        if len(called) % 2:
            raise Kill
        return function(*args, **kwargs)

    monkeypatch.setattr(module, name, killed)
    for _ in range(number):
        with contextlib.suppress(Kill):
            return train(), len(called) // 2
    return pytest.fail(f"It did not end after {number} kills.")


def assert_same_training(found, expected):
    """Of two pairs of a curve and a model: the curve but for its seconds, and the weights to the bit."""
    curves, models = zip(found, expected, strict=True)
    one, other = ([{**point, "seconds": 0, "training_seconds": 0} for point in curve] for curve in curves)
    assert one == other
    for a, b in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_array_equal(a, b)


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
