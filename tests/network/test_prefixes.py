"""A sequence in all variants at once: each one's outputs are those of the network that reads it alone."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import open_network
from keras_interp_rnn.analysis.attribution.merging import can_merge, cells, merged
from tests.network.test_own_equations import EulerCell, SilentCell
from tests.oracles.shapley import coalitions, shapley_values
from tests.samples import passing_masks_on

FEATURES, UNITS, STEPS = 3, 4, 6
READ = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 1, 0]], bool)
"""Of a sequence that is read as a whole, and of one with a masked start, a gap and a masked end."""


def cells_of_two():
    return [keras.layers.GRUCell(5), keras.layers.LSTMCell(UNITS)]


def between():
    return [keras.layers.LayerNormalization(), keras.layers.Dense(FEATURES, activation="tanh")]


def mean():
    return keras.layers.GlobalAveragePooling1D()


def step_of(place):
    """The vector (units,) of a step."""
    x = keras.Input((None, UNITS), dtype="float64")
    return keras.Model(x, x[:, place])


def sequences():
    return keras.Input((STEPS, FEATURES), dtype="float64")


SEQUENCES = {"return_sequences": True}
NETWORKS = {
    "SimpleRNN": lambda: [keras.layers.SimpleRNN(UNITS)],
    "GRU": lambda: [keras.layers.GRU(UNITS)],
    "GRU, reset before": lambda: [keras.layers.GRU(UNITS, reset_after=False)],
    "LSTM": lambda: [keras.layers.LSTM(UNITS)],
    "MinimalRNN": lambda: [layers.MinimalRNN(UNITS)],
    "CFN": lambda: [layers.CFN(UNITS)],
    "PeepholeLSTM": lambda: [layers.PeepholeLSTM(UNITS)],
    "MinGRU": lambda: [layers.MinGRU(UNITS)],
    "SRGRU": lambda: [layers.SRGRU(UNITS, 3)],
    "SRLSTM, the last step without centroids": lambda: [layers.SRLSTM(UNITS, 3, regularize_last_step=False)],
    "a user's cell with equations": lambda: [keras.layers.RNN(EulerCell(UNITS))],
    "a user's cell": lambda: [keras.layers.RNN(SilentCell(UNITS))],
    "backwards": lambda: [keras.layers.LSTM(UNITS, go_backwards=True)],
    "backwards, the last step without centroids": lambda: [
        layers.SRGRU(UNITS, 3, regularize_last_step=False, go_backwards=True)
    ],
    "a stack of cells": lambda: [keras.layers.RNN(cells_of_two())],
    "two layers": lambda: [keras.layers.LSTM(5, **SEQUENCES), keras.layers.GRU(UNITS)],
    "two layers, others between": lambda: [
        *(keras.layers.LSTM(5, **SEQUENCES), *between(), keras.layers.GRU(UNITS), keras.layers.LayerNormalization())
    ],
    "layers below": lambda: [*between(), keras.layers.GRU(UNITS), keras.layers.Dense(3, activation="relu")],
    "two layers, zeros where masked": lambda: [
        keras.layers.GRU(5, zero_output_for_mask=True, **SEQUENCES),
        keras.layers.LSTM(UNITS, zero_output_for_mask=True),
    ],
    "a mean": lambda: [keras.layers.LSTM(UNITS, **SEQUENCES), mean()],
    "a mean of what is above, zeros where masked": lambda: [
        *(keras.layers.GRU(UNITS, zero_output_for_mask=True, **SEQUENCES), *between(), mean())
    ],
    "each step": lambda: [keras.layers.LSTM(UNITS, **SEQUENCES), keras.layers.Dense(3, activation="tanh")],
    "the last of all steps": lambda: [keras.layers.GRU(UNITS, **SEQUENCES), step_of(-1), keras.layers.Dense(3, "tanh")],
    "the third of all steps": lambda: [
        keras.layers.LSTM(UNITS, **SEQUENCES),
        step_of(2),
        keras.layers.LayerNormalization(),
    ],
    "both directions": lambda: [keras.layers.Bidirectional(keras.layers.LSTM(UNITS))],
    "the sum of both": lambda: [keras.layers.Bidirectional(keras.layers.GRU(UNITS), merge_mode="sum")],
    "the mean of both": lambda: [keras.layers.Bidirectional(keras.layers.GRU(UNITS), merge_mode="ave")],
    "the mean over the steps of both": lambda: [
        *(keras.layers.Bidirectional(keras.layers.LSTM(UNITS, **SEQUENCES)), mean())
    ],
    "the second step of both": lambda: [
        keras.layers.Bidirectional(keras.layers.GRU(UNITS, **SEQUENCES), merge_mode="sum"),
        step_of(1),
    ],
    "each step of both": lambda: [keras.layers.Bidirectional(keras.layers.GRU(UNITS, **SEQUENCES))],
}
LINEAR_HEADS = {name for name in NETWORKS if "both" in name}
OF_ONE_DIRECTION = NETWORKS.keys() - LINEAR_HEADS


def drawn(name, masked, seed):
    """A model in float64 with random weights, which reads a sequence, and what is read where no step is there."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    below = [keras.layers.Masking()] if masked else []
    recurrent = [passing_masks_on(layer) for layer in NETWORKS[name]()]
    model = keras.Sequential([sequences(), *below, *recurrent, keras.layers.Dense(2)])
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.7)
    x, absent = rng.normal(size=(2, STEPS, FEATURES)), rng.normal(size=(STEPS, FEATURES))
    return model, np.where(READ[..., None], x, 0) if masked else x, absent


