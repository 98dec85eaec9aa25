"""Layered drawings of automata: positions of states, routes of edges, and positions of labels.

The algorithm has the four steps of Sugiyama, Tagawa and Toda (1981). States are in columns by their distance from the
start, with a lane for labels between two columns; an edge to a column on the left, or within a column, is drawn like
any other and not reversed. An edge becomes a chain of places, one in each column and lane that it passes, and its label
takes one of them. Barycentres and transpositions order columns and lanes to cross few edges. Heights approach those of
the neighbours (isotonic regression), so that chains are nearly straight. Curves run level through their places and bend
only between columns and lanes: no edge crosses a state or the label of another edge, and no label covers a state or
another label. The module imports the standard library alone: drawings in notebooks and the TensorBoard plugin use it.
"""

from __future__ import annotations

import bisect
import itertools
import math
import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, float]
Edge = tuple[int, int]
"""A state and the next one."""

Span = tuple[float, float]
"""The left and right sides of a column or lane."""

RADIUS, ARROW, LINE_HEIGHT = 17.0, 28.0, 15.0
"""Radius of a state, length of the start arrow, height of a label: all in pixels, for text of 12 pixels."""

TALLEST = 8
"""Maximum number of states in a column for up to 64 states, and of columns for more; others go to the next column."""

SWEEPS, PASSES, MANY = 12, 60, 4000
"""Number of sweeps that order ranks and of passes that settle heights; with more than `MANY` places there are fewer of
both, and no transpositions."""

ABOVE, GAP, LOOP = 14.0, 4.0, 24.0
"""Least room above and below a state; half the distance between two edges; height of a loop."""

BEND, STEEP, WIDEST = 26.0, 0.16, 110.0
"""Width in which edges bend: its minimum, its increase for each pixel that an edge climbs, its maximum."""

STIFFEST, LOOSE, LIGHT = 20.0, 0.05, 0.4
"""Final stiffness between two places of an edge; stiffness between a state and an edge that passes columns, which is 1
for other edges; least weight of a place against the places above and below it."""

FAR = 3.0
"""Number of other labels that a label avoids by being half a column further from the start of its edge."""

FAN, APART = 50.0, 22.0
"""Steepest angle at which an edge meets a state, and the angle between two edges if there is room, in degrees."""

_WIDTHS = {**dict.fromkeys(" .,:;|!'ijl()[]1", 4.4), **dict.fromkeys("mwMW@%…", 11.0)}


class Route(NamedTuple):
    """The route of an edge: the `d` of an SVG path, and the centre of its label."""

    path: str
    x: float
    y: float


class Drawing(NamedTuple):
    """The drawing of states and edges.

    Attributes:
        points: the centre of each state.
        routes: the route of each edge.
        box: left, top, width and height of everything drawn.
    """

    points: dict[int, Point]
    routes: dict[Edge, Route]
    box: tuple[int, int, int, int]


def draw(
    labels: Mapping[Edge, str],
    roots: Sequence[int],
    *,
    points: Mapping[int, Point] | None = None,
    lane: float = 0.0,
) -> Drawing:
    """Draws states and edges.

    Args:
        labels: the labels of all edges.
        roots: states; the first is the start, or the most frequent state if there is no start.
        points: fixed positions of the states; by default they are computed.
        lane: least width for labels between two columns, for edges that are drawn later.
    """
    columns = _columns(roots, labels) if points is None else _fixed_columns(points)
    layers = _Layers(columns, labels, points or {})
    layers.order()
    layers.settle()
    return layers.drawing(lane)


@dataclass(eq=False)
class _Place:
    """The place of a state, a label, or a passing edge: the room above and below its centre, and its height."""

    rank: int
    above: float
    below: float
    state: int | None = None
    y: float = 0.0
    pull: float = 1.0  # how strongly it and an adjacent state keep one height
    at: int = 0  # index in the rank
    fixed: bool = False
    left: list[_Place] = field(default_factory=list)
    right: list[_Place] = field(default_factory=list)


