"""The centroids of a state-regularized model, with the outputs of its own head for them, and the moves among them.

Everything here is read off the transition probabilities of `analysis.trace` and off the head, applied to the centroids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network import apply_head, centroids_of, check_range, last_regularized, recurrent_layer_inputs
from keras_interp_rnn.analysis.state_regularized.transitions import regularized_trace

CHUNK = 256
"""Sequences traced at a time: bounds the memory."""


class Moves(NamedTuple):
    """How a model moved among its centroids while it read some rows of ids; time as in the ids.

    Attributes:
        ids: (rows, time).
        alpha: (rows, time, k), transition probabilities; NaN where the stochastic component is left out.
        read: (rows, time), which steps are read.
        layer: the state-regularized layer; of a stack of them the last.
    """

    ids: NDArray[Any]
    alpha: NDArray[Any]
    read: NDArray[np.bool_]
    layer: Any


def moves(model: Any, ids: NDArray[Any]) -> Iterator[Moves]:
    """The moves on `ids` (batch, time), at most `CHUNK` rows at a time."""
    for first in range(0, len(ids), CHUNK):
        rows = ids[first : first + CHUNK]
        layer, reads, mask = recurrent_layer_inputs(model, rows, last_regularized(model))
        alpha = regularized_trace(layer, reads, mask)["alpha"]
        read = np.ones(rows.shape, bool) if mask is None else np.asarray(mask)
        yield Moves(rows, alpha[:, ::-1] if layer.go_backwards else alpha, read, layer)


def centroid_outputs(model: Any, layer: Any) -> NDArray[np.float64]:
    """(k, classes), the model's output for each centroid; raises ValueError where it overflows."""
    outputs = np.asarray(apply_head(model, layer, centroids_of(layer)), np.float64)
    check_range("The outputs for the centroids", [outputs])
    return outputs