def run(model, x, step=-1):
    outputs = np.asarray(ops.convert_to_numpy(model(x)), np.float64)
    return outputs[:, step] if outputs.ndim == 3 else outputs


def variants(some, x, absent, players):
    there = np.concatenate([some, np.ones((len(some), 1), bool)], axis=1)[:, players]
    return np.where(there[..., None], x, absent)


PLAYERS = {
    "steps": [0, 1, 2, 3, 4, 5],
    "groups": [0, 0, 1, 1, 1, 2],
    "groups that come again": [0, 1, 0, 2, 1, 2],
    "some always there": [-1, 0, -1, 0, 1, 2],
}


def players_of(kind, read):
    """Steps that are not read are no players."""
    players = np.where(read, PLAYERS[kind], -1)
    _, numbers = np.unique(players[players >= 0], return_inverse=True)
    players[players >= 0] = numbers
    return players


CASES = [(name, masked) for masked in (False, True) for name in NETWORKS]


@pytest.fixture(autouse=True)
def _in_float64(global_policy):
    global_policy("float64")


ATOL = 1e-12 if keras.backend.backend() == "tensorflow" else 1e-5
"""Keras's own outputs go through float32 on JAX and torch: tests/tolerances.py."""


@pytest.mark.core(6)
@pytest.mark.parametrize(("name", "masked"), CASES, ids=str)
def test_every_coalition_has_the_output_of_the_network(name, masked):
    seed = CASES.index((name, masked))
    model, x, absent = drawn(name, masked, seed)
    row = int(masked)
    for step in (-1, 2, 0) if "each step" in name else (-1,):
        chain = open_network(model, [x], step=step)
        assert is_read_by_steps(chain)
        for kind in PLAYERS:
            players = players_of(kind, READ[row])
            some = coalitions(players.max() + 1)
            expected = run(model, variants(some, x[row], absent, players), step)
            assert masked or step >= 0 or np.ptp(expected, axis=0).min() > 1e-3
            game = Prefixes(chain, row, absent, players)
            np.testing.assert_allclose(game.all_outputs(), expected, atol=ATOL)
            chosen = np.random.default_rng(seed).integers(len(some), size=9)  # in any order, with repeats
            np.testing.assert_allclose(game.outputs(some[chosen]), expected[chosen], atol=ATOL)
            assert game.runs == len(some) + 9


@pytest.mark.core(4)
@pytest.mark.parametrize(("name", "masked"), CASES, ids=str)
def test_with_enough_states_the_automaton_is_the_network(name, masked):
    """Of two directions too, whose head is affine here."""
    seed = CASES.index((name, masked))
    model, x, absent = drawn(name, masked, seed)
    row, step = int(masked), 3 if "each step" in name else -1
    chain = open_network(model, [x], step=step)
    for kind in PLAYERS:
        players = players_of(kind, READ[row])
        game, some = Prefixes(chain, row, absent, players), coalitions(players.max() + 1)

        def value(some, players=players):
            return run(model, variants(some, x[row], absent, players), step)

        known = players[players >= 0]
        assert can_merge(game) == (len(list(itertools.groupby(known))) == len(set(known)))
        if can_merge(game):
            automaton = merged(game, 2**STEPS)
            np.testing.assert_allclose(automaton.outputs(some), value(some), atol=ATOL)
            expected = shapley_values(value, some.shape[1])
            np.testing.assert_allclose(automaton.shapley_values(), expected, atol=ATOL)


