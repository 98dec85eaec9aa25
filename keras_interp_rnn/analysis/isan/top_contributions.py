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

from keras_interp_rnn._outputs import GivenOutputs, output_names
from keras_interp_rnn._program import AffineReading, GivenAlphabet, check_range
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.contributions import Contributions
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
        vectors, output_names, times: as of `Contributions`.

    Units: nats (logits).
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


def top_contributions(
    network: Any,
    symbols: ArrayLike | str,
    *,
    num_outputs: int,
    readout: Any = None,
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
            chosen = _largest(logits, num_outputs)
            matrix = head.matrix[:, chosen]
            matrix = np.concatenate([matrix, (whole - matrix.sum(axis=1))[:, None]], axis=1)
            top[i], bias[i] = chosen, _with_the_others(head.offset, chosen)
            values.append(terms @ matrix)
            norms.append(np.sqrt(np.maximum(np.einsum("sn,nm,sm->s", terms, gram, terms, optimize=True), 0)))
            others[i] = _probability_of_the_others(logits, chosen)
            missed = bias[i] + values[-1].sum(axis=0) - _with_the_others(logits, chosen)
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
    )


def most_probable(split: Contributions, num_outputs: int) -> TopContributions:
    """`top_contributions` from the contributions to all targets 1, ..., T and more than `num_outputs` outputs."""
    top = np.stack([_largest(logits, num_outputs) for logits in split.logits])
    terms = [split.values[: target + 1, i] for i, target in enumerate(split.targets)]
    return TopContributions(
        split.symbols,
        split.logits.shape[1],
        top,
        tuple(_with_the_others(one, chosen) for one, chosen in zip(terms, top, strict=True)),
        tuple(np.linalg.norm(one, axis=-1) for one in terms),
        np.stack([_with_the_others(split.bias, chosen) for chosen in top]),
        np.array([_probability_of_the_others(*each) for each in zip(split.logits, top, strict=True)]),
        split.residual,
        split.alphabet,
        split.vectors,
        split.output_names,
        split.times,
    )


def _largest(logits: Array, number: int) -> NDArray[np.int64]:
    """The outputs with the largest logits, the largest first."""
    found = np.argpartition(-logits, number)[:number]
    return found[np.argsort(-logits[found], kind="stable")]


def _with_the_others(per_output: Array, chosen: NDArray[np.int64]) -> Array:
    """The entries (..., outputs) of some outputs, and the sum of all others."""
    others = np.delete(per_output, chosen, axis=-1).sum(axis=-1, keepdims=True)
    return np.concatenate([per_output[..., chosen], others], axis=-1)


def _probability_of_the_others(logits: Array, chosen: NDArray[np.int64]) -> float:
    parts = np.exp(logits - logits.max())
    return float(np.delete(parts, chosen).sum() / parts.sum())
