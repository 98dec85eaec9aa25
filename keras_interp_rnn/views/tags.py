"""Results as tags of the TensorBoard plugin, which callbacks log and pages without a server hold.

Each function returns the tensor and the description of a tag. The kind of the tag is an entry of the description; the
file `tensorboard_plugins/interp_rnn/kinds/KIND.py` documents both.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._results import named_output, nth, output_name, symbol_name, visible
from keras_interp_rnn.analysis.attribution import Attribution, TopAttribution
from keras_interp_rnn.analysis.interactions import Interactions
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.top_contributions import TopContributions
from keras_interp_rnn.analysis.substitutions import Substitutions
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.machines import MooreMachine

MAX_FEATURE_SHARES = 2**20
"""Maximum number of shares of features in a page, of all sequences."""

ROUNDING = 1e-14
"""In parts of an output, below which a standard error is rounding."""

Tag = tuple[Any, dict[str, Any]]
"""A tensor, and its description."""


@functools.singledispatch
def of(result: Any) -> Tag:
    """The tag of a result of one text."""
    raise TypeError(f"A result must have a tag. Received: {type(result).__name__}. Register a function of this module.")


def last_targets(split: Contributions) -> Contributions | None:
    """The text up to its last target, with the targets before it up to the first gap.

    None if there is no target, or if a target has terms of later symbols, as in a network that reads both directions.
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


@of.register
def contributions(split: Contributions) -> Tag:
    """The terms of the last targets of a text, as `last_targets` returns them."""
    rows = [split.values[: target + 1, column] for column, target in enumerate(split.targets.tolist())]
    first = len(split.symbols) - len(split.targets) + 1
    values = np.concatenate([*rows, split.bias[None]]).astype(np.float32)
    return values, {"kind": "contributions", **_names_of(split), **_first(first)}


@of.register
def top_contributions(split: TopContributions) -> Tag:
    """The terms of the most probable outputs at each target, and of the others together."""
    blocks, named = [], split.output_names or split.alphabet
    for top, values, norms, bias, others in zip(
        split.top, split.values, split.norms, split.bias, split.others, strict=True
    ):
        first, last = np.array([*top, others, 0.0]), np.append(bias, 0.0)
        blocks += [first[None], np.concatenate([values, norms[:, None]], axis=1), last[None]]
    return np.concatenate(blocks).astype(np.float32), {
        "kind": "top_contributions",
        **_sources(split),
        "outputs": [output_name(named, output, split.num_outputs) for output in range(split.num_outputs)],
        "top": split.top.shape[1],
        **_first(len(split.symbols) - len(split.top) + 1),
    }


@of.register
def shapley_values(values: ShapleyValues) -> Tag:
    """The values of all symbols up to the target, and the mean."""
    end = int(values.targets[0])
    names = _names_of(values)
    rows = np.concatenate([values.values[1 : end + 1, 0], values.bias[None]]).astype(np.float32)
    verdict = {"verdict": True} if values.is_verdict else {}
    return rows, {"kind": "shapley_values", **names, "symbols": names["symbols"][:end], **verdict}


@of.register
def substitutions(changed: Substitutions) -> Tag:
    """Logits, the original first; probabilities become their logarithms."""
    parts = [changed.original[None], changed.outputs.reshape(-1, len(changed.original))]
    if changed.deleted is not None:
        parts.append(changed.deleted)
    rows = np.concatenate(parts)
    if changed.are_probabilities and len(changed.original) > 1:
        rows = np.log(np.maximum(rows, 1e-30))
    return rows.astype(np.float32), {
        "kind": "substitutions",
        "symbols": [changed.name(int(symbol)) for symbol in changed.symbols],
        "alternatives": [changed.name(int(symbol)) for symbol in changed.alternatives],
        "outputs": [changed.output_name(output) for output in range(len(changed.original))],
        "deletions": changed.deleted is not None,
        **({"masked": masked_steps(changed.read)} if masked_steps(changed.read) else {}),
    }


def masked_steps(read: NDArray[np.bool_] | None) -> list[int]:
    """The steps of a text that are not read, from 0; none where they are not known."""
    return [] if read is None else np.flatnonzero(~read).tolist()


