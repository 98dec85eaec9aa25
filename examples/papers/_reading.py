"""What the centroids of a trained network stand for: words, phrases and explained texts, for a record and the report.

Wang, Lawrence and Niepert, 2022: tables 6 and 7 (prototypes), 8 and 9 (explanations), 10 (phrases).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from examples.papers._experiment import UNTRIED, Claim, Experiment, Finding, Record, Run, row_and_seed, table

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

NUM_TEXTS = 1000
"""Drawn at random from the test data, as for the paper's table 10; those with an e-mail address are left out."""


class Readable(Experiment):
    """What the centroids of networks that classify texts stand for is read after training, and shown below the table.

    The first of two bases, before `ClassTable`.
    """

    def is_readable(self, settings: Mapping[str, Any]) -> bool:
        """Whether a row's head reads hidden states of a network with centroids alone, so that it classifies them."""
        return settings["network"].startswith("SR") and settings["head"] != "last_and_cell"

    def interpret(self, record: Record, model: keras.Model, data: Any, run: Run) -> None:
        if self.is_readable(run.settings):
            record["reading"] = interpret(model, data.test, data.vocabulary, data.classes)

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        usual = super().fields(records)
        return {"table": usual["table"], **fields(records), "runs": usual["runs"]}


def interpret(
    model: keras.Model,
    texts: tuple[NDArray[Any], NDArray[Any]],
    vocabulary: Sequence[str],
    classes: Sequence[str],
    seed: int = 0,
) -> dict[str, Any]:
    """Prototypes of every centroid, phrases for every class, and an explained text for each of two classes.

    Args:
        model: of ids, with one state-regularized layer whose hidden states alone reach the head.
        texts: ids and classes of the test data. vocabulary, classes: their names. seed: of the draw.

    Returns:
        `centroids`: class, share of the steps, and [word, mean probability] of each centroid in use, the most frequent
        first. `phrases`: for each length, the best [phrase, mean probability] of each class. `explained`: predicted
        class, words, and each word's probability of moving to a centroid of that class.
    """
    import numpy as np

    from keras_interp_rnn import analysis

    x, y = texts
    rows = np.sort(np.random.default_rng(seed).permutation(len(x))[:NUM_TEXTS])
    x, y = x[rows], y[rows]
    private = (x == vocabulary.index("@")).any(axis=1) if "@" in vocabulary else np.zeros(len(x), bool)
    x, y = x[~private], y[~private]
    prototypes = analysis.prototypes(model, x, tokens=vocabulary, num_tokens=6, by="mean", min_count=5)
    return {
        "texts": len(x),
        "centroids": [
            {
                "class": classes[prototypes.classes[i]],
                "share": float(prototypes.share[i]),
                "words": [[word, probability] for word, probability, _ in prototypes.tokens[i]],
            }
            for i in np.argsort(-prototypes.share)
            if prototypes.share[i] > 0
        ],
        "phrases": {
            str(length): {
                classes[label]: [[phrase, probability] for phrase, probability, _ in best]
                for label, best in analysis.phrases(
                    model, x, length=length, tokens=vocabulary, num_phrases=5, min_count=2
                ).items()
            }
            for length in (2, 4)
        },
        "explained": [
            _explained(model, x[i], vocabulary, classes, np.flatnonzero(prototypes.classes == y[i]))
            for i in informative_texts(model, x, y, prototypes.classes)
        ],
    }


def informative_texts(
    model: keras.Model, x: NDArray[Any], y: NDArray[Any], classes: NDArray[Any], min_length: int = 15
) -> list[int]:
    """A short, correctly classified text of the first and of the last class that has a centroid.

    Of texts that a network is sure of from the first words on, its states tell nothing.

    Args:
        classes: class of each centroid.

    Returns:
        For each class the row along which the probability of moving to its centroids varies most (standard deviation).
    """
    import numpy as np

    from keras_interp_rnn import analysis

    logits = np.asarray(model.predict(x, batch_size=256, verbose=0), np.float64)
    logits = np.concatenate([-logits, logits], axis=1) if logits.shape[1] == 1 else logits
    lengths = np.count_nonzero(x, axis=1)
    right = logits.argmax(axis=1) == y
    chosen = []
    for label in sorted({int(classes.min()), int(classes.max())}):
        among = np.flatnonzero(right & (y == label) & (lengths >= min(min_length, lengths.max())))
        if len(among):
            short = among[lengths[among] <= np.quantile(lengths[among], 0.2)]
            towards = analysis.transition_probabilities(model, x[short])[..., classes == label].sum(axis=-1)
            chosen.append(int(short[np.nanstd(towards, axis=1).argmax()]))
    return chosen


