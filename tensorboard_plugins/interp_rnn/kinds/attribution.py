"""attribution: float32 (sequences, time + 2), shares of steps in one output, the output, and the output of nothing.

A slice is one sequence, (time + 2,).

Description: method, by which the shares were found; output, its name; tokens, a list of names for each sequence, or [].
"""

from __future__ import annotations

from tensorboard_plugins.interp_rnn.checks import Rule, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import Description, SequencesKind


class _Attribution(SequencesKind):
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


KIND = _Attribution()
