"""transition_probabilities: float32 (sequences, time, k), NaN at masked steps. A slice is one sequence, (time, k).

Description: tokens, a list of names for each sequence, or [].
"""

from __future__ import annotations

from tensorboard_plugins.interp_rnn.checks import Rule, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import Description, SequencesKind


class _TransitionProbabilities(SequencesKind):
    NAME = "transition_probabilities"
    RULES = (Rule("tokens", "lists of names", lambda value: list_of(value, names)),)

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        return "(sequences, time, k)", len(shape) == 3


KIND = _TransitionProbabilities()
