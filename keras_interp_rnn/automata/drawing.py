"""Automata as SVG, laid out in layers: how many symbols a state is away from the start says how far right it stands.

Within a layer states are ordered by the mean place of their neighbours (the barycentre rule), a few sweeps to and fro.
Edges that go on are curves from one column to a later one, edges that go back run below them, loops sit on their state.
"""

from __future__ import annotations

import html
import math
from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence

from keras_interp_rnn._display import visible

RADIUS, COLUMN, ROW, MARGIN = 17, 118, 84, 44
SWEEPS = 12
INK, GREY = "#1f2933", "#7b8794"

Point = tuple[float, float]
Edge = tuple[int, int]
"""A state and the next one."""


def layout(edges: Collection[Edge], start: int, states: int) -> list[Point]:
    """A place (x, y) for each of the states, in units of columns and rows; the start at x = 0, y around 0."""
    neighbours: list[set[int]] = [set() for _ in range(states)]
    for state, target in edges:
        if state != target:
            neighbours[state].add(target)
            neighbours[target].add(state)
    layer = _layers(edges, start, states)
    columns: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for state in sorted(range(states), key=lambda s: (layer[s], s)):
        columns[layer[state]].append(state)
    # A column of many states is spread over several.
    tallest = max(6, math.ceil(math.sqrt(states) * 1.5))
    columns = [column[i : i + tallest] for column in columns for i in range(0, len(column), tallest)]
    height = {state: i - (len(column) - 1) / 2 for column in columns for i, state in enumerate(column)}
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            pull = {
                s: sum(height[t] for t in neighbours[s]) / len(neighbours[s]) if neighbours[s] else height[s]
                for s in column
            }
            column.sort(key=lambda s: (pull[s], height[s]))
            for i, state in enumerate(column):
                height[state] = i - (len(column) - 1) / 2
    return [(float(x), height[s]) for s, x in sorted((s, x) for x, column in enumerate(columns) for s in column)]


def svg(edges: Mapping[Edge, Sequence[Hashable]], accepting: Collection[int], start: int, names: Sequence[str]) -> str:
    """The drawing; states that accept have a double ring, the start an arrow.

    Args:
        edges: (state, next state) -> the symbols that lead from one to the other.
        accepting, start: states.
        names: one for each state.
    """
    places = [(x * COLUMN, y * ROW) for x, y in layout(edges, start, len(names))]
    shapes: list[str] = []
    labels: list[str] = []
    taken = [*places, *((x, y - RADIUS - 12) for s, (x, y) in enumerate(places) if (s, s) in edges)]
    corners = [(x + dx, y + dy) for x, y in places for dx in (-RADIUS, RADIUS) for dy in (-RADIUS, RADIUS)]
    for (state, target), symbols in edges.items():
        path, options, hull = _edge(places, state, target, both=(target, state) in edges)
        shapes.append(f'<path d="{path}" fill="none" stroke="{GREY}" marker-end="url(#arrow)"/>')
        text = _label(symbols)
        at = _freest(options, taken)
        taken.append(at)
        labels.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" paint-order="stroke" stroke="white" stroke-width="6" '
            f'stroke-linejoin="round" fill="{INK}">{html.escape(text)}</text>'
        )
        half = 3.6 * len(text)
        corners += [*hull, (at[0] - half, at[1] - 8), (at[0] + half, at[1] + 8)]
    x, y = places[start]
    shapes.append(
        f'<path d="M {x - RADIUS - 26:.1f} {y:.1f} L {x - RADIUS:.1f} {y:.1f}" stroke="{INK}" '
        'marker-end="url(#arrow)"/>'
    )
    corners.append((x - RADIUS - 28, y))
    for state, (x, y) in enumerate(places):
        accepts = state in accepting
        title = f"state {names[state]}, {'accepting' if accepts else 'rejecting'}"
        rings = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="white" stroke="{INK}"/>']
        if accepts:
            rings.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 4}" fill="none" stroke="{INK}"/>')
        text = f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}">{html.escape(names[state])}</text>'
        shapes.append(f"<g><title>{html.escape(title)}</title>{''.join(rings)}{text}</g>")
    left, top = (min(c[i] for c in corners) - MARGIN / 4 for i in (0, 1))
    width, height = (max(c[i] for c in corners) - low + MARGIN / 4 for i, low in ((0, left), (1, top)))
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M 0 0.5 L 8 4 L 0 7.5 z" fill="{GREY}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" font-family="sans-serif" font-size="12" '
        f'text-anchor="middle" dominant-baseline="central" role="img" aria-label="automaton of {len(names)} states">'
        f'{arrow}<rect x="{left:.1f}" y="{top:.1f}" width="100%" height="100%" fill="white"/>'
        f"{''.join(shapes)}{''.join(labels)}</svg>"
    )


