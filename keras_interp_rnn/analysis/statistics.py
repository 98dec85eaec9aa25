"""Cross-entropy and the size of rounding, which several analyses share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from keras_interp_rnn._types import Array

ROUNDING = 1e-12
"""Fraction of a quantity up to which a part of it counts as rounding."""


def cross_entropy_bits(logits: Array, occurred: NDArray[np.int64]) -> Array:
    """-log2 softmax(logits) (T,) at the outputs (T,) that occurred; logits (T, outputs) in nats."""
    return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(occurred)), occurred] / np.log(2))
