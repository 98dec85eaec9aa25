"""shapley_values: float32 (T + 1, outputs), of each symbol of a text, then the mean output over the background.

A slice is the whole.

Description: symbols, the T names; outputs, their names; verdict, whether these are a finite automaton's, 1 for what it
says of the word and otherwise 0, by default false.
"""

from __future__ import annotations

from tensorboard_plugins.interp_rnn.checks import Rule, flag, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description


class _ShapleyValues(ArrayKind):
    NAME = "shapley_values"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("verdict", "true or false", flag, needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        expected = (len(description["symbols"]) + 1, len(description["outputs"]))
        return str(expected), shape == expected


KIND = _ShapleyValues()
