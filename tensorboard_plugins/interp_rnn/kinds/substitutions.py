"""substitutions: float32 (1 + T alternatives [+ T], outputs), what the network says of a text, and of changed ones.

Row 0 is the text as it is; the alternatives to the first symbol follow, then those to the second, and so on; then,
where there are deletions, the text without its first symbol, without its second, and so on. A slice is the whole.

Description: symbols, the names of the T; alternatives, names of those that are tried in their places; outputs, their
names; deletions, whether there are any, false if missing.
"""

from __future__ import annotations

from typing import Any

from tensorboard_plugins.interp_rnn.checks import Rule, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description


class _Substitutions(ArrayKind):
    NAME = "substitutions"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("alternatives", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("deletions", "true or false", lambda value: isinstance(value, bool), needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        symbols, alternatives, outputs = (len(description[axis]) for axis in ("symbols", "alternatives", "outputs"))
        expected: Any = (1 + symbols * (alternatives + bool(description.get("deletions"))), outputs)
        return str(expected), shape == expected


KIND = _Substitutions()
