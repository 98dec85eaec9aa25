"""Words, phrases and explained texts of the centroids of a trained network, for a record and the report.

Wang, Lawrence and Niepert, 2022: tables 6 and 7 (prototypes), 8 and 9 (explanations), 10 (phrases).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, claims_of, table
from examples.papers._lazy import Array, analysis, keras, np

NUM_TEXTS = 1000
"""Drawn at random from the test data, as for the paper's table 10; those with an e-mail address are left out."""


class Readable(Experiment):
    """A table of networks that classify texts, and below it the meaning of the centroids of the best one.

    The first of two bases, before `ClassTable`.
    """

    def is_readable(self, settings: Mapping[str, Any]) -> bool:
        """Whether a row's head reads hidden states of a network with centroids alone, so that it classifies them."""
        return settings["network"].startswith("SR") and settings["head"] != "last_and_cell"

    def interpreted(self, model: keras.Model, data: Any, run: Run) -> Record:
        return {"reading": interpret(model, data)} if self.is_readable(run.settings) else {}

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        usual = super().fields(records)
        return {"table": usual["table"], **self._read(_shown(records)), "runs": usual["runs"]}

    def _read(self, shown: Record | None) -> dict[str, str]:
        """Fields of the network that is shown; empty without any."""
        if shown is None:
            return dict.fromkeys(("network", "texts", "centroids", "phrases", "explained"), "")
        reading = shown["reading"]
        centroids = [[each["class"], f"{each['share']:.1%}", _ranked(each["words"])] for each in reading["centroids"]]
        phrases = [
            [label, length, _ranked(phrases)]
            for length, of_class in reading["phrases"].items()
            for label, phrases in sorted(of_class.items())
        ]
        return {
            "network": self.called(shown),
            "texts": f"{reading['texts']:,}",
            "centroids": table("class | share | words", centroids),
            "phrases": table("class | words | phrases", phrases),
            "explained": "\n".join(map(_marked, reading["explained"])),
        }

    def claims_on_centroids(self, records: Iterable[Record], probability: float) -> list[Claim]:
        """Claims that centroids, and phrases where the paper has them, are typical of classes, on the network shown.

        Args:
            probability: above which a mean transition probability is high.
        """
        shown = _shown(records)
        words = phrases = Finding()
        if shown is not None:
            best = shown["reading"]
            classes = {label for of_length in best["phrases"].values() for label in of_length}
            clear = {
                centroid["class"]
                for centroid in best["centroids"]
                if centroid["words"] and min(mean for _, mean in centroid["words"]) >= probability
            }
            words = Finding(f"{len(clear)} of {len(classes)} classes", clear == classes)
            found = [of_class for of_length in best["phrases"].values() for of_class in of_length.values()]
            least = min(mean for of_class in found for _, mean in of_class)
            phrases = Finding(f"{least:.2f} or more", least >= probability)
        rules = {
            "words": (
                f"for each class with a centroid, one whose six best words have mean probabilities of at least "
                f"{probability:g}",
                words,
            ),
            "phrases": (
                f"the five best of each class and length have mean probabilities of at least {probability:g}",
                phrases,
            ),
        }
        return [self.claim(name, *rule) for name, rule in rules.items() if name in claims_of(self.name)]


def interpret(model: keras.Model, data: Any) -> dict[str, Any]:
    """Prototypes of every centroid, phrases for every class, and an explained text for each of two classes.

    Args:
        model: of ids, with one state-regularized layer whose hidden states alone reach the head. data: `Sequences`.

    Returns:
        `centroids`: class, share of the steps, and [word, mean probability] of each centroid in use, the most frequent
        first. `phrases`: for each length, the best [phrase, mean probability] of each class. `explained`: predicted
        class, words, and each word's probability of moving to a centroid of that class.
    """
    (x, y), words, classes = data.test, data.vocabulary, data.classes
    rows = np.sort(np.random.default_rng(0).permutation(len(x))[:NUM_TEXTS])
    x, y = x[rows], y[rows]
    private = (x == words.index("@")).any(axis=1) if "@" in words else np.zeros(len(x), bool)
    x, y = x[~private], y[~private]
    prototypes = analysis.prototypes(model, x, tokens=words, num_tokens=6, by="mean", min_count=5)
    phrases = {}
    for length in (2, 4):
        found = analysis.phrases(model, x, length=length, tokens=words, num_phrases=5, min_count=2)
        phrases[str(length)] = {
            classes[label]: [[phrase, probability] for phrase, probability, _ in best] for label, best in found.items()
        }
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
        "phrases": phrases,
        "explained": [
            _explained(model, x[i], words, classes, np.flatnonzero(prototypes.classes == y[i]))
            for i in informative_texts(model, x, y, prototypes.classes)
        ],
    }


def informative_texts(model: keras.Model, x: Array, y: Array, classes: Array, min_length: int = 15) -> list[int]:
    """A short, correctly classified text of the first and of the last class that has a centroid.

    Of texts that a network is sure of from the first words on, its states tell nothing: for each class it is the row
    along which the probability of moving to its centroids, whose classes are given, varies most (standard deviation).
    """
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
    model: keras.Model, ids: Array, vocabulary: Sequence[str], classes: Sequence[str], centroids: Array
) -> dict[str, Any]:
    """A text, and each word's probability of moving the network to one of these centroids."""
    explanation = analysis.explain(model, ids, tokens=vocabulary, centroids=centroids.tolist())
    is_missing = np.isnan(explanation.alpha[:, 0])  # the last word moves the state to no centroid
    pairs = zip(explanation.weights.tolist(), is_missing, strict=True)
    return {
        "class": classes[explanation.prediction],
        "words": list(explanation.tokens),
        "probabilities": [None if missing else round(weight, 4) for weight, missing in pairs],
    }


def _shown(records: Iterable[Record]) -> Record | None:
    """The record of the interpreted network with the lowest validation error."""
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
    return re.sub(r"([^\w\s])", r"\\\1", text)
