r"""What the centroids of a state-regularized network stand for, and which tokens moved it to its prediction.

Wang, Lawrence and Niepert, 2022, section 4.5 (algorithms 2 and 3) and section 7. Everything here is read off the
transition probabilities $\alpha$ of `analysis.trace` and off the model's own head, applied to the centroids.
"""

from __future__ import annotations

import html
import operator
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._display import visible
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.analysis._reading import as_array, centroids_of, head, layer_in, middle
from keras_interp_rnn.analysis.traces import regularized_trace

CHUNK = 256
"""Sequences traced at a time: bounds the memory."""


@short_repr
@dataclass(frozen=True, eq=False)
class Prototypes:
    """What each of k centroids stands for.

    Attributes:
        tokens: for each centroid, the tokens that moved the network there with the highest probability, best first:
            (token, probability, how often it moved there).
        share: (k,), of all steps, those that arrived at the centroid.
        outputs: (k, classes), what the model's head puts out for the centroid itself.
        classes: (k,), the class of that output.
    """

    tokens: tuple[tuple[tuple[str, float, int], ...], ...]
    share: NDArray[np.float64]
    outputs: NDArray[np.float64]
    classes: NDArray[np.int64]

    def __str__(self) -> str:
        """Table 6 of the paper: a line for each centroid that is used; of equal tokens the commoner stands first."""
        lines = ["centroid  class  share  tokens (transition probability)"]
        for i in np.argsort(-self.share):
            if self.share[i] > 0:
                words = " ".join(f"{visible(token)} ({p})" for token, p in _told_apart(self.tokens[i]))
                lines.append(f"{i:8d}  {self.classes[i]:5d}  {self.share[i]:5.1%}  {words}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = (
            (f"{i}", f"{self.classes[i]}", f"{self.share[i]:.1%}", _ranked_html(self.tokens[i]))
            for i in np.argsort(-self.share)
            if self.share[i] > 0
        )
        return _table(("centroid", "class", "share of steps", "tokens"), rows)


class Phrases(dict[int, tuple[tuple[str, float, int], ...]]):
    """{class: ((phrase, mean probability, occurrences), ...)}, best first."""

    def __repr__(self) -> str:
        """A line for each class, with its first three phrases."""
        lines = []
        for label, ranked in self.items():
            first = [f"{phrase} ({probability})" for phrase, probability in _told_apart(ranked)[:3]]
            rest = [f"{len(ranked) - 3} more"] if len(ranked) > 3 else []
            lines.append(f"class {label}: {', '.join(first + rest)}")
        return "\n".join(lines) or "no phrases"

    def _repr_html_(self) -> str:
        return _table(
            ("class", "phrases"), ((f"{label}", _ranked_html(ranked, ", ")) for label, ranked in self.items())
        )


@short_repr
@dataclass(frozen=True, eq=False)
class Explanation:
    """Which tokens of a text moved the network towards its prediction.

    Attributes:
        tokens: T of them, those read.
        alpha: (T, k), the transition probabilities; NaN where the stochastic component is left out.
        centroids: those that stand for the predicted class.
        output: (classes,), what the model put out.
        prediction: its class.
    """

    tokens: tuple[str, ...]
    alpha: NDArray[np.float64]
    centroids: tuple[int, ...]
    output: NDArray[np.float64]
    prediction: int

    @property
    def weights(self) -> NDArray[np.float64]:
        """(T,), each token's probability of moving to `centroids`; 0 where alpha is NaN."""
        return np.nan_to_num(self.alpha[:, list(self.centroids)].sum(axis=1))

    def shown(self, colors: bool | None = None) -> str:
        """The text for a terminal: the redder the ground, the higher the probability.

        Args:
            colors: True for ANSI colours; False for the probability behind each token that has at least 0.5. By default
                colours where the standard output is a terminal and the variable NO_COLOR is not set.
        """
        if colors is None:
            colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        if colors:
            shades = [(round(255 - 215 * weight), token) for token, weight in self._shaded()]
            text = " ".join(f"\x1b[30;48;2;255;{shade};{shade}m{token}\x1b[0m" for shade, token in shades)
        else:
            text = " ".join(f"{token} ({weight:.2f})" if weight >= 0.5 else token for token, weight in self._shaded())
        return f"class {self.prediction}: {text}"

    def __str__(self) -> str:
        return self.shown()

    def _repr_html_(self) -> str:
        spans = " ".join(
            f'<span title="{weight:.2f}" style="background:rgba(214,96,77,{0.75 * weight:.3f});padding:1px 2px">'
            f"{html.escape(token)}</span>"
            for token, weight in self._shaded()
        )
        places = ", ".join(map(str, self.centroids))
        caption = f"class {self.prediction}; shade: probability of moving to centroid {places}"
        return f'<div style="line-height:1.7">{spans}<br><small>{caption}</small></div>'

    def _shaded(self) -> Iterator[tuple[str, float]]:
        return zip(map(visible, self.tokens), self.weights.tolist(), strict=True)


