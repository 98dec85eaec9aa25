"""A model that reads words as ids and labels each of them as a whole, in NumPy arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import Alphabet, shown_symbols, token_ids
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._network import carried_states, predicted_classes
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis import trace
from keras_interp_rnn.automata.machines import Word, checked_words

CHUNK = 1 << 16
"""Steps, words times their length, that the model reads at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class WordReader:
    """A model that accepts or rejects words, or labels them, and the ids of its symbols.

    Attributes:
        compiled: whether batches run as a compiled function, which takes a second to make and a tenth of the time.
    """

    model: Any
    symbols: Alphabet
    compiled: bool = False

    @property
    def alphabet(self) -> tuple[Hashable, ...]:
        return self.symbols.ordinary

    @cached_property
    def symbol_ids(self) -> tuple[int, ...]:
        """The id of each symbol of `alphabet`."""
        return tuple(self.symbols.ids_of(self.alphabet).tolist())

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The ids of the tokens before and after every word, where there are such."""
        return token_ids(self.symbols)

    @cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """False and True with one output or two; else a label for each output: `Recognizer.labels`, or 0, 1, ..."""
        num_outputs = self.model.output_shape[-1]
        if num_outputs <= 2:
            return (False, True)
        labels = getattr(self.model, "labels", None)
        if labels is None:
            return tuple(range(num_outputs))
        if not isinstance(labels, (tuple, list, str)) or not len(set(labels)) == len(labels) == num_outputs:
            raise ValueError(
                f"A recognizer must have a label of its own for each output. Received: {num_outputs} outputs, labels "
                f"{labels!r}. Set `labels` of the model to a tuple."
            )
        return tuple(labels)

    def encode(self, words: Sequence[Word]) -> NDArray[np.int32]:
        """Words as ids, padded with 0 to the longest, to at least one step, and to the length of the model's input."""
        known = frozenset(self.alphabet)
        for word in words:
            strays = [symbol for symbol in word if not isinstance(symbol, Hashable) or symbol not in known]
            if strays:
                raise ValueError(
                    f"A word must be over the alphabet {shown_symbols(self.alphabet)}. Received: the symbol "
                    f"{strays[0]!r} in {word!r:.60}. Leave it out, or pass an alphabet that has it."
                )
        ids = self.symbols.encode_batch(words)
        if self.model.input_shape[1] is not None:
            return fitted(ids, self.model.input_shape[1])
        return np.pad(ids, ((0, 0), (0, max(0, 1 - ids.shape[1]))))

    @property
    def max_length(self) -> int | None:
        """Number of symbols of the longest word that the model reads; None if there is no limit."""
        length = self.model.input_shape[1]
        return None if length is None else length - len(self.token_ids)

    def classify(self, words: Iterable[Iterable[Hashable]]) -> AnyArray:
        """The label that the model gives each word; with one output whether it accepts the word."""
        labels: AnyArray = np.empty(len(self.labels), object)
        labels[:] = self.labels
        if {type(label) for label in self.labels} in ({bool}, {int}, {str}):
            plain = np.array(self.labels)
            labels = plain if plain.tolist() == list(self.labels) else labels  # NumPy's strings lose NULs at their end
        return np.asarray(labels[self.classes(words)])

    def classes(self, words: Iterable[Iterable[Hashable]]) -> NDArray[np.int64]:
        """The index of each word's label in `labels`."""
        return predicted_classes(self.model, self.outputs(words))

    def outputs(self, words: Iterable[Iterable[Hashable]]) -> AnyArray:
        """The model's outputs (words, outputs)."""
        tuples = [tuple(word) for word in checked_words(words)]
        # Rounded up, as the model is traced for every length; a model that reads padding reads each length by itself.
        exact = self.model.input_shape[1] is None and not self.skips_padding
        extra = len(self.token_ids)
        lengths = [max(1, len(word) + extra) if exact else rounded(len(word) + 2) for word in tuples]
        order = sorted(range(len(tuples)), key=lengths.__getitem__)
        outputs: AnyArray = np.zeros((len(tuples), self.model.output_shape[-1]))
        first = 0
        while first < len(order):
            longest = lengths[order[first]]
            last = first + 1
            while last < len(order) and (last - first + 1) * lengths[order[last]] <= CHUNK:
                if exact and lengths[order[last]] > longest:
                    break
                longest = lengths[order[last]]
                last += 1
            rows = order[first:last]
            ids = self.encode([tuples[i] for i in rows])
            if self.model.input_shape[1] is None:
                ids = np.pad(ids, ((0, 0), (0, longest - ids.shape[1])))
            outputs[rows] = self.outputs_of_rows(ids)
            first = last
        wrong = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        if len(wrong):
            raise ValueError(
                "The outputs of a network must be finite numbers. Received: "
                f"{outputs[wrong[0]].tolist()} for the word {tuples[wrong[0]]!r}. Train with a lower learning rate or "
                "with clipped gradients."
            )
        return outputs

    def states(self, words: Sequence[Word]) -> NDArray[np.float64] | None:
        """The states (words, n) of all recurrent layers after each word; None if no state moves step by step.

        After the empty word of a model without a start token all entries are 0.
        """
        recurrent = [part for part in walk_layers(self.model) if isinstance(part, keras.layers.RNN)]
        if not recurrent or any(layer.go_backwards for layer in recurrent):  # as one of a Bidirectional does
            return None
        ids = self.encode(words)
        read = ids != 0
        empty = ~read.any(axis=1)
        ids[empty, 0] = self.symbol_ids[0]  # `trace` needs a step in every row
        traced = trace(self.model, ids)
        last = np.maximum(read.sum(axis=1) - 1, 0)
        parts = [values for name, values in traced.items() if name.split("/")[-1] in ("h", "c", "state_1", "state_2")]
        if any(values.shape[1] != ids.shape[1] for values in parts):
            return None
        rows = np.arange(len(ids))
        states = np.concatenate([values[rows, last].reshape(len(ids), -1) for values in parts], axis=1)
        return np.where(empty[:, None], 0.0, states).astype(np.float64)

    def signs(self, words: Sequence[Word]) -> list[set[Any]]:
        """Where each word takes the network: the signs of its first states."""
        states = self.states(words)
        return [set() for _ in words] if states is None else [{(row[:16] > 0).tobytes()} for row in states]

    @cached_property
    def skips_padding(self) -> bool:
        """Whether ids of 0 after a word change nothing, as with an Embedding of `mask_zero`."""
        if self.model.input_shape[1] is not None:
            return True
        ids = self.encode([(symbol, *self.alphabet[:1]) for symbol in self.alphabet[:8]])
        outputs, padded = (self.outputs_of_rows(np.pad(ids, ((0, 0), (0, more)))) for more in (0, 3))
        return bool(np.allclose(outputs, padded, rtol=1e-4, atol=1e-6))

    def classes_of_rows(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """As `classes`, for words as rows of ids."""
        return predicted_classes(self.model, self.outputs_of_rows(ids))

    def outputs_of_rows(self, ids: NDArray[np.int32]) -> AnyArray:
        """As `outputs`, for words as rows of ids."""
        rows = max(1, CHUNK // ids.shape[1])
        found = []
        for first in range(0, len(ids), rows):
            with carried_states.from_the_start(self.model):
                found.append(self._run(ids[first : first + rows]))
        return np.concatenate(found)

    def _run(self, ids: NDArray[np.int32]) -> AnyArray:
        if not self.compiled:
            return np.asarray(ops.convert_to_numpy(self.model(ids, training=False)))
        padded = np.pad(ids, ((0, rounded(len(ids)) - len(ids)), (0, 0)), mode="edge")  # few shapes are compiled
        return np.asarray(self._compiled_model.predict_on_batch(padded)[: len(ids)])

    @cached_property
    def _compiled_model(self) -> Any:
        """The model without XLA, which would compile it again for every shape."""
        model = keras.Model(self.model.inputs, self.model.outputs[0])
        model.compile(jit_compile=False)
        return model


def rounded(length: int) -> int:
    """The next multiple of 8, of 64 from 64 on, of 256 from 512 on."""
    step = 8 if length <= 64 else 64 if length <= 512 else 256
    return -(-length // step) * step


def fitted(ids: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    """Rows of ids of this length; raises ValueError if a word does not fit."""
    if (ids[:, length:] != 0).any():
        raise ValueError(
            f"Words must fit into the {length} ids that the model reads. Received: words of {ids.shape[1]}. Give it "
            "Input((None,))."
        )
    return np.pad(ids[:, :length], ((0, 0), (0, max(0, length - ids.shape[1]))))
