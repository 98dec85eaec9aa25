"""Random weights, texts and masks for input-switched affine networks.

Weights are dense and asymmetric, and batch, time, vocabulary size and units differ, so that no transposed matrix and
no swapped axis goes unnoticed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from keras_interp_rnn._sequence.scan import Path
from keras_interp_rnn.layers import ISAN
from tests.oracles import isan as oracle

MASKS = ("leading", "inner", "trailing", "whole rows", "scattered", "everything")


class Sample(NamedTuple):
    """Weights with states as rows, and a batch to read, in float64."""

    kernel: np.ndarray  # (K, n, n)
    bias: np.ndarray  # (K, n)
    initial_state: np.ndarray  # (n,)
    start: np.ndarray  # (batch, n), another state for each sequence
    symbols: np.ndarray  # int32 (batch, time)
    mask: np.ndarray | None  # bool (batch, time)
    cotangent: np.ndarray  # (batch, time, n)

    @property
    def W(self) -> np.ndarray:
        """The kernel as the paper and the oracle have it, for states as columns."""
        return np.swapaxes(self.kernel, 1, 2)

    @property
    def vocabulary_size(self) -> int:
        return self.bias.shape[0]

    @property
    def units(self) -> int:
        return self.bias.shape[1]

    def states(self, start: np.ndarray | None = None, go_backwards: bool = False) -> np.ndarray:
        """The oracle's states, from the initial state unless told another start."""
        start = self.initial_state if start is None else start
        return oracle.states(self.W, self.bias, start, self.symbols, self.mask, go_backwards)

    def outputs(
        self, start: np.ndarray | None = None, go_backwards: bool = False, zero_output_for_mask: bool = False
    ) -> np.ndarray:
        """The outputs of a Keras RNN."""
        return outputs_of(self.states(start, go_backwards), self.mask, go_backwards, zero_output_for_mask)

    def layer(self, path: str | None = None, **arguments: Any) -> ISAN:
        """A built layer with these weights, in float64 and without a constraint unless told otherwise.

        Args:
            path: the name of the one that it takes, whatever the device; None leaves the choice to the layer.
        """
        own = {"dtype": "float64", "recurrent_constraint": None}
        layer = ISAN(self.units, self.vocabulary_size, **{**own, **arguments})
        if path is not None:
            layer.path = lambda sequences: Path(path, "the test asks for it")
        layer.build(self.symbols.shape)
        layer.set_weights([self.kernel, self.bias, self.initial_state][: len(layer.weights)])
        if layer.stateful:
            layer.reset_state()
        return layer


def sample(
    seed: int = 0,
    batch: int = 3,
    time: int = 7,
    vocabulary_size: int = 5,
    units: int = 4,
    read: tuple[int, ...] | None = None,
    mask: str | None = None,
) -> Sample:
    """Random weights and a random batch.

    Args:
        read: the symbols that occur; by default all. Each occurs, where the batch has room for that.
        mask: one of `MASKS`, or None.
    """
    rng = np.random.default_rng(seed)
    return Sample(
        kernel=rng.normal(size=(vocabulary_size, units, units)) / np.sqrt(units),
        bias=rng.normal(size=(vocabulary_size, units)),
        initial_state=rng.normal(size=units),
        start=rng.normal(size=(batch, units)),
        symbols=make_symbols(read or tuple(range(vocabulary_size)), rng, batch, time),
        mask=None if mask is None else make_mask(mask, rng, batch, time),
        cotangent=rng.normal(size=(batch, time, units)),
    )


def outputs_of(
    states: np.ndarray, mask: np.ndarray | None, go_backwards: bool = False, zero_output_for_mask: bool = False
) -> np.ndarray:
    """The outputs of a Keras RNN: zero before the first unmasked step, then the last unmasked state (or zero)."""
    result = states.copy()
    if mask is None:
        return result
    mask = mask[:, ::-1] if go_backwards else mask
    for sequence in range(result.shape[0]):
        for step in range(result.shape[1]):
            begun = mask[sequence, : step + 1].any()
            if not begun or (zero_output_for_mask and not mask[sequence, step]):
                result[sequence, step] = 0
    return result


def make_symbols(read: tuple[int, ...], rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
    """int32 (batch, time), random order and frequencies."""
    symbols = np.concatenate([rng.permutation(read), rng.choice(read, size=batch * time)])[: batch * time]
    return rng.permutation(symbols).reshape(batch, time).astype(np.int32)


def make_mask(kind: str, rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
    """bool (batch, time), False somewhere in every row or in some."""
    mask = np.ones((batch, time), bool)
    for row in range(batch):
        hidden = 1 + row % max(1, time - 1)
        if kind == "leading":
            mask[row, :hidden] = False
        elif kind == "trailing":
            mask[row, time - hidden :] = False
        elif kind == "inner":
            mask[row, time // 2 : time // 2 + 1 + row % 2] = False
        elif kind == "whole rows":
            mask[row] = row % 2 == 1
        elif kind == "scattered":
            mask[row] = rng.random(time) < 0.6
        elif kind == "everything":
            mask[row] = False
        else:
            raise ValueError(kind)
    return mask


def passing_masks_on(layer):
    """A layer of Keras that passes the mask on that it is given, as all recurrent ones did before Keras 3.16."""
    layer.supports_masking = True
    return layer
