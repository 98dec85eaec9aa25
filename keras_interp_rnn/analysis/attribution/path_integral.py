"""The path integral: integrated gradients, by Gauss-Legendre quadrature, with more points until the sum is right."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import integer
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.opening import row_slices

MOST_POINTS = 1024
"""Maximum number of points of the quadrature."""

GAP, ROUNDING = 0.01, 1e-6
"""The gap of the sum that asks for no more points: in parts of the change of the output, and of the outputs."""


def path_integral(
    opened: Network, absent: Array, outputs: NDArray[np.int64], ends: tuple[Array, Array], num_points: int
) -> Array:
    """The shares (batch, time, ..., K) of features in outputs (batch, K).

    The points are doubled for the sequences whose sum misses the change of the output by more than a hundredth of it.

    Args:
        ends: the outputs (batch, K) without any step, and with all.
    """
    num_points = integer("num_points", num_points)
    change = ends[1] - ends[0]
    shares = np.zeros((*opened.inputs.shape, outputs.shape[1]))
    for k, columns in enumerate(outputs.T):
        left, points = np.arange(len(columns)), num_points
        while len(left):
            shares[left, ..., k] = _quadrature(opened, absent, columns, left, points)
            gap = np.abs(shares[left, ..., k].reshape(len(left), -1).sum(axis=1) - change[left, k])
            allowed = np.maximum(
                GAP * np.abs(change[left, k]), ROUNDING * np.abs([end[left, k] for end in ends]).max(axis=0)
            )
            left, gap = left[gap > allowed], gap[gap > allowed]
            if points >= MOST_POINTS:
                break
            points = min(2 * points, MOST_POINTS)
        if len(left):
            row, missed, others = int(left[0]), float(gap.max()), f" and {len(left) - 1} more" if len(left) > 1 else ""
            warnings.warn(
                f"The path integral of {nth('sequence', row)}{others} misses the change of the "
                f"output by up to {missed:.2g} with {points} points, so the shares do not add up. "
                "Choose method='shapley', whose shares do.",
                stacklevel=4,
            )
    return shares


def _quadrature(
    opened: Network, absent: Array, outputs: NDArray[np.int64], chosen: NDArray[np.intp], num_points: int
) -> Array:
    """The shares, as the inputs, in one output of each chosen sequence."""
    points, weights = np.polynomial.legendre.leggauss(num_points)
    change, total = opened.inputs - absent, np.zeros_like(opened.inputs)
    sequence, point = (index.ravel() for index in np.indices((len(chosen), num_points)))
    sequence = chosen[sequence]
    for part in row_slices(opened, len(sequence)):
        rows, along = sequence[part], (points[point[part]] + 1) / 2
        found = opened.gradient(absent[rows] + _each(along, change) * change[rows], rows, outputs[rows])
        np.add.at(total, rows, _each(weights[point[part]] / 2, change) * found)
    return (total * change * opened.mask.reshape(*opened.mask.shape, *[1] * (total.ndim - 2)))[chosen]


def _each(numbers: Array, like: Array) -> Array:
    """A number for each row of an array of so many axes."""
    return numbers.reshape(-1, *[1] * (like.ndim - 1))
