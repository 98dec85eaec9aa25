import random

import pytest

from tensorboard_plugins.interp_rnn.layout import TALLEST, positions


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
