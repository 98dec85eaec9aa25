"""The bound on all words and on words of a length, on networks whose outputs are known."""

import numpy as np
import pytest

from keras_interp_rnn.analysis.weighted import _bounds
from keras_interp_rnn.analysis.weighted.forms import AffineForm

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


LEAK = 1e-7


def leaking(decay=0.5):
    """A unit that counts, and one that is read and gets a ten-millionth of it: outputs rise to LEAK / (1 - decay)^2."""
    kernel = np.array([[[decay, LEAK], [0.0, decay]]])
    return AffineForm(np.zeros(2), kernel, np.array([[1.0, 0.0]]), np.array([[0.0], [1.0]]), np.zeros(1))


def test_the_bound_includes_leaks_out_of_the_space():
    bounds = list(_bounds.bounds_of(leaking()))
    always = min(bound.always for bound in bounds)
    assert 4 * LEAK <= always <= 40 * LEAK
    for length in (0, 1, 2, 5, 20):
        output = abs(leaking().outputs([0] * length)[0])
        assert output <= min(bound.after(length) for bound in bounds) <= always * (1 + 1e-6)
    # The unit that leaks is no part of the proposal that gives it.
    best = min(bounds, key=lambda bound: bound.always)
    assert best.eta == pytest.approx(LEAK, rel=1e-6)
    assert best.reach < 1e-12


@pytest.mark.parametrize("decay", [0.98, 1.0, 1.1])
def test_networks_that_do_not_contract_are_bounded_up_to_a_length(decay):
    bounds = list(_bounds.bounds_of(leaking(decay)))
    length, value = max(bound.longest(1e-3) for bound in bounds)
    assert length > 20
    assert abs(leaking(decay).outputs([0] * length)[0]) <= value <= 1e-3
    if decay > 1:
        assert all(bound.always == np.inf for bound in bounds)
        longer = next(n for n in range(length, 10_000) if abs(leaking(decay).outputs([0] * n)[0]) > 1e-3)
        assert length < longer


@pytest.mark.parametrize(("inside", "outside"), [((1.0, 1.2), (1.0, 1.1)), ((1.0, 2.0, 0.9), (1.0, 1.5, 1.3, 1.2))])
@pytest.mark.parametrize(("drift", "eta", "epsilon"), [(0.5, 1e-9, 1e-8), (0.0, 1e-9, 1e-8), (2.0, 0.0, 0.0)])
def test_the_bound_of_a_length_is_the_sum_over_its_steps(inside, outside, drift, eta, epsilon):
    bound = _bounds.Bound(1e-7, 0.25, 3.0, drift, eta, epsilon, inside, outside)

    def norm(norms, j):
        times, rest = divmod(j, len(norms) - 1)
        return norms[-1] ** times * norms[rest]

    for length in (0, 1, 2, 3, 9, 40):
        reached = [drift * sum(norm(inside, j) for j in range(t)) for t in range(length + 1)]
        missed = sum((eta * reached[length - 1 - j] + epsilon) * norm(outside, j) for j in range(length))
        value = 1e-7 + reached[-1] * 0.25 + missed * 3.0
        assert value <= bound.after(length) <= value * (1 + 1e-8)
        apart = bound._apart(_bounds._sum(inside, length), _bounds._sum(outside, length))
        assert bound.after(length) <= apart * (1 + 1e-8)
    assert bound.after(_bounds.LONGEST + 1) >= bound.after(_bounds.LONGEST)


@pytest.mark.parametrize("seed", range(5))
def test_norms_of_words_are_upper_bounds(seed):
    rng = np.random.default_rng(seed)
    matrices = rng.normal(size=(2, 3, 3)) * 0.6
    norms = _bounds.word_norms(matrices, 0.0)
    products = [np.eye(3)]
    for bound in norms[:8]:
        largest = np.linalg.norm(products, 2, axis=(1, 2)).max()
        assert largest <= bound <= largest * (1 + 1e-9)
        products = [product @ matrix for product in products for matrix in matrices]


@pytest.mark.parametrize("last", [0.3, 0.999999999, 1.0, 1.0000001, 1.5])
def test_sums_of_norms_are_upper_bounds(last):
    norms = (1.0, 0.8, last)
    terms, power = [], 1.0
    for _ in range(40):
        terms += [power, 0.8 * power]
        power *= last
    for count in (0, 1, 2, 7, 80):
        assert sum(terms[:count]) <= _bounds._sum(norms, count) <= sum(terms[:count]) * (1 + 1e-4)
    if last < 1:
        assert sum(terms) <= _bounds._sum(norms)
    else:
        assert _bounds._sum(norms) == np.inf


@pytest.mark.parametrize("seed", range(4))
def test_the_norm_found_is_nearly_the_least_that_any_norm_can_give(seed):
    """Triangular in a common basis: no norm is below the largest eigenvalue, and one comes close to it."""
    rng = np.random.default_rng(seed)
    matrices = np.triu(rng.normal(size=(3, 4, 4)), 1) + 0.96 * np.array(
        [np.diag(rng.uniform(-1, 1, 4)) for _ in range(3)]
    )
    matrices[0, 1, 1] = 0.96
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0] * np.linspace(1, 5, 4)
    matrices = np.linalg.solve(basis, matrices @ basis)
    norm = _bounds.contracting_norm(matrices)
    assert 0.96 <= np.linalg.norm(np.linalg.solve(norm, matrices @ norm), 2, axis=(1, 2)).max() < 0.99


@pytest.mark.parametrize("doublings", [0, 2, 6])
def test_the_gradient_of_the_search_for_a_norm_is_that_of_finite_differences(doublings):
    rng = np.random.default_rng(doublings)
    matrices, norm, step = rng.normal(size=(3, 4, 4)), rng.normal(size=16), 1e-6
    _, gradient = _bounds._contraction(norm, matrices, doublings)
    ahead, back = (
        np.array([_bounds._contraction(norm + sign * e, matrices, doublings)[0] for e in step * np.eye(16)])
        for sign in (1, -1)
    )
    expected = (ahead - back) / (2 * step)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("matrices", [np.zeros((2, 3, 3)), np.eye(2)[None] * 1e120, [[[1e-200, 1e150], [0.0, 1.0]]]])
def test_the_search_for_a_norm_survives_extreme_matrices(matrices):
    matrices = np.asarray(matrices)
    norm = _bounds.contracting_norm(matrices)
    assert np.isfinite(norm).all()
    largest = np.linalg.norm(np.linalg.solve(norm, matrices @ norm), 2, axis=(1, 2)).max()
    assert largest <= np.linalg.norm(matrices, 2, axis=(1, 2)).max()
