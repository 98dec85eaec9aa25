"""Exact zero tests: against fractions, with a zero that no float sees."""

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
def test_without_the_look_modulo_a_prime_the_outcome_is_the_same(monkeypatch, symbol):
    """The last bit of one entry, which words of that symbol alone show."""
    monkeypatch.setattr(_exact, "_vanishes_modulo", lambda *arrays: True)
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


def test_what_would_take_too_long_is_left_undecided():
    big = np.random.default_rng(0).normal(size=(3, 300, 300))
    assert _exact.is_zero(np.ones(300), big, np.ones((300, 1))) is None
