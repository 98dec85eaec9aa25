"""automaton: string scalar, JSON.

transitions (states x symbols, -1 where there is none), accepting, start, and of each state its centroid; confidence of
each transition, null where it was never seen; minimal, the number of states after minimization; agreement with the
network, the fraction of words that both classify alike; equivalent, whether it accepts the reference's language,
counterexample, a shortest word on which they differ (names of its symbols, or null), and distance, the mean of the
fractions of accepted and of rejected words of the reference that it classifies otherwise, all null without one; visits,
the fraction of the steps of short words that arrive at each state; entropy, the mean of the transitions', nats or null.

Description: symbols, their names; reference, the automaton it is compared with, or null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, checked, integer, list_of, names, number, number_or_null
from tensorboard_plugins.interp_rnn.kinds._graph import GraphKind, drawn_alone, edges_of, name_of, placed
from tensorboard_plugins.interp_rnn.kinds._kind import Description, decoded_text

NUMBERS = ("minimal", "agreement", "distance", "entropy")
MEASURED = (*NUMBERS, "equivalent", "counterexample")
"""What the callback may say of an automaton as a whole."""


class _Automaton(GraphKind):
    NAME = "automaton"
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("reference", "an automaton or null", lambda value: value is None or _is_reference(value), needed=False),
    )

    def decode(self, description: Description, tensor: NDArray[Any]) -> dict[str, Any]:
        entries = decoded_text(self.NAME, tensor)
        value = checked(entries, "An automaton", OF_ALL)
        rules = _of_each(len(value["transitions"]), len(value["transitions"][0]))
        return {**value, **checked(entries, "An automaton", rules)}

    def overview(self, description: Description, values: Sequence[Any]) -> dict[str, Any]:
        """Positions of the centroids, and the box that holds them; history, numbers of each step; reference_graph."""
        starts = Counter(value["centroids"][value["start"]] for value in values)
        centroids = sorted({centroid for value in values for centroid in value["centroids"]})
        edges = {
            (centroid, value["centroids"][target])
            for value in values
            for centroid, row in zip(value["centroids"], value["transitions"], strict=True)
            for target in set(row)
            if target >= 0
        }
        graphs = (self.states_and_edges(description, value) for value in values)
        history = {name: [value.get(name) for value in values] for name in NUMBERS}
        return {
            **placed(edges, graphs, [*(centroid for centroid, _ in starts.most_common()), *centroids]),
            "history": {"states": [len(value["centroids"]) for value in values], **history},
            "reference_graph": self._reference_graph(description),
        }

    def states_and_edges(self, description: Description, value: Any) -> dict[str, Any]:
        return {**_graph(value, description["symbols"]), **{name: value.get(name) for name in MEASURED}}

    def _reference_graph(self, description: Description) -> dict[str, Any] | None:
        reference = description.get("reference")
        if reference is None:
            return None
        states = range(len(reference["transitions"]))
        return drawn_alone(_graph({**reference, "centroids": list(states)}, description["symbols"]))


def _graph(value: Mapping[str, Any], symbol_names: Sequence[str]) -> dict[str, Any]:
    centroids, accepting = value["centroids"], set(value["accepting"])
    visits, confidence = value.get("visits"), value.get("confidence")
    symbols: dict[tuple[int, int], list[list[Any]]] = {}
    for state, row in enumerate(value["transitions"]):
        for symbol, target in enumerate(row):
            if target >= 0:
                probability = confidence[state][symbol] if confidence else None
                pair = [name_of(symbol_names, symbol), probability]
                symbols.setdefault((centroids[state], centroids[target]), []).append(pair)
    return {
        "start": centroids[value["start"]],
        "states": [
            {"id": centroid, "accepting": state in accepting, "use": visits[state] if visits else None}
            for state, centroid in enumerate(centroids)
        ],
        "edges": edges_of(symbols),
    }


def _is_table(value: Any) -> bool:
    """States x symbols, at least one state."""
    if not list_of(value, lambda row: isinstance(row, list)) or not value:
        return False
    return all(len(row) == len(value[0]) and list_of(row, lambda to: integer(to, -1, len(value))) for row in value)


def _is_reference(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_table(value.get("transitions")):
        return False
    return all(rule.holds(value.get(rule.name)) for rule in _start_and_accepting(len(value["transitions"])))


def _start_and_accepting(num_states: int) -> tuple[Rule, ...]:
    def is_state(value: Any) -> bool:
        return integer(value, 0, num_states)

    return (
        Rule("start", "a state", is_state),
        Rule("accepting", "a list of states", lambda value: list_of(value, is_state)),
    )


def _of_each(num_states: int, num_symbols: int) -> tuple[Rule, ...]:
    """Rules for what an automaton says of each of its states."""

    def centroids(value: Any) -> bool:
        return list_of(value, integer) and len(set(value)) == len(value) == num_states

    def visits(value: Any) -> bool:
        return value is None or list_of(value, number) and len(value) == num_states

    def confidence(value: Any) -> bool:
        return value is None or (
            list_of(value, lambda row: list_of(row, number_or_null) and len(row) == num_symbols)
            and len(value) == num_states
        )

    return (
        *_start_and_accepting(num_states),
        Rule("centroids", "one centroid for each state", centroids),
        Rule("visits", "one number for each state, or null", visits, needed=False),
        Rule("confidence", "states x symbols, numbers or null", confidence, needed=False),
    )


OF_ALL = (
    Rule("transitions", "states x symbols, a state or -1", _is_table),
    *(Rule(name, "a number or null", number_or_null, needed=False) for name in NUMBERS),
    Rule("equivalent", "true, false or null", lambda value: value is None or isinstance(value, bool), needed=False),
    Rule("counterexample", "a list of names or null", lambda value: value is None or names(value), needed=False),
)
"""Rules for what an automaton says besides of each state."""

KIND = _Automaton()
