"""attribution: float32 (T + 3, columns), the shares of each token of a text in some outputs.

The first row holds the numbers of the outputs that have a column, the second their probabilities, or the value of a
single output. The shares of the T tokens follow; the last row holds the outputs without any token. A slice is the
whole.

Description: method, by which the shares were computed; symbols, the T names; outputs, the names of all outputs.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_numbers


class _Attribution(ArrayKind):
    NAME = "attribution"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("method", "a name", lambda value: isinstance(value, str) and value != ""),
        Rule("symbols", "a list of names", names),
        Rule("outputs", "a list of names", names),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        rows, most = len(description["symbols"]) + 3, len(description["outputs"])
        fits = rows > 3 and len(shape) == 2 and shape[0] == rows and shape[1] <= most
        return f"({rows}, outputs), of at most {most} outputs", fits

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        value = super().decode(description, tensor)
        require_numbers(self.NAME, value[0], len(description["outputs"]))
        return value


KIND = _Attribution()
