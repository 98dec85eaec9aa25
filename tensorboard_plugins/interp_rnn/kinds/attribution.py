"""attribution: float32 (sequences, time + 2), shares of steps in one output, the output, and the output of nothing.

A slice is one sequence, (time + 2,).

Description: method, by which the shares were found; output, its name; tokens, a list of names for each sequence, or [].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_within


class _Attribution(ArrayKind):
    NAME = "attribution"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("method", "a name", lambda value: isinstance(value, str) and value != ""),
        Rule("output", "a name", lambda value: isinstance(value, str)),
        Rule("tokens", "lists of names", lambda value: list_of(value, names)),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        tokens = description["tokens"]
        fits = (
            len(shape) == 2
            and shape[1] > 2
            and (not tokens or [len(row) for row in tokens] == [shape[1] - 2] * shape[0])
        )
        return "(sequences, time + 2), with a name for each step or none", fits

    def num_slices(self, description: Description, value: Any) -> int:
        return len(value)

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        require_within(index, 0, len(value) - 1)
        return np.asarray(value[index], np.float32)


KIND = _Attribution()
