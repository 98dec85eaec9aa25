"""automaton: string scalar, JSON.

- transitions: states x symbols, -1 for a missing transition
- accepting: the accepting states; or outputs: the label of each state of a Moore machine
- start: the start state
- centroids: the centroid of each state; names: of the states that are tuples of centroids, as in a stack of layers
- confidence: of each transition, null if it was never seen
- unsupported: [state, symbol] of the transitions that no word takes, or null
- minimal: the number of states after minimization
- agreement: the fraction of words that automaton and network classify alike
- equivalent: whether every word has the label of the reference; counterexample: the symbols of a shortest word that has
  another label, or null; distance: the mean over labels of the fraction of the reference's words with another label.
  All are null without a reference
- verdict: sentences, the first a headline, or null
- visits: the fraction of the steps of short words that arrive at each state
- entropy: the mean entropy of the transitions in nats, or null

Edges of the graph have unsupported, the names of symbols that no word takes, if there are any. States have output and
name if they are known, and then inside, the text that is written in them: `layout.Line`. If states are equivalent, the
graph has merged, the same with those of each class as one, in places of its own.

Description: symbols, their names; reference, the automaton with which it is compared, or null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn import layout
from tensorboard_plugins.interp_rnn.checks import Rule, checked, integer, list_of, names, number, number_or_null
from tensorboard_plugins.interp_rnn.kinds._graph import GraphKind, drawn_alone, edges_of, name_of, placed
from tensorboard_plugins.interp_rnn.kinds._kind import Description, decoded_text

NUMBERS = ("minimal", "agreement", "distance", "entropy")
MEASURED = (*NUMBERS, "equivalent", "counterexample")
"""The values that a callback may log for an automaton as a whole."""


class _Automaton(GraphKind):
    NAME = "automaton"
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("reference", "an automaton or null", lambda value: value is None or _is_reference(value), needed=False),
    )

    def decode(self, description: Description, tensor: NDArray[Any]) -> dict[str, Any]:
        entries = decoded_text(self.NAME, tensor)
        value = checked(entries, "An automaton", OF_ALL)
        rules = (*_labelling(entries, len(value["transitions"])), *_of_each(*_shape(value["transitions"])))
        return {**value, **checked(entries, "An automaton", rules)}

    def overview(self, description: Description, values: Sequence[Any]) -> dict[str, Any]:
        """The layout of the centroids; history, numbers of each step; reference_graph; all labels of Moore machines."""
        starts = [value["centroids"][value["start"]] for value in reversed(values)]
        centroids = sorted({centroid for value in values for centroid in value["centroids"]})
        graphs = [self.states_and_edges(description, value) for value in values]
        history = {name: [value.get(name) for value in values] for name in NUMBERS}
        machines = [*values, description.get("reference") or {}]
        labels = {label for machine in machines for label in machine.get("outputs") or ()}
        return {
            **({"labels": sorted(labels)} if labels else {}),
            **placed(graphs, [*starts, *centroids]),
            "history": {"states": [len(value["centroids"]) for value in values], **history},
            "reference_graph": self._reference_graph(description),
        }

    def graph(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        graph = super().graph(description, value, overview)
        merged = _merged(value, description["symbols"])
        return graph if merged is None else {**graph, "merged": drawn_alone(_graph(merged, description["symbols"]))}

    def states_and_edges(self, description: Description, value: Any) -> dict[str, Any]:
        verdict = {"verdict": value["verdict"]} if value.get("verdict") else {}
        return {**_graph(value, description["symbols"]), **{name: value.get(name) for name in MEASURED}, **verdict}

    def _reference_graph(self, description: Description) -> dict[str, Any] | None:
        reference = description.get("reference")
        if reference is None:
            return None
        states = range(len(reference["transitions"]))
        return drawn_alone(_graph({**reference, "centroids": list(states)}, description["symbols"]))


def _merged(value: Mapping[str, Any], symbols: Sequence[str]) -> dict[str, Any] | None:
    """An automaton with equivalent states as one, named after all of them; None if there are none."""
    transitions, count = value["transitions"], len(value["transitions"])
    outputs = value.get("outputs")
    of = [*outputs] if outputs else [state in value["accepting"] for state in range(count)]
    classes, known = [0] * count, 0
    while True:  # states of a class have one label, and lead to the same classes
        numbers: dict[Any, int] = {}
        led = [[classes[to] if to >= 0 else -1 for to in row] for row in transitions]
        found = [(classes[state], of[state], *led[state]) for state in range(count)]
        classes = [numbers.setdefault(each, len(numbers)) for each in found]
        if len(numbers) == known:
            break
        known = len(numbers)
    if known == count:
        return None
    members = [[state for state in range(count) if classes[state] == number] for number in range(known)]
    names = value.get("names") or layout.state_names(value["centroids"], symbols)
    visits = value.get("visits")
    return {
        "transitions": [[classes[to] if to >= 0 else -1 for to in transitions[first]] for first, *_ in members],
        **({"outputs": [of[first] for first, *_ in members]} if outputs else {}),
        "accepting": [] if outputs else [number for number, (first, *_) in enumerate(members) if of[first]],
        "start": classes[value["start"]],
        "centroids": [value["centroids"][first] for first, *_ in members],
        "names": [" = ".join(names[state] for state in each) for each in members],
        "visits": [sum(visits[state] for state in each) for each in members] if visits else None,
    }


def _graph(value: Mapping[str, Any], symbol_names: Sequence[str]) -> dict[str, Any]:
    centroids = value["centroids"]
    if not value.get("names") and (names := layout.state_names(centroids, symbol_names)) != [*map(str, centroids)]:
        value = {**value, "names": names}
    visits, confidence = value.get("visits"), value.get("confidence")
    pairs = {(state, symbol) for state, symbol in value.get("unsupported") or ()}
    unsupported: dict[tuple[int, int], list[str]] = {}
    symbols: dict[tuple[int, int], list[list[Any]]] = {}
    for state, row in enumerate(value["transitions"]):
        for symbol, target in enumerate(row):
            if target >= 0:
                probability = confidence[state][symbol] if confidence else None
                ends = centroids[state], centroids[target]
                symbols.setdefault(ends, []).append([name_of(symbol_names, symbol), probability])
                if (state, symbol) in pairs:
                    unsupported.setdefault(ends, []).append(name_of(symbol_names, symbol))
    return {
        "start": centroids[value["start"]],
        "states": [
            {"id": centroid, "use": visits[state] if visits else None, **_look(value, state)}
            for state, centroid in enumerate(centroids)
        ],
        "edges": [
            {**edge, "unsupported": unsupported[ends]} if (ends := (edge["from"], edge["to"])) in unsupported else edge
            for edge in edges_of(symbols)
        ],
    }


def _look(value: Mapping[str, Any], state: int) -> dict[str, Any]:
    """Whether a state accepts, null in a Moore machine; its output and name, if it has any, and the text inside."""
    outputs, names = value.get("outputs"), value.get("names")
    if outputs is None and names is None:
        return {"accepting": state in value["accepting"]}
    name = names[state] if names else str(value["centroids"][state])
    if outputs is None:
        return {"accepting": state in value["accepting"], "name": name, "inside": layout.inside(name)}
    output = outputs[state]
    return {"accepting": None, "name": name, "output": output, "inside": layout.inside(name, output)}


def _shape(transitions: Sequence[Sequence[int]]) -> tuple[int, int]:
    return len(transitions), len(transitions[0])


def _is_table(value: Any) -> bool:
    """States x symbols, at least one state."""
    if not list_of(value, lambda row: isinstance(row, list)) or not value:
        return False
    return all(len(row) == len(value[0]) and list_of(row, lambda to: integer(to, -1, len(value))) for row in value)


def _is_pair(value: Any, num_states: int, num_symbols: int) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return integer(value[0], 0, num_states) and integer(value[1], 0, num_symbols)


def _is_fraction(value: Any) -> bool:
    return number(value) and 0 <= value <= 1


def _is_reference(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_table(value.get("transitions")):
        return False
    rules = _labelling(value, len(value["transitions"]))
    more = [rule for rule in _of_each(*_shape(value["transitions"])) if rule.name in value]
    return all(rule.holds(value.get(rule.name)) for rule in (*rules, *more))


def _labelling(entries: Mapping[str, Any], num_states: int) -> tuple[Rule, ...]:
    """Rules for the start and for the labels of the states: outputs if there are any, otherwise accepting states."""

    def is_state(value: Any) -> bool:
        return integer(value, 0, num_states)

    def of_each(value: Any) -> bool:
        return names(value) and len(value) == num_states

    start = Rule("start", "a state", is_state)
    if entries.get("outputs"):
        return start, Rule("outputs", "one name for each state", of_each)
    return start, Rule("accepting", "a list of states", lambda value: list_of(value, is_state))


def _of_each(num_states: int, num_symbols: int) -> tuple[Rule, ...]:
    """Rules for entries with a value for each state."""

    def centroids(value: Any) -> bool:
        return list_of(value, integer) and len(set(value)) == len(value) == num_states

    def visits(value: Any) -> bool:
        return value is None or list_of(value, _is_fraction) and len(value) == num_states

    def confidence(value: Any) -> bool:
        return value is None or (
            list_of(value, lambda row: list_of(row, number_or_null) and len(row) == num_symbols)
            and len(value) == num_states
        )

    def unsupported(value: Any) -> bool:
        return value is None or list_of(value, lambda pair: _is_pair(pair, num_states, num_symbols))

    def names_or_null(value: Any) -> bool:
        return value is None or names(value) and len(value) == num_states

    return (
        Rule("centroids", "one centroid for each state", centroids),
        Rule("names", "one name for each state, or null", names_or_null, needed=False),
        Rule("visits", "one number from 0 to 1 for each state, or null", visits, needed=False),
        Rule("confidence", "states x symbols, numbers or null", confidence, needed=False),
        Rule("unsupported", "a list of [state, symbol], or null", unsupported, needed=False),
    )


OF_ALL = (
    Rule("transitions", "states x symbols, a state or -1", _is_table),
    *(Rule(name, "a number or null", number_or_null, needed=False) for name in NUMBERS),
    Rule("equivalent", "true, false or null", lambda value: value is None or isinstance(value, bool), needed=False),
    Rule("verdict", "a list of lines or null", lambda value: value is None or names(value), needed=False),
    Rule("counterexample", "a list of names or null", lambda value: value is None or names(value), needed=False),
)
"""Rules for the other entries."""

KIND = _Automaton()