class _Layers:
    """Ranks of places: columns have even numbers, lanes odd ones."""

    def __init__(self, columns: Sequence[Sequence[int]], labels: Mapping[Edge, str], points: Mapping[int, Point]):
        self.columns, self.labels, self.points = columns, labels, points
        self.ranks: list[list[_Place]] = [[] for _ in range(2 * len(columns))]
        self.states: dict[int, _Place] = {}
        for column, states in enumerate(columns):
            for state in states:
                loop = LOOP + LINE_HEIGHT + 2 if (state, state) in labels else 0.0
                place = _Place(2 * column, RADIUS + (loop or ABOVE), RADIUS + ABOVE, state)
                if state in points:
                    place.y, place.fixed = points[state][1], True
                self.states[state] = place
                self.ranks[2 * column].append(place)
        self.chains: dict[Edge, list[_Place]] = {}
        self.spots: dict[Edge, _Place] = {}  # the places of labels
        load: Counter[int] = Counter()
        ranks = {state: place.rank for state, place in self.states.items()}
        edges = [edge for edge in labels if edge[0] != edge[1]]
        for edge in sorted(edges, key=lambda edge: (abs(ranks[edge[0]] - ranks[edge[1]]), edge)):
            self._chain(edge, ranks[edge[0]], ranks[edge[1]], load)
        for rank in self.ranks:
            _number(rank)
        self.effort = min(1.0, MANY / max(sum(map(len, self.ranks)), 1))

    def _chain(self, edge: Edge, first: int, last: int, load: Counter[int]) -> None:
        """Adds the places of an edge; its label goes into a near lane with few other labels."""
        if first == last:
            passed = [min((first + 1, first - 1)[: 1 + (first > 0)], key=lambda rank: load[rank])]
        else:
            passed = list(range(first + 1, last) if first < last else range(first - 1, last, -1))
        labelled = min(passed[::2], key=lambda rank: load[rank] + FAR * abs(rank - first))
        load[labelled] += 1
        chain = [self.states[edge[0]]]
        for rank in passed:
            half = LINE_HEIGHT / 2 + 1 if rank == labelled else GAP
            chain.append(_Place(rank, half, half, pull=1.0 if len(passed) == 1 else LOOSE))
            self.ranks[rank].append(chain[-1])
        self.spots[edge] = chain[1 + passed.index(labelled)]
        chain.append(self.states[edge[1]])
        for one, other in itertools.pairwise(chain):
            low, high = (one, other) if one.rank < other.rank else (other, one)
            low.right.append(high)
            high.left.append(low)
        self.chains[edge] = chain

    def order(self) -> None:
        """Orders every rank to cross few edges; fixed states keep their order."""
        best, fewest = [list(rank) for rank in self.ranks], math.inf
        few = self.effort == 1
        for sweep in range(max(2, int(SWEEPS * self.effort))):
            side = "left" if sweep % 2 == 0 else "right"
            for rank in self.ranks if sweep % 2 == 0 else reversed(self.ranks):
                self._sort(rank, side)
            while few and self._transpose():
                pass
            crossings = sum(map(_crossings, self.ranks))
            if crossings < fewest:
                best, fewest = [list(rank) for rank in self.ranks], crossings
        self.ranks = best
        for rank in self.ranks:
            _number(rank)

    def _sort(self, rank: list[_Place], side: str) -> None:
        """Sorts a rank by the mean of the neighbours on one side; places without neighbours keep their index."""
        near: dict[_Place, list[_Place]] = {place: getattr(place, side) for place in rank}
        means = {place: sum(other.at for other in others) / len(others) for place, others in near.items() if others}
        ordered = iter(sorted(means, key=means.__getitem__))
        rank[:] = [next(ordered) if place in means else place for place in rank]
        fixed = iter(sorted((place for place in rank if place.fixed), key=lambda place: place.y))
        rank[:] = [next(fixed) if place.fixed else place for place in rank]
        _number(rank)

    def _transpose(self) -> bool:
        """Exchanges neighbours if that reduces crossings; returns whether any were exchanged."""
        better = False
        for rank in self.ranks:
            for i in range(len(rank) - 1):
                one, other = rank[i], rank[i + 1]
                if one.fixed and other.fixed:
                    continue
                now = _between(one.left, other.left) + _between(one.right, other.right)
                then = _between(other.left, one.left) + _between(other.right, one.right)
                if then < now:
                    rank[i], rank[i + 1] = other, one
                    one.at, other.at = i + 1, i
                    better = True
        return better

    def settle(self) -> None:
        """Sets heights, as near to those of the neighbours as the order allows."""
        for rank in self.ranks:
            stacked = list(itertools.accumulate(_distances(rank), initial=0.0))
            for place, y in zip(rank, stacked, strict=False):
                place.y = place.y if place.fixed else y - stacked[-1] / 2
        passes = max(6, int(PASSES * self.effort))
        for turn in range(passes):
            stiffness = 1 + STIFFEST * turn / passes
            for rank in self.ranks if turn % 2 == 0 else reversed(self.ranks):
                for low, run, high in _runs(rank):
                    _settle(low, run, high, stiffness)

    def drawing(self, lane: float) -> Drawing:
        """The drawing, in pixels."""
        spans = self._spans(lane)
        ports = self._ports(spans)
        routes = {
            edge: self._loop(edge[0], spans) if edge[0] == edge[1] else self._route(edge, text, spans, ports)
            for edge, text in self.labels.items()
        }
        points = {state: (round(_middle(spans[p.rank]), 1), round(p.y, 1)) for state, p in self.states.items()}
        return Drawing(points, routes, self._box(spans))

    def _widths(self, lane: float) -> list[float]:
        """The widths of columns and lanes."""
        widths = [2 * RADIUS if rank % 2 == 0 else lane for rank in range(len(self.ranks))]
        for edge, text in self.labels.items():
            rank = self.spots[edge].rank if edge in self.spots else self.states[edge[0]].rank
            widths[rank] = max(widths[rank], text_width(text) + 8)
        return widths

    def _spans(self, lane: float) -> list[Span]:
        """The sides of every column and lane."""
        widths = self._widths(lane)
        spans: list[Span] = []
        if self.points:
            middles = [self.points[states[0]][0] for states in self.columns]
            for rank, width in enumerate(widths):
                column = rank // 2
                if rank % 2 and column + 1 < len(middles):
                    middle = (middles[column] + middles[column + 1]) / 2
                    width = min(width, middles[column + 1] - middles[column] - 2 * (RADIUS + BEND / 2))
                else:
                    middle = middles[column] if rank % 2 == 0 else spans[-1][1] + BEND + width / 2
                spans.append((middle - width / 2, middle + width / 2))
            return spans
        x = -RADIUS
        for rank, width in enumerate(widths):
            spans.append((x, x + width))
            steepest = max((abs(a.y - b.y) for a in self.ranks[rank] for b in a.right), default=0.0)
            x += width + min(WIDEST, BEND + STEEP * steepest)
        return spans

    def _ports(self, spans: Sequence[Span]) -> dict[tuple[Edge, int], float]:
        """The angle at which each end of an edge meets its state: 0 at the middle of its side, positive below."""
        sides: dict[tuple[int, bool], list[tuple[float, Edge, int]]] = {}
        for edge, chain in self.chains.items():
            for end, (state, near) in enumerate(((chain[0], chain[1]), (chain[-1], chain[-2]))):
                right = near.rank > state.rank
                run = (
                    spans[near.rank][0] - spans[state.rank][1] if right else spans[state.rank][0] - spans[near.rank][1]
                )
                angle = math.degrees(math.atan2(near.y - state.y, run + RADIUS))
                sides.setdefault((edge[end], right), []).append((angle, edge, end))
        ports = {}
        for meeting in sides.values():
            meeting.sort()
            apart = min(APART, 2 * FAN / len(meeting))
            targets = [angle for angle, _, _ in meeting]
            angles = _spread(targets, [1.0] * len(meeting), [apart] * (len(meeting) - 1), -FAN, FAN)
            ports.update({(edge, end): angle for (_, edge, end), angle in zip(meeting, angles, strict=True)})
        return ports

    def _route(self, edge: Edge, text: str, spans: Sequence[Span], ports: Mapping[tuple[Edge, int], float]) -> Route:
        chain, spot = self.chains[edge], self.spots[edge]
        begin, start, leaving = self._port(chain[0], chain[1], ports[edge, 0], spans)
        end, stop, coming = self._port(chain[-1], chain[-2], ports[edge, 1], spans)
        path = [f"M{begin[0]:.1f} {begin[1]:.1f}", _line(begin, start)]
        forwards = spot.rank > chain[0].rank
        ahead = (1.0, 0.0) if forwards else (-1.0, 0.0)
        x = _middle(spans[spot.rank])
        if chain[0].rank == chain[-1].rank:  # along a lane, with the label next to the curve
            side = spans[spot.rank][0 if forwards else 1]
            down = 1.0 if stop[1] > start[1] else -1.0
            path.append(_curve(start, leaving, (side, spot.y), (0.0, -down)))
            path.append(_curve((side, spot.y), (0.0, down), stop, coming))
            x = side + ahead[0] * (6 + 0.43 * text_width(text))
        else:
            at, heading = start, leaving
            for place in chain[1:-1]:
                near, far = spans[place.rank] if forwards else spans[place.rank][::-1]
                path += _curve(at, heading, (near, place.y), (-ahead[0], 0.0)), _line((near, place.y), (far, place.y))
                at, heading = (far, place.y), ahead
            path.append(_curve(at, heading, stop, coming))
        path.append(_line(stop, end))
        return Route("".join(path), round(x, 1), round(spot.y, 1))

    def _port(self, state: _Place, near: _Place, angle: float, spans: Sequence[Span]) -> tuple[Point, Point, Point]:
        """The point where an edge meets a state, the point where it begins to bend, and its direction there.

        An edge leaves the column before it bends if the state has a loop with a long label.
        """
        out = 1 if near.rank > state.rank else -1
        heading = out * math.cos(math.radians(angle)), math.sin(math.radians(angle))
        left, right = spans[state.rank]
        rim = (left + right) / 2 + RADIUS * heading[0], state.y + RADIUS * heading[1]
        if right - left <= 2 * RADIUS + 1:
            return rim, rim, heading
        return rim, (right if out > 0 else left, rim[1]), (float(out), 0.0)

    def _loop(self, state: int, spans: Sequence[Span]) -> Route:
        place = self.states[state]
        x, y = _middle(spans[place.rank]), place.y
        dx, dy = RADIUS * math.sin(math.radians(26)), RADIUS * math.cos(math.radians(26))
        control = y - dy - (RADIUS - dy + LOOP) / 0.75  # so that the curve is as high as a loop
        bends = f"{x - 22:.1f} {control:.1f} {x + 22:.1f} {control:.1f}"
        path = f"M{x - dx:.1f} {y - dy:.1f}C{bends} {x + dx:.1f} {y - dy:.1f}"
        return Route(path, round(x, 1), round(y - RADIUS - LOOP - LINE_HEIGHT / 2 - 2, 1))

    def _box(self, spans: Sequence[Span]) -> tuple[int, int, int, int]:
        places = [place for rank in self.ranks for place in rank]
        used = [spans[place.rank] for place in places]
        left = math.floor(min((s[0] for s in used), default=0) - ARROW - 8)
        right = math.ceil(max((s[1] for s in used), default=0) + 8)
        top = math.floor(min((place.y - place.above for place in places), default=0) - 4)
        bottom = math.ceil(max((place.y + place.below for place in places), default=0) + 4)
        return left, top, right - left, bottom - top


