"""MLRegTest: the search compared with networks of the benchmark's settings, RPNI, EDSM, and a GRU asked by L*."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _aalpy
from examples.papers._experiment import Record, Run, runs, table
from examples.papers._lazy import automata, keras, np
from examples.papers.mlregtest import (
    FEW,
    FEW_WORDS,
    NUM_WORDS,
    TESTS,
    OnLanguages,
    Words,
    ended,
    means,
    quality,
    row_of,
    searched,
    word_sets,
)

UNITS, DROPOUT, BATCH, EPOCHS = 100, 0.1, 64, 30
"""Settings of the networks, as in the benchmark's public code; UNITS is also the embedding's size."""

PATIENCE = 10
"""Epochs without a higher accuracy on the validation words, after which training ends. The best weights are kept."""

SECONDS = 120.0
"""After which RPNI and EDSM are ended."""

EVERY = {"EDSM": 4}
"""EDSM, which hardly ever ends in time, is given every fourth language."""

MAX_SYMBOLS = 20_000
"""The largest number of symbols that a GRU reads when L* asks it."""

SEARCH, STRONG, NETWORKS = "search", "search, strong", ("SimpleRNN", "GRU", "LSTM")
"""STRONG knew that the words were drawn label by label: version 0.3.0, whose records are here."""

ASKED = "L* asks the GRU"


class Learners(OnLanguages):
    name = "mlregtest-learners"
    title = "Regular languages from long words, by other learners"
    measure = "accuracy on long words one edit apart"
    rows = {
        f"{learner}{more}": {"learner": learner, **words}
        for more, words in {"": {}, ", 1,000 words": FEW}.items()
        for learner in (SEARCH, *NETWORKS, *_aalpy.MERGING)
    }

    def read(self, data: Path | None, smoke: bool, settings: Any) -> dict[str, automata.DFA]:
        """Language -> automaton: the middle one of each row of `mlregtest`."""
        of_row: dict[tuple[str, str], list[str]] = {}
        every = super().read(data, smoke, settings)
        for name in every:
            of_row.setdefault(row_of(name), []).append(name)
        middle = [names[len(names) // 2] for names in of_row.values()]
        return {name: every[name] for name in middle}

    def chosen(self, run: Run) -> dict[str, automata.DFA]:
        return dict([*self.load(run).items()][:: EVERY.get(run.settings["learner"], 1)])

    def learned(self, name: str, truth: automata.DFA, run: Run) -> dict[str, Any]:
        learner, sets = run.settings["learner"], word_sets(name, truth, run)
        if learner == SEARCH:
            return searched(truth, sets, run)
        if learner in NETWORKS:
            return _trained(learner, truth, sets, run)
        seconds, dfa = _aalpy.merged(learner, *sets["train"], truth.alphabet, SECONDS)
        return {"states": len(truth), "seconds": seconds, **quality(dfa, truth, sets)}

    def described(self, one: Mapping[str, Any]) -> str:
        accuracy = "nothing" if one["LA"] is None else f"LA {one['LA']:.1%}"
        asked = f"; L*: {self.described(one['asked'])}" if "asked" in one else ""
        return f"{accuracy}{', exact' * bool(one.get('exact'))}, in {one['seconds']:.0f} s{asked}"

    def about(self, run: Run) -> Record:
        networks = {"units": UNITS, "dropout": DROPOUT, "batch": BATCH, "epochs": EPOCHS, "patience": PATIENCE}
        protocol: Record = dict.fromkeys(NETWORKS, {**networks, "max_symbols": MAX_SYMBOLS})
        protocol |= dict.fromkeys(_aalpy.MERGING, {"seconds": SECONDS})
        own = protocol.get(run.settings["learner"], {})
        return {**super().about(run), "protocol": {**run.settings, **own, "seed": run.seed}}

    def summary(self, record: Record) -> str:
        learned = [one["LA"] for one in ended([*record["result"].values()])]
        mean = f", {statistics.fmean(learned):.1%} {self.measure}" if learned else ""
        return f"{len(learned)} of {len(record['result'])} languages{mean}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        header = ["learner", "languages", "nothing", "exact", *TESTS, "median seconds"]
        fields = {**_found(records), "runs": runs(records, self.called)}
        for more, words in {"": NUM_WORDS, "_few": FEW_WORDS}.items():
            found = _by_learner(records, words)
            beside = [learner for learner in found if learner not in (*EVERY, ASKED)]
            each = [
                [name, *(_percent(found[learner].get(name, {}).get("LA")) for learner in beside)]
                for name in dict.fromkeys(name for learner in beside for name in found[learner])
            ]
            fields |= {
                f"table{more}": table(header, [[learner, *_cells([*of.values()])] for learner, of in found.items()]),
                f"languages{more}": table(["language", *beside], each),
            }
        return fields


def _trained(layer: str, truth: automata.DFA, sets: Mapping[str, Words], run: Run) -> dict[str, Any]:
    """Accuracy of a network on each test set, and the seconds of its training; of a GRU also what L* learns of it."""
    keras.utils.set_random_seed(run.seed)
    model = automata.Recognizer(
        [
            keras.Input((None,), dtype="int32"),
            automata.SymbolEmbedding(truth.alphabet, UNITS),
            getattr(keras.layers, layer)(UNITS, dropout=DROPOUT),
            keras.layers.Dense(1),
        ]
    )
    began = time.process_time()
    accuracy = _fitted(model, sets, run.smoke)
    result = {"states": len(truth), "seconds": time.process_time() - began, "validation": accuracy}
    for test, split in TESTS.items():
        words, labels = sets[split]
        result[test] = float((model.classify(words) == labels).mean())
    return {**result, "asked": _asked(model, truth, sets)} if layer == "GRU" else result


def _fitted(model: automata.Recognizer, sets: Mapping[str, Words], smoke: bool) -> float:
    """Trains a network, and returns the accuracy on the validation words of the weights that it keeps."""
    model.compile(
        "adam",
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="accuracy")],
        jit_compile=not smoke,  # compiling takes seconds
    )
    length = 1 + max(len(word) for split in ("train", "validation") for word in sets[split].words)
    train, validation = (
        (model.layers[0].alphabet.encode_batch(sets[split].words, length), np.array(sets[split].labels, "float32"))
        for split in ("train", "validation")
    )
    best = keras.callbacks.EarlyStopping("val_accuracy", mode="max", patience=PATIENCE, restore_best_weights=True)
    epochs = 1 if smoke else EPOCHS
    fitted = model.fit(*train, BATCH, epochs, verbose=0, callbacks=[best], validation_data=validation)
    return float(max(fitted.history["val_accuracy"]))


def _asked(model: automata.Recognizer, truth: automata.DFA, sets: Mapping[str, Words]) -> dict[str, Any]:
    """The automaton that L* learns from a network until they agree on the training words."""
    began = time.process_time()
    try:
        dfa = _aalpy.asked(model, sets["train"].words, truth.alphabet, MAX_SYMBOLS)
    except TimeoutError:
        dfa = None
    return {"seconds": time.process_time() - began, **quality(dfa, truth, sets)}


def _cells(found: Sequence[Mapping[str, Any]]) -> list[object]:
    exact = [one["exact"] for one in found if "exact" in one]
    return [len(found), len(found) - len(ended(found)), sum(exact) if exact else None, *means(found)]


def _by_learner(records: Sequence[Record], words: int) -> dict[str, Record]:
    """Learner -> what it found of each language from so many words; what L* learns of the GRU comes last."""
    found = {one["protocol"]["learner"]: one["result"] for one in records if one["data"]["words"] == words}
    asked = {name: one["asked"] for name, one in found.get("GRU", {}).items()}
    return {**found, ASKED: asked} if asked else found


def _found(records: Sequence[Record]) -> dict[str, str]:
    """Fields of the first sentences: how many automata are found, and mean accuracies on words one edit apart."""
    found = {learner: [*of_it.values()] for learner, of_it in _by_learner(records, NUM_WORDS).items()}
    names = {"search": SEARCH, "strong": STRONG, "rpni": "RPNI", "edsm": "EDSM", "asked": ASKED}
    exact = {name: [one["exact"] for one in found.get(learner, ())] for name, learner in names.items()}
    answers = {learner: [one["LA"] for one in ended(of_it)] for learner, of_it in found.items()}
    accuracies = {learner: statistics.fmean(of_it) for learner, of_it in answers.items() if of_it}
    best = max(NETWORKS, key=lambda network: accuracies.get(network, 0.0))
    return {
        **{f"exact_{name}": f"{sum(of_it)} of {len(of_it)}" for name, of_it in exact.items()},
        **{"best": best, "best_accuracy": f"{accuracies.get(best, 0.0):.1%}"},
        "search_accuracy": f"{accuracies.get(SEARCH, 0.0):.1%}",
    }


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"
