"""From a state-regularized model to what automata are made of: a bridge, so that the rest is Python and NumPy."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn.analysis import trace
from keras_interp_rnn.analysis.network import (
    apply_head,
    centroids_of,
    decision_threshold,
    recurrent_layer_inputs,
    run_cell,
)
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding
from keras_interp_rnn.automata.words import Word, WordEncoding

Array = NDArray[np.float64]

CHUNK = 1 << 16
"""Steps, words times their length, that the model reads at a time: bounds the memory."""


@dataclass(frozen=True, eq=False)
class Acceptor:
    """A model that accepts or rejects words, and how it reads them."""

    model: Any
    encoding: WordEncoding

    @property
    def alphabet(self) -> tuple[Hashable, ...]:
        return self.encoding.alphabet

    @cached_property
    def layer(self) -> Any:
        return recurrent_layer_inputs(self.model, np.array([self.encoding.codes[:1]]))[0]

    # What the whole network says

    def encode(self, words: Sequence[Word]) -> NDArray[np.int32]:
        """Words as ids, padded by 0 to the longest, to a step at least, and to the length of the model's input."""
        ids = self.encoding.ids(words)
        if self.model.input_shape[1] is not None:
            return _fitted(ids, self.model.input_shape[1])
        return np.pad(ids, ((0, 0), (0, max(0, 1 - ids.shape[1]))))

    @property
    def longest_word(self) -> int | None:
        """Symbols of the longest word that the model reads, None for any."""
        length = self.model.input_shape[1]
        return None if length is None else length - len(self.encoding.tokens)

    def accepts(self, words: Iterable[Iterable[Hashable]]) -> NDArray[np.bool_]:
        """The model's own verdict on every word."""
        given = [tuple(word) for word in words]
        order = sorted(range(len(given)), key=lambda i: len(given[i]))
        accepted = np.zeros(len(given), bool)
        first = 0
        while first < len(order):
            longest = len(given[order[first]]) + 2
            last = first
            # Lengths are rounded up, so that the model is traced for few of them.
            while last < len(order) and (last - first + 1) * _rounded(len(given[order[last]]) + 2) <= CHUNK:
                longest = len(given[order[last]]) + 2
                last += 1
            rows = order[first : max(last, first + 1)]
            ids = self.encode([given[i] for i in rows])
            ids = np.pad(ids, ((0, 0), (0, max(0, _rounded(longest) - ids.shape[1]))))
            if self.model.input_shape[1] is not None:
                ids = ids[:, : self.model.input_shape[1]]
            # Not `predict`, which would be compiled anew for every shape.
            outputs = ops.convert_to_numpy(self.model(ids, training=False))
            accepted[rows] = outputs[:, 0] > decision_threshold(self.model)
            first += len(rows)
        return accepted

    def trace(self, words: Sequence[Word]) -> dict[str, NDArray[Any]]:
        """`analysis.trace` of the layer on rows of `encode`; of a word that has no id to read, a centroid of -1."""
        ids = self.encode(words)
        layer, reads, mask = recurrent_layer_inputs(self.model, ids)
        mask = ids != 0 if mask is None else np.asarray(mask)
        empty = ~mask.any(axis=1)
        if empty.any():
            mask = mask.copy()
            mask[empty, 0] = True
        found = dict(trace(layer, reads, mask=mask))
        found["centroid"][empty] = -1
        return found

    # What its parts do

    def features(self) -> dict[int, NDArray[Any]]:
        """What the recurrent layer reads for the id of each symbol, and of start and end."""
        ids = [*self.encoding.codes, *self.encoding.tokens]
        column = np.array(ids, np.int32)[:, None]
        if self.model.input_shape[1] is not None:
            column = _fitted(column, self.model.input_shape[1])
        _, reads, _ = recurrent_layer_inputs(self.model, column)
        return dict(zip(ids, ops.convert_to_numpy(reads)[:, 0], strict=True))

    def centroids(self) -> Array:
        """(k, n)."""
        return centroids_of(self.layer).astype(np.float64)

    def transitions(self, states: NDArray[Any], feature: NDArray[Any]) -> Array:
        """Alpha (rows, k) after a state h (rows, n) has read a symbol's features."""
        layer = self.layer
        _, alpha = self._step(layer.cell, states, feature)
        return alpha

    @property
    def first_id(self) -> int:
        """Id of the start token; raises ValueError without one."""
        if self.encoding.start is None:
            raise ValueError(
                "An automaton needs a first state, which the start token leads to. Received: a model without one. "
                "Train with a token before every word, and pass its id as start."
            )
        return self.encoding.start

    def initial(self) -> Array:
        """Alpha (k,) after the start token; raises ValueError without one."""
        feature = self.features()[self.first_id]
        state = ops.convert_to_numpy(self.layer.get_initial_state(batch_size=1)[0])
        return self.transitions(state, feature)[0]

    def decision_values(self, states: NDArray[Any]) -> Array:
        """What the head puts out, less its middle, for states h (rows, n): > 0 accepts. After the end token, if any."""
        layer = self.layer
        if self.encoding.end is not None:
            u, alpha = self._step(layer.cell, states, self.features()[self.encoding.end])
            states = alpha @ self.centroids() if layer.regularize_last_step else u
        found = apply_head(self.model, layer, np.asarray(states, layer.variable_dtype))
        if found.shape[-1] != 1:
            raise ValueError(
                "A recogniser has one output, whether it accepts. Received: a model with "
                f"{found.shape[-1]}. Give it a Dense(1) head."
            )
        return found[:, 0].astype(np.float64) - decision_threshold(self.model)

    def _step(self, cell: Any, states: NDArray[Any], feature: NDArray[Any]) -> tuple[Array, Array]:
        inputs = ops.convert_to_tensor(np.repeat(feature[None], len(states), axis=0))
        h = ops.convert_to_tensor(np.asarray(states, cell.variable_dtype))
        u, *_ = run_cell(cell.cell, inputs, [h])
        alpha, _ = cell.component().transit(ops, u)
        u, alpha = (np.asarray(ops.convert_to_numpy(x), np.float64) for x in (u, alpha))
        return u, alpha


