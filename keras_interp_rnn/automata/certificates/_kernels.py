r"""Errors of the backend's tanh, sigmoid and exp, measured because a certificate assumes a bound on them.

The functions run as in a model, eagerly and compiled, on a fine grid of arguments, and are compared with NumPy's in a
longer format. That is a sample, not a proof: between the points the bound is still assumed.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.automata.certificates._bounds import FUNCTION_ERROR

NUM_POINTS = 2**18 + 3
"""Number of arguments of each function; odd, as kernels treat the last few numbers differently from the rest."""

FUNCTIONS = ("tanh", "sigmoid", "exp")

Errors = tuple[tuple[str, float], ...]


def measured(dtype: str) -> Errors:
    """Each function with its largest error: the absolute one of tanh and sigmoid, the relative one of exp.

    Raises:
        ValueError: if an error is larger than a certificate assumes.
    """
    errors = _measured(dtype)
    for name, error in errors:
        if not error <= FUNCTION_ERROR:  # nor NaN
            raise ValueError(
                f"For a certificate {' and '.join(FUNCTIONS[:2])} must be within 2^-20 of their values, and exp "
                f"relatively. Received: {name} of {_backend.name()} in {dtype}, {error:.2g} off on this machine. "
                "Certify and deploy on another device or backend."
            )
    return errors


@functools.cache
def _measured(dtype: str) -> Errors:
    x, below = _arguments(dtype)
    # The probabilities are a softmax, whose exponential may be another kernel than `exp`.
    zeros = np.zeros_like(below)

    def run(x: object, below: object, pairs: object) -> tuple[Any, ...]:
        alpha = ops.softmax(pairs, axis=-1)
        return ops.tanh(x), ops.sigmoid(x), ops.exp(below), alpha[:, 0] / alpha[:, 1]

    exact = np.longdouble(x), np.longdouble(below)
    with np.errstate(under="ignore"):
        values = np.tanh(exact[0]), 1 / (1 + np.exp(-exact[0])), np.exp(exact[1])
    largest = dict.fromkeys(FUNCTIONS, 0.0)
    tensors = [ops.convert_to_tensor(each) for each in (x, below, np.stack([below, zeros], axis=-1))]
    for function in _backend.ways_to_run(run):
        tanh, sigmoid, exp, odds = (np.longdouble(ops.convert_to_numpy(y)) for y in function(*tensors))
        differences = (
            *(("tanh", tanh - values[0]), ("sigmoid", sigmoid - values[1])),
            # Two exponentials and two divisions: a softmax is as accurate as its exponential.
            *(("exp", exp / values[2] - 1), ("exp", odds / values[2] - 1)),
        )
        for name, difference in differences:
            largest[name] = float(np.maximum(largest[name], np.abs(difference).max()))  # NaN stays
    return tuple(largest.items())


def _arguments(dtype: str) -> tuple[AnyArray, AnyArray]:
    """The arguments of tanh and sigmoid, and those of exp, whose values are normal numbers."""
    small = np.geomspace(1e-30, 1, NUM_POINTS // 8)
    x = np.concatenate([-small, small, np.linspace(-40, 40, NUM_POINTS - 2 * len(small))])
    low = 0.98 * np.log(float(np.finfo(dtype).tiny))
    below = np.concatenate([-small, np.linspace(low, 0, NUM_POINTS - len(small))])
    return x.astype(dtype), below.astype(dtype)
