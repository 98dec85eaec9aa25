"""What automata and counted transitions share: states and edges, drawn in the same places at every step."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensorboard_plugins.interp_rnn import layout
from tensorboard_plugins.interp_rnn.kinds._kind import Description, Kind

SMALLEST = 0.62
"""Radius of a state in which no step ends, as a fraction of that of the state in which the most do.

States with more than a number in them are all of one size.
"""


class GraphKind(Kind):
    """A kind whose values have states and edges.

    A graph is a JSON object: start, a centroid, or null where it is not known; states, each with id (its centroid),
    accepting (null where it is not known) and use (the fraction of the steps that end there, null where it is not
    known); edges, each with from and to (centroids) and symbols, [name, probability], the most probable first.
    """

    VIEW = "states"

    @abc.abstractmethod
    def states_and_edges(self, description: Description, value: Any) -> dict[str, Any]:
        """The graph of one step, and what else is known of it as a whole."""

    def graph(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        graph = self.states_and_edges(description, value)
        points = {state["id"]: overview["positions"][str(state["id"])] for state in graph["states"]}
        return {**graph, **_drawn(graph, points, overview["box"])}

    def answers(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        return {"graph": self.graph(description, value, overview)}


def placed(edges: set[layout.Edge], graphs: Iterable[Mapping[str, Any]], starts: Sequence[int]) -> dict[str, Any]:
    """Where the states of graphs stand that are to be drawn alike: positions, and the box that holds their edges.

    Args:
        edges: of all graphs.
        graphs: their labels need room, unless there are too many.
        starts: states, those that are to stand on the left first.
    """
    longest: dict[layout.Edge, list[list[Any]]] = {ends: [] for ends in edges}
    for graph in graphs if len(edges) <= layout.CROWDED else ():
        for edge in graph["edges"]:
            ends = edge["from"], edge["to"]
            longest[ends] = max(longest[ends], edge["symbols"], key=_length)
    labels = {ends: _label(symbols) for ends, symbols in longest.items()}
    points = layout.points(labels, starts)
    box = layout.route(points, labels, starts[0] if starts else None).box
    return {"positions": {str(state): point for state, point in points.items()}, "box": box}


def drawn_alone(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph with positions of its own."""
    place = placed(ends_of(graph), [graph], [graph["start"], *(state["id"] for state in graph["states"])])
    points = {int(state): point for state, point in place["positions"].items()}
    return {**graph, **place, **_drawn(graph, points, place["box"])}


def ends_of(graph: Mapping[str, Any]) -> set[layout.Edge]:
    """The edges of a graph, without their symbols."""
    return {(edge["from"], edge["to"]) for edge in graph["edges"]}


def edges_of(symbols: Mapping[layout.Edge, list[list[Any]]]) -> list[dict[str, Any]]:
    """Edges in the form of a graph, from the [name, probability] of each."""
    return [
        {"from": state, "to": target, "symbols": sorted(pairs, key=lambda pair: -(pair[1] or 0))}
        for (state, target), pairs in symbols.items()
    ]


def name_of(names: Sequence[str], symbol: int) -> str:
    return names[symbol] if symbol < len(names) else str(symbol)


def _drawn(graph: Mapping[str, Any], points: Mapping[int, Any], box: Sequence[float]) -> dict[str, Any]:
    """routes: of each edge, its path and the centre of its label. radii: of each state. box: that holds it all."""
    use = {state["id"]: state["use"] or 0.0 for state in graph["states"]}
    most = max(use.values(), default=0.0)
    written = any("inside" in state for state in graph["states"])
    radii = {
        state: layout.RADIUS * (SMALLEST + (1 - SMALLEST) * math.sqrt(part / most) if most and not written else 1)
        for state, part in use.items()
    }
    labels = {(edge["from"], edge["to"]): _label(edge["symbols"]) for edge in graph["edges"]}
    drawing = layout.route(points, labels, graph["start"], radii)
    corners = [(left, top, left + width, top + height) for left, top, width, height in (box, drawing.box)]
    (left, top), (right, bottom) = (map(min, *(c[:2] for c in corners)), map(max, *(c[2:] for c in corners)))
    return {
        "routes": list(drawing.routes.values()),
        "radii": {str(state): round(radius, 1) for state, radius in radii.items()},
        "box": [left, top, right - left, bottom - top],
    }


def _label(symbols: Sequence[Sequence[Any]]) -> str:
    """The widest label that the page may give an edge: it leaves out the least probable symbols."""
    names = [name or "100%" for name, _ in symbols]
    return max(layout.shortened(names), layout.shortened(names[:4]), key=layout.text_width)


def _length(symbols: Sequence[Sequence[Any]]) -> int:
    return sum(len(name) for name, _ in symbols[:4])
