"""The minimization of many rows at once: SciPy is the witness."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from keras_interp_rnn._lbfgs import Minimization


def rosenbrock(points, rows):
    return np.array([rosen(point) for point in points]), np.array([rosen_der(point) for point in points])


def run(function, points, low=-np.inf, high=np.inf, max_steps=1000, tolerance=1e-6):
    n = points.shape[1]
    return Minimization(function, points, np.full(n, low), np.full(n, high), max_steps, tolerance).run()


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (-0.5, 0.8), (0.2, np.inf)])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_row_ends_where_scipy_ends(low, high, seed):
    starts = np.random.default_rng(seed).normal(size=(5, 6))
    minima = run(rosenbrock, starts, low, high)
    assert minima.converged.all()
    assert (minima.points >= low).all()
    assert (minima.points <= high).all()
    for start, point, value in zip(starts, minima.points, minima.values, strict=True):
        options = {"ftol": 1e-15, "gtol": 1e-8, "maxiter": 10_000}
        one = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", bounds=[(low, high)] * 6, options=options)
        other = minimize(rosen, point, jac=rosen_der, method="L-BFGS-B", bounds=[(low, high)] * 6, options=options)
        assert value <= one.fun + 1e-8 or other.fun >= value - 1e-8  # its minimum, or another local one


def test_it_takes_no_more_evaluations_than_scipy_by_a_quarter():
    starts = np.random.default_rng(3).normal(size=(10, 6))
    evaluated = []
    run(lambda points, rows: (evaluated.append(len(rows)), rosenbrock(points, rows))[1], starts)
    options = {"ftol": 1e-12, "gtol": 1e-6}
    others = [minimize(rosen, x, jac=rosen_der, method="L-BFGS-B", options=options).nfev for x in starts]
    assert sum(evaluated) <= 1.25 * sum(others)


def test_a_row_is_what_it_is_alone():
    starts = np.random.default_rng(4).normal(size=(4, 3))
    together = run(rosenbrock, starts)
    for start, point in zip(starts, together.points, strict=True):
        np.testing.assert_array_equal(run(rosenbrock, start[None]).points[0], point)


def test_a_row_whose_value_is_not_finite_ends_and_the_others_go_on():
    def function(points, rows):
        values, gradients = rosenbrock(points, rows)
        return np.where(rows == 1, np.nan, values), gradients

    minima = run(function, np.random.default_rng(5).normal(size=(3, 2)))
    assert minima.converged.tolist() == [True, False, True]
    assert minima.num_steps[1] == 0


def test_a_cliff_is_stepped_back_from():
    """An objective that is infinite beyond 1, with its minimum short of it."""

    def function(points, rows):
        x = points[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(x < 1, -np.log1p(-x) - 5 * x, np.inf), (1 / (1 - x) - 5)[:, None]

    assert run(function, np.array([[-4.0], [0.0], [0.9]])).points.ravel() == pytest.approx(0.8, abs=1e-6)


def test_rows_end_at_the_largest_number_of_steps():
    minima = run(rosenbrock, np.full((2, 8), -1.0), max_steps=3)
    assert minima.num_steps.tolist() == [3, 3]
    assert not minima.converged.any()


def test_a_start_at_the_minimum_takes_no_step():
    minima = run(rosenbrock, np.ones((1, 4)))
    assert minima.converged.all()
    assert minima.num_steps.tolist() == [0]