def prototypes(
    model: Any,
    inputs: ArrayLike,
    tokens: Sequence[str] | Mapping[int, str] | None = None,
    top: int = 10,
    by: str = "highest",
    least: int = 1,
) -> Prototypes:
    r"""The tokens that move a network to each of its centroids with the highest probability (algorithm 2).

    A step counts for the centroid it moves to, the most probable one, with that probability $\max_i \alpha_i$.

    Args:
        model: a model of one state-regularized layer and a head.
        inputs: int (batch, time), token ids, as the model reads them.
        tokens: names of the ids; the ids themselves without.
        top: tokens for each centroid.
        by: "highest" ranks a token by its highest probability, as the paper, "mean" by the mean over its steps.
        least: times a token must have moved there.

    Raises:
        ValueError: if the model has no state-regularized layer or several; if inputs are no ids.

    Reference: Wang, Lawrence and Niepert, 2022, algorithm 2 and table 6; the class of a centroid: its footnote 5.
    """
    _check_counts(top=top, least=least)
    if by not in ("highest", "mean"):
        raise ValueError(f"by must be 'highest' or 'mean'. Received: {by!r}.")
    ids = _checked_ids(inputs)
    outputs = None
    found: list[NDArray[Any]] = []
    for rows, alpha, _, layer in _read(model, ids):
        outputs = _outputs(model, layer) if outputs is None else outputs
        there = ~np.isnan(alpha[..., 0])
        best = np.where(there, alpha.argmax(axis=-1), -1)
        columns = (best[there], rows[there], alpha.max(axis=-1)[there])
        found.append(np.stack(columns).astype(np.float64))
    centroid, token, probability = np.concatenate(found, axis=1)
    assert outputs is not None
    k = len(outputs)
    share = np.bincount(centroid.astype(np.int64), minlength=k) / len(centroid)
    best_tokens = tuple(
        tuple(
            (_name(tokens, t), p, n)
            for t, p, n in ranked(token[centroid == i], probability[centroid == i], by, least)[:top]
        )
        for i in range(k)
    )
    return Prototypes(best_tokens, share, outputs, _classes(model, outputs))


