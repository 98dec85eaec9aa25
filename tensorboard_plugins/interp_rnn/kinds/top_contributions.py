"""top_contributions: float32 (T (T + 7) / 2, top + 2), nats: contributions if there are too many outputs to log all.

For each target t = 1, ..., T a block of t + 3 rows: the numbers of the outputs that are most probable there, the most
probable first; the terms of the sources 0, ..., t, source 0 the initial state; the bias of the readout. Each of these
outputs has a column. The next column is the sum over all other outputs, with their probability in the first row. The
last column holds the norms of the terms over all outputs. `block_rows` returns the rows of a target. The slice of
target t is its block; slice 0 holds the norms of all terms, (T + 1, T). The first targets may be missing.

Description: as of `TargetsKind`, with the names of all outputs; top, the number of outputs that have a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, integer
from tensorboard_plugins.interp_rnn.kinds._kind import Description, require_numbers
from tensorboard_plugins.interp_rnn.kinds._targets import TargetsKind


def block_rows(target: int) -> slice:
    """The rows of a `top_contributions` tensor that belong to a target t, from 1."""
    first = (target - 1) * (target + 6) // 2
    return slice(first, first + target + 3)


class _TopContributions(TargetsKind):
    NAME = "top_contributions"
    RULES = (*TargetsKind.RULES, Rule("top", "a number of outputs", lambda value: integer(value, 1)))
    rows = staticmethod(block_rows)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (self.num_rows(description), description["top"] + 2)
        return str(expected), shape == expected

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        value = super().decode(description, tensor)
        targets = range(description.get("first", 1), len(description["symbols"]) + 1)
        numbers = [self.block(description, value, target)[0, :-2] for target in targets]
        require_numbers(self.NAME, np.array(numbers), len(description["outputs"]))
        return value

    def norms(self, block: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(block[1:-1, -1])


KIND = _TopContributions()
