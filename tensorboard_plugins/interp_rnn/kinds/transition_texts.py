"""transition_texts: string scalar, JSON, of the steps that transition_counts counts.

prototypes: for each centroid [token, probability] of the tokens that moved the network there with the highest
probability. moves: for each move [symbol, from, to, text], the text being the last tokens of one that ends with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, checked, integer, list_of, number
from tensorboard_plugins.interp_rnn.kinds._kind import Description, Kind, decoded_text


class _TransitionTexts(Kind):
    NAME = "transition_texts"

    def decode(self, description: Description, tensor: NDArray[Any]) -> dict[str, Any]:
        return checked(decoded_text(self.NAME, tensor), "A text of this kind", TEXTS)

    def texts(self, value: Any) -> dict[str, Any]:
        return dict(value)

    def answers(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        return {"texts": self.texts(value)}


def _is_prototype(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and number(value[1])


def _is_move(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and isinstance(value[3], str) and all(map(integer, value[:3]))


TEXTS = (
    Rule(
        "prototypes",
        "lists of [token, probability]",
        lambda value: list_of(value, lambda tokens: list_of(tokens, _is_prototype)),
    ),
    Rule("moves", "a list of [symbol, from, to, text]", lambda value: list_of(value, _is_move)),
)

KIND = _TransitionTexts()
