"""What a trained network with centroids says of itself, for the record: words, phrases, explained texts.

Wang, Lawrence and Niepert, 2022: tables 6 and 7 (prototypes), 8 and 9 (explanations), 10 (phrases).
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import analysis
from keras_interp_rnn.reproduce.classification import Sequences

TEXTS = 1000
"""Drawn at random from the test data, as for the paper's table 10; those with an e-mail address are left out."""


def words(model: keras.Model, data: Sequences, seed: int = 0) -> dict[str, Any]:
    """Prototypes of every centroid, phrases for every class, and an explained text for each of two classes.

    Args:
        model: of ids, with one state-regularized layer. data: what it was trained and tested on. seed: of the draw.

    Returns:
        `centroids`: class, share of the steps, and [word, mean probability] of each centroid in use, the commonest
        first. `phrases`: for each length, the best [phrase, mean probability] of each class. `explained`: predicted
        class, words, and each one's probability of moving to a centroid of that class.
    """
    assert data.vocabulary is not None
    x, y = data.test
    rows = np.sort(np.random.default_rng(seed).permutation(len(x))[:TEXTS])
    x, y = x[rows], y[rows]
    private = (x == data.vocabulary.index("@")).any(axis=1) if "@" in data.vocabulary else np.zeros(len(x), bool)
    x, y = x[~private], y[~private]
    found = analysis.prototypes(model, x, tokens=data.vocabulary, num_tokens=6, by="mean", min_count=5)
    return {
        "texts": len(x),
        "centroids": [
            {
                "class": data.classes[found.classes[i]],
                "share": float(found.share[i]),
                "words": [[word, probability] for word, probability, _ in found.tokens[i]],
            }
            for i in np.argsort(-found.share)
            if found.share[i] > 0
        ],
        "phrases": {
            str(length): {
                data.classes[label]: [[phrase, probability] for phrase, probability, _ in best]
                for label, best in analysis.phrases(
                    model, x, length=length, tokens=data.vocabulary, num_phrases=5, min_count=2
                ).items()
            }
            for length in (2, 4)
        },
        "explained": [
            explained(model, x[i], data, np.flatnonzero(found.classes == y[i]))
            for i in telling_cases(model, x, y, found.classes)
        ],
    }


def telling_cases(
    model: keras.Model, x: NDArray[Any], y: NDArray[Any], classes: NDArray[Any], shortest: int = 15
) -> list[int]:
    """Of the first and of the last class that has a centroid, a short text judged rightly that moves the network most.

    Of texts that a network is sure of from the first words on, its states tell nothing.

    Args:
        classes: of the centroids.

    Returns:
        Of each class the row along which the probability of moving to its centroids has the largest standard deviation.
    """
    logits = np.asarray(model.predict(x, batch_size=256, verbose=0), np.float64)
    logits = np.concatenate([-logits, logits], axis=1) if logits.shape[1] == 1 else logits
    lengths = np.count_nonzero(x, axis=1)
    right = logits.argmax(axis=1) == y
    found = []
    for label in sorted({int(classes.min()), int(classes.max())}):
        among = np.flatnonzero(right & (y == label) & (lengths >= min(shortest, lengths.max())))
        if len(among):
            short = among[lengths[among] <= np.quantile(lengths[among], 0.2)]
            towards = analysis.transition_probabilities(model, x[short])[..., classes == label].sum(axis=-1)
            found.append(int(short[np.nanstd(towards, axis=1).argmax()]))
    return found


def explained(model: keras.Model, ids: NDArray[Any], data: Sequences, centroids: NDArray[Any]) -> dict[str, Any]:
    """A text, and what moved the network to any of these centroids, those of its class (tables 8 and 9)."""
    found = analysis.explain(model, ids, tokens=data.vocabulary, centroids=centroids.tolist())
    return {
        "class": data.classes[found.prediction],
        "words": list(found.tokens),
        # The last word moves it to no centroid.
        "probabilities": [
            None if missing else round(weight, 4)
            for weight, missing in zip(found.weights.tolist(), np.isnan(found.alpha[:, 0]), strict=True)
        ],
    }
