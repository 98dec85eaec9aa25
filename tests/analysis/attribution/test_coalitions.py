"""Shapley values from all coalitions, or from pairs of them: games whose values are known."""

import math

import numpy as np
import pytest

from keras_interp_rnn.analysis.attribution.coalitions import Pairs, exact_values, regression, sizes_of
from tests.oracles import shapley


class Game:
    """v(S) = the sum of random weights of the sets of players that are in S, of at most so many players.

    The Shapley value of a player is the sum of the weights of its sets, each over the number of its players.
    """

    def __init__(self, num_players, order, seed, terms=None):
        rng = np.random.default_rng(seed)
        terms = 4 * num_players if terms is None else terms
        sizes = np.where(rng.random(terms) < 0.5, 1, rng.integers(1, min(order, num_players) + 1, terms))
        self.sets = np.array([rng.permutation(np.arange(num_players) < size) for size in sizes])
        self.weights = rng.normal(size=terms)
        self.values = (self.sets / sizes[:, None] * self.weights[:, None]).sum(axis=0)

    def __call__(self, some):
        missing = ~np.asarray(some) @ self.sets.T  # whether a set has a player that is absent
        return ~missing @ self.weights

    def estimate(self, pairs):
        differences = self(pairs.coalitions) - self(~pairs.coalitions)
        ends = self(np.repeat([[False], [True]], pairs.num_players, axis=1))
        values, errors = regression(pairs, differences[:, None], np.diff(ends))
        return values[:, 0], errors[:, 0]


@pytest.mark.parametrize("num_players", [1, 2, 3, 5, 7])
def test_values_of_all_coalitions_are_means_over_all_orders(num_players):
    table = np.random.default_rng(num_players).normal(size=(2**num_players, 3)) + 100
    expected = shapley.shapley_values(lambda some: table, num_players)
    np.testing.assert_allclose(exact_values(table), expected, atol=1e-12)
    np.testing.assert_allclose(exact_values(table).sum(axis=0), table[-1] - table[0], atol=1e-12)
    np.testing.assert_array_equal(sizes_of(num_players), shapley.coalitions(num_players).sum(axis=1))


def test_values_keep_the_digits_of_small_changes():
    game = Game(10, 3, 0)
    table = game(shapley.coalitions(10))[:, None]
    np.testing.assert_allclose(exact_values(1e-9 * table + 1e3)[:, 0], 1e-9 * game.values, atol=1e-12)
    np.testing.assert_allclose(exact_values(table)[:, 0], game.values, atol=1e-13)


@pytest.mark.parametrize("num_players", [2, 3, 4, 7, 10, 17, 66, 67, 68, 301])
@pytest.mark.parametrize("counts", [(32, 32, 64), (1, 2, 100), (257,)])
def test_pairs_are_drawn_once_and_of_all_sizes_alike(num_players, counts):
    pairs = Pairs(num_players, np.random.default_rng(0))
    for count in counts:
        before = pairs.coalitions
        drawn = pairs.draw(count)
        np.testing.assert_array_equal(pairs.coalitions, np.concatenate([before, drawn]))
    assert len(pairs.coalitions) == min(sum(counts), 2 ** (num_players - 1) - 1)
    assert pairs.are_all == (sum(counts) >= 2 ** (num_players - 1) - 1)
    both = np.concatenate([pairs.coalitions, ~pairs.coalitions])
    assert len(np.unique(both, axis=0)) == len(both)
    sizes = pairs.coalitions.sum(axis=1)
    assert ((sizes > 0) & (sizes < num_players)).all()
    # A pair has two sizes, or one twice; of sizes that are not used up each comes as often as any other, but for one.
    numbers = np.bincount(both.sum(axis=1), minlength=num_players + 1)[1:-1]
    spare = np.array([numbers[size - 1] < math.comb(num_players, size) for size in range(1, num_players)])
    if spare.any():
        assert numbers[spare].max() - numbers[spare].min() <= 2
        assert (numbers[~spare] <= numbers[spare].min() + 1).all()