@pytest.mark.core(3)
@pytest.mark.parametrize("name", sorted(OF_ONE_DIRECTION - {"the third of all steps"}))
def test_each_level_has_the_prefixes_that_differ(name):
    model, x, absent = drawn(name, False, 5)
    chain, players = open_network(model, [x]), np.array([0, 1, 0, 2, -1, 1])
    game, some = Prefixes(chain, 0, absent, players), coalitions(3)[[5, 1, 7, 1, 0, 4]]
    levels = list(game.levels(some))
    order = list(range(STEPS))[:: -1 if "backwards" in name else 1]
    assert [level.step for level in levels] == order
    for i, level in enumerate(levels):
        met = sorted({players[t] for t in order[: i + 1]} - {-1})
        prefixes = some[:, met]
        for a, b in itertools.combinations(range(len(some)), 2):
            assert (level.node[a] == level.node[b]) == (prefixes[a] == prefixes[b]).all()
        assert len(level.there) == len(np.unique(prefixes, axis=0))
        assert {len(states) for states in (*level.before, *level.after)} == {len(level.there)}
        if level.player >= 0:
            np.testing.assert_array_equal(level.there[level.node], some[:, level.player])
        else:
            assert level.there.all()
    # The nodes before a step are those after the step below it, each as often as it goes on.
    for below, level in itertools.pairwise(levels):
        for before, after in zip(level.before, below.after, strict=True):
            np.testing.assert_array_equal(before[level.node], after[below.node])


def test_an_isan_reads_distributions_over_its_symbols():
    model = keras.Sequential([keras.Input((STEPS,), dtype="int32"), layers.ISAN(UNITS, 5), keras.layers.Dense(2)])
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.7)
    [ids] = rng.integers(5, size=(1, STEPS))
    chain = open_network(model, [ids[None]])
    assert chain.reads_symbols
    isan, head = model.layers
    A, b = (np.asarray(ops.convert_to_numpy(x)) for x in isan.trainable_weights[:2])
    some, expected = coalitions(STEPS), []
    for there in some:
        h = np.asarray(ops.convert_to_numpy(isan.trainable_weights[2]))
        for symbol, present in zip(ids, there, strict=True):
            distribution = np.eye(5)[symbol] if present else np.full(5, 0.2)
            h = np.einsum("k,kij,i->j", distribution, A, h) + distribution @ b
        expected.append(h)
    expected = run(head, np.array(expected))
    game = Prefixes(chain, 0, np.full((STEPS, 5), 0.2), np.arange(STEPS))
    np.testing.assert_allclose(game.all_outputs(), expected, atol=ATOL)
    np.testing.assert_allclose(merged(game, 64).outputs(some), expected, atol=ATOL)


@pytest.mark.parametrize("limit", [8, 2**18])
def test_a_level_is_read_in_parts_where_it_is_wide(limit, monkeypatch):
    model, x, absent = drawn("two layers", False, 0)
    game = Prefixes(open_network(model, [x]), 0, absent, np.arange(STEPS))
    some = np.random.default_rng(0).permutation(np.repeat(coalitions(STEPS), 3, axis=0))
    expected = run(model, variants(some, x[0], absent, np.arange(STEPS)))
    monkeypatch.setattr("keras_interp_rnn._network.prefixes.ENTRIES", limit)
    np.testing.assert_allclose(game.outputs(some), expected, atol=ATOL)
    np.testing.assert_allclose(
        game.all_outputs(), run(model, variants(coalitions(STEPS), x[0], absent, np.arange(STEPS))), atol=ATOL
    )


def test_prefixes_are_read_once():
    """All coalitions of n steps take 2^(n + 1) - 2 updates, and those of an order about n^2 / 2."""
    model, x, absent = drawn("LSTM", False, 0)
    chain = open_network(model, [x])
    game = Prefixes(chain, 0, absent, np.arange(STEPS))
    game.all_outputs()
    assert game.updates == 2 ** (STEPS + 1) - 2
    game = Prefixes(chain, 0, absent, np.arange(STEPS))
    game.outputs(np.tri(STEPS + 1, STEPS, -1, dtype=bool))
    assert game.updates == STEPS * (STEPS + 3) // 2


