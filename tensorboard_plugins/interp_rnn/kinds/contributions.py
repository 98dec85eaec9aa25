"""contributions: float32 (T (T + 3) / 2 + 1, outputs), nats.

For each target t = 1, ..., T the terms of the sources 0, ..., t, source 0 the initial state; last the readout's own
bias. `target_rows` says where which is. The slice of target t is (t + 2, outputs), the bias last; slice 0 has the norms
of all terms, (T + 1, T), and below them the logits, (outputs, T).

Description: symbols, the names of the T; outputs, their names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_within


def target_rows(target: int) -> slice:
    """The rows of a `contributions` tensor that belong to a target t, from 1: sources 0, ..., t."""
    first = (target - 1) * (target + 2) // 2
    return slice(first, first + target + 1)


class _Contributions(ArrayKind):
    NAME = "contributions"
    VIEW = "reads"
    FINITE = True
    LAST_SLICES = 3 * 2**16
    RULES = (Rule("symbols", "a list of names", names), Rule("outputs", "a list of names", names))

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        steps = len(description["symbols"])
        expected = (steps * (steps + 3) // 2 + 1, len(description["outputs"]))
        return str(expected), shape == expected

    def num_slices(self, description: Description, value: Any) -> int:
        return len(description["symbols"]) + 1

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        steps = len(description["symbols"])
        require_within(index, 0, steps)
        if index:
            return np.concatenate([value[target_rows(index)], value[-1:]]).astype(np.float32)
        norms = np.zeros((steps + 1, steps), np.float32)
        logits = np.zeros((value.shape[1], steps), np.float32)
        lengths = np.sqrt(np.einsum("ro,ro->r", value, value))
        for target in range(1, steps + 1):
            rows = target_rows(target)
            norms[: target + 1, target - 1] = lengths[rows]
            logits[:, target - 1] = value[rows].sum(axis=0) + value[-1]
        return np.concatenate([norms, logits])


KIND = _Contributions()
