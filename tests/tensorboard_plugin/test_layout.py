import itertools
import math
import random
import re

import numpy as np
import pytest

from tensorboard_plugins.interp_rnn.kinds._graph import drawn, edges_of, ends_of, placed
from tensorboard_plugins.interp_rnn.layout import (
    LINE_HEIGHT,
    LOOP,
    RADIUS,
    TALLEST,
    Drawing,
    Route,
    draw,
    inside,
    shortened,
    text_width,
)

LONG = ("open the door", "close the door", "wait", "a very long name of a symbol")
AUTOMATA = [
    *((states, "01", seed) for states in (*range(1, 13), 20) for seed in range(2)),
    (40, "01", 0),
    (60, "01", 1),
    *((states, "abc", seed) for states in (2, 4, 6, 8, 10) for seed in range(2)),
    *((states, LONG, seed) for states in (1, 2, 3, 5) for seed in range(2)),
    (12, "abcde", 0),
    (20, "abcde", 1),
    (40, "abcde", 2),
    (60, "abcde", 3),
]


def random_labels(states, alphabet, seed):
    """Of an automaton with up to len(alphabet) edges a state, many of them parallel or loops."""
    rng = random.Random(1000 * states + seed)
    symbols = {}
    for state in range(states):
        for symbol in alphabet:
            symbols.setdefault((state, rng.randrange(states)), []).append(symbol)
    return {edge: shortened(names) for edge, names in symbols.items()}


def unlabelled(*edges):
    return dict.fromkeys(edges, "x")


