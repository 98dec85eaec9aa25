r"""Contributions to the most probable outputs of each prediction, if all outputs would be too many numbers.

The readout is linear, so the terms of the other outputs sum to the terms of one output: with the columns R_o of the
readout and the terms r_s of the state (`contributions`),

    sum_{o not in top} r_s R_o = r_s (sum_o R_o - sum_{o in top} R_o),

which needs no term of each output; nor do the norms over all outputs, ||r_s R||^2 = r_s (R R^T) r_s^T, with the
relative error sqrt(1e-16) of a square root. T symbols take O(T^2 n (n + top)), and n outputs for each target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._network import AffineReading, GivenAlphabet, share_no_probability
from keras_interp_rnn._outputs import GivenOutputs, output_names
from keras_interp_rnn._results import Result, Tag, output_name, step_numbers, symbol_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import isan as equations


@dataclass(frozen=True, eq=False, repr=False)
class TopContributions(Result):
    """Terms of the most probable outputs after every symbol of one text, and of all others together.

    Attributes:
        symbols: (T,), the text.
        num_outputs: of the network.
        top: (T, top), the most probable outputs after each symbol, the most probable first.
        values: for each target t (t + 1, top + 1), as `Contributions.values`; the last column is the sum over all other
            outputs.
        norms: for each target t (t + 1,), the norms of the terms over all outputs.
        bias: (T, top + 1), the readout's bias, in the same columns.
        others: (T,), the probability of all other outputs, by a softmax.
        residual: largest |bias + sum of values over sources - logits|, in all columns.
        alphabet: names of the symbols, for views; None for their ids.
        vectors, output_names, times, regression: as of `Contributions`.

    Units: nats (logits).

    Example: see `contributions`.
    """

    symbols: NDArray[np.int64]
    num_outputs: int
    top: NDArray[np.int64]
    values: tuple[Array, ...]
    norms: tuple[Array, ...]
    bias: Array
    others: Array
    residual: float
    alphabet: Sequence[str] | None = None
    vectors: bool = False
    output_names: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    regression: bool = False

    def tag(self) -> Tag:
        """The terms of the most probable outputs at each target, and of the others together, for the plugin."""
        blocks, named = [], self.output_names or self.alphabet
        for top, values, norms, bias, others in zip(
            self.top, self.values, self.norms, self.bias, self.others, strict=True
        ):
            first, last = np.array([*top, others, 0.0]), np.append(bias, 0.0)
            blocks += [first[None], np.concatenate([values, norms[:, None]], axis=1), last[None]]
        first_target = len(self.symbols) - len(self.top) + 1
        return np.concatenate(blocks).astype(np.float32), {
            "kind": "top_contributions",
            **names_of_sources(self.symbols, self.alphabet, self.vectors, self.times),
            "outputs": [output_name(named, output, self.num_outputs) for output in range(self.num_outputs)],
            "top": self.top.shape[1],
            **({"first": first_target} if first_target > 1 else {}),
            **({"values": True} if self.regression else {}),
        }


def top_contributions(
    network: object,
    symbols: ArrayLike | str,
    *,
    num_outputs: int,
    readout: object = None,
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
) -> TopContributions:
    """Splits the logits of the most probable outputs at every step of a text, and the sum of all other logits.

    `num_outputs` outputs have terms, fewer than the network has; otherwise as `contributions`.
    """
    reading = AffineReading(network, alphabet)
    opened = reading.open(symbols, readout)
    [(weights, head, text, *_)] = opened.ways
    whole, gram = head.matrix.sum(axis=1), head.matrix @ head.matrix.T
    top, bias = np.empty((len(text), num_outputs), np.int64), np.empty((len(text), num_outputs + 1))
    others, residual = np.empty(len(text)), 0.0
    values: list[Array] = []
    norms: list[Array] = []
    with np.errstate(over="ignore", invalid="ignore"):
        states = equations.states(np, *weights, text)
        for i, (state, terms) in enumerate(zip(states, equations.sources(np, *weights, text), strict=True)):
            logits = equations.logits(np, head.matrix, head.offset, state)
            check_range("Contributions and logits", (logits,))
            chosen = largest(logits, num_outputs)
            matrix = head.matrix[:, chosen]
            matrix = np.concatenate([matrix, (whole - matrix.sum(axis=1))[:, None]], axis=1)
            top[i], bias[i] = chosen, with_the_others(head.offset, chosen)
            values.append(terms @ matrix)
            norms.append(np.sqrt(np.maximum(np.einsum("sn,nm,sm->s", terms, gram, terms, optimize=True), 0)))
            others[i] = probability_of_the_others(logits, chosen)
            missed = bias[i] + values[-1].sum(axis=0) - with_the_others(logits, chosen)
            residual = max(residual, float(np.abs(missed).max()))
    check_range("Contributions and logits", (*values, *norms))
    return TopContributions(
        opened.symbols,
        len(head.offset),
        top,
        tuple(values),
        tuple(norms),
        bias,
        others,
        residual,
        reading.names,
        output_names=output_names(network, outputs, len(head.offset)),
        regression=share_no_probability(network, outputs, len(head.offset)),
    )


def names_of_sources(
    symbols: NDArray[np.int64], alphabet: Sequence[object] | None, vectors: bool, times: Sequence[str]
) -> dict[str, Any]:
    """The names of the symbols, or the numbers of the steps of vectors, as tags have them."""
    if vectors:
        return {"symbols": [*times] or step_numbers(len(symbols)), "vectors": True}
    return {"symbols": [symbol_name(alphabet, int(symbol)) for symbol in symbols]}


def largest(logits: Array, number: int) -> NDArray[np.int64]:
    """The outputs with the largest logits, the largest first."""
    found = np.argpartition(-logits, number)[:number]
    return found[np.argsort(-logits[found], kind="stable")]


def with_the_others(per_output: Array, chosen: NDArray[np.int64]) -> Array:
    """The entries (..., outputs) of some outputs, and the sum of all others."""
    others = np.delete(per_output, chosen, axis=-1).sum(axis=-1, keepdims=True)
    return np.concatenate([per_output[..., chosen], others], axis=-1)


def probability_of_the_others(logits: Array, chosen: NDArray[np.int64]) -> float:
    """By a softmax, of all outputs but some together."""
    parts = np.exp(logits - logits.max())
    return float(np.delete(parts, chosen).sum() / parts.sum())
