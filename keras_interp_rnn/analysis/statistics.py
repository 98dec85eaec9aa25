"""Statistics that several analyses share: cross-entropy and drift."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from keras_interp_rnn._types import Array

ROUNDING = 1e-12
"""Fraction of a quantity up to which a part of it counts as rounding."""


def cross_entropy_bits(logits: Array, occurred: NDArray[np.int64]) -> Array:
    """-log2 softmax(logits) (T,) at the outputs (T,) that occurred; logits (T, outputs) in nats."""
    return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(occurred)), occurred] / np.log(2))


def relative_drift(states: NDArray[Any]) -> NDArray[np.float64]:
    r"""The drift of states over a sequence, in units of the mean step.

    The drift is the distance between the mean states of the first and the last quarter, divided by the mean distance of
    one step. It is about 0 for states that return, and up to $3 T / 4$ for states that move in one direction.

    Args:
        states: (batch, time, n), of a `trace` without a mask.

    Returns:
        (batch,); NaN if a state is NaN.

    Raises:
        ValueError: for other shapes or dtypes, or fewer than four steps.

    Example:

        >>> from keras_interp_rnn import analysis
        >>> line = np.arange(8.0).reshape(1, 8, 1)
        >>> analysis.relative_drift(line)
        array([6.])
    """
    states = np.asarray(states)
    if states.ndim != 3 or states.dtype.kind not in "biuf" or states.shape[1] < 4:
        raise ValueError(
            "`states` must be numbers (batch, time, n) of at least four steps, one for each quarter. Received: "
            f"{states.dtype} {states.shape}."
        )
    states, quarter = states.astype(np.float64), states.shape[1] // 4
    distance = np.linalg.norm(states[:, -quarter:].mean(axis=1) - states[:, :quarter].mean(axis=1), axis=-1)
    step = np.linalg.norm(np.diff(states, axis=1), axis=-1).mean(axis=1)
    return np.asarray(np.divide(distance, step, out=np.zeros_like(distance), where=step != 0))
