"""interactions: float32 (T, T), symmetric: what each two tokens of a text change together less what they change apart.

A slice is the whole.

Description: symbols, the T names; output, the name of the output that is explained, and says, its value; index, of the
interactions. It may have unit, of the values; vectors, whether vectors were read, so that the symbols are the numbers
of steps; groups, whether these are groups of steps; masked, the tokens that cannot be taken away, from 0; r_squared,
the share of the variance that is explained, where the values are those of a surrogate.
"""

from __future__ import annotations

from tensorboard_plugins.interp_rnn.checks import Rule, flag, integer, list_of, name, names, number
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description


class _Interactions(ArrayKind):
    NAME = "interactions"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("output", "a name", name),
        Rule("says", "a number", number),
        Rule("index", "a name", name),
        Rule("unit", "a name", name, needed=False),
        Rule("vectors", "true or false", flag, needed=False),
        Rule("groups", "true or false", flag, needed=False),
        Rule("masked", "numbers of tokens", lambda value: list_of(value, integer), needed=False),
        Rule("r_squared", "a number", number, needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (len(description["symbols"]),) * 2
        return str(expected), shape == expected


KIND = _Interactions()
