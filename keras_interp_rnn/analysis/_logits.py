"""From logits to probabilities and to bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def softmax(logits: Array) -> Array:
    """Probabilities over the last axis."""
    scaled = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return scaled / scaled.sum(axis=-1, keepdims=True)


def bits(logits: Array, wanted: NDArray[np.int64]) -> Array:
    """-log2 softmax(logits) (T, outputs) at the outputs that came (T,)."""
    largest = logits.max(axis=1)
    total = np.log(np.exp(logits - largest[:, None]).sum(axis=1)) + largest
    return (total - logits[np.arange(len(wanted)), wanted]) / np.log(2)