def _layers(edges: Collection[Edge], start: int, states: int) -> list[int]:
    """Steps from the start; states that it does not reach begin anew behind all others."""
    after: list[list[int]] = [[] for _ in range(states)]
    for state, target in edges:
        after[state].append(target)
    layer = [-1] * states
    first = 0
    for root in [start, *range(states)]:
        if layer[root] >= 0:
            continue
        layer[root] = first
        queue = deque([root])
        while queue:
            state = queue.popleft()
            for target in after[state]:
                if layer[target] < 0:
                    layer[target] = layer[state] + 1
                    queue.append(target)
        first = max(layer) + 1
    return layer


def _freest(options: Sequence[Point], taken: Sequence[Point]) -> Point:
    """The first place that is far enough from all that is taken, or else the farthest."""

    def room(place: Point) -> float:
        return min(math.hypot(place[0] - x, 1.4 * (place[1] - y)) for x, y in taken)

    return next((place for place in options if room(place) > 28), max(options, key=room))


def _edge(places: Sequence[Point], state: int, target: int, both: bool) -> tuple[str, list[Point], list[Point]]:
    """Path of an edge, places on it for its label, the best first, and points that it stays within."""
    (x0, y0), (x1, y1) = places[state], places[target]
    if state == target:
        top = y0 - RADIUS - 30
        path = f"M {x0 - 8:.1f} {y0 - RADIUS + 2:.1f} C {x0 - 24:.1f} {top:.1f} {x0 + 24:.1f} {top:.1f} "
        path += f"{x0 + 8:.1f} {y0 - RADIUS + 2:.1f}"
        return path, [(x0, top + 6)], [(x0 - 24, top), (x0 + 24, top)]
    apart = math.hypot(x1 - x0, y1 - y0)
    across = (-(y1 - y0) / apart, (x1 - x0) / apart)
    # How far the curve bows out: to the other side for the way back, more the longer it is, more past other states.
    bow = 18.0 if both else 0.0
    if any(_near(places, i, state, target) for i in range(len(places)) if i not in (state, target)):
        bow = 0.22 * apart + 26
    elif x1 < x0:
        bow = max(bow, 20.0)
    middle = ((x0 + x1) / 2 + across[0] * 2 * bow, (y0 + y1) / 2 + across[1] * 2 * bow)
    start, end = _rim((x0, y0), middle), _rim((x1, y1), middle)
    path = f"M {start[0]:.1f} {start[1]:.1f} Q {middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    # On the curve; a little before its middle, so that the labels of two crossing edges part.
    options = [
        (
            (1 - t) ** 2 * start[0] + 2 * t * (1 - t) * middle[0] + t**2 * end[0],
            (1 - t) ** 2 * start[1] + 2 * t * (1 - t) * middle[1] + t**2 * end[1],
        )
        for t in (0.42, 0.5, 0.34, 0.58, 0.26, 0.66, 0.2, 0.74)
    ]
    return path, options, [((start[0] + end[0]) / 4 + middle[0] / 2, (start[1] + end[1]) / 4 + middle[1] / 2)]


def _near(places: Sequence[Point], i: int, state: int, target: int) -> bool:
    """Whether state i stands in the way of a straight edge."""
    (x0, y0), (x1, y1), (x, y) = places[state], places[target], places[i]
    length = (x1 - x0) ** 2 + (y1 - y0) ** 2
    t = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length
    if not 0 < t < 1:
        return False
    return math.hypot(x0 + t * (x1 - x0) - x, y0 + t * (y1 - y0) - y) < RADIUS + 6


def _rim(centre: Point, towards: Point) -> Point:
    apart = math.hypot(towards[0] - centre[0], towards[1] - centre[1]) or 1.0
    return centre[0] + RADIUS * (towards[0] - centre[0]) / apart, centre[1] + RADIUS * (towards[1] - centre[1]) / apart


def _label(symbols: Sequence[Hashable]) -> str:
    """Symbols of one edge; runs of letters or digits that follow each other are drawn together."""
    texts = [visible(str(symbol)) for symbol in symbols]
    if len(texts) > 3 and all(len(text) == 1 for text in texts):
        runs: list[list[str]] = []
        for text in sorted(texts):
            if runs and ord(text) == ord(runs[-1][-1]) + 1 and text.isalnum() and runs[-1][-1].isalnum():
                runs[-1].append(text)
            else:
                runs.append([text])
        texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
    label = ", ".join(texts)
    return label if len(label) <= 24 else f"{label[:20]}... ({len(symbols)})"