def text_width(text: str) -> float:
    """An upper bound of the width of a text of 12 pixels in a wide sans-serif font."""
    return sum(12.0 if unicodedata.east_asian_width(c) in "WF" else _WIDTHS.get(c, 7.8) for c in text)


def shortened(names: Sequence[str]) -> str:
    """At most four names of symbols, each of at most 16 characters, and the number of the others.

    `shortened` of states.js must be the same.
    """
    cut = [name if len(name) <= 16 else f"{name[:15]}…" for name in names]
    return ", ".join(cut) if len(cut) <= 4 else f"{', '.join(cut[:3])} +{len(cut) - 3}"


def state_names(numbers: Sequence[object], symbols: Iterable[object]) -> list[str]:
    """Names of states: their numbers, after a q if one of these is the name of a symbol too."""
    names = [str(number) for number in numbers]
    return [f"q{name}" for name in names] if {*names} & {str(symbol) for symbol in symbols} else names


class Line(NamedTuple):
    """A line of text inside a state: its distance below the centre, and its size."""

    text: str
    below: float
    size: float


def inside(name: str, output: str | None = None) -> list[Line]:
    """The lines inside a state: its name, above its output if it has one; long ones are smaller or cut."""
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


def _columns(roots: Sequence[int], edges: Iterable[Edge]) -> list[list[int]]:
    """Columns of states by their distance from the start; states that it does not reach are further right."""
    pairs = sorted({*edges})
    order = list(dict.fromkeys([*roots, *sorted({state for pair in pairs for state in pair})]))
    after: dict[int, list[int]] = {state: [] for state in order}
    for state, target in pairs:
        after[state].append(target)
    joined = {state for pair in pairs if pair[0] != pair[1] for state in pair}
    alone = [state for state in order if state not in joined]
    columns: list[list[int]] = []
    depth: dict[int, int] = {}
    for root in order:
        if root in depth or root not in joined:
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
        columns += layers.values()
    tallest = max(TALLEST, len(order) // TALLEST)
    return [column[i : i + tallest] for column in (*columns, alone) for i in range(0, len(column), tallest)]


def _fixed_columns(points: Mapping[int, Point]) -> list[list[int]]:
    """The columns of fixed states, each from top to bottom."""
    by_height = sorted(points, key=lambda state: (points[state][0], points[state][1]))
    return [list(column) for _, column in itertools.groupby(by_height, key=lambda state: points[state][0])]


def _number(rank: Iterable[_Place]) -> None:
    for i, place in enumerate(rank):
        place.at = i


def _crossings(rank: Iterable[_Place]) -> int:
    """The number of crossings of the edges between a rank and the next one."""
    seen: list[int] = []
    count = 0
    for place in rank:
        ends = sorted(other.at for other in place.right)
        count += sum(len(seen) - bisect.bisect_right(seen, end) for end in ends)
        for end in ends:
            bisect.insort(seen, end)
    return count


def _between(upper: Iterable[_Place], lower: Sequence[_Place]) -> int:
    """Crossings of the edges of a place with those of the place below it, by their neighbours on one side."""
    return sum(one.at > other.at for one in upper for other in lower)


def _distances(places: Sequence[_Place]) -> list[float]:
    """Least distances between successive places."""
    return [one.below + other.above for one, other in itertools.pairwise(places)]


def _runs(rank: Iterable[_Place]) -> Iterator[tuple[float, list[_Place], float]]:
    """Successive places that may move, with the heights that bound them."""
    low: float = -math.inf
    run: list[_Place] = []
    for place in rank:
        if place.fixed:
            yield low, run, place.y - place.above
            low, run = place.y + place.below, []
        else:
            run.append(place)
    yield low, run, math.inf


def _settle(low: float, run: Sequence[_Place], high: float, stiffness: float) -> None:
    """Moves places to the heights of their neighbours, in their order and with their distances, if there is room."""
    if not run:
        return
    targets, weights = [], []
    for place in run:
        near = [*place.left, *place.right]
        pull = [_pull(place, other, stiffness) for other in near]
        weights.append(max(place.pull, LIGHT) * max(len(near), 1))
        targets.append(sum(w * other.y for w, other in zip(pull, near, strict=True)) / sum(pull) if near else place.y)
    shrunk = max(0.0, min(1.0, (high - low) / sum(place.above + place.below for place in run)))
    apart = [shrunk * distance for distance in _distances(run)]
    for place, y in zip(
        run, _spread(targets, weights, apart, low + shrunk * run[0].above, high - shrunk * run[-1].below), strict=True
    ):
        place.y = y


def _pull(one: _Place, other: _Place, stiffness: float) -> float:
    """How strongly two places keep one height."""
    return stiffness if one.state is None and other.state is None else min(one.pull, other.pull)


def _spread(
    targets: Sequence[float], weights: Sequence[float], apart: Sequence[float], low: float, high: float
) -> list[float]:
    """Numbers within bounds and with least distances, nearest to the targets in least squares: isotonic regression."""
    offsets = list(itertools.accumulate(apart, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # mean, weight and length
    for target, weight, offset in zip(targets, weights, offsets, strict=True):
        block = (target - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, more, length = blocks.pop()
            block = ((mean * more + block[0] * block[1]) / (more + block[1]), more + block[1], length + block[2])
        blocks.append(block)
    free = itertools.chain.from_iterable([mean] * length for mean, _, length in blocks)
    return [min(max(x, low), high - offsets[-1]) + offset for x, offset in zip(free, offsets, strict=True)]


def _curve(first: Point, ahead: Point, last: Point, back: Point) -> str:
    """A cubic curve to a point; `ahead` and `back` are the directions at its ends, into the curve."""
    wide, high = abs(last[0] - first[0]) / 2, abs(last[1] - first[1]) / 2
    control = [
        (point[0] + (wide if dx else high) * dx, point[1] + (wide if dx else high) * dy)
        for point, (dx, dy) in ((first, ahead), (last, back))
    ]
    return "C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in (*control, last))


def _line(first: Point, last: Point) -> str:
    """A straight line to a point; "" if it is the same point."""
    return "" if first == last else f"L{last[0]:.1f} {last[1]:.1f}"


def _middle(span: Span) -> float:
    return (span[0] + span[1]) / 2
