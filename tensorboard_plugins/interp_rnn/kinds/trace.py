"""trace: float32 (sequences, time, entries), all quantities of a step in one row, NaN at masked steps.

A slice is one sequence, (time, entries).

Description: quantities, [name, number of entries] of each, in order; tokens, a list of names for each sequence, which
may be empty, or []. It may have vectors, whether vectors were read, so that the tokens are the names of steps.
"""

from __future__ import annotations

from typing import Any

from tensorboard_plugins.interp_rnn.checks import Rule, flag, integer, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import Description, SequencesKind


class _Trace(SequencesKind):
    NAME = "trace"
    VIEW = "reads"
    RULES = (
        Rule("quantities", "a list of [name, entries]", lambda value: list_of(value, _is_quantity)),
        Rule("tokens", "lists of names", lambda value: list_of(value, names)),
        Rule("vectors", "true or false", flag, needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        entries = sum(count for _, count in description["quantities"])
        return f"(sequences, time, {entries})", len(shape) == 3 and shape[2] == entries


def _is_quantity(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and integer(value[1], 1)


KIND = _Trace()