def explain(
    model: Any,
    sequence: ArrayLike,
    tokens: Sequence[str] | Mapping[int, str] | None = None,
    centroids: Sequence[int] | None = None,
) -> Explanation:
    r"""How probable each token of a text made the move to the centroids of the predicted class (algorithm 3).

    Args:
        model: a model of one state-regularized layer and a head.
        sequence: int (time,), token ids, as the model reads them.
        tokens: names of the ids; the ids themselves without.
        centroids: those whose probability counts, in sum; by default the last one, the most probable at the end of the
            text among those to which the model's head gives the predicted class (or of all, if it gives it to none).

    Raises:
        ValueError: as `prototypes`.

    Reference: Wang, Lawrence and Niepert, 2022, algorithm 3 and table 9.
    """
    text = as_array("Tokens", sequence)
    if text.ndim != 1 or not np.issubdtype(text.dtype, np.integer) or not len(text):
        remedy = (
            "Pass its one row, ids[0]." if text.ndim == 2 and len(text) == 1 else "Pass one text, ids[i] of a batch."
        )
        raise ValueError(
            f"The tokens of one text are integers (time,). Received: {text.dtype} of shape {text.shape}. {remedy}"
        )
    ids = text[None]
    [(_, alpha, read, layer)] = _read(model, ids)
    output = np.asarray(model.predict_on_batch(ids), np.float64)[0]
    output = output[-1] if output.ndim == 2 else output
    prediction = int(_classes(model, output[None])[0])
    if centroids is None:
        of_class = _classes(model, _outputs(model, layer)) == prediction
        last = alpha[0, np.flatnonzero(~np.isnan(alpha[0, :, 0]))[-1]]
        centroids = [int(np.where(of_class, last, -1).argmax() if of_class.any() else last.argmax())]
    k = alpha.shape[-1]
    if not len(centroids) or any(_index(i) is None or not 0 <= i < k for i in centroids):
        raise ValueError(
            f"Centroids are numbers in [0, {k - 1}], at least one. Received: centroids={centroids!r}. Leave them out "
            "for the last one of the predicted class."
        )
    names = tuple(_name(tokens, t) for t in ids[0][read[0]])
    return Explanation(names, alpha[0][read[0]].astype(np.float64), tuple(map(int, centroids)), output, prediction)


def phrases(
    model: Any,
    inputs: ArrayLike,
    length: int,
    tokens: Sequence[str] | Mapping[int, str] | None = None,
    top: int = 10,
    least: int = 1,
) -> Phrases:
    """For each class, the phrases of `length` tokens with the highest mean transition probability to its centroids.

    Args:
        model, inputs, tokens: as `prototypes`.
        length: tokens in a phrase.
        top: phrases for each class. least: times a phrase must occur.

    Returns:
        `Phrases`, a dict {class: ((phrase, mean probability, occurrences), ...)}, best first, of every class that has a
        centroid.

    Raises:
        ValueError: as `prototypes`; if length < 1.

    Reference: Wang, Lawrence and Niepert, 2022, section 7 and table 10.
    """
    if (_index(length) or 0) < 1:
        raise ValueError(f"A phrase has at least one token. Received: length={length!r}. Pass an int > 0.")
    _check_counts(top=top, least=least)
    ids = _checked_ids(inputs)
    classes = None
    gathered: dict[int, tuple[list[NDArray[Any]], list[NDArray[Any]]]] = {}
    for rows, alpha, _, layer in _read(model, ids):
        if rows.shape[1] < length:
            continue
        classes = _classes(model, _outputs(model, layer)) if classes is None else classes
        windows = np.lib.stride_tricks.sliding_window_view(rows, length, axis=1)
        for label in np.unique(classes).tolist():
            towards = alpha[..., classes == label].sum(axis=-1)
            means = np.lib.stride_tricks.sliding_window_view(towards, length, axis=1).mean(axis=-1)
            inside = ~np.isnan(means)
            texts, scores = gathered.setdefault(label, ([], []))
            texts.append(windows[inside])
            scores.append(means[inside])
    best = Phrases()
    for label, (texts, scores) in gathered.items():
        distinct, which = np.unique(np.concatenate(texts), axis=0, return_inverse=True)
        ranked_phrases = ranked(which.ravel(), np.concatenate(scores), "mean", least)[:top]
        best[label] = tuple(
            (" ".join(visible(_name(tokens, t)) for t in distinct[int(w)]), p, n) for w, p, n in ranked_phrases
        )
    return best


