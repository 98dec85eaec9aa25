"""Public samples, read from files that you have: nothing of them is in this repository.

The columns are those of the example data of hBayesDM (Ahn, Haines and Zhang, 2017; GPL-3, `pip download hbayesdm
--no-deps`, folder `hbayesdm/common/extdata`): `bandit2arm`, `prl`, `ts` and `bandit4arm`, each `_exampleData.txt`.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from examples.behaviour.tasks import TASKS, Trials

COLUMNS = {
    "bandit2": ("subjID", "choice", "outcome"),
    "reversal": ("subjID", "choice", "outcome"),
    "bandit4": ("subjID", "choice", "gain", "loss"),
    "two-step": ("subjID", "level1_choice", "level2_choice", "reward"),
}
"""Task -> the columns that are read: the subject, choices counted from 1, outcomes, which are added."""


def read(path: Path, task: str) -> Trials:
    """The sessions of a file with a line for each trial, one a subject; trials with a missing entry are left out.

    Args:
        path: values separated by tabs or commas, names of columns in the first line. task: name of one of `TASKS`.

    Raises:
        ValueError: if a column is missing, or an entry is no number.
    """
    names = COLUMNS[task]
    with path.open(newline="") as file:
        dialect = csv.Sniffer().sniff(file.readline(), "\t,")
        file.seek(0)
        lines = list(csv.DictReader(file, dialect=dialect))
    missing = sorted(set(names) - set(lines[0] if lines else ()))
    if missing:
        raise ValueError(f"The file must have the columns {', '.join(names)}. Received: {path} without {missing}.")
    stages = 2 if task == "two-step" else 1
    sessions: dict[str, list[list[float]]] = {}
    for line in lines:
        values = [float(line[name]) if line[name] else np.nan for name in names[1:]]
        if not np.isnan(values).any():
            sessions.setdefault(line[names[0]], []).append([*values[:stages], sum(values[stages:])])
    rewards = np.unique([trial[-1] for session in sessions.values() for trial in session])
    found = np.zeros((4, len(sessions), max(map(len, sessions.values()))), int)
    for row, session in enumerate(map(np.array, sessions.values())):
        second = session[:, 1].astype(int) - 1 if stages == 2 else np.zeros(len(session), int)
        choice, reward = session[:, 0].astype(int) - 1, np.searchsorted(rewards, session[:, -1])
        found[:, row, : len(session)] = choice, second // 2, second % 2, reward
    lengths = np.array([len(session) for session in sessions.values()])
    seen = replace(TASKS[task], rewards=tuple(map(float, rewards)))
    return Trials(seen, found[0], found[1], found[2], found[3], lengths, tuple(sessions))