def seen_errors(result: Attribution | TopAttribution) -> NDArray[np.float64]:
    """The standard errors of shares, 0 where they are rounding of the output: of one that does not change at all."""
    errors = np.zeros_like(result.shares) if result.standard_error is None else result.standard_error
    size = np.fmax(np.abs(result.output), np.abs(result.reference_output))
    of_steps = size[None] if isinstance(result, TopAttribution) else size[:, None]
    return np.where(errors > ROUNDING * of_steps, errors, 0.0)


@of.register
def attribution(result: TopAttribution) -> Tag:
    """Shares of one text in its outputs, with their numbers, the prediction, and the outputs with and without steps."""
    parts = [result.top[None], result.predicted[None], result.shares, result.reference_output[None]]
    if result.standard_error is not None:
        parts.append(seen_errors(result))
    return np.concatenate([*parts, result.output[None]]).astype(np.float32), {
        "kind": "attribution",
        "method": result.method,
        "symbols": list(result.tokens),
        "outputs": list(result.outputs),
        **({"masked": masked_steps(result.read)} if masked_steps(result.read) else {}),
        **({"unit": result.unit} if result.unit else {}),
        **({"values": True} if result.values else {}),
        "errors": result.standard_error is not None,
        "both": True,
    }


def attributions(result: Attribution) -> list[Tag]:
    """A tag for each sequence: its shares in the outputs that are explained, with those of features if they fit.

    The masks are of places: of groups where there are some.
    """
    count, length = result.shares.shape[:2]
    shares = result.shares.reshape(count, length, -1)
    columns = shares.shape[2]
    targets, output, without = (x.reshape(count, -1) for x in (result.targets, result.output, result.reference_output))
    features = np.zeros((count, 0, columns)) if result.features is None else result.features.reshape(count, -1, columns)
    left_out = features.size > MAX_FEATURE_SHARES
    features = features[:, :0] if left_out else features
    first = np.broadcast_to(np.arange(columns), (count, columns))
    parts = [first[:, None], output[:, None], shares, without[:, None], features]
    if result.standard_error is not None:
        parts.append(seen_errors(result).reshape(count, length, columns))
    if result.probability is not None:
        parts.append(result.probability.reshape(count, 1, columns))
    rows = np.concatenate(parts, axis=1)
    numbered = _numbers(length) if result.groups is None else [nth("group", place) for place in range(length)]
    described = {
        "kind": "attribution",
        "method": result.method,
        "reason": result.reason,
        "vectors": (result.vectors or not result.tokens) and result.groups is None,
        "groups": result.groups is not None,
        "values": True,
        **({"unit": result.unit} if result.unit else {}),
        "errors": result.standard_error is not None,
        "both": result.probability is not None,
        "features": features.shape[1] // length,
        "features_left_out": left_out,
        **({"feature_names": [*result.feature_names]} if result.feature_names and not left_out else {}),
    }
    return [
        (
            rows[i].astype(np.float32),
            {
                **described,
                "symbols": list(result.tokens[i]) if result.tokens else numbered,
                "outputs": [named_output(result, target) for target in targets[i]],
                "title": nth("sequence", i),
                "masked": masked_steps(None if result.read is None else result.read[i]),
            },
        )
        for i in range(count)
    ]


@of.register
def interactions(result: Interactions) -> Tag:
    """The interactions of all pairs of steps, and steps that are no players."""
    steps, grouped = len(result.values), result.groups is not None
    return result.values.astype(np.float32), {
        "kind": "interactions",
        "symbols": list(result.tokens) or ([result.name(i) for i in range(steps)] if grouped else _numbers(steps)),
        "vectors": (result.vectors or not result.tokens) and not grouped,
        **({"groups": True} if grouped else {}),
        "output": result.output_name,
        "says": result.output,
        "index": result.index,
        "masked": masked_steps(result.players),
        **({"unit": result.unit} if result.unit else {}),
        **({} if result.exact else {"r_squared": max(0.0, result.r_squared or 0.0)}),
    }


@of.register
def trace(traced: Trace) -> Tag:
    """All quantities of a step in one row; a step that is not read is NaN throughout."""
    arrays = {name: values.reshape(*values.shape[:2], -1) for name, values in traced.items()}
    joined = np.concatenate([*arrays.values()], axis=-1).astype(np.float32)
    if traced.read is not None:
        joined[~traced.read] = np.nan
    return joined, {
        "kind": "trace",
        "quantities": [[name, values.shape[-1]] for name, values in arrays.items()],
        "tokens": [list(row) for row in traced.tokens] or [[] for _ in joined],
        **({"vectors": True} if traced.vectors else {}),
    }


