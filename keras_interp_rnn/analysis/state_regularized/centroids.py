"""The outputs of a state-regularized model for its centroids, and its moves among them.

Moves come from the transition probabilities of `analysis.trace`, outputs from the model's head for the centroids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._network import apply_head, centroids_of, last_regularized, recurrent_layer_inputs
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis.state_regularized.transitions import regularized_trace

CHUNK = 256
"""Sequences traced at a time: bounds the memory."""


class Moves(NamedTuple):
    """The moves of a model among its centroids while it reads some rows of ids.

    Attributes:
        ids: (rows, time).
        alpha: (rows, time, k), transition probabilities; NaN at steps without the stochastic component.
        read: (rows, time), which steps are read.
        layer: the last state-regularized layer.
    """

    ids: AnyArray
    alpha: AnyArray
    read: NDArray[np.bool_]
    layer: Any


def moves(model: object, ids: AnyArray) -> Iterator[Moves]:
    """The moves on `ids` (batch, time), at most `CHUNK` rows at a time."""
    for first in range(0, len(ids), CHUNK):
        rows = ids[first : first + CHUNK]
        layer, reads, mask = recurrent_layer_inputs(model, rows, last_regularized(model))
        alpha = regularized_trace(layer, reads, mask)["alpha"]
        read = np.ones(rows.shape, bool) if mask is None else np.asarray(mask)
        yield Moves(rows, alpha[:, ::-1] if layer.go_backwards else alpha, read, layer)


def centroid_outputs(model: object, layer: object) -> NDArray[np.float64]:
    """(k, classes), the model's output for each centroid; raises ValueError if it overflows."""
    outputs = np.asarray(apply_head(model, layer, centroids_of(layer)), np.float64)
    check_range("The outputs for the centroids", [outputs])
    return outputs
