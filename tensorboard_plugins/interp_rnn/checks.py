"""Whether the description of a tag, and a JSON text in it, are what `schema` says: logs may come from anyone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tensorboard_plugins.interp_rnn.schema import KINDS, VERSION

LARGEST = 2**53
"""Up to here a browser counts exactly."""


class UnknownContent(ValueError):
    """A tag, or what it holds, that this version cannot read; the message says why."""


class Rule(NamedTuple):
    """What `schema` says of an entry of a JSON object."""

    name: str
    says: str
    holds: Callable[[Any], bool]
    needed: bool = True


def described(content: bytes) -> dict[str, Any]:
    """What `schema.metadata` put into a tag: kind, version, part_of where it has one, and what `schema` says.

    Raises:
        UnknownContent: if it is no such description, or one of another version.
    """
    try:
        found = parsed(content)
        kind, version = found["kind"], found["version"]
    except KeyError as error:
        raise UnknownContent(f"The tag is not described as this plugin's tags are ({error!r}).") from None
    except UnknownContent as error:
        raise UnknownContent(f"The tag is not described as this plugin's tags are. {error}") from None
    if version != VERSION or kind not in KINDS:
        raise UnknownContent(
            f"This plugin reads version {VERSION} of {', '.join(KINDS)}. Received: version {version} of {kind!r}. "
            "Install the keras_interp_rnn that wrote it, or a newer one."
        )
    return {"kind": kind, "version": VERSION, **checked(found, f"The description of {kind}", CONTENT[kind])}


def written(kind: str, text: bytes | str) -> dict[str, Any]:
    """What the JSON text of an automaton, or of transition_texts, says.

    Raises:
        UnknownContent: if it does not say what `schema` says.
    """
    if kind == "transition_texts":
        return checked(parsed(text), "A text of this kind", TEXTS)
    found = parsed(text)
    said = checked(found, "An automaton", AUTOMATON)
    return {**said, **checked(found, "An automaton", _of_states(len(said["transitions"]), len(said["transitions"][0])))}


def parsed(text: bytes | str) -> dict[str, Any]:
    """A JSON object. NaN and Infinity, which Python reads and no browser does, are refused.

    Raises:
        UnknownContent: if it is none.
    """
    try:
        found = json.loads(text, parse_constant=_refused)
    except ValueError as error:
        raise UnknownContent(f"It must be JSON: {error}.") from None
    except RecursionError:
        raise UnknownContent("It must be JSON that is not nested as deeply as this.") from None
    if not isinstance(found, dict):
        raise UnknownContent(f"It must be a JSON object. Received: {_short(found)}.")
    return found


def checked(found: Mapping[str, Any], what: str, rules: tuple[Rule, ...]) -> dict[str, Any]:
    """The entries that rules name; others are left out.

    Raises:
        UnknownContent: if an entry is missing, or is not what its rule says.
    """
    for rule in rules:
        if rule.name not in found and rule.needed:
            raise UnknownContent(f"{what} must have {rule.name}, {rule.says}. Received: {_short(sorted(found))}.")
        if rule.name in found and not rule.holds(found[rule.name]):
            raise UnknownContent(f"{what}: {rule.name} must be {rule.says}. Received: {_short(found[rule.name])}.")
    return {rule.name: found[rule.name] for rule in rules if rule.name in found}


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < high


def _number(value: Any) -> bool:
    return _integer(value, -LARGEST, LARGEST) or isinstance(value, float) and math.isfinite(value)


def _known(value: Any) -> bool:
    """A number, or null where it was not measured."""
    return value is None or _number(value)


def _list(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(holds, value))


def _names(value: Any) -> bool:
    return _list(value, lambda name: isinstance(name, str))


def _transitions(value: Any) -> bool:
    """States x symbols, at least one state."""
    if not _list(value, lambda row: isinstance(row, list)) or not value:
        return False
    return all(len(row) == len(value[0]) and _list(row, lambda to: _integer(to, -1, len(value))) for row in value)


def _reference(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or not _transitions(value.get("transitions")):
        return False
    return all(rule.holds(value.get(rule.name)) for rule in _start_and_accepting(len(value["transitions"])))


def _start_and_accepting(states: int) -> tuple[Rule, ...]:
    def state(value: Any) -> bool:
        return _integer(value, 0, states)

    return (
        Rule("start", "a state", state),
        Rule("accepting", "a list of states", lambda value: _list(value, state)),
    )


def _of_states(states: int, symbols: int) -> tuple[Rule, ...]:
    """What an automaton of so many says of each of them."""

    def centroids(value: Any) -> bool:
        return _list(value, lambda one: _integer(one, 0, LARGEST)) and len(set(value)) == len(value) == states

    def visits(value: Any) -> bool:
        return value is None or _list(value, _number) and len(value) == states

    def confidence(value: Any) -> bool:
        return value is None or (
            _list(value, lambda row: _list(row, _known) and len(row) == symbols) and len(value) == states
        )

    return (
        *_start_and_accepting(states),
        Rule("centroids", "one centroid for each state", centroids),
        Rule("visits", "one number for each state, or null", visits, needed=False),
        Rule("confidence", "states x symbols, numbers or null", confidence, needed=False),
    )


_PART = Rule("part_of", "the name of a series", lambda value: isinstance(value, str), needed=False)

CONTENT = {
    "transition_probabilities": (Rule("tokens", "lists of names", lambda value: _list(value, _names)), _PART),
    "transition_counts": (Rule("symbols", "a list of names", _names), _PART),
    "transition_texts": (_PART,),
    "outputs": (Rule("middle", "a number", _number), _PART),
    "automaton": (
        Rule("symbols", "a list of names", _names),
        Rule("reference", "an automaton or null", _reference, needed=False),
        _PART,
    ),
    "contributions": (
        Rule("symbols", "a list of names", _names),
        Rule("outputs", "a list of names", _names),
        _PART,
    ),
    "jacobian": (
        Rule("lags", "a list of integers", lambda value: _list(value, lambda lag: _integer(lag, 0, LARGEST))),
        _PART,
    ),
}
"""What the description of each kind has beside kind and version."""

AUTOMATON = (
    Rule("transitions", "states x symbols, a state or -1", _transitions),
    *(Rule(name, "a number or null", _known, needed=False) for name in ("minimal", "agreement", "distance", "entropy")),
    Rule("equivalent", "true, false or null", lambda value: value is None or isinstance(value, bool), needed=False),
    Rule("counterexample", "a list of names or null", lambda value: value is None or _names(value), needed=False),
)
"""What an automaton says, besides of each state."""


def _prototype(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _number(value[1])


def _move(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4 or not isinstance(value[3], str):
        return False
    return all(_integer(one, 0, LARGEST) for one in value[:3])


TEXTS = (
    Rule(
        "prototypes",
        "lists of [token, probability]",
        lambda value: _list(value, lambda tokens: _list(tokens, _prototype)),
    ),
    Rule("moves", "a list of [symbol, from, to, text]", lambda value: _list(value, _move)),
)
"""What transition_texts say."""
