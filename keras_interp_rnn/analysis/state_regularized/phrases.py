"""The phrases that move a state-regularized network to the centroids of each class.

Wang, Lawrence and Niepert, 2022, section 7: phrases of one length, ranked by their mean transition probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._checks import integer
from keras_interp_rnn._network import GivenAlphabet, predicted_classes, resolve_alphabet, token_name
from keras_interp_rnn._outputs import GivenOutputs, class_names
from keras_interp_rnn._results import Column, Sentence, Table, class_name, texts, told_apart, visible
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis.state_regularized.centroids import centroid_outputs, moves
from keras_interp_rnn.analysis.state_regularized.tokens import check_ids, ranked

Ranking = tuple[tuple[str, float, int], ...]
"""((phrase, mean probability, occurrences), ...), best first."""


@dataclass(frozen=True, eq=False, repr=False)
class Phrases(Sentence, Mapping[int, Ranking]):
    """The best phrases of each class, as a mapping.

    Attributes:
        by_class: {class: ((phrase, mean probability, occurrences), ...)}, best first.
        class_names: of all classes; () if they have no names.

    Example: see `phrases`.
    """

    by_class: Mapping[int, Ranking] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()

    def __getitem__(self, label: int) -> Ranking:
        return self.by_class[label]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_class)

    def __len__(self) -> int:
        return len(self.by_class)

    def table(self) -> Table:
        """A row for each phrase of each class; a terminal shows the first three of each class."""
        lines, rows = [], []
        for label, best in self.items():
            name, told = class_name(self.class_names, label), told_apart(best)
            first = [f"{phrase} ({probability})" for phrase, probability in told[:3]]
            lines.append(f"{name}: {', '.join(first + ([f'{len(best) - 3} more'] if len(best) > 3 else []))}")
            rows += [(name, visible(phrase), probability, n) for phrase, probability, n in best]
        classes, names, values, counts = zip(*rows, strict=True) if rows else ((), (), (), ())
        columns = (
            texts("class", classes),
            texts("phrase", names),
            Column("mean probability", values, form=".4g"),
            Column("occurrences", counts, form=",d"),
        )
        caption = lines or ["no phrases"]
        return Table(caption[0], columns, tuple(caption[1:]), bars="mean probability", scale=1.0, folded=True)


def phrases(
    network: object,
    inputs: ArrayLike,
    *,
    length: int,
    tokens: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    num_phrases: int = 10,
    min_count: int = 1,
) -> Phrases:
    """For each class, the phrases of `length` tokens with the highest mean transition probability to its centroids.

    Args:
        network, inputs, tokens, outputs: as `prototypes`.
        length: tokens in a phrase.
        num_phrases: maximum number of phrases per class.
        min_count: minimum number of occurrences of a phrase.

    Returns:
        `Phrases`, a mapping {class: ((phrase, mean probability, occurrences), ...)}, best first, for every class with a
        centroid.

    Raises:
        ValueError: as `prototypes`; if length < 1.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential(
        ...     [keras.layers.Embedding(5, 3), layers.SRGRU(4, num_centroids=2), keras.layers.Dense(1)]
        ... )
        >>> best = analysis.phrases(model, np.array([[1, 2, 3]]), length=2, tokens="?abc")
        >>> sorted(phrase for phrase, probability, count in next(iter(best.values())))
        ['a b', 'b c']

    Reference: Wang, Lawrence and Niepert, 2022, section 7 and table 10.
    """
    length, num_phrases = integer("length", length), integer("num_phrases", num_phrases)
    min_count = integer("min_count", min_count)
    network, names = resolve_alphabet(network, tokens)
    ids = check_ids(inputs, names)
    of_centroids = None
    gathered: dict[int, tuple[list[AnyArray], list[AnyArray]]] = {}
    for rows, alpha, _, layer in moves(network, ids):
        if rows.shape[1] < length:
            continue
        of_centroids = centroid_outputs(network, layer) if of_centroids is None else of_centroids
        classes = predicted_classes(network, of_centroids)
        windows = np.lib.stride_tricks.sliding_window_view(rows, length, axis=1)
        for label in np.unique(classes).tolist():
            towards = alpha[..., classes == label].sum(axis=-1)
            means = np.lib.stride_tricks.sliding_window_view(towards, length, axis=1).mean(axis=-1)
            inside = ~np.isnan(means)
            texts, scores = gathered.setdefault(label, ([], []))
            texts.append(windows[inside])
            scores.append(means[inside])
    best: dict[int, Ranking] = {}
    for label, (texts, scores) in gathered.items():
        distinct, which = np.unique(np.concatenate(texts), axis=0, return_inverse=True)
        ranking = ranked(which.ravel(), np.concatenate(scores), by="mean", min_count=min_count)
        best[label] = tuple(
            (" ".join(visible(token_name(names, t)) for t in distinct[int(w)]), p, n)
            for w, p, n in ranking[:num_phrases]
        )
    return Phrases(best, () if of_centroids is None else class_names(network, outputs, of_centroids.shape[-1]))