def _explained(
    model: keras.Model, ids: NDArray[Any], vocabulary: Sequence[str], classes: Sequence[str], centroids: NDArray[Any]
) -> dict[str, Any]:
    """A text, and each word's probability of moving the network to one of these centroids."""
    import numpy as np

    from keras_interp_rnn import analysis

    explanation = analysis.explain(model, ids, tokens=vocabulary, centroids=centroids.tolist())
    is_missing = np.isnan(explanation.alpha[:, 0])  # the last word moves the state to no centroid
    return {
        "class": classes[explanation.prediction],
        "words": list(explanation.tokens),
        "probabilities": [
            None if missing else round(weight, 4)
            for weight, missing in zip(explanation.weights.tolist(), is_missing, strict=True)
        ],
    }


def fields(records: Iterable[Record]) -> dict[str, str]:
    """Fields of a template: the network that was interpreted, its centroids, phrases and explained texts.

    Of several networks the one with the lowest validation error is shown. All fields are empty without any.
    """
    best = _shown(records)
    if best is None:
        return dict.fromkeys(("network", "texts", "centroids", "phrases", "explained"), "")
    reading = best["reading"]
    return {
        "network": row_and_seed(best),
        "texts": f"{reading['texts']:,}",
        "centroids": table(
            ["class", "share", "words"],
            [[each["class"], f"{each['share']:.1%}", _ranked(each["words"])] for each in reading["centroids"]],
        ),
        "phrases": table(
            ["class", "words", "phrases"],
            [
                [label, length, _ranked(phrases)]
                for length, of_class in reading["phrases"].items()
                for label, phrases in sorted(of_class.items())
            ],
        ),
        "explained": "\n".join(map(_marked, reading["explained"])),
    }


def claims(records: Iterable[Record], of_words: str, of_phrases: str, probability: float) -> list[Claim]:
    """That centroids and phrases stand for classes, of the network that `fields` shows.

    Args:
        of_words, of_phrases: the paper's tables; "" leaves out the claim. probability: above which a mean transition
            probability is high.
    """
    shown = _shown(records)
    words = phrases = UNTRIED
    if shown is not None:
        best = shown["reading"]
        classes = {label for of_length in best["phrases"].values() for label in of_length}
        clear = {
            centroid["class"]
            for centroid in best["centroids"]
            if centroid["words"] and min(mean for _, mean in centroid["words"]) >= probability
        }
        words = (Finding(f"{len(clear)} of {len(classes)} classes", clear == classes),)
        least = min(mean for of_length in best["phrases"].values() for found in of_length.values() for _, mean in found)
        phrases = (Finding(f"{least:.2f} or more", least >= probability),)
    return [
        Claim(place, says, rule, findings)
        for place, says, rule, findings in (
            (
                of_words,
                "Centroids stand for classes, judging by the words that lead to them.",
                f"for each class with a centroid, one whose six best words have mean probabilities of at least "
                f"{probability:g}",
                words,
            ),
            (
                of_phrases,
                "Phrases of two and of four words that lead to the centroids of a class are typical of it.",
                f"the five best of each class and length have mean probabilities of at least {probability:g}",
                phrases,
            ),
        )
        if place
    ]


def _shown(records: Iterable[Record]) -> Record | None:
    """Of the networks that were interpreted, the one with the lowest validation error."""
    readable = [record for record in records if "reading" in record]
    return min(readable, key=lambda record: record["result"]["validation_error"], default=None)


def _ranked(ranked: Sequence[Any]) -> str:
    """Words or phrases with their probabilities, in the two to four digits that distinguish them."""
    for digits in (2, 3, 4):
        shown = [f"{probability:.{digits}f}" for _, probability in ranked]
        if len(set(shown)) == len(ranked):
            break
    return ", ".join(f"{_escaped(text)} ({number})" for (text, _), number in zip(ranked, shown, strict=True))


def _marked(text: dict[str, Any]) -> str:
    """A text whose words are bold or italic where they change the probability by a tenth."""
    before = [text["probabilities"][0], *text["probabilities"]]
    marks = [_mark(*pair) for pair in zip(text["probabilities"], before, strict=False)]
    words = [mark + _escaped(word) + mark for word, mark in zip(text["words"], marks, strict=True)]
    return f"- {text['class']}: {' '.join(words)}"


def _mark(probability: float | None, before: float) -> str:
    if probability is None:
        return ""
    return "**" if probability - before >= 0.1 else "*" if before - probability >= 0.1 else ""


def _escaped(text: str) -> str:
    """Escapes Markdown."""
    return re.sub(r"([^\w\s])", r"\\\1", text)
