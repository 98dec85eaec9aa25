"""What automata and counted transitions share: states and edges, drawn in the same places at every step."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensorboard_plugins.interp_rnn import layout
from tensorboard_plugins.interp_rnn.kinds._kind import Description, Kind

SMALLEST = 0.62
"""Radius of a state in which no step ends, as a fraction of that of the state in which the most do."""


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


def placed(graphs: Iterable[Mapping[str, Any]], starts: Sequence[int]) -> dict[str, Any]:
    """Where the states of graphs stand that are to be drawn alike: positions, and the box that holds their edges.

    Args:
        starts: states, those that are to stand on the left first.
    """
    labels: dict[layout.Edge, str] = {}
    for graph in graphs:
        for edge, label in _labels(graph).items():
            labels[edge] = max(labels.get(edge, ""), label, key=layout.text_width)
    points = layout.points(labels, starts)
    box = layout.route(points, labels, starts[0] if starts else None).box
    return {"positions": {str(state): point for state, point in points.items()}, "box": box}


def drawn_alone(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph with positions of its own."""
    place = placed([graph], [graph["start"], *(state["id"] for state in graph["states"])])
    points = {int(state): point for state, point in place["positions"].items()}
    return {**graph, **place, **_drawn(graph, points, place["box"])}


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
    radii = {
        state: layout.RADIUS * (SMALLEST + (1 - SMALLEST) * math.sqrt(part / most) if most else 1)
        for state, part in use.items()
    }
    drawing = layout.route(points, _labels(graph), graph["start"], radii)
    corners = [(left, top, left + width, top + height) for left, top, width, height in (box, drawing.box)]
    (left, top), (right, bottom) = (map(min, *(c[:2] for c in corners)), map(max, *(c[2:] for c in corners)))
    return {
        "routes": list(drawing.routes.values()),
        "radii": {str(state): round(radius, 1) for state, radius in radii.items()},
        "box": [left, top, right - left, bottom - top],
    }


def _labels(graph: Mapping[str, Any]) -> dict[layout.Edge, str]:
    """The widest label that the page may give each edge: it leaves out the least probable symbols."""
    labels = {}
    for edge in graph["edges"]:
        names = [name or "100 %" for name, _ in edge["symbols"]]
        texts = (layout.shortened(names), layout.shortened(names[:4]))
        labels[edge["from"], edge["to"]] = max(texts, key=layout.text_width)
    return labels
