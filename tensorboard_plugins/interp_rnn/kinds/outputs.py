"""outputs: float32 (k + sequences, outputs), of the model's head for each centroid, then of the model for sequences.

The sequences are those of transition_probabilities.

Description: middle, the decision threshold: a single output above it means class 1.
"""

from __future__ import annotations

from tensorboard_plugins.interp_rnn.checks import Rule, number
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description


class _Outputs(ArrayKind):
    NAME = "outputs"
    RULES = (Rule("middle", "a number", number),)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        return "(k + sequences, outputs)", len(shape) == 2


KIND = _Outputs()
