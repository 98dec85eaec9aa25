"""Results in the form of the TensorBoard plugin's tags: what callbacks log, and what pages without a server hold.

Each function gives the tensor and the description of a kind, as `tensorboard_plugins/interp_rnn/kinds` says.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._results import output_name, symbol_name, visible
from keras_interp_rnn.analysis.attribution import Attribution, TopAttribution
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.top_contributions import TopContributions
from keras_interp_rnn.analysis.substitutions import Substitutions
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.machines import Automaton

Tag = tuple[NDArray[Any], dict[str, Any]]
"""A tensor, and the description beside it."""


def last_targets(split: Contributions) -> Contributions | None:
    """The text up to its last target, with all targets that end there without a gap, each a sum over what is before it.

    None where there is no target, or symbols after the last one have terms: a network may read in both directions.
    """
    ends: list[int] = []
    for column in np.argsort(-split.targets, kind="stable").tolist():
        target = int(split.targets[column])
        if split.values[target + 1 :, column].any() or (ends and target != split.targets[ends[-1]] - 1):
            break
        ends.append(column)
    if not ends:
        return None
    columns, end = ends[::-1], int(split.targets[ends[0]])
    return dataclasses.replace(
        split,
        symbols=split.symbols[:end],
        targets=split.targets[columns],
        values=split.values[: end + 1, columns],
        logits=split.logits[columns],
        features=None,
    )


def contributions(split: Contributions) -> Tag:
    """Of the last targets of a text, `last_targets`."""
    rows = [split.values[: target + 1, column] for column, target in enumerate(split.targets.tolist())]
    described = {**_names_of(split), **_first(len(split.symbols) - len(split.targets) + 1)}
    return np.concatenate([*rows, split.bias[None]]).astype(np.float32), described


def _first(target: int) -> dict[str, int]:
    return {"first": target} if target > 1 else {}


def top_contributions(split: TopContributions) -> Tag:
    """Of the most probable outputs at each target, and of the others together."""
    blocks = []
    for top, values, norms, bias, others in zip(
        split.top, split.values, split.norms, split.bias, split.others, strict=True
    ):
        first, last = np.array([*top, others, 0.0]), np.append(bias, 0.0)
        blocks += [first[None], np.concatenate([values, norms[:, None]], axis=1), last[None]]
    return np.concatenate(blocks).astype(np.float32), {
        "symbols": [symbol_name(split.alphabet, int(symbol)) for symbol in split.symbols],
        "outputs": [output_name(split.alphabet, output, split.num_outputs) for output in range(split.num_outputs)],
        "top": split.top.shape[1],
        **_first(len(split.symbols) - len(split.top) + 1),
    }


def shapley_values(values: ShapleyValues) -> Tag:
    """Of all symbols up to the target, and the mean."""
    end = int(values.targets[0])
    names = _names_of(values)
    rows = np.concatenate([values.values[1 : end + 1, 0], values.bias[None]]).astype(np.float32)
    return rows, {**names, "symbols": names["symbols"][:end]}


def substitutions(changed: Substitutions) -> Tag:
    """Logits, the original first; probabilities become their logarithms."""
    deletions = changed.deleted is not None
    rows = np.concatenate(
        [
            changed.original[None],
            changed.outputs.reshape(-1, len(changed.original)),
            *([changed.deleted] if changed.deleted is not None else ()),
        ]
    )
    if changed.are_probabilities and len(changed.original) > 1:
        rows = np.log(np.maximum(rows, 1e-30))
    return rows.astype(np.float32), {
        "symbols": [changed.name(int(symbol)) for symbol in changed.symbols],
        "alternatives": [changed.name(int(symbol)) for symbol in changed.alternatives],
        "outputs": [changed.output_name(output) for output in range(len(changed.original))],
        "deletions": deletions,
    }


def attribution(result: TopAttribution) -> Tag:
    """Shares of one text in its outputs, with their numbers, what the network says, and says of nothing."""
    parts = (result.top[None], result.says[None], result.shares, result.reference_output[None])
    return np.concatenate(parts).astype(np.float32), {
        "method": result.method,
        "symbols": list(result.tokens),
        "outputs": list(result.outputs),
    }


def attributions(result: Attribution) -> list[Tag]:
    """Of each sequence by itself: its shares in the one output."""
    steps = tuple(str(step + 1) for step in range(result.shares.shape[1]))
    return [
        attribution(
            TopAttribution(
                result.tokens[i] if result.tokens else steps,
                np.zeros(1, np.int64),
                result.output[i : i + 1],
                shares[:, None],
                result.reference_output[i : i + 1],
                ("the output",),
                result.residual,
                result.method,
            )
        )
        for i, shares in enumerate(result.shares)
    ]


def trace(traced: Trace) -> Tag:
    """All quantities of a step side by side; a step that is not read is NaN throughout."""
    arrays = {name: _entries(values) for name, values in traced.items()}
    joined = np.concatenate([*arrays.values()], axis=-1).astype(np.float32)
    if traced.read is not None:
        joined[~traced.read] = np.nan
    return joined, {
        "quantities": [[name, values.shape[-1]] for name, values in arrays.items()],
        "tokens": [list(row) for row in traced.tokens] or [[] for _ in joined],
    }


def transition_probabilities(alpha: ArrayLike, tokens: Sequence[Sequence[str]]) -> Tag:
    """(sequences, time, k) of a state-regularized network."""
    return np.asarray(alpha, np.float32), {"tokens": [list(row) for row in tokens]}


def transition_counts(alpha: NDArray[np.floating[Any]], tokens: Sequence[str]) -> Tag:
    """The moves of one text, (time, k), among the most probable centroids."""
    read = ~np.isnan(alpha[:, 0])
    centroids = alpha[read].argmax(axis=1)
    symbols = list(dict.fromkeys(tokens))
    counts = np.zeros((len(symbols), alpha.shape[1], alpha.shape[1]), np.float32)
    moved = [symbols.index(token) for token, there in zip(tokens, read, strict=True) if there]
    np.add.at(counts, (moved[1:], centroids[:-1], centroids[1:]), 1)
    return counts, {"symbols": symbols}


def jacobian(singular_values: ArrayLike, lags: Sequence[int]) -> Tag:
    """Percentiles of the singular values (lags, sequences, values)."""
    array = np.asarray(singular_values, np.float64)
    percentiles = np.percentile(array.reshape(len(lags), -1), np.arange(101), axis=1).T
    return percentiles.astype(np.float32), {"lags": [int(lag) for lag in lags]}


def automaton(
    dfa: Automaton,
    centroids: Sequence[Any] | None = None,
    confidence: NDArray[np.floating[Any]] | None = None,
    *,
    unsupported: Sequence[tuple[int, Any]] | None = None,
    sizes: Sequence[int] | None = None,
    reference: Automaton | None = None,
    **measured: Any,
) -> tuple[str, dict[str, Any]]:
    """An automaton of centroids, and what was measured of it; the tensor is a text.

    `sizes` are the numbers of centroids of the layers of a stack: a state keeps its number through training with them.
    """
    known = pairs = None
    if unsupported is not None:
        pairs = [[state, dfa.alphabet.index(symbol)] for state, symbol in unsupported]
    if confidence is not None:
        known = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in confidence]
    text = json.dumps(
        {
            **_table(dfa),
            **_numbered(range(len(dfa)) if centroids is None else centroids, sizes),
            "confidence": known,
            "unsupported": pairs,
            **measured,
        }
    )
    return text, {
        "symbols": [visible(str(symbol)) for symbol in dfa.alphabet],
        "reference": None if reference is None else _table(reference),
    }


def _table(dfa: Automaton) -> dict[str, Any]:
    if isinstance(dfa, DFA):
        labels: dict[str, Any] = {"accepting": sorted(dfa.accepting)}
    else:
        labels = {"outputs": [visible(str(output)) for output in dfa.outputs]}
    return {"transitions": [list(row) for row in dfa.transitions], **labels, "start": dfa.start}


def _numbered(centroids: Sequence[Any], sizes: Sequence[int] | None) -> dict[str, Any]:
    """A number for each state; of tuples of centroids a name too."""
    if not isinstance(centroids[0], tuple):
        return {"centroids": [int(centroid) for centroid in centroids]}
    columns = np.transpose(centroids)
    numbers = np.ravel_multi_index(tuple(columns), tuple(columns.max(axis=1) + 1 if sizes is None else sizes))
    return {"centroids": numbers.tolist(), "names": [str(centroid) for centroid in centroids]}


def _names_of(split: Contributions) -> dict[str, Any]:
    return {
        "symbols": [split.name(int(symbol)) for symbol in split.symbols],
        "outputs": [split.output_name(output) for output in range(len(split.bias))],
    }


def _entries(values: NDArray[Any]) -> NDArray[np.float64]:
    """(sequences, time, entries) of a quantity."""
    array = np.asarray(values, np.float64)
    return array.reshape(*array.shape[:2], -1)