NOT_BY_STEPS = {
    "two Bidirectional": lambda: [
        *(keras.layers.Bidirectional(keras.layers.GRU(3, **SEQUENCES)), keras.layers.Bidirectional(keras.layers.GRU(3)))
    ],
    "a convolution below": lambda: [keras.layers.Conv1D(3, 2, padding="same"), keras.layers.GRU(3)],
    "the largest": lambda: [keras.layers.GRU(3, **SEQUENCES), keras.layers.GlobalMaxPooling1D()],
    "all steps": lambda: [keras.layers.GRU(3, **SEQUENCES), keras.layers.Flatten()],
    "a convolution": lambda: [keras.layers.GRU(3, **SEQUENCES), keras.layers.Conv1D(3, 2, padding="same"), mean()],
}


@pytest.mark.parametrize("name", NOT_BY_STEPS)
def test_networks_that_join_steps_otherwise_are_not_read_by_steps(name):
    model = keras.Sequential([sequences(), *NOT_BY_STEPS[name](), keras.layers.Dense(2)])
    chain = open_network(model, [np.ones((1, STEPS, FEATURES))])
    assert not is_read_by_steps(chain)
    with pytest.raises(ValueError, match="not read step by step"):
        Prefixes(chain, 0, np.zeros((STEPS, FEATURES)), np.arange(STEPS))


@pytest.mark.parametrize("both", [False, True])
def test_steps_that_an_affine_head_adds_up_need_no_state(both):
    """Of a network without memory one state is enough, unless the mean is changed before the head."""
    memoryless = keras.layers.SimpleRNN(UNITS, recurrent_initializer="zeros", **SEQUENCES)
    recurrent = keras.layers.Bidirectional(memoryless) if both else memoryless
    for between, exact in (([], True), ([keras.layers.Activation("relu")], False)):
        keras.utils.set_random_seed(2)
        model = keras.Sequential([sequences(), recurrent, mean(), *between, keras.layers.Dense(2)])
        x, absent = np.random.default_rng(2).normal(size=(2, 1, STEPS, FEATURES))
        game = Prefixes(open_network(model, [x]), 0, absent[0], np.arange(STEPS))
        difference = merged(game, 1).outputs(coalitions(STEPS)) - game.all_outputs()
        assert (np.abs(difference).max() < 1e-12) == exact


# Cells


@pytest.mark.parametrize("count", [1, 2, 7, 64])
@pytest.mark.parametrize("number", [1, 3, 50, 400])
def test_cells_divide_the_points(number, count):
    rng = np.random.default_rng(number)
    points, weights = rng.normal(size=(number, 5)) * [3, 1, 1, 0.1, 0], rng.random(number)
    order, starts = cells(points, weights, count)
    assert sorted(order) == list(range(number))
    assert starts[0] == 0
    assert (np.diff([*starts, number]) > 0).all()
    assert len(starts) == min(count, number)


def test_like_points_share_a_cell():
    rng = np.random.default_rng(0)
    group = rng.integers(6, size=200)
    points = rng.normal(size=(6, 4))[group] * 10 + rng.normal(size=(200, 4)) * 1e-3
    order, starts = cells(points, rng.random(200), 16)
    for part in np.split(order, starts[1:]):
        assert len(set(group[part])) == 1
    order, starts = cells(np.ones((30, 4)), np.ones(30), 8)
    assert (len(starts), sorted(order)) == (1, list(range(30)))
    order, starts = cells(np.ones((30, 4)) * (np.arange(30) % 2)[:, None], np.zeros(30), 8)  # points of no weight
    assert sorted(order) == list(range(30))


@pytest.mark.parametrize("name", ["LSTM", "both directions", "a mean"])
def test_more_states_are_nearer_to_the_network(name):
    model, x, absent = drawn(name, False, 1)
    game = Prefixes(open_network(model, [x]), 0, absent, np.arange(STEPS))
    expected = game.all_outputs()
    missed = [np.abs(merged(game, number).outputs(coalitions(STEPS)) - expected).max() for number in (1, 8, 64)]
    assert missed[0] > missed[1] > missed[2]
    assert missed[2] < 1e-12
