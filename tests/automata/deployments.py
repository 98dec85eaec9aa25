"""Ways to deploy a network that is an automaton: other layers, flags, dtypes and operations around its weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA
from tests.automata.networks import weights_of

IDS = {"0": 2, "1": 3}
START = 1
SYMBOLS = with_token_ids(IDS, START, None)
WORDS = [word for length in range(7) for word in itertools.product("01", repeat=length)]


class Weights:
    """The weights of `network_of`, for models built otherwise."""

    def __init__(self, dfa: DFA, **gains: float) -> None:
        self.embeddings, self.cell, self.centroids, self.head = weights_of(dfa, **gains)

    @property
    def units(self) -> int:
        return self.centroids.shape[1]

    def put(self, embedding: Any, layer: Any, head: Any) -> None:
        embedding.set_weights([self.embeddings])
        layer.cell.cell.set_weights(self.cell)
        layer.cell.centroids.assign(self.centroids)
        head.set_weights(self.head)

    def parts(self, layer: dict[str, Any], head: dict[str, Any], embedding: dict[str, Any]) -> tuple[Any, Any, Any]:
        embedding = {"mask_zero": True, **embedding}
        return (
            keras.layers.Embedding(*self.embeddings.shape, **embedding),
            layers.SRSimpleRNN(self.units, len(self.centroids), name="recurrent", **layer),
            keras.layers.Dense(1, **{"name": "head", **head}),
        )

    def functional(
        self,
        build: Callable[[Any, Any, Any, Any], Any],
        layer: dict[str, Any] | None = None,
        head: dict[str, Any] | None = None,
        embedding: dict[str, Any] | None = None,
        batch: int | None = None,
        dtype: str = "int32",
    ) -> keras.Model:
        """The model from ids to build(ids, embedding, layer, head)."""
        ids = keras.Input((None,), batch_size=batch, dtype=dtype)
        parts = self.parts(layer or {}, head or {}, embedding or {})
        model = keras.Model(ids, build(ids, *parts))
        self.put(*parts)
        return model


def plain(ids: Any, embedding: Any, layer: Any, head: Any) -> Any:
    return head(layer(embedding(ids)))


def misjudged(model: keras.Model, dfa: DFA) -> int:
    """The number of `WORDS` that the model, run as a user runs it, judges otherwise than the automaton."""
    rows = np.zeros((len(WORDS), max(map(len, WORDS)) + 1), np.int32)
    for row, word in zip(rows, WORDS, strict=True):
        row[: len(word) + 1] = [START, *(IDS[symbol] for symbol in word)]
    outputs = ops.convert_to_numpy(model(rows)).reshape(len(WORDS), -1)[:, 0]
    threshold = 0.5 if getattr(model.layers[-1], "activation", None) is keras.activations.sigmoid else 0.0
    return sum(bool(accepts) != dfa.accepts(word) for accepts, word in zip(outputs > threshold, WORDS, strict=True))