@pytest.mark.parametrize("num_players", [2, 3, 6, 9])
def test_all_pairs_have_the_exact_values(num_players):
    game, pairs = Game(num_players, num_players, 1), Pairs(num_players, np.random.default_rng(0))
    pairs.draw(2**num_players)
    values, errors = game.estimate(pairs)
    np.testing.assert_allclose(values, game.values, atol=1e-12)
    assert not errors.any()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("num_players", [12, 40])
def test_games_of_single_players_and_of_two_need_few_pairs(order, num_players):
    """The difference of a pair has nothing else of them."""
    game, pairs = Game(num_players, order, 2), Pairs(num_players, np.random.default_rng(0))
    pairs.draw(2 * num_players)
    values, errors = game.estimate(pairs)
    np.testing.assert_allclose(values, game.values, atol=1e-4)
    assert errors.max() < 0.01 * np.abs(game.values).max()


@pytest.mark.parametrize("num_players", [20, 60])
def test_more_pairs_are_nearer_and_have_the_smaller_errors(num_players):
    missed, said = [], []
    for number in (64, 256, 1024):
        games = [Game(num_players, 5, seed) for seed in range(8)]
        found = []
        for seed, game in enumerate(games):
            pairs = Pairs(num_players, np.random.default_rng(seed))
            pairs.draw(number)
            values, errors = game.estimate(pairs)
            assert values.sum() == pytest.approx(game.values.sum(), abs=1e-10)
            found.append((np.sqrt(((values - game.values) ** 2).mean()), errors.mean()))
        missed.append(np.mean(found, axis=0)[0])
        said.append(np.mean(found, axis=0)[1])
    # In a regression four times as many halve the error; with few the prior holds it down.
    for numbers in (missed, said):
        assert numbers[0] > numbers[1] > numbers[2]
        assert numbers[2] < 0.6 * numbers[0]


@pytest.mark.parametrize(
    ("num_players", "number"), [(17, 64), (40, 128), pytest.param(100, 256, marks=pytest.mark.matrix)]
)
def test_intervals_hold_the_values_as_often_as_they_say(num_players, number):
    """Of 60 games of up to five players at a time: 1,020 values and more, of which 95% lie in their intervals.

    The values of a game are no independent draws. Were a game worth as much as ten, 5% would have a standard error of
    0.9%: 91 to 99% are four of them.
    """
    held = []
    for seed in range(60):
        game, pairs = Game(num_players, 5, seed), Pairs(num_players, np.random.default_rng(seed))
        pairs.draw(number)
        values, errors = game.estimate(pairs)
        held += (np.abs(values - game.values) <= 1.96 * errors).tolist()
    assert 0.91 < np.mean(held) < 0.99


def test_several_outputs_are_regressed_as_each_alone():
    first, second = Game(18, 4, 0), Game(18, 4, 1)
    pairs = Pairs(18, np.random.default_rng(0))
    pairs.draw(100)
    differences = np.stack([game(pairs.coalitions) - game(~pairs.coalitions) for game in (first, second)], axis=1)
    ends = np.array([game.values.sum() for game in (first, second)])
    values, errors = regression(pairs, differences, ends)
    for k, game in enumerate((first, second)):
        of_one = game.estimate(pairs)
        np.testing.assert_allclose(values[:, k], of_one[0], atol=1e-12)
        np.testing.assert_allclose(errors[:, k], of_one[1], rtol=1e-9)


def test_a_game_without_players_that_matter_has_no_errors():
    pairs = Pairs(20, np.random.default_rng(0))
    pairs.draw(64)
    values, errors = regression(pairs, np.zeros((64, 1)), np.zeros(1))
    np.testing.assert_allclose(values, 0, atol=1e-12)
    np.testing.assert_allclose(errors, 0, atol=1e-12)
