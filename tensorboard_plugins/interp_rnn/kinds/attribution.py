"""attribution: float32 (rows, columns), the shares of each token of a text, or of groups of them, in some outputs.

The first row holds the numbers of the outputs that have a column, the second their probabilities, or the value of a
single output. The shares of the T tokens follow, then the outputs without any token; then the shares of the features of
the first token, of the second, and so on, if there are any; then the standard errors of the T shares, with `errors`;
then one row with `both`: the outputs that are split, or their probabilities where the second row has the outputs; then,
with `as_read`, T + 1 rows: the outputs that are split, with the first 0, 1, ..., T tokens there and no other. So there
are T + 3 to 3 T + 5 + T features rows. A slice is the whole.

Description: method, by which the shares were computed; symbols, the T names; outputs, the names of all outputs. It may
have title, the name of the sequence; vectors, whether vectors were read, so that the symbols are the numbers of steps;
groups, whether the names are those of groups of tokens; values, whether the second row holds the outputs that are
split, of several too; as_read, whether there are these rows; unit, what is split: "logit", "log-odds" or "probability"
(older logs have "nats" for logits, of which they have probabilities alone); errors and both, whether there are these
rows; reason, why this method was used, and what limited it; masked, the tokens that were not read, from 0; features,
their number, by default 0; features_left_out, whether they are too many for a page; feature_names, their names;
classes, the names of both classes between which a single output decides, that of the output last; scale, the largest
share of all texts that were explained together; label, the name of the true class, and wrong, whether the network says
another, where that is not seen from the outputs.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, flag, integer, list_of, name, names, number
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_numbers


class _Attribution(ArrayKind):
    NAME = "attribution"
    VIEW = "reads"
    FINITE = True
    RULES = (
        Rule("method", "a name", name),
        Rule("symbols", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("title", "a name", name, needed=False),
        Rule("vectors", "true or false", flag, needed=False),
        Rule("values", "true or false", flag, needed=False),
        Rule("groups", "true or false", flag, needed=False),
        Rule("unit", "a name", name, needed=False),
        Rule("errors", "true or false", flag, needed=False),
        Rule("both", "true or false", flag, needed=False),
        Rule("as_read", "true or false", flag, needed=False),
        Rule("reason", "a text", name, needed=False),
        Rule("masked", "numbers of tokens", lambda value: list_of(value, integer), needed=False),
        Rule("features", "a number of features", integer, needed=False),
        Rule("features_left_out", "true or false", flag, needed=False),
        Rule("feature_names", "a list of names", names, needed=False),
        Rule("scale", "a number", number, needed=False),
        Rule("classes", "two names", lambda value: names(value) and len(value) == 2, needed=False),
        Rule("label", "a name", name, needed=False),
        Rule("wrong", "true or false", flag, needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        steps, most = len(description["symbols"]), len(description["outputs"])
        rows = steps * (1 + description.get("features", 0) + description.get("errors", False)) + 3
        rows += description.get("both", False) + (steps + 1) * description.get("as_read", False)
        fits = steps > 0 and len(shape) == 2 and shape[0] == rows and shape[1] <= most
        return f"({rows}, outputs), of at most {most} outputs", fits

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        value = super().decode(description, tensor)
        require_numbers(self.NAME, value[0], len(description["outputs"]))
        return value


KIND = _Attribution()