def along(path):
    """Points of a path of cubic curves and straight lines, at most five pixels apart."""
    at = None
    for command, numbers in re.findall(r"([MCL])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        if command == "C":
            control = [at, *points]
            reach = sum(math.dist(one, other) for one, other in itertools.pairwise(control))
            for i in range(1, parts := 2 + int(reach / 5)):
                t = i / parts
                weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
                yield tuple(sum(w * point[axis] for w, point in zip(weights, control, strict=True)) for axis in (0, 1))
        if command == "L":
            parts = 2 + int(math.dist(at, points[0]) / 5)
            for i in range(1, parts):
                yield tuple(a + (b - a) * i / parts for a, b in zip(at, points[0], strict=True))
        at = points[-1]
        yield at


def box_of(route, text):
    half = text_width(text) / 2
    return route.x - half, route.y - LINE_HEIGHT / 2, route.x + half, route.y + LINE_HEIGHT / 2


def outside(point, left, top, right, bottom):
    """Distance of a point from a box."""
    x, y = point
    return math.hypot(max(left - x, 0, x - right), max(top - y, 0, y - bottom))


def check_clear(labels, drawing):
    """Nothing lies on a state or on a label of another edge."""
    places = drawing.points
    for one, other in itertools.combinations(places.values(), 2):
        assert math.dist(one, other) > 2 * RADIUS + 8
    traced = {edge: list(along(route.path)) for edge, route in drawing.routes.items()}
    points = np.array([point for path in traced.values() for point in path]).reshape(-1, 2)
    owner = [edge for edge, path in traced.items() for _ in path]
    for state, place in places.items():
        others = np.array([state not in edge for edge in owner], bool)
        assert np.linalg.norm(points[others] - place, axis=1).min(initial=1e9) > RADIUS + 2, state
    boxes = {edge: box_of(route, labels[edge]) for edge, route in drawing.routes.items()}
    for edge, box in boxes.items():
        assert all(outside(place, *box) > RADIUS for place in places.values()), edge
    for edge, (left, top, right, bottom) in boxes.items():
        covered = (points > (left + 1, top + 2)).all(axis=1) & (points < (right - 1, bottom - 2)).all(axis=1)
        assert {owner[i] for i in np.flatnonzero(covered)} <= {edge}
    for (_, one), (edge, other) in itertools.combinations(boxes.items(), 2):
        apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
        assert apart, edge


class TestPositions:
    def test_a_chain_is_a_line(self):
        points = draw(unlabelled((0, 1), (1, 2), (2, 3)), [0]).points
        assert {y for _, y in points.values()} == {0}
        across = [points[state][0] for state in range(4)]
        assert across == sorted(across)

    def test_loops_and_a_way_back_leave_a_chain_straight(self):
        points = draw(unlabelled((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0)), [0]).points
        assert max(y for _, y in points.values()) - min(y for _, y in points.values()) < 6

    def test_a_column_holds_the_states_of_one_distance(self):
        points = draw(unlabelled((5, 1), (5, 2), (1, 7), (2, 7), (7, 7)), [5]).points
        assert points[5][0] < points[1][0] == points[2][0] < points[7][0]
        assert points[1][1] + points[2][1] == pytest.approx(2 * points[5][1], abs=0.5)

    @pytest.mark.parametrize("seed", range(8))
    def test_columns_are_not_too_tall(self, seed):
        rng = random.Random(seed)
        n = rng.randint(1, 60)
        drawing = draw(unlabelled(*((rng.randrange(n), rng.randrange(n)) for _ in range(3 * n))), [0])
        assert len(set(drawing.points.values())) == len(drawing.points)
        columns = [x for x, _ in drawing.points.values()]
        assert max(columns.count(x) for x in columns) <= TALLEST

    def test_branches_that_need_not_cross_do_not(self):
        edges = [(0, 1), (0, 2), (0, 3), (1, 14), (2, 15), (3, 13), (14, 20), (15, 21), (13, 22)]
        points = draw(unlabelled(*edges), [0]).points
        order = sorted((1, 2, 3), key=lambda state: points[state][1])
        for layer in ({1: 14, 2: 15, 3: 13}, {1: 20, 2: 21, 3: 22}):
            assert sorted(layer.values(), key=lambda state: points[state][1]) == [layer[state] for state in order]

    def test_what_no_start_leads_to_stands_on_the_right(self):
        points = draw(unlabelled((0, 1), (5, 0), (5, 6)), [0, 9, 8]).points
        assert points[1][0] < points[5][0] < points[6][0] < points[8][0] == points[9][0]

    def test_nothing_is_nowhere(self):
        assert draw({}, []).points == {}
        assert draw({}, [3]).points == {3: (0, 0)}

    def test_columns_make_room_for_long_labels(self):
        (x0, _), (x1, _) = draw({(0, 1): "a"}, [0]).points.values()
        (y0, _), (y1, _) = draw({(0, 1): "a symbol with a very long name"}, [0]).points.values()
        assert y1 - y0 > x1 - x0 + 100
        (z0, _), (z1, _) = draw({(0, 1): "a"}, [0], lane=200).points.values()
        assert z1 - z0 > 200


class TestDrawings:
    @pytest.mark.parametrize(("states", "alphabet", "seed"), AUTOMATA)
    def test_nothing_lies_on_a_state_and_no_label_on_another(self, states, alphabet, seed):
        labels = random_labels(states, alphabet, seed)
        drawing = draw(labels, range(states))
        assert set(drawing.points) == set(range(states))
        assert list(drawing.routes) == list(labels)
        check_clear(labels, drawing)

    @pytest.mark.parametrize(("states", "alphabet", "seed"), AUTOMATA[::4])
    def test_an_edge_begins_and_ends_at_the_rim_of_its_states_and_points_at_them(self, states, alphabet, seed):
        drawing = draw(random_labels(states, alphabet, seed), range(states))
        for ends, (path, _, _) in drawing.routes.items():
            first, *_, before, last = along(path)
            for point, state in zip((first, last), ends, strict=True):
                assert math.dist(point, drawing.points[state]) == pytest.approx(RADIUS, abs=0.2)
            assert math.dist(before, drawing.points[ends[1]]) > RADIUS  # an arrow that comes from outside

    @pytest.mark.parametrize(("states", "alphabet", "seed"), AUTOMATA[::5])
    def test_nothing_is_cut_off(self, states, alphabet, seed):
        labels = random_labels(states, alphabet, seed)
        points, routes, (left, top, width, height) = draw(labels, range(states))
        ink = [point for route in routes.values() for point in along(route.path)]
        ink += [(x + d, y + d) for x, y in points.values() for d in (-RADIUS, RADIUS)]
        ink.append((points[0][0] - RADIUS - 28, points[0][1]))  # of the start arrow
        for edge, route in routes.items():
            x0, y0, x1, y1 = box_of(route, labels[edge])
            ink += [(x0, y0), (x1, y1)]
        assert all(left <= x <= left + width and top <= y <= top + height for x, y in ink)

    def test_the_same_graph_is_the_same_drawing(self):
        labels = random_labels(12, "abc", 0)
        shuffled = dict(sorted(labels.items(), key=lambda item: hash(str(item))))
        first, second = draw(labels, range(12)), draw(shuffled, range(12))
        assert (first.points, first.box) == (second.points, second.box)
        assert first.routes == second.routes

    def test_edges_of_a_pair_part(self):
        (_, _, up), (_, _, down) = draw({(0, 1): "a", (1, 0): "b"}, [0]).routes.values()
        assert abs(up - down) >= LINE_HEIGHT
        assert up + down == pytest.approx(0, abs=0.5)

    def test_the_label_of_an_edge_within_a_column_is_next_to_the_middle_of_its_curve(self):
        labels = {(0, 1): "a", (0, 2): "b", (1, 2): "right", (2, 1): "left"}
        points, routes, _ = draw(labels, [0])
        assert points[1][0] == points[2][0]
        for edge, out in (((1, 2), 1), ((2, 1), -1)):
            (path, x, y), half = routes[edge], text_width(labels[edge]) / 2
            across, heights = np.transpose([*along(path)])
            middle = np.argmax(out * across)
            assert 0 < out * (x - across[middle]) - half < 8
            assert heights[middle] == pytest.approx(y, abs=0.2)
            assert (heights[middle + 1] - heights[middle - 1]) * (heights[-1] - heights[0]) > 0
            assert min(points[1][1], points[2][1]) < y < max(points[1][1], points[2][1])

    def test_a_path_goes_on_in_the_direction_in_which_a_part_of_it_ends(self):
        for labels in (random_labels(8, "abc", 0), random_labels(5, LONG, 1)):
            for path, _, _ in draw(labels, range(8)).routes.values():
                points = [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]
                ends = itertools.accumulate([0, *({"C": 3, "L": 1}[command] for command in re.findall("[CL]", path))])
                for i in [*ends][1:-1]:
                    arriving, leaving = (np.subtract(points[i + k], points[i + k - 1]) for k in (0, 1))
                    lengths = np.linalg.norm(arriving), np.linalg.norm(leaving)
                    assert min(lengths) < 2 or arriving @ leaving > 0.99 * np.prod(lengths), path

    def test_the_label_of_a_loop_is_just_above_it(self):
        points, routes, _ = draw({(0, 0): "x"}, [0])
        path, x, y = routes[0, 0]
        top = min(height for _, height in along(path))
        assert (x, top) == pytest.approx((points[0][0], points[0][1] - RADIUS - LOOP), abs=0.5)
        assert 1 < top - (y + LINE_HEIGHT / 2) < 3

    def test_a_thousand_edges_are_drawn(self):
        labels = {(i, j): "x" for i in range(40) for j in range(40)}
        assert len(draw(labels, [0]).routes) == 1600

    def test_labels_are_short(self):
        assert shortened(["a", "b", "c", "d"]) == "a, b, c, d"
        assert shortened("abcde") == "a, b, c +2"
        assert shortened(["a name that is too long"]) == "a name that is …"


def graph_of(table):
    """As the page has it: what is reached from state 0."""
    reached, symbols = [0], {}
    for state in reached:  # which grows
        for symbol, target in enumerate(table[state]):
            symbols.setdefault((state, target), []).append([str(symbol), None])
            if target not in reached:
                reached.append(target)
    return {"start": 0, "states": [{"id": state} for state in reached], "edges": edges_of(symbols)}


class TestStatesThatStand:
    @pytest.mark.parametrize("seed", range(3))
    def test_through_training_states_stay_and_all_edges_avoid_them(self, seed):
        rng = random.Random(seed)
        table = [[rng.randrange(10) for _ in range(2)] for _ in range(10)]
        graphs = []
        for step in range(12):
            for _ in range(max(1, 6 - step)):
                table[rng.randrange(10)][rng.randrange(2)] = rng.randrange(10)
            graphs.append(graph_of(table))
        place = placed(graphs, range(10))
        alone = placed(graphs[-1:], range(10))
        assert len(place["usual"]) < len({ends for graph in graphs for ends in ends_of(graph)})
        assert {*map(str, range(10))} == set(place["positions"]) == set(alone["positions"])
        for graph in graphs:
            there = [state["id"] for state in graph["states"]]
            routes = {(edge["from"], edge["to"]): edge for edge in graph["edges"]}
            found = dict(zip(routes, itertools.starmap(Route, drawn(graph, place)["routes"]), strict=True))
            labels = {ends: shortened([name for name, _ in edge["symbols"]]) for ends, edge in routes.items()}
            check_clear(labels, Drawing({i: place["positions"][str(i)] for i in there}, found, place["box"]))

    def test_some_may_be_gone(self):
        places = draw(unlabelled((0, 1), (1, 2), (2, 3)), [0]).points
        del places[1]
        drawing = draw({(0, 2): "x", (2, 3): "y"}, (), points=places)
        assert drawing.points == places
        check_clear({(0, 2): "x", (2, 3): "y"}, drawing)


@pytest.mark.core
@pytest.mark.parametrize("output", [None, "no", "x", "a label of many letters"])
@pytest.mark.parametrize("name", ["7", "(12, 3)", "(100, 200, 300)"])
def test_what_stands_inside_of_a_state_fits_into_its_circle(name, output):
    lines = inside(name, output)
    assert len(lines) == (1 if output is None else 2)
    for (text, below, size), whole in zip(lines, (name, output), strict=False):
        assert size >= 8
        half = text_width(text) * size / 12 / 2
        assert half**2 + (abs(below) + size / 3) ** 2 <= RADIUS**2
        assert whole == text or whole.startswith(text[:-1]) and text.endswith("…")
