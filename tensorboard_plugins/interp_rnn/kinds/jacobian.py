"""jacobian: float32 (lags, 101), the percentiles 0, 1, ..., 100 of the singular values of dh_T / dx_{T-k}.

Description: lags, the values of k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorboard_plugins.interp_rnn.checks import Rule, integer, list_of
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description

LINES = (0, 7, 16, 31, 50, 69, 84, 93, 100)
"""Percentiles that are drawn as lines over the steps."""


class _Jacobian(ArrayKind):
    NAME = "jacobian"
    VIEW = "memory"
    RULES = (Rule("lags", "a list of integers", lambda value: list_of(value, integer)),)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (len(description["lags"]), 101)
        return str(expected), shape == expected

    def overview(self, description: Description, values: Sequence[Any]) -> dict[str, Any]:
        """Percentiles: (steps, lags, lines); null for NaN and infinities."""
        return {
            "lines": LINES,
            "percentiles": [
                [[x if math.isfinite(x) else None for x in row] for row in value[:, LINES].tolist()] for value in values
            ],
        }


KIND = _Jacobian()
