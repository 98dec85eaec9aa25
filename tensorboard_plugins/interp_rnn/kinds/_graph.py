"""States and edges of automata and of counted transitions, drawn in the same places at every step."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tensorboard_plugins.interp_rnn import layout
from tensorboard_plugins.interp_rnn.kinds._kind import Description, Kind

USUAL = 0.25
"""Least fraction of the graphs that must have an edge so that room is reserved for it."""


class GraphKind(Kind):
    """A kind whose values have states and edges.

    A graph is a JSON object: start, a centroid; states, each with id (its centroid), accepting and use (the fraction of
    the steps that end there); edges, each with from and to (centroids) and symbols, [name, probability], the most
    probable first. start, accepting and use are null if they are unknown.
    """

    VIEW = "states"

    @abc.abstractmethod
    def states_and_edges(self, description: Description, value: Any) -> dict[str, Any]:
        """The graph of one step, and values that describe it as a whole."""

    def graph(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        graph = self.states_and_edges(description, value)
        return {**graph, **drawn(graph, overview)}

    def answers(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        return {"graph": self.graph(description, value, overview)}


def placed(
    graphs: Sequence[Mapping[str, Any]], starts: Sequence[int], usual: Collection[layout.Edge] | None = None
) -> dict[str, Any]:
    """A common layout of graphs: positions of states, usual edges as [from, to, *route], and the box around them.

    Args:
        graphs: all of them.
        starts: states, from left to right.
        usual: edges that determine the positions of states; by default the edges of the last graph and edges that at
            least a quarter of the graphs have.
    """
    widest: dict[layout.Edge, str] = {}
    for graph in graphs:
        for ends, label in _labels(graph).items():
            widest[ends] = max(widest.get(ends, ""), label, key=layout.text_width)
    if usual is None:
        times = Counter(ends for graph in graphs for ends in ends_of(graph))
        often = {ends for ends, count in times.items() if count >= USUAL * len(graphs)}
        usual = often | (ends_of(graphs[-1]) if graphs else set())
    labels = {ends: label for ends, label in widest.items() if ends in usual or ends[0] == ends[1]}
    lane = max((layout.text_width(label) + 8 for ends, label in widest.items() if ends not in labels), default=0.0)
    drawing = layout.draw(labels, starts, lane=lane)
    return {
        "positions": {str(state): point for state, point in drawing.points.items()},
        "usual": [[*ends, *route] for ends, route in drawing.routes.items()],
        "box": drawing.box,
    }


def drawn_alone(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph with its own positions."""
    place = placed([graph], [graph["start"], *(state["id"] for state in graph["states"])])
    return {**graph, **place, **drawn(graph, place)}


def ends_of(graph: Mapping[str, Any]) -> set[layout.Edge]:
    """The edges of a graph, without their symbols."""
    return {(edge["from"], edge["to"]) for edge in graph["edges"]}


def edges_of(symbols: Mapping[layout.Edge, list[list[Any]]]) -> list[dict[str, Any]]:
    """Edges in the form of a graph, from the [name, probability] of their symbols."""
    return [
        {"from": state, "to": target, "symbols": sorted(pairs, key=lambda pair: -(pair[1] or 0))}
        for (state, target), pairs in symbols.items()
    ]


def name_of(names: Sequence[str], symbol: int) -> str:
    return names[symbol] if symbol < len(names) else str(symbol)


def drawn(graph: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    """The routes of all edges, each a path and the centre of its label, and the box around graph and layout.

    Edges keep the routes of the layout unless the graph has edges that are not in it.
    """
    usual = {(state, target): route for state, target, *route in place["usual"]}
    if ends_of(graph) <= usual.keys():
        return {"routes": [usual[edge["from"], edge["to"]] for edge in graph["edges"]], "box": place["box"]}
    points = {state["id"]: place["positions"][str(state["id"])] for state in graph["states"]}
    drawing = layout.draw(_labels(graph), (), points=points)
    corners = [(left, top, left + width, top + height) for left, top, width, height in (place["box"], drawing.box)]
    (left, top), (right, bottom) = (map(min, *(c[:2] for c in corners)), map(max, *(c[2:] for c in corners)))
    return {"routes": list(drawing.routes.values()), "box": [left, top, right - left, bottom - top]}


def _labels(graph: Mapping[str, Any]) -> dict[layout.Edge, str]:
    return {(edge["from"], edge["to"]): _label(edge) for edge in graph["edges"]}


def _label(edge: Mapping[str, Any]) -> str:
    """The widest label that the page may give an edge, as the page can leave out the least probable symbols."""
    unsupported = edge.get("unsupported", ())
    names = [f"({name})" if name in unsupported else name or "100%" for name, _ in edge["symbols"]]
    return max(layout.shortened(names), layout.shortened(names[:4]), key=layout.text_width)
