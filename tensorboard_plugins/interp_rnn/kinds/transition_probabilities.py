"""transition_probabilities: float32 (sequences, time, k), NaN where there is none. A slice is one sequence, (time, k).

Description: tokens, a list of names for each sequence, or [].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_within


class _TransitionProbabilities(ArrayKind):
    NAME = "transition_probabilities"
    RULES = (Rule("tokens", "lists of names", lambda value: list_of(value, names)),)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        return "(sequences, time, k)", len(shape) == 3

    def num_slices(self, description: Description, value: Any) -> int:
        return len(value)

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        require_within(index, 0, len(value) - 1)
        return np.asarray(value[index], np.float32)


KIND = _TransitionProbabilities()
