"""Errors of a network along its training: by the difference of parentheses, with averaged weights, on longer words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import datasets, equations

EVERY, AVERAGED = 2, 4
"""Passes from one evaluation to the next, and evaluations over which weights are averaged."""

NUM_DIFFERENCES = 4
"""Differences of parentheses that are told apart: 0, 1, 2, and more."""

Array = NDArray[Any]


class Judge(keras.callbacks.Callback):
    """Adds to the logs, every `EVERY` passes, what the network and its averaged weights get wrong.

    Attributes:
        recent: the weights at the last evaluations of words of full length, for their mean.
    """

    def __init__(
        self,
        tests: Mapping[str, datasets.LabelledWords],
        longer: datasets.LabelledWords,
        *,
        start_token: bool,
        growing: int,
    ) -> None:
        super().__init__()
        self.recent: list[Array] = []
        self._growing = growing
        every = [*tests.values(), longer]
        self._words = datasets.LabelledWords(
            tuple(word for words in every for word in words.words),
            np.concatenate([words.labels for words in every]),
            longer.alphabet,
        )
        self._ids = self._words.ids(start=start_token, end=True)
        self._ends = np.cumsum([len(words) for words in every])
        self._differences = differences(self._words)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = {} if logs is None else logs
        logs.update(wrong=[], longer_error=np.nan, averaged=[], averaged_longer_error=np.nan)
        if (epoch + 1) % EVERY:
            return
        weights = [keras.ops.convert_to_numpy(weight) for weight in self.model.trainable_variables]
        logs["wrong"], logs["longer_error"] = self._wrong(weights)
        if epoch + 1 >= self._growing:
            flat = np.concatenate([weight.ravel() for weight in weights])
            self.recent = [*self.recent, flat][-AVERAGED:]
        if len(self.recent) == AVERAGED:
            ends = np.cumsum([weight.size for weight in weights])[:-1]
            parts = np.split(np.mean(self.recent, axis=0), ends)
            mean = [part.reshape(weight.shape) for part, weight in zip(parts, weights, strict=True)]
            logs["averaged"], logs["averaged_longer_error"] = self._wrong(mean)

    def _wrong(self, weights: Sequence[Array]) -> tuple[list[list[int]], float]:
        """For each test the numbers of misclassified strings by difference, and the error on the longer strings."""
        wrong = (logits(self.model, weights, self._ids) > 0) != self._words.labels
        *tests, longer = np.split(wrong, self._ends[:-1])
        differences = np.split(self._differences, self._ends[:-1])
        counts = [
            np.bincount(of[is_wrong], minlength=NUM_DIFFERENCES)
            for is_wrong, of in zip(tests, differences, strict=False)
        ]
        return [count.tolist() for count in counts], float(longer.mean())


def differences(words: datasets.LabelledWords) -> Array:
    """How many parentheses of each word are too many or too few; 3 is three or more."""
    return np.minimum([abs(word.count("(") - word.count(")")) for word in words.words], NUM_DIFFERENCES - 1)


def logits(model: keras.Model, weights: Sequence[Array], ids: Array) -> Array:
    """The logit of every word, by the equations in float32: words leave the batch as they end, so long ones are cheap.

    Args:
        model: as `_languages.build` makes it. weights: in the order of its trainable variables. ids: (words, time), 0
            for padding after a word.
    """
    cell, of = model.get_layer("recurrent").cell, dict(zip(map(id, model.trainable_variables), weights, strict=True))
    inner, xp = getattr(cell, "cell", cell), equations.NUMPY

    def read(variable: Any) -> Array:
        return of[id(variable)] if id(variable) in of else keras.ops.convert_to_numpy(variable)

    if hasattr(inner, "equations"):
        step = inner.equations(read)
    else:
        step = equations.LSTM(read(inner.kernel), read(inner.recurrent_kernel), read(inner.bias))
    component = cell.equations(read).component if inner is not cell else None
    lengths = np.count_nonzero(ids, axis=1)
    order = np.argsort(-lengths, kind="stable")
    ids, lengths = ids[order], lengths[order]
    drive = [*step.drive(xp, weights[0])][0]  # of each id
    state = memory = np.zeros((len(ids), inner.units), np.float32)
    last = np.empty_like(state)
    for t in range(lengths[0]):
        reading = np.searchsorted(-lengths, -t)  # of words longer than t
        states = (state[:reading], memory[:reading])
        (u, memory), _ = step.step(xp, states, (drive[ids[:reading, t]],))
        ends = np.searchsorted(-lengths, -t - 1)
        last[ends:reading] = u[ends:]  # the end token's step is not regularized
        state = u if component is None else component.next_state(xp, u, *component.transition_weights(xp, u))
    kernel, bias = weights[-2:]
    found = np.empty(len(ids))
    found[order] = (last @ kernel + bias)[:, 0]
    return found
