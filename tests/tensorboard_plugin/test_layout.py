import itertools
import math
import random

import pytest

from tensorboard_plugins.interp_rnn.layout import (
    RADIUS,
    TALLEST,
    inside,
    points,
    positions,
    route,
    shortened,
    text_width,
)


def test_a_chain_is_a_line():
    assert positions([(0, 1), (1, 2), (2, 3)], [0]) == {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (3, 0)}


def test_two_branches_stand_above_each_other():
    found = positions([(5, 1), (5, 2), (1, 7), (2, 7), (7, 7)], [5])
    assert found[5] == (0, 0)
    assert {found[1], found[2]} == {(1, -0.5), (1, 0.5)}
    assert found[7] == (2, 0)


@pytest.mark.parametrize("seed", range(8))
def test_no_two_states_stand_in_one_place_and_layers_are_not_too_tall(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 60)
    found = positions([(rng.randrange(n), rng.randrange(n)) for _ in range(3 * n)], [0])
    assert len(set(found.values())) == len(found)
    columns = [column for column, _ in found.values()]
    assert max(columns.count(column) for column in set(columns)) <= TALLEST
    assert sorted(set(columns)) == list(range(len(set(columns))))


def test_branches_that_do_not_cross_are_not_crossed():
    edges = [(0, 1), (0, 2), (0, 3), (1, 14), (2, 15), (3, 13), (14, 20), (15, 21), (13, 22)]
    found = positions(edges, [0])
    order = sorted((1, 2, 3), key=lambda state: found[state][1])
    for layer in ({1: 14, 2: 15, 3: 13}, {1: 20, 2: 21, 3: 22}):
        assert sorted(layer.values(), key=lambda state: found[state][1]) == [layer[state] for state in order]


def test_the_order_of_edges_does_not_matter():
    edges = [(0, 3), (3, 1), (1, 0), (2, 2), (0, 2), (4, 0)]
    assert positions(edges, [0]) == positions(edges[::-1], [0])


def test_nothing_is_nowhere():
    assert positions([], []) == {}
    assert positions([], [3]) == {3: (0, 0)}


LONG = ("open the door", "close the door", "wait", "a very long name of a symbol")
AUTOMATA = [
    *((states, "01", seed) for states in range(1, 21) for seed in range(2)),
    *((states, "abc", seed) for states in (2, 4, 6, 8, 10) for seed in range(2)),
    *((states, LONG, seed) for states in (1, 2, 3, 5) for seed in range(2)),
    (8, "ACGT", 0),
]


def random_labels(states, alphabet, seed):
    rng = random.Random(1000 * states + seed)
    symbols = {}
    for state in range(states):
        for symbol in alphabet:
            symbols.setdefault((state, rng.randrange(states)), []).append(symbol)
    return {edge: shortened(names) for edge, names in symbols.items()}


def along(path):
    """Points of a path "Mx yCx y x y x y"."""
    first, *rest = path[1:].replace("C", " ").split(" ")
    x = [float(number) for number in (first, *rest)]
    for i in range(41):
        t = i / 40
        weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
        yield tuple(sum(w * x[2 * j + axis] for j, w in enumerate(weights)) for axis in (0, 1))


def outside(point, left, top, right, bottom):
    """Distance of a point from a box."""
    x, y = point
    return math.hypot(max(left - x, 0, x - right), max(top - y, 0, y - bottom))


class TestDrawings:
    @pytest.mark.parametrize(("states", "alphabet", "seed"), AUTOMATA)
    def test_nothing_lies_on_a_state_and_no_label_on_another(self, states, alphabet, seed):
        labels = random_labels(states, alphabet, seed)
        places = points(labels, range(states))
        drawing = route(places, labels, 0)
        assert drawing.clear
        for (state, target), (path, _, _) in drawing.routes.items():
            for other in set(places) - {state, target}:
                assert min(math.dist(point, places[other]) for point in along(path)) > RADIUS + 3
        boxes = {}
        for edge, (_, x, y) in drawing.routes.items():
            half = 3.2 * len(labels[edge])  # of a usual sans-serif font of 12 pixels
            boxes[edge] = x - half, y - 6, x + half, y + 6
        for edge, box in boxes.items():
            assert all(outside(place, *box) > RADIUS for place in places.values()), edge
        for one, other in itertools.combinations(boxes.values(), 2):
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]

    @pytest.mark.parametrize(("states", "alphabet", "seed"), AUTOMATA[::5])
    def test_nothing_is_cut_off(self, states, alphabet, seed):
        labels = random_labels(states, alphabet, seed)
        places = points(labels, range(states))
        routes, (left, top, width, height), _ = route(places, labels, 0)
        ink = [point for path, _, _ in routes.values() for point in along(path)]
        ink += [(x + d, y + d) for x, y in places.values() for d in (-RADIUS, RADIUS)]
        ink.append((places[0][0] - RADIUS - 28, places[0][1]))  # of the start arrow
        for edge, (_, x, y) in routes.items():
            ink += [(x + side * 3.2 * len(labels[edge]), y + side * 6) for side in (-1, 1)]
        assert all(left <= x <= left + width and top <= y <= top + height for x, y in ink)

    def test_an_edge_begins_and_ends_at_the_rim_of_its_states(self):
        labels = random_labels(6, "ab", 0)
        places = points(labels, range(6))
        radii = {state: 10.0 + state for state in range(6)}
        for (state, target), (path, _, _) in route(places, labels, 0, radii).routes.items():
            first, *_, last = along(path)
            assert math.dist(first, places[state]) == pytest.approx(radii[state], abs=0.1)
            assert math.dist(last, places[target]) == pytest.approx(radii[target], abs=0.1)

    def test_edges_of_a_pair_part(self):
        labels = {(0, 1): "a", (1, 0): "b"}
        (_, _, up), (_, _, down) = route(points(labels, [0]), labels, 0).routes.values()
        assert up < 0 < down

    def test_columns_make_room_for_long_labels(self):
        (x0, _), (x1, _) = points({(0, 1): "a"}, [0]).values()
        (y0, _), (y1, _) = points({(0, 1): "a symbol with a very long name"}, [0]).values()
        assert y1 - y0 > x1 - x0

    def test_a_thousand_edges_are_drawn(self):
        labels = {(i, j): "x" for i in range(40) for j in range(40)}
        places = points(labels, [0])
        assert len(route(places, labels, 0).routes) == 1600

    def test_labels_are_short(self):
        assert shortened(["a", "b", "c", "d"]) == "a, b, c, d"
        assert shortened("abcde") == "a, b, c +2"
        assert shortened(["a name that is too long"]) == "a name that is …"


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