def transition_probabilities(alpha: ArrayLike, tokens: Sequence[Sequence[str]]) -> Tag:
    """The transition probabilities (sequences, time, k) of a state-regularized network."""
    rows = [list(row) for row in tokens]
    return np.asarray(alpha, np.float32), {"kind": "transition_probabilities", "tokens": rows}


def transition_counts(alpha: NDArray[np.floating[Any]], tokens: Sequence[str]) -> Tag:
    """The moves of one text among its most probable centroids; alpha is (time, k)."""
    read = ~np.isnan(alpha[:, 0])
    centroids = alpha[read].argmax(axis=1)
    symbols = list(dict.fromkeys(tokens))
    counts = np.zeros((len(symbols), alpha.shape[1], alpha.shape[1]), np.float32)
    moved = [symbols.index(token) for token, there in zip(tokens, read, strict=True) if there]
    np.add.at(counts, (moved[1:], centroids[:-1], centroids[1:]), 1)
    return counts, {"kind": "transition_counts", "symbols": symbols}


def jacobian(singular_values: ArrayLike, lags: Sequence[int]) -> Tag:
    """Percentiles of singular values (lags, sequences, values)."""
    array = np.asarray(singular_values, np.float64)
    percentiles = np.percentile(array.reshape(len(lags), -1), np.arange(101), axis=1).T
    return percentiles.astype(np.float32), {"kind": "jacobian", "lags": [int(lag) for lag in lags]}


def automaton(
    dfa: MooreMachine,
    centroids: Sequence[Any] | None = None,
    confidence: NDArray[np.floating[Any]] | None = None,
    *,
    unsupported: Sequence[tuple[int, Any]] | None = None,
    sizes: Sequence[int] | None = None,
    reference: MooreMachine | None = None,
    **measured: Any,
) -> Tag:
    """An automaton of centroids and the values measured for it; the tensor is a text.

    `sizes` are the numbers of centroids of the layers of a stack. A state keeps its number through training if they are
    known.
    """
    probabilities = pairs = None
    if unsupported is not None:
        pairs = [[state, dfa.alphabet.index(symbol)] for state, symbol in unsupported]
    if confidence is not None:
        probabilities = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in confidence]
    text = json.dumps(
        {
            **_table(dfa),
            **_numbered(range(len(dfa)) if centroids is None else centroids, sizes),
            "confidence": probabilities,
            "unsupported": pairs,
            **measured,
        }
    )
    return text, {
        "kind": "automaton",
        "symbols": [visible(str(symbol)) for symbol in dfa.alphabet],
        "reference": None if reference is None else _table(reference),
    }


def _table(dfa: MooreMachine) -> dict[str, Any]:
    if isinstance(dfa, DFA):
        labels: dict[str, Any] = {"accepting": sorted(dfa.accepting)}
    else:
        labels = {"outputs": [visible(str(output)) for output in dfa.outputs]}
    return {"transitions": [list(row) for row in dfa.transitions], **labels, "start": dfa.start}


def _numbered(centroids: Sequence[Any], sizes: Sequence[int] | None) -> dict[str, Any]:
    """The number of each state, and its name if it is a tuple of centroids."""
    if not isinstance(centroids[0], tuple):
        return {"centroids": [int(centroid) for centroid in centroids]}
    columns = np.transpose(centroids)
    numbers = np.ravel_multi_index(tuple(columns), tuple(columns.max(axis=1) + 1 if sizes is None else sizes))
    return {"centroids": numbers.tolist(), "names": [str(centroid) for centroid in centroids]}


def _names_of(split: Contributions) -> dict[str, Any]:
    return {**_sources(split), "outputs": [split.output_name(output) for output in range(len(split.bias))]}


def _sources(split: Contributions | TopContributions) -> dict[str, Any]:
    """The names of the symbols, or the numbers of the steps of a sequence of vectors."""
    if split.vectors:
        return {"symbols": [*split.times] or _numbers(len(split.symbols)), "vectors": True}
    return {"symbols": [symbol_name(split.alphabet, int(symbol)) for symbol in split.symbols]}


def _numbers(steps: int) -> list[str]:
    return [str(step + 1) for step in range(steps)]


def _first(target: int) -> dict[str, int]:
    return {"first": target} if target > 1 else {}
