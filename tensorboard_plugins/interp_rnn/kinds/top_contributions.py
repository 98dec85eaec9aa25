"""top_contributions: float32 (T (T + 7) / 2, top + 2), nats: contributions where there are too many outputs to log all.

For each target t = 1, ..., T a block of t + 3 rows: the numbers of the outputs that are most probable there, the most
probable first; the terms of the sources 0, ..., t, source 0 the initial state; the readout's own bias. Each of these
outputs has a column. The last but one is of the others: their probability in the first row, below it the sums of their
terms. The last holds the norms of the terms over all outputs. `block_rows` says where which block is. The slice of
target t is its block; slice 0 has the norms of all terms, (T + 1, T).

Description: symbols, the names of the T; outputs, the names of all; top, the number of those that have a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, UnknownContent, integer, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_within


def block_rows(target: int) -> slice:
    """The rows of a `top_contributions` tensor that belong to a target t, from 1."""
    first = (target - 1) * (target + 6) // 2
    return slice(first, first + target + 3)


class _TopContributions(ArrayKind):
    NAME = "top_contributions"
    VIEW = "reads"
    LAST_SLICES = 3 * 2**16
    FINITE = True
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("top", "a number of outputs", lambda value: integer(value, 1)),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (block_rows(len(description["symbols"])).stop, description["top"] + 2)
        return str(expected), shape == expected

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        value = super().decode(description, tensor)
        firsts = [block_rows(target).start for target in range(1, len(description["symbols"]) + 1)]
        numbers = value[firsts, :-2]
        if not np.isin(numbers, np.arange(len(description["outputs"]))).all():
            raise UnknownContent(
                f"{self.NAME}: the first row of a block must be numbers of outputs, of which there are "
                f"{len(description['outputs'])}. Received: {numbers.min():g} to {numbers.max():g}."
            )
        return value

    def num_slices(self, description: Description, value: Any) -> int:
        return len(description["symbols"]) + 1

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        steps = len(description["symbols"])
        require_within(index, 0, steps)
        if index:
            return np.asarray(value[block_rows(index)], np.float32)
        norms = np.zeros((steps + 1, steps), np.float32)
        for target in range(1, steps + 1):
            norms[: target + 1, target - 1] = value[block_rows(target)][1:-1, -1]
        return norms


KIND = _TopContributions()
