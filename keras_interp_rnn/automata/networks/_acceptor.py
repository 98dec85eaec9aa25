"""A state-regularized model as an acceptor of words, in NumPy arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._checks import invalid
from keras_interp_rnn._network import (
    GivenAlphabet,
    TextLayerAlphabet,
    apply_head,
    centroids_of,
    decision_threshold,
    predicted_classes,
    read_above,
    recurrent_layer_inputs,
    regularized_stack,
    resolve_alphabet,
)
from keras_interp_rnn._program import step_cell
from keras_interp_rnn._program.graph import inputs_of
from keras_interp_rnn._types import AnyArray, Array
from keras_interp_rnn.analysis import trace
from keras_interp_rnn.automata.machines import Word
from keras_interp_rnn.automata.networks._reader import WordReader, fitted


@dataclass(frozen=True, eq=False)
class Acceptor(WordReader):
    """A state-regularized model that accepts or rejects words, or labels them, and the ids of its symbols.

    Each of several state-regularized layers reads the centroids of the one below it, so that the state of the whole is
    the tuple of the centroids of all layers.
    """

    skips_padding = True  # `open_acceptor` refuses others

    @cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """As of any reader; two labels have one output."""
        if self.model.output_shape[-1] == 2:
            raise ValueError(
                "A recognizer of two labels must have one output, whether it accepts. Received: a model with 2. Give "
                "it a Dense(1) head."
            )
        return super().labels

    @cached_property
    def layers(self) -> tuple[Any, ...]:
        """The state-regularized layers; the first one reads the symbols."""
        stack = tuple(regularized_stack(self.model))
        return stack or (recurrent_layer_inputs(self.model, np.array([self.symbol_ids[:1]]))[0],)

    @property
    def layer(self) -> Any:
        """The layer that reads the symbols."""
        return self.layers[0]

    @property
    def name(self) -> str | None:
        """Name of the layer that reads the symbols; None if it is the only one."""
        return str(self.layer.name) if len(self.layers) > 1 else None

    def signs(self, words: Sequence[Word]) -> list[set[Any]]:
        """Where each word takes the network: centroids at a level of confidence, and pairs of consecutive ones."""
        centroids, alphas = self.trace(words)
        levels = np.round(-2 * np.log10(np.maximum(1 - alphas, 1e-7))).astype(int)
        signs: list[set[Any]] = []
        for row, level in zip(centroids, levels, strict=True):
            path = row[row >= 0].tolist()
            signs.append({*zip(path, level[row >= 0].tolist(), strict=True)})
            signs[-1] |= {("then", *pair) for pair in itertools.pairwise(path)}
        return signs

    def trace(self, words: Sequence[Word]) -> tuple[NDArray[np.int64], Array]:
        """The state after each id (rows, time), -1 where nothing is read, and alpha of its centroids.

        A state is the index of its tuple of centroids among all tuples; alpha is the product over the layers.
        """
        ids = self.encode(words)
        empty = ~(ids != 0).any(axis=1)
        ids[empty, 0] = self.symbol_ids[0]  # `trace` needs a step in every row; removed below
        traced = trace(self.model, ids)
        state, alpha = np.zeros(ids.shape, np.int64), np.ones(ids.shape)
        for layer, k in zip(self.layers, self.num_centroids, strict=True):
            prefix = f"{layer.name}/" if len(self.layers) > 1 else ""
            centroid = traced[f"{prefix}centroid"]
            state = np.where((centroid < 0) | (state < 0), -1, state * k + centroid)
            alpha = alpha * traced[f"{prefix}alpha"].max(axis=-1)
        state[empty] = -1
        return state, np.nan_to_num(alpha)

    # Its parts

    @cached_property
    def features(self) -> dict[int, AnyArray]:
        """Id of a symbol or a token -> the features that the first layer reads."""
        ids = [*self.symbol_ids, *self.token_ids]
        column = np.array(ids, np.int32)[:, None]
        if self.model.input_shape[1] is not None:
            column = fitted(column, self.model.input_shape[1])
        _, reads, _ = recurrent_layer_inputs(self.model, column, self.name)
        return dict(zip(ids, ops.convert_to_numpy(reads)[:, 0], strict=True))

    @cached_property
    def centroids(self) -> tuple[Array, ...]:
        """The centroids (k, n) of each layer."""
        return tuple(centroids_of(layer).astype(np.float64) for layer in self.layers)

    @property
    def num_centroids(self) -> tuple[int, ...]:
        """Number of centroids of each layer."""
        return tuple(map(len, self.centroids))

    @property
    def first_id(self) -> int:
        """Id of the start token; raises ValueError without one."""
        if self.symbols.start_id is None:
            raise ValueError(
                "An automaton must have a first state, which the start token leads to. Received: a model without one. "
                "Train with a token before every word, and name it as `start` of its Alphabet."
            )
        return self.symbols.start_id

    def initial(self) -> list[Array]:
        """Alpha (1, k) of each layer after the start token; raises ValueError without one."""
        states = [ops.convert_to_numpy(layer.get_initial_state(batch_size=1)[0]) for layer in self.layers]
        return self.transitions(states, self.features[self.first_id][None])

    def transitions(self, states: Sequence[AnyArray], features: AnyArray) -> list[Array]:
        """Alpha (rows, k) of each layer after reading features (rows, f) in states (rows, n) of each layer."""
        alphas: list[Array] = []
        for i, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            alphas.append(_step(layer.cell, state, features)[1])
            features = self._above(i, self.centroids[i][alphas[-1].argmax(axis=-1)])
        return alphas

    def decisions(self, states: Sequence[tuple[int, ...]]) -> tuple[NDArray[np.int64], Array]:
        """The class of states, after the end token if there is one, and its margin.

        The margin is the output minus the decision threshold with one output, above 0 for class 1; else the largest
        output minus the second largest.
        """
        of_layers = [table[list(which)] for table, which in zip(self.centroids, zip(*states, strict=True), strict=True)]
        last = of_layers[-1]
        if self.symbols.end_id is not None:
            features = np.repeat(self.features[self.symbols.end_id][None], len(states), axis=0)
            for i, (layer, state) in enumerate(zip(self.layers, of_layers, strict=True)):
                u, alpha = _step(layer.cell, state, features)
                last = alpha @ self.centroids[i] if layer.regularize_last_step else u
                features = self._above(i, last)
        outputs = apply_head(self.model, self.layers[-1], np.asarray(last, self.layers[-1].variable_dtype))
        classes, values = predicted_classes(self.model, outputs), outputs.astype(np.float64)
        if len(self.labels) == 2:
            return classes, np.asarray(values[:, 0] - decision_threshold(self.model))
        return classes, np.diff(np.sort(values, axis=-1)[:, -2:])[:, 0]

    def _above(self, i: int, states: Array) -> AnyArray:
        """The input of layer i + 1 when layer i has these states; the states themselves after the last layer."""
        if i + 1 == len(self.layers):
            return states
        below, above = self.layers[i : i + 2]
        return np.asarray(read_above(self.model, below, above, np.asarray(states, below.variable_dtype)))


def _step(cell: Any, states: AnyArray, inputs: AnyArray) -> tuple[Array, Array]:
    """Outputs u (rows, n) and alpha (rows, k) of one step of a cell from states h (rows, n)."""
    h = ops.convert_to_tensor(np.asarray(states, cell.variable_dtype))
    _, [u, *_] = step_cell(cell.cell, ops.convert_to_tensor(inputs), [h])
    alpha, _ = cell.stochastic_component().transition_weights(ops, u)
    u, alpha = (np.asarray(ops.convert_to_numpy(x), np.float64) for x in (u, alpha))
    return u, alpha


def open_reader(model: object, alphabet: GivenAlphabet | None = None, *, compiled: bool = False) -> WordReader:
    """The reader of a model.

    Args:
        alphabet: of its words; None for the one that the model carries.
        compiled: as `WordReader`.

    Raises:
        ValueError: if there is no alphabet, it has no padding with the id 0, or the model does not fit it.
    """
    if not isinstance(model, keras.Model):
        raise invalid("network", "a keras.Model", model)
    if not inputs_of(model):
        model(keras.Input((None,), dtype="int32"))  # builds a Sequential model without an Input
    if any(str(tensor.dtype) == "string" for tensor in model.inputs):
        raise ValueError(
            f"A model of words must read ids. Received: {model.name}, which reads strings. Pass the model of the "
            "layers after its text layer, and an Alphabet."
        )
    _, symbols = resolve_alphabet(model, alphabet)
    if symbols is None:
        raise ValueError(
            f"A model must carry its alphabet, or one must be passed. Received: {model.name}, which carries none. Pass "
            "alphabet={symbol: id, ...}, or an Alphabet, which has start and end tokens too."
        )
    if isinstance(symbols, TextLayerAlphabet) or not symbols.ordinary:
        raise ValueError(
            "Words of an automaton must be over symbols with an id each. Received: "
            f"{'a text layer, which may change them' if symbols.ordinary else 'special symbols alone'}. Pass an "
            "Alphabet of the symbols."
        )
    if symbols.padding_id != 0:
        raise ValueError(
            "The id 0 must be padding, with which words of different lengths are read. Received: an alphabet with the "
            f"symbol {symbols[0]!r} there. Pass Alphabet(symbols, padding=...) with its padding first, or "
            "{symbol: id, ...} with ids from 1."
        )
    sizes = [part.input_dim for part in walk_layers(model) if isinstance(part, keras.layers.Embedding)]
    if len(symbols) > min(sizes, default=math.inf):
        raise ValueError(
            "Ids of symbols and tokens must lie from 1, as 0 is padding, to the last one of the Embedding. Received: "
            f"{sorted(set(symbols.ids) - {0})}, and an Embedding of {min(sizes)} ids. Give it {len(symbols)}."
        )
    return WordReader(model, symbols, compiled)


def open_acceptor(model: Any, alphabet: GivenAlphabet | None = None) -> Acceptor:
    """The acceptor of a model.

    Args:
        alphabet: as `open_reader`.

    Raises:
        ValueError: as `open_reader`; if there is no state-regularized layer, or padding is read.
    """
    acceptor = Acceptor(model, open_reader(model, alphabet).symbols)
    if not hasattr(getattr(acceptor.layer, "cell", None), "centroids"):
        raise ValueError(
            f"`network` must have a state-regularized layer. Received: {acceptor.layer.name}. Use layers.SRGRU or "
            "another of layers.SR...; automata.learn learns the automaton of any network, by queries."
        )
    if recurrent_layer_inputs(model, np.array([acceptor.symbol_ids[:1]]), acceptor.name)[2] is None:
        raise ValueError(
            f"A model must skip id 0, with which words of different lengths are padded. Received: {model.name}, which "
            "would read the padding. Give its Embedding mask_zero=True, and its symbols the ids from 1."
        )
    return acceptor


def require_memoryless(acceptor: Acceptor) -> None:
    """Raises ValueError unless the centroid, or the tuple of them, is all that a network remembers."""
    for layer in acceptor.layers:
        cell, strength = layer.cell, float(ops.convert_to_numpy(layer.cell.strength))
        received = f"Received: {layer.name}"
        if len(keras.tree.flatten(cell.state_size)) > 1:
            raise ValueError(
                f"A centroid must be all that the network remembers. {received}, whose cell has a further state. Use "
                "method='counts' or 'mean_probability', with data."
            )
        if cell.transition.name == "sample":
            raise ValueError(f"The transition must be deterministic. {received} with transition='sample'.")
        if strength != 1:
            raise ValueError(
                f"A centroid must be all that the network remembers. {received} with a strength of {strength:g}. "
                "Continue training up to a strength of 1."
            )
