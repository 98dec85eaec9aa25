"""Drawings of automata: where states stand, how edges run, and where their labels go.

States stand in columns by their distance from the start, ordered within a column to cross few edges (the barycentre
rule). Edges are routed one after the other: of a family of curves that bow out to either side, each takes the one with
the lowest cost, and with it the place of its label. States, labels and the start arrow are obstacles; detours and
sharing the way of another edge cost a little. If an obstacle cannot be avoided, the states are moved apart and all
edges are routed again. Imports the standard library alone: drawings in notebooks and the TensorBoard plugin use it.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

Point = tuple[float, float]
Edge = tuple[int, int]
"""A state and the next one."""

Cell = tuple[int, int]
"""Of a grid of squares, by which obstacles are found."""

RADIUS, COLUMN, ROW = 17.0, 112.0, 92.0
"""Of a state; least distance of two columns and distance of two rows. All in pixels, for text of 12 pixels."""

SWEEPS = 8
"""Passes over the columns, to and fro, in which each state moves to the mean height of its neighbours."""

TALLEST = 8
"""States above each other in a column; more go into the next column."""

CROWDED = 120
"""With more edges, each takes its first curve whatever it hits: that many labels could not be read anywhere."""

GROWTH = (1.0, 1.2, 1.45, 1.75, 2.1)
"""Factors by which the distances grow until no obstacle is hit."""

BOWS = (0, 18, 32, 48, 68, 92, 120, 155, 200, 260, 330)
"""How far the control points of the curves that are tried lie beside the straight line, on either side."""

LOOPS = ((-90, 0), (90, 4), (-48, 9), (-132, 9), (48, 13), (132, 13))
"""Directions that a loop may point in, degrees from the x axis, and what they cost. -90 is up."""

LABEL_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)
"""Where a label may stand, as fractions of the way along an edge."""

HIT = 1000.0
"""Cost of an obstacle that is hit."""

LINE_HEIGHT, CELL, MARGIN, ARROW = 15.0, 9.0, 8.0, 28.0

_WIDTHS = {**dict.fromkeys(" .,:;|!'ijl()[]1", 4.4), **dict.fromkeys("mwMW@%…", 11.0)}


class Route(NamedTuple):
    """How an edge is drawn: the `d` of an SVG path, and the centre of its label."""

    path: str
    x: float
    y: float


class Drawing(NamedTuple):
    """Edges routed between states.

    Attributes:
        routes: of each edge.
        box: left, top, width and height of everything drawn.
        clear: whether no edge and no label hits a state, and no label another one.
    """

    routes: dict[Edge, Route]
    box: tuple[int, int, int, int]
    clear: bool


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float = LINE_HEIGHT) -> _Box:
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def cells(self) -> set[Cell]:
        (left, top), (right, bottom) = _cell(self[:2]), _cell(self[2:])
        return set(itertools.product(range(left, right + 1), range(top, bottom + 1)))

    def distance(self, point: Point) -> float:
        x = max(self.left - point[0], 0, point[0] - self.right)
        y = max(self.top - point[1], 0, point[1] - self.bottom)
        return math.hypot(x, y)


def text_width(text: str) -> float:
    """Width of a text of 12 pixels in a wide sans-serif font, from above."""
    return sum(12.0 if unicodedata.east_asian_width(c) in "WF" else _WIDTHS.get(c, 7.8) for c in text)


def shortened(names: Sequence[str]) -> str:
    """At most four names of symbols, each of at most 16 characters, and the number of the others.

    `shortened` of states.js is the same.
    """
    cut = [name if len(name) <= 16 else f"{name[:15]}…" for name in names]
    return ", ".join(cut) if len(cut) <= 4 else f"{', '.join(cut[:3])} +{len(cut) - 3}"


class Line(NamedTuple):
    """A line of text inside a state: how far below the centre, and of which size."""

    text: str
    below: float
    size: float


def inside(name: str, output: str | None = None) -> list[Line]:
    """What stands inside a state of `RADIUS`: its name, above its output if it has one; smaller if long, or cut."""
    width = 2 * RADIUS - 10  # the ring of a state that accepts needs room too
    if output is None:
        return [_fitting(name, 0, 12, width)]
    return [_fitting(name, -7, 9, width), _fitting(output, 7, 11, width)]


def _fitting(text: str, below: float, largest: float, width: float) -> Line:
    size = min(largest, max(8.0, 12 * width / max(text_width(text), 1)))
    shown = text
    while text_width(shown) * size / 12 > width:
        shown = f"{shown.rstrip('…')[:-1]}…"
    return Line(shown, below, round(size, 1))


def positions(edges: Iterable[Edge], starts: Iterable[int]) -> dict[int, Point]:
    """Column and row of every state that has an edge or is a start; rows are centred around 0.

    Args:
        edges: (from, to), of all automata that are to be drawn with the same positions.
        starts: their first states, the most frequent first; the others follow from these.
    """
    pairs = sorted(set(edges))
    first = list(dict.fromkeys(starts))
    order = [*first, *sorted({state for pair in pairs for state in pair} - set(first))]
    after: dict[int, list[int]] = {state: [] for state in order}
    near: dict[int, set[int]] = {state: set() for state in order}
    for state, target in pairs:
        if state != target:
            after[state].append(target)
            near[state].add(target)
            near[target].add(state)
    columns = _columns(order, after)
    _reorder(columns, near)
    return {
        state: (float(x), row - (len(column) - 1) / 2)
        for x, column in enumerate(columns)
        for row, state in enumerate(column)
    }


def points(labels: Mapping[Edge, str], starts: Sequence[int]) -> dict[int, Point]:
    """Positions in pixels, so far apart that edges and labels have room.

    Args:
        labels: of all edges. starts: as for `positions`.
    """
    places = positions(labels, starts)
    spread: dict[int, Point] = {}
    for factor in GROWTH if len(labels) <= CROWDED / 2 else GROWTH[2:3]:
        spread = _spread(places, labels, factor)
        if route(spread, labels, starts[0] if starts else None).clear:
            break
    return spread


def route(
    points: Mapping[int, Point],
    labels: Mapping[Edge, str],
    start: int | None = None,
    radii: Mapping[int, float] | None = None,
) -> Drawing:
    """Routes edges between states that stand where they stand.

    Args:
        points: of each state, its centre.
        labels: of each edge.
        start: the state that the start arrow points to; None without one.
        radii: of the states, at most `RADIUS`.
    """
    router = _Router(points, labels, start, radii or {})
    # Loops stay with their state; short edges have the fewest ways to go.
    order = sorted(labels, key=lambda edge: (math.dist(points[edge[0]], points[edge[1]]), edge))
    routes = {edge: router.route(edge) for edge in order}
    return Drawing({edge: routes[edge] for edge in labels}, router.bounds(), router.clear)


class _Router:
    """What has been drawn so far, and where the next edge goes."""

    def __init__(
        self, points: Mapping[int, Point], labels: Mapping[Edge, str], start: int | None, radii: Mapping[int, float]
    ) -> None:
        self.points, self.labels, self.radii = points, labels, radii
        self.crowded = len(labels) > CROWDED
        self.clear = True
        self.used: set[Cell] = set()  # by edges
        self.covered: set[Cell] = set()  # by labels and the start arrow
        self.boxes: list[_Box] = []  # theirs
        reach = 2 * (RADIUS + 6)
        self.near = {
            cell: state
            for state, (x, y) in points.items()
            for cell in _Box.around(x, y, reach, reach).cells()
            if math.dist((x, y), ((cell[0] + 0.5) * CELL, (cell[1] + 0.5) * CELL)) < reach / 2
        }
        self.drawn = [(x + d, y + d) for x, y in points.values() for d in (-RADIUS, RADIUS)]  # points on the paper
        self.directions: dict[int, list[float]] = {state: [] for state in points}  # in which edges leave, degrees
        for state, target in labels:
            if state != target:
                (x0, y0), (x1, y1) = points[state], points[target]
                self.directions[state].append(math.degrees(math.atan2(y1 - y0, x1 - x0)))
                self.directions[target].append(math.degrees(math.atan2(y0 - y1, x0 - x1)))
        if start is not None:
            x, y = points[start]
            self._cover(_Box(x - RADIUS - ARROW, y - 6, x - RADIUS, y + 6))
            self.directions[start].append(180.0)

    def route(self, edge: Edge) -> Route:
        """Draws an edge along the cheapest curve, with its label at the cheapest place."""
        best, chosen = math.inf, None
        for cost, bend in self._bends(edge):
            if cost >= best:
                break
            path, along, places = self._loop(edge[0], bend) if edge[0] == edge[1] else self._curve(edge, bend)
            place = places[0]
            if not self.crowded:
                cost += self._obstacles(edge, self._cells(edge, along))
                extra, place = self._best_place(self.labels[edge], places)
                cost += extra
            if cost < best:
                best, chosen = cost, (path, along, place)
        assert chosen is not None  # the first one costs less than infinity
        path, along, (x, y) = chosen
        self.clear = self.clear and best < HIT
        self.drawn += along
        if not self.crowded:
            self.used |= self._cells(edge, along)
            self._cover(_Box.around(x, y, text_width(self.labels[edge])))
        return Route(path, round(x, 1), round(y, 1))

    def _cover(self, box: _Box) -> None:
        self.boxes.append(box)
        self.covered |= box.cells()

    def bounds(self) -> tuple[int, int, int, int]:
        """left, top, width and height."""
        corners = [*self.drawn, *((b.left, b.top) for b in self.boxes), *((b.right, b.bottom) for b in self.boxes)]
        left, top = (math.floor(min((c[i] for c in corners), default=0) - MARGIN) for i in (0, 1))
        right, bottom = (math.ceil(max((c[i] for c in corners), default=0) + MARGIN) for i in (0, 1))
        return left, top, right - left, bottom - top

    def _bends(self, edge: Edge) -> Iterable[tuple[float, float]]:
        """Directions of a loop, or bows of another edge, with what they cost; the cheapest first."""
        state, target = edge
        if state == target:
            taken = self.directions[state]
            return sorted((cost + sum(max(0, 60 - _angle(d, a)) for a in taken), d) for d, cost in LOOPS)
        # Each edge of a pair bows to its own side; edges that go right bow upwards, and back ones downwards.
        usual = BOWS[1] if (target, state) in self.labels else 0
        if self.crowded:
            return [(0, usual)]
        bows = [bow for size in BOWS for bow in dict.fromkeys((size, -size))]
        return sorted((0.2 * abs(abs(bow) - usual) + (6 if bow < 0 or bow < usual else 0), bow) for bow in bows)

    def _curve(self, edge: Edge, bow: float) -> tuple[str, list[Point], list[Point]]:
        (x0, y0), (x1, y1) = ends = [self.points[state] for state in edge]
        length = math.dist(*ends)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        reach = 0.25 * length
        aside = (bow * dy, -bow * dx)
        bends = [
            (x0 + reach * dx + aside[0], y0 + reach * dy + aside[1]),
            (x1 - reach * dx + aside[0], y1 - reach * dy + aside[1]),
        ]
        first, last = (
            _towards(end, bend, self.radii.get(state, RADIUS))
            for end, bend, state in zip(ends, bends, edge, strict=True)
        )
        return _bezier((first, *bends, last), 4 if self.crowded else max(8, int((length + abs(bow)) / 7)), LABEL_PLACES)

    def _loop(self, state: int, degrees: float) -> tuple[str, list[Point], list[Point]]:
        centre, radius = self.points[state], self.radii.get(state, RADIUS)
        first, last = (_around(centre, radius, degrees + turn) for turn in (-26, 26))
        bends = [_around(centre, radius + 36, degrees + turn) for turn in (-27, 27)]
        path, along, _ = _bezier((first, *bends, last), 10, ())
        x, y = _around(centre, radius + 25, degrees)
        half = text_width(self.labels[state, state]) / 2 + 4
        return path, along, [(x + half * math.cos(math.radians(degrees)), y + 9 * math.sin(math.radians(degrees)))]

    def _cells(self, edge: Edge, along: Sequence[Point]) -> set[Cell]:
        """Cells that a curve runs through, without those close to its own states."""
        ends = [self.points[state] for state in edge]
        return {_cell(point) for point in along if all(math.dist(point, end) > RADIUS + 14 for end in ends)}

    def _obstacles(self, edge: Edge, cells: set[Cell]) -> float:
        """Cost of the states, labels and edges on the way of a curve."""
        states = {self.near[cell] for cell in cells & self.near.keys()} - {*edge}
        return HIT * len(states) + 5 * len(cells & self.covered) + 2.5 * len(cells & self.used)

    def _best_place(self, text: str, places: Sequence[Point]) -> tuple[float, Point]:
        """The least cost of a label, and the place that has it."""
        width, best, chosen = text_width(text) + 8, math.inf, places[0]
        for rank, (x, y) in enumerate(places):
            box = _Box.around(x, y, width)
            cells = box.cells()
            cost = rank + 2.0 * len(cells & self.used)
            if cells & self.near.keys():
                cost += HIT * sum(box.distance(point) < RADIUS + 3 for point in self.points.values())
            if cells & self.covered:
                cost += HIT * sum(box.meets(other) for other in self.boxes)
            if cost < best:
                best, chosen = cost, (x, y)
        return best, chosen


def _bezier(control: Sequence[Point], parts: int, places: Sequence[float]) -> tuple[str, list[Point], list[Point]]:
    """A cubic curve as a path, as points along it, and at some places."""

    def at(t: float) -> Point:
        (a, b), (c, d), (e, f), (g, h) = control
        p, q, r, s = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
        return p * a + q * c + r * e + s * g, p * b + q * d + r * f + s * h

    (a, b), *rest = control
    path = f"M{a:.1f} {b:.1f}C{' '.join(f'{x:.1f} {y:.1f}' for x, y in rest)}"
    return path, [at(i / parts) for i in range(parts + 1)], [at(t) for t in places]


def _towards(centre: Point, other: Point, distance: float) -> Point:
    return _around(centre, distance, math.degrees(math.atan2(other[1] - centre[1], other[0] - centre[0])))


def _around(centre: Point, distance: float, degrees: float) -> Point:
    angle = math.radians(degrees)
    return centre[0] + distance * math.cos(angle), centre[1] + distance * math.sin(angle)


def _angle(first: float, second: float) -> float:
    """Between two directions, in degrees up to 180."""
    return abs((first - second + 180) % 360 - 180)


def _cell(point: Point) -> Cell:
    return math.floor(point[0] / CELL), math.floor(point[1] / CELL)


def _spread(places: Mapping[int, Point], labels: Mapping[Edge, str], factor: float) -> dict[int, Point]:
    """From columns and rows to pixels: columns are as far apart as the labels between them need."""
    gaps = [COLUMN * factor] * (1 + int(max((column for column, _ in places.values()), default=0)))
    for edge, text in labels.items():
        first, last = sorted(int(places[state][0]) for state in edge)
        width = text_width(text)
        if last == first + 1:
            gaps[first] = max(gaps[first], (width + 2 * RADIUS + 30) * math.sqrt(factor))
        elif last == first:  # on either side of its column
            for gap in (first - 1, first):
                if gap >= 0:
                    gaps[gap] = max(gaps[gap], width + 12 + RADIUS)
    left = [sum(gaps[:column]) for column in range(len(gaps))]
    return {state: (round(left[int(x)], 1), round(y * ROW * factor, 1)) for state, (x, y) in places.items()}


def _columns(order: Sequence[int], after: Mapping[int, Collection[int]]) -> list[list[int]]:
    """Breadth first from each state that is not reached yet; what no start leads to stands further right."""
    columns: list[list[int]] = []
    depth: dict[int, int] = {}
    for root in order:
        if root in depth:
            continue
        depth[root] = 0
        queue, layers = deque([root]), {0: [root]}
        while queue:
            state = queue.popleft()
            for target in after[state]:
                if target not in depth:
                    depth[target] = depth[state] + 1
                    layers.setdefault(depth[target], []).append(target)
                    queue.append(target)
        columns += [layer[i : i + TALLEST] for layer in layers.values() for i in range(0, len(layer), TALLEST)]
    return columns


def _reorder(columns: Sequence[list[int]], near: Mapping[int, Collection[int]]) -> None:
    """Sorts the states within each column by the mean height of their neighbours in others."""
    height: dict[int, float] = {}

    def settle(column: list[int]) -> None:
        height.update({state: row - (len(column) - 1) / 2 for row, state in enumerate(column)})

    for column in columns:
        settle(column)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            within = set(column)

            def mean(state: int, within: set[int] = within) -> float:
                heights = [height[other] for other in near[state] if other not in within]
                return sum(heights) / len(heights) if heights else height[state]

            column.sort(key=lambda state: (mean(state), state))
            settle(column)
