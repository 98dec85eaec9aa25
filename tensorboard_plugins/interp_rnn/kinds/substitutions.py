"""substitutions: float32 (1 + T alternatives [+ T], outputs), the outputs for a text and for changed texts.

Row 0 is the text itself; the alternatives to the first symbol follow, then those to the second, and so on; then, with
deletions, the text without its first symbol, without its second, and so on. A slice is the whole.

Description: symbols, the T names; alternatives, the names of the symbols that replace them; outputs, their names;
deletions, whether there are any, by default false; masked, the symbols that were not read, from 0; fixed, those that
were not changed, such as the symbols before and after a text; values, whether several outputs share no probability.
"""

from __future__ import annotations

from typing import Any

from tensorboard_plugins.interp_rnn.checks import Rule, flag, integer, list_of, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description


class _Substitutions(ArrayKind):
    NAME = "substitutions"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("alternatives", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("deletions", "true or false", flag, needed=False),
        Rule("masked", "numbers of symbols", lambda value: list_of(value, integer), needed=False),
        Rule("values", "true or false", flag, needed=False),
        Rule("fixed", "numbers of symbols", lambda value: list_of(value, integer), needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        symbols, alternatives, outputs = (len(description[axis]) for axis in ("symbols", "alternatives", "outputs"))
        expected: Any = (1 + symbols * (alternatives + bool(description.get("deletions"))), outputs)
        return str(expected), shape == expected


KIND = _Substitutions()
