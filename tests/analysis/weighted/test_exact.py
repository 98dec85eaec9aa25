"""Exact tests for zero, against fractions, with differences below rounding."""

from fractions import Fraction

import numpy as np
import pytest

from keras_interp_rnn.analysis.weighted import _exact


def test_a_difference_below_rounding_is_seen():
    transitions = np.array([[[0.5, 0.25], [0.125, 0.75]]])
    final = np.array([[1.0], [-1.0]])
    assert _exact.is_zero(np.array([0.0, 0.0]), transitions, final)
    tiny = np.array([1e-300, 1e-300 * (1 + 2**-52)])
    assert _exact.is_zero(tiny, transitions, final) is False
    # Equal at first, different after a symbol.
    assert _exact.is_zero(np.array([1.0, 1.0]), transitions, final) is False


@pytest.mark.parametrize("seed", range(20))
def test_against_fractions(seed):
    """Side by side with itself in another order: exactly zero; with the last bit of an entry flipped: not."""
    rng = np.random.default_rng(seed)
    n, symbols = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    matrices, initial, final = (rng.normal(size=s) for s in ((symbols, n, n), n, (n, 2)))
    order = rng.permutation(n)
    both = np.zeros((symbols, 2 * n, 2 * n))
    both[:, :n, :n], both[:, n:, n:] = matrices, matrices[:, order][:, :, order]
    start, end = np.concatenate([initial, initial[order]]), np.concatenate([final, -final[order]])
    assert _exact.is_zero(start, both, end) is True
    place = tuple(rng.integers(size) for size in (symbols, n, n))
    both[place] = np.nextafter(both[place], 9)
    assert _exact.is_zero(start, both, end) is False
    word, state = [], [Fraction(x) for x in start]
    for _ in range(2 * n):  # some short word of one symbol tells them apart, in fractions
        values = [sum(s * Fraction(e) for s, e in zip(state, column, strict=True)) for column in end.T]
        if any(values):
            break
        word.append(place[0])
        state = [sum(s * Fraction(x) for s, x in zip(state, column, strict=True)) for column in both[place[0]].T]
    assert any(values)


@pytest.mark.parametrize("symbol", range(3))
def test_elimination_modulo_a_prime_does_not_change_the_result(monkeypatch, symbol):
    """The last bit of one entry, which words of that symbol alone show."""
    vanishes = _exact._vanishes
    monkeypatch.setattr(_exact, "_vanishes", lambda *a: a[-1] is _exact._modulo_prime or vanishes(*a))
    rng = np.random.default_rng(symbol)
    matrices, initial, final = rng.normal(size=(3, 3, 3)), rng.normal(size=3), rng.normal(size=(3, 1))
    both = np.zeros((3, 6, 6))
    both[:, :3, :3] = both[:, 3:, 3:] = matrices
    start, end = np.tile(initial, 2), np.concatenate([final, -final])
    assert _exact.is_zero(start, both, end) is True
    both[symbol, 1, 2] = np.nextafter(both[symbol, 1, 2], 9)
    assert _exact.is_zero(start, both, end) is False


def test_up_to_a_constant_all_outputs_are_the_same_number():
    rng = np.random.default_rng(0)
    matrices, initial, column = rng.normal(size=(2, 3, 3)), rng.normal(size=3), rng.normal(size=(3, 1))
    same = np.repeat(column, 4, axis=1)
    assert _exact.is_zero(initial, matrices, same, up_to_constant=True)
    assert _exact.is_zero(initial, matrices, same) is False
    same[1, 2] = np.nextafter(same[1, 2], 9)
    assert _exact.is_zero(initial, matrices, same, up_to_constant=True) is False


def test_large_networks_are_left_undecided():
    big = np.random.default_rng(0).normal(size=(3, 300, 300))
    assert _exact.is_zero(np.ones(300), big, np.ones((300, 1))) is None


def dense(rng, n, outputs=2):
    return rng.normal(size=n), rng.normal(size=(3, n, n)), rng.normal(size=(n, outputs))


@pytest.mark.parametrize("seed", range(5))
def test_units_in_another_order_are_the_same_at_any_size(seed):
    rng = np.random.default_rng(seed)
    first = initial, matrices, final = dense(rng, 60)
    order = rng.permutation(60)
    other = initial[order], matrices[:, order][:, :, order], final[order]
    assert _exact.have_same_units(first, other)
    for array in other:  # the last bit of any number counts
        place = tuple(rng.integers(size) for size in array.shape)
        before, array[place] = array[place], np.nextafter(array[place], 9)
        assert not _exact.have_same_units(first, other)
        assert not _exact.have_same_units(other, first)
        array[place] = before
    assert _exact.have_same_units(first, other)


@pytest.mark.parametrize("seed", range(5))
def test_states_that_no_word_reaches_or_no_output_sees_do_not_count(seed):
    """Behind each other: unreached states feed reached ones, seen states feed unseen ones."""
    rng = np.random.default_rng(seed)
    first = initial, matrices, final = dense(rng, 6)
    start, both, end = dense(rng, 12)
    used, unreached, unseen = slice(0, 6), slice(6, 9), slice(9, 12)
    start[used], both[:, used, used], end[used] = initial, matrices, final
    start[unreached] = 0
    both[:, used, unreached] = both[:, unseen, unreached] = both[:, unseen, used] = 0
    end[unseen] = 0
    assert _exact.have_same_units(first, (start, both, end))
    both[0, 2, 7] = 1e-300  # now a word reaches that state, and the next symbol brings it back
    assert not _exact.have_same_units(first, (start, both, end))


def test_outputs_that_differ_by_a_constant_are_the_same_up_to_one():
    rng = np.random.default_rng(0)
    initial, matrices, final = dense(rng, 5, outputs=3)
    final = np.round(final * 1000)  # whole numbers, whose sums are exact
    shifted = final + np.arange(5)[:, None]
    assert not _exact.have_same_units((initial, matrices, final), (initial, matrices, shifted))
    assert _exact.have_same_units((initial, matrices, final), (initial, matrices, shifted), up_to_constant=True)
    shifted[2, 1] += 1
    assert not _exact.have_same_units((initial, matrices, final), (initial, matrices, shifted), up_to_constant=True)


def test_units_with_the_same_numbers_in_another_pattern_are_not_the_same():
    """A ring of six and two rings of three: every row and every column holds the same numbers."""
    ring, rings = np.roll(np.eye(6), 1, axis=1), np.kron(np.eye(2), np.roll(np.eye(3), 1, axis=1))
    ones, final = np.ones(6), np.ones((6, 1))
    assert not _exact.have_same_units((ones, ring[None], final), (ones, rings[None], final))
