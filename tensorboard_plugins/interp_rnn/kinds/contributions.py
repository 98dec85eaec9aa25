"""contributions: float32 (T (T + 3) / 2 + 1, outputs), nats.

For each target t = 1, ..., T the terms of the sources 0, ..., t, source 0 the initial state; the last row is the bias
of the readout. `target_rows` returns the rows of a target. The slice of target t is (t + 2, outputs), the bias last;
slice 0 holds the norms of all terms, (T + 1, T), and below them the logits, (outputs, T). The first targets may be
missing.

Description: as of `TargetsKind`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.kinds._kind import Description
from tensorboard_plugins.interp_rnn.kinds._targets import TargetsKind


def target_rows(target: int) -> slice:
    """The rows of a `contributions` tensor that belong to a target t, from 1: sources 0, ..., t."""
    first = (target - 1) * (target + 2) // 2
    return slice(first, first + target + 1)


class _Contributions(TargetsKind):
    NAME = "contributions"
    rows = staticmethod(target_rows)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (self.num_rows(description) + 1, len(description["outputs"]))
        return str(expected), shape == expected

    def of_target(self, description: Description, value: NDArray[Any], target: int) -> NDArray[Any]:
        return np.concatenate([self.block(description, value, target), value[-1:]])

    def of_all(self, description: Description, value: NDArray[Any]) -> NDArray[Any]:
        targets = range(1, len(description["symbols"]) + 1)
        logits = [self.block(description, value, target).sum(axis=0) + value[-1] for target in targets]
        return np.concatenate([super().of_all(description, value), np.transpose(logits)])

    def norms(self, block: NDArray[Any]) -> NDArray[Any]:
        return np.linalg.norm(block, axis=1)


KIND = _Contributions()
