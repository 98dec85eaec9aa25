import re

import keras
import numpy as np
import pytest

from keras_interp_rnn.analysis import CompositionTable, fixed_points
from keras_interp_rnn.analysis.isan.composition import reader, scorer, segmentation
from tests.analysis.isan.networks import network
from tests.oracles import composition as oracle

pytestmark = pytest.mark.core(2)  # cases are seeds, sizes and budgets


SIZES = [(5, 3), (4, 7), (6, 2)]


def random_words(symbols, seed, number=12, longest=6):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, symbols, rng.integers(1, longest + 1)) for _ in range(number)]


def table_of(seed, units=5, symbols=3, dtype="float64", **arguments):
    model, paper = network(units, symbols, symbols, seed)
    return CompositionTable(model, random_words(symbols, seed), dtype=dtype, **arguments), model, paper


def bits_of_model(model, text):
    logits = keras.ops.convert_to_numpy(model(text[:, :-1]))
    nats = keras.ops.convert_to_numpy(keras.losses.sparse_categorical_crossentropy(text[:, 1:], logits, True))
    return nats / np.log(2)


@pytest.mark.parametrize(("units", "symbols"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_states_and_bits_are_those_of_reading_symbol_by_symbol(units, symbols, seed):
    table, model, paper = table_of(seed, units, symbols)
    text = np.random.default_rng(seed).integers(0, symbols, 40)
    np.testing.assert_allclose(table.score(text), oracle.bits(*paper, text), atol=1e-10)
    np.testing.assert_allclose(table.score(text, method="greedy"), oracle.bits(*paper, text), atol=1e-10)
    np.testing.assert_allclose(table.score(text), bits_of_model(model, text[None])[0], atol=1e-5)
    ends, states = table.states(text)
    matrix, offset = oracle.composed(*paper[:2], text)
    np.testing.assert_allclose(table.final_state(text), matrix @ paper[2] + offset, rtol=1e-10)
    np.testing.assert_array_equal(ends, np.cumsum([len(table.words[number]) for number in table.segment(text)]))
    for end, state in zip(ends, states, strict=True):
        matrix, offset = oracle.composed(*paper[:2], text[:end])
        np.testing.assert_allclose(state, matrix @ paper[2] + offset, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("units", "symbols", "lanes", "share"),
    [(5, 3, 1, 0.3), (6, 2, 15, 0.3), (4, 7, 16, 0.01), (5, 3, 16, 1.0), (6, 2, 70, 0.3), (4, 7, 70, 1.0)],
)
def test_many_lanes_give_what_each_gives_alone(units, symbols, lanes, share, monkeypatch):
    # Small, so that every loop over parts goes round more than once.
    piece = 3 * units * units
    monkeypatch.setattr(segmentation, "BLOCK", 64)
    for name, value in {"ROWS": 100, "BLOCK": 5, "PIECE": piece, "SERVED": share}.items():
        monkeypatch.setattr(reader, name, value)
    for name, value in {"SCORED": 7, "PIECE": piece}.items():
        monkeypatch.setattr(scorer, name, value)
    table, _, paper = table_of(3, units, symbols)
    rng = np.random.default_rng(lanes)
    text, start = rng.integers(0, symbols, (lanes, 23)), rng.normal(size=(lanes, units))
    bits, finals = table.score(text, start), table.final_state(text, start)
    assert bits.shape == (lanes, 22)
    for lane in range(lanes):
        started = (*paper[:2], start[lane], *paper[3:])
        np.testing.assert_allclose(bits[lane], oracle.bits(*started, text[lane]), atol=1e-9)
        matrix, offset = oracle.composed(*paper[:2], text[lane])
        np.testing.assert_allclose(finals[lane], matrix @ start[lane] + offset, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(table.score(text), [oracle.bits(*paper, lane) for lane in text], atol=1e-9)


def test_float32_holds_1e_5_bits():
    table, _, paper = table_of(4, dtype="float32")
    text = np.random.default_rng(4).integers(0, 3, (20, 30))
    bits = table.score(text)
    assert bits.dtype == np.float32
    np.testing.assert_allclose(bits, [oracle.bits(*paper, lane) for lane in text], atol=1e-5, rtol=1e-5)


def test_an_impossible_symbol_has_finite_bits():
    model, _ = network(4, 3, 3, seed=0)
    table = CompositionTable(model.layers[0], [], readout=(np.zeros((4, 3)), np.array([0.0, 300.0, -300.0])))
    np.testing.assert_allclose(table.score([0, 1, 2, 0]), np.array([0.0, 600.0, 300.0]) / np.log(2), rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("block", [2, 2**20])
def test_segmentations_are_those_of_brute_force(seed, block, monkeypatch):
    monkeypatch.setattr(segmentation, "BLOCK", block)
    table, _, _ = table_of(seed, symbols=2)
    known = set(table.words)
    for length in (0, 1, 2, 9, 13):
        text = np.random.default_rng(seed + length).integers(0, 2, length)
        optimal = [table.words[number] for number in table.segment(text)]
        every = list(oracle.segmentations(known, text.tolist()))
        fewest = min(map(len, every))
        assert optimal in every
        assert len(optimal) == fewest
        if length:
            assert len(optimal[0]) == max(len(way[0]) for way in every if len(way) == fewest)
        assert [table.words[n] for n in table.segment(text, "greedy")] == oracle.greedy(known, text.tolist())


def test_single_symbols_are_always_in_and_words_once():
    table, _, _ = table_of(0, symbols=4)
    assert {(0,), (1,), (2,), (3,)} <= set(table.words)
    assert list(table.words) == sorted(set(table.words))
    assert len(table) == len(table.words)
    assert repr(table).startswith(f"<CompositionTable: {len(table)} words of up to 6 symbols, 0.0 MiB, float64, scores")


def test_a_table_of_symbols_alone():
    model, paper = network(5, 3, 3, seed=2)
    table = CompositionTable(model, [])
    assert table.words == ((0,), (1,), (2,))
    np.testing.assert_allclose(table.score([0, 1, 1, 2]), oracle.bits(*paper, [0, 1, 1, 2]), atol=1e-5)
    np.testing.assert_array_equal(table.final_state([]), table.initial_state)
    assert [part.shape for part in table.states([])] == [(0,), (0, 5)]


@pytest.mark.parametrize(("units", "symbols"), SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_fixed_points_are_the_limits_of_iteration(units, symbols, seed):
    model, (W, b, *_) = network(units, symbols, symbols, seed)
    found = fixed_points(model)
    assert found.residual < 1e-12
    for k in range(symbols):
        np.testing.assert_allclose(W[k] @ found.states[k] + b[k], found.states[k], atol=1e-12)
        growth = np.linalg.norm(np.linalg.matrix_power(W[k], 400), 2) ** (1 / 400)
        np.testing.assert_allclose(found.spectral_radius[k], growth, rtol=0.02)
        assert found.attracts[k] == (growth < 1)
        if growth < 0.9:
            np.testing.assert_allclose(oracle.iterated(W, b, k, 300), found.states[k], rtol=1e-9)
        elif growth > 1.1:
            assert np.abs(oracle.iterated(W, b, k, 300) - found.states[k]).max() > 1e6


def test_a_map_with_eigenvalue_one_has_no_fixed_point():
    model, _ = network(4, 3, 3, seed=0)
    kernel, *rest = model.get_weights()
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    kernel[0], kernel[1] = np.eye(4), turn @ np.diag([1.0, 0.5, -0.3, 0.2]) @ turn.T
    kernel[2] = 0.5 * turn
    model.set_weights([kernel, *rest])
    found = fixed_points(model.layers[0])
    assert np.isnan(found.states[:2]).all()
    assert np.isfinite(found.states[2]).all()
    assert found.attracts.tolist() == [False, False, True]
    np.testing.assert_allclose(found.spectral_radius, [1, 1, 0.5])


@pytest.mark.parametrize("scores", [False, True])
def test_a_table_has_the_bytes_of_its_arrays_and_no_more_than_the_largest_number(scores):
    model, _ = network(5, 3, 3, seed=1)
    given = (model if scores else model.layers[0]), [[0, 1, 2, 2], [1, 1], [2, 0, 1]]
    table = CompositionTable(*given)
    held = [getattr(table, name) for name in ("_maps", "_readouts", "initial_state")]
    assert table.nbytes == sum(array.nbytes for array in (*held, *table._trie[1:]) if array is not None)
    assert CompositionTable(*given, max_bytes=table.nbytes).nbytes == table.nbytes
    with pytest.raises(ValueError, match="must fit into max_bytes. Received: max_bytes="):
        CompositionTable(*given, max_bytes=table.nbytes - 1)


def test_refuses_invalid_arguments():
    model = network(5, 3, 3, seed=6)[0]
    make = CompositionTable
    table, words = make(model, []), "`symbols` must lie in [0, 3). Received: "
    of_two, silent = make(network(5, 3, 2, 8)[0], []), make(model.layers[0], [])

    def refused(sentence, call, *arguments, **options):
        with pytest.raises(ValueError, match=sentence if ".*" in sentence else re.escape(sentence)):
            call(*arguments, **options)

    sentence = "must fit into max_bytes. Received: max_bytes=100 bytes for 3 words with 4 prefixes, which take"
    refused(sentence, make, model, [], max_bytes=100)
    refused("A word must have 1 to 63 symbols. Received: one of 0. Leave it out", make, model, [[]])
    refused("A word must have 1 to 63 symbols. Received: one of 64", make, model, [[0] * 64])
    sentence = "`dtype` must be one of 'float32', 'float64'. Received: dtype='float16'"
    refused(sentence, make, model, [], dtype="float16")
    refused("at least two symbols, as the first is only read. Received: shape (1,). Pass a lon", table.score, [0])
    refused(words, table.score, [[0, 3]])
    refused("`symbols` must be the integers of one text.*Received: float64", table.final_state, [0.5])
    sentence = "integers of one text, shape (time,). Received: int64 of shape (1, 2)"
    refused(sentence, table.segment, [[0, 1]])
    refused("`method` must be one of 'optimal', 'greedy'. Received: method='best'", table.segment, [0, 1], "best")
    sentence = "`initial_state` must have shape (5,) or (1, 5). Received: (4,)"
    refused(sentence, table.final_state, [0, 1], np.zeros(4))
    sentence = "one output for each of the 3 symbols. Received: none. Build the table from"
    refused(sentence, silent.score, [0, 1])
    refused("one output for each of the 3 symbols. Received: one with 2 outputs", of_two.score, [0, 1])