def _read(model: Any, ids: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], Any]]:
    """In chunks: ids, alpha (rows, time, k), which steps are read, and the layer; time as in the ids."""
    for first in range(0, len(ids), CHUNK):
        rows = ids[first : first + CHUNK]
        layer, reads, mask = layer_in(model, rows)
        alpha = regularized_trace(layer, reads, mask)["alpha"]
        read = np.ones(rows.shape, bool) if mask is None else np.asarray(mask)
        yield rows, alpha[:, ::-1] if layer.go_backwards else alpha, read, layer


def _outputs(model: Any, layer: Any) -> NDArray[np.float64]:
    return np.asarray(head(model, layer, centroids_of(layer)), np.float64)


def _classes(model: Any, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The largest entry; of a single entry, whether it lies above the middle: of a logit or of a probability."""
    if outputs.shape[-1] > 1:
        return outputs.argmax(axis=-1)
    return (outputs[:, 0] > middle(model)).astype(np.int64)


def ranked(what: NDArray[Any], values: NDArray[Any], by: str, least: int) -> list[tuple[int, float, int]]:
    """(thing, highest or mean value, occurrences), best first; of equals the commoner first."""
    distinct, which, counts = np.unique(what, return_inverse=True, return_counts=True)
    if by == "mean":
        scores = np.bincount(which, weights=values, minlength=len(distinct)) / np.maximum(counts, 1)
    else:
        scores = np.full(len(distinct), -np.inf)
        np.maximum.at(scores, which, values)
    order = np.lexsort((-counts, -np.round(scores, 4)))
    return [(int(distinct[i]), float(scores[i]), int(counts[i])) for i in order if counts[i] >= least]


def _ranked_html(ranked: Iterable[tuple[str, float, int]], separator: str = " ") -> str:
    return separator.join(
        f"{html.escape(visible(text)).replace(' ', '&nbsp;')}&nbsp;({probability})"
        for text, probability in _told_apart(ranked)
    )


def _told_apart(ranked: Iterable[tuple[str, float, int]]) -> list[tuple[str, str]]:
    """(thing, its probability), in as many digits as tell them apart, from two to the four by which `ranked` sorts.

    Those that are alike in four have the number of occurrences, by which it sorts them.
    """
    things = list(ranked)
    for digits in (2, 3, 4):
        shown = [f"{p:.{digits}f}" for _, p, _ in things]
        if len(set(shown)) == len(things):
            break
    often = Counter(shown)
    return [
        (thing, f"{text}, {n:,} time{'' if n == 1 else 's'}" if often[text] > 1 else text)
        for text, (thing, _, n) in zip(shown, things, strict=True)
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table whose last column is text: notebooks align every cell on the right."""
    columns = "".join(f"<th>{name}</th>" for name in head[:-1]) + f'<th style="text-align:left">{head[-1]}</th>'
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row[:-1]) + f'<td style="text-align:left">{row[-1]}</td></tr>'
        for row in rows
    )
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def _name(tokens: Sequence[str] | Mapping[int, str] | None, token: Any) -> str:
    if tokens is None:
        return str(int(token))
    try:
        return tokens[int(token)]
    except (IndexError, KeyError):
        raise ValueError(
            f"tokens names every id that occurs. Received: {len(tokens)} names, none for the id {int(token)}. Pass "
            "those of the vocabulary that made the ids, or none."
        ) from None


def _index(value: Any) -> int | None:
    """An integer as an int, None for anything else."""
    return operator.index(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def _check_counts(**counts: Any) -> None:
    for name, count in counts.items():
        if (_index(count) or 0) < 1:
            raise ValueError(f"{name} is a number, at least 1. Received: {name}={count!r}. Pass an int > 0.")


def _checked_ids(inputs: ArrayLike) -> NDArray[Any]:
    ids = as_array("Tokens", inputs)
    if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer) or 0 in ids.shape:
        raise ValueError(
            f"Tokens are integers (batch, time). Received: {ids.dtype} of shape {ids.shape}. Pass the ids that the "
            "model reads."
        )
    return ids
