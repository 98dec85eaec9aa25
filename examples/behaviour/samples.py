"""Public samples, read from files that you have: nothing of them is in this repository.

The columns are those of the example data of hBayesDM (Ahn, Haines and Zhang, 2017; GPL-3, `pip download hbayesdm
--no-deps`, folder `hbayesdm/common/extdata`): `bandit2arm`, `prl`, `ts` and `bandit4arm`, each `_exampleData.txt`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from examples.behaviour.tasks import TASKS, Trials
from keras_interp_rnn import datasets

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
        path: values separated by tabs, or by commas if its name ends in .csv; names of columns in the first line.
        task: name of one of `TASKS`.

    Raises:
        ValueError: if a column is missing, or the file has no session.
    """
    subject, *columns = COLUMNS[task]
    delimiter = "," if Path(path).suffix == ".csv" else "\t"
    table = datasets.sessions(path, columns, target=columns[0], by=subject, numbers=columns, delimiter=delimiter)
    entries = np.array(table.names, float).astype(int)
    second = entries[:, 1] - 1 if task == "two-step" else np.zeros(len(entries), int)
    outcomes = entries[:, 2 if task == "two-step" else 1 :].sum(axis=1)
    rewards = np.unique(outcomes)
    parts = (second // 2, second % 2, np.searchsorted(rewards, outcomes))
    states, seconds, places = (np.pad(part[table.x], ((0, 0), (0, 1))) for part in parts)
    first = entries[table.x[:, :1], 0]
    choices = np.concatenate([first, np.array(table.targets, int)[table.y]], axis=1) - 1
    lengths = table.weights.sum(axis=1).astype(int) + 1
    subjects = tuple(str(group[0]) for group in (table.groups[i] for i in table.session))
    seen = replace(TASKS[task], rewards=tuple(map(float, rewards)))
    return Trials(seen, choices, states, seconds, places, lengths, subjects)
