"""Plain statistics that several analyses share: cross-entropy, drift."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from keras_interp_rnn._types import Array

ROUNDING = 1e-12
"""A part of a quantity that is at most this fraction of the whole counts as rounding."""


def cross_entropy_bits(logits: Array, wanted: NDArray[np.int64]) -> Array:
    """-log2 softmax(logits) at the outputs that occurred.

    Args:
        logits: (T, outputs), in nats.
        wanted: (T,), the output that occurred at each step.

    Returns:
        (T,), bits.
    """
    return -log_softmax(logits, axis=1)[np.arange(len(wanted)), wanted] / np.log(2)


def relative_drift(states: NDArray[Any]) -> NDArray[np.float64]:
    r"""How far states move away over a sequence, in units of the mean step.

    The distance between the means of the first and the last quarter, divided by the mean distance of one step. About 0
    for states that return, up to $3 T / 4$ for states that run in one direction.

    Args:
        states: (batch, time, n), of a `trace`, unmasked.

    Returns:
        (batch,); NaN where a state is.

    Raises:
        ValueError: if they are no such array, or have fewer than four steps.

    Example:

        >>> from keras_interp_rnn import analysis
        >>> line = np.arange(8.0).reshape(1, 8, 1)
        >>> analysis.relative_drift(line)
        array([6.])
    """
    given = np.asarray(states)
    if given.ndim != 3 or given.dtype.kind not in "biuf":
        raise ValueError(f"States are an array of numbers (batch, time, n). Received: {given.dtype} {given.shape}.")
    steps = given.shape[1]
    if steps < 4:
        raise ValueError(f"Drift compares quarters of a sequence, so it needs four steps. Received: {steps}.")
    states = given.astype(np.float64)
    quarter = steps // 4
    distance = np.linalg.norm(states[:, -quarter:].mean(axis=1) - states[:, :quarter].mean(axis=1), axis=-1)
    step = np.linalg.norm(np.diff(states, axis=1), axis=-1).mean(axis=1)
    return np.divide(distance, step, out=np.zeros_like(distance), where=step != 0)