def open_acceptor(model: Any, encoding: WordEncoding | None = None) -> Acceptor:
    """A model opened for reading.

    Args:
        encoding: None for a model with a `SymbolEmbedding`, which carries its own.

    Raises:
        ValueError: if there is no encoding, or no state-regularized layer; if the model does not fit the encoding.
    """
    if not isinstance(model, keras.Model):
        raise ValueError(f"Automata are read off a keras.Model. Received: {model!r}.")
    if encoding is None:
        carried = [part for part in walk_layers(model) if isinstance(part, SymbolEmbedding)]
        if not carried:
            raise ValueError(
                f"The model must say which id stands for which symbol. Received: {model.name}, which carries no "
                "alphabet. Pass alphabet={symbol: id, ...}, and the ids of start and end tokens."
            )
        encoding = carried[0].encoding
    sizes = [part.input_dim for part in walk_layers(model) if isinstance(part, keras.layers.Embedding)]
    if encoding.size > min(sizes, default=math.inf):
        raise ValueError(
            f"Ids of symbols and tokens lie from 1, as 0 is padding, to the last one of the Embedding. Received: "
            f"{sorted({*encoding.codes, *encoding.tokens})}, and an Embedding of {min(sizes)} ids."
        )
    acceptor = Acceptor(model, encoding)
    if recurrent_layer_inputs(model, np.array([encoding.codes[:1]]))[2] is None:
        raise ValueError(
            f"Words of different lengths are padded by id 0. Received: {model.name}, which would read the padding. "
            "Give its Embedding mask_zero=True."
        )
    if not hasattr(getattr(acceptor.layer, "cell", None), "centroids"):
        raise ValueError(
            f"Automata are read off a state-regularized layer. Received: {acceptor.layer.name}. Use layers.SRGRU or "
            "its like; for other networks, let AALpy learn the automaton by queries."
        )
    return acceptor


def require_memoryless(acceptor: Acceptor) -> None:
    """Raises ValueError for a network that keeps more than its centroid."""
    layer = acceptor.layer
    sizes = keras.tree.flatten(layer.cell.state_size)
    if len(sizes) > 1:
        raise ValueError(
            f"A centroid must be all that the network remembers. Received: {layer.name}, whose cell has a memory "
            "besides. Use method='counts' or 'mean_probability', with data."
        )
    if layer.cell.transition.name == "sample":
        raise ValueError(
            f"An automaton takes one way. Received: {layer.name} with transition='sample', which draws its way."
        )
    if float(ops.convert_to_numpy(layer.cell.strength)) != 1:
        raise ValueError(
            f"A centroid must be all that the network remembers. Received: {layer.name} with a strength of "
            f"{float(ops.convert_to_numpy(layer.cell.strength)):g}. Train on to a strength of 1."
        )


def _rounded(length: int) -> int:
    step = 8 if length <= 64 else 64 if length <= 512 else 256
    return -(-length // step) * step


def _fitted(ids: NDArray[np.int32], longest: int) -> NDArray[np.int32]:
    if (ids[:, longest:] != 0).any():
        raise ValueError(f"The model reads {longest} ids. Received: words of {ids.shape[1]}. Give it Input((None,)).")
    return np.pad(ids[:, :longest], ((0, 0), (0, max(0, longest - ids.shape[1]))))
