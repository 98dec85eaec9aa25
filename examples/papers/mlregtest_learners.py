"""MLRegTest: the search beside networks with the benchmark's settings, RPNI, EDSM, and a GRU asked by L*."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _aalpy, _records
from examples.papers._experiment import Experiment, Record, Run, runs, table
from examples.papers.mlregtest import (
    FEW,
    FEW_WORDS,
    NUM_WORDS,
    TESTS,
    RegularLanguages,
    Words,
    digest,
    quality,
    read_words,
    searched,
    word_sets,
)

if TYPE_CHECKING:
    from keras_interp_rnn.automata import DFA, Recognizer

UNITS, DROPOUT, BATCH, EPOCHS = 100, 0.1, 64, 30
"""Of the networks, as in the benchmark's public code, with Adam's own learning rate; UNITS is also the embedding's."""

PATIENCE = 10
"""Epochs without a higher accuracy on the validation words, after which training ends. The best weights are kept."""

SECONDS = 120.0
"""After which RPNI and EDSM are ended."""

EVERY = {"EDSM": 4}
"""EDSM, which hardly ever ends in time, is given every fourth language."""

MAX_SYMBOLS = 20_000
"""That a GRU reads when L* asks it."""

SEARCH, STRONG, NETWORKS = "search", "search, strong", ("SimpleRNN", "GRU", "LSTM")

ASKED = "L* asks the GRU"


class Learners(Experiment):
    """Accuracy of learners on one language of each class, and which of them find the automaton."""

    name = "mlregtest-learners"
    title = "Regular languages from long words, by other learners"
    place = "van der Poel et al. 2024, MLRegTest"
    measure = "accuracy on long words one edit apart"
    data = RegularLanguages.data
    options = frozenset({"data"})
    rows = {
        f"{learner}{more}": {"learner": learner, **({"sampling": "strong"} if learner == STRONG else {}), **words}
        for more, words in {"": {}, ", 1,000 words": FEW}.items()
        for learner in (SEARCH, STRONG, *NETWORKS, *_aalpy.MERGING)
    }

    def read(self, data: Path | None, smoke: bool, settings: Any) -> dict[str, DFA]:
        """Language -> automaton: the middle one of each row of `mlregtest`."""
        of_row: dict[tuple[str, str], list[str]] = {}
        every = RegularLanguages().read(data, smoke, settings)
        for name in every:
            letters, _, kind = name.split(".")[:3]
            of_row.setdefault((letters, kind), []).append(name)
        return {names[len(names) // 2]: every[names[len(names) // 2]] for names in of_row.values()}

    def identity(self, run: Run) -> dict[str, Any]:
        return digest(self.load(run))

    def run(self, run: Run) -> Record:
        environment = _records.start_run(run.folder, {**run.settings, "seed": run.seed, **self.identity(run)})
        results: dict[str, Any] = {}
        languages = [*self.load(run).items()][:: EVERY.get(run.settings["learner"], 1)]
        for name, truth in languages:
            learn = functools.partial(_learned, name, truth, run)
            results[name] = _records.kept(run.folder / f"{name}.json", learn, {"states": int})
            if run.verbose:
                print(f"  {name}: {_said(results[name])}", flush=True)
        networks = {"units": UNITS, "dropout": DROPOUT, "batch": BATCH, "epochs": EPOCHS, "patience": PATIENCE}
        networks["max_symbols"] = MAX_SYMBOLS
        protocol = {SEARCH: {}, STRONG: {}, **dict.fromkeys(_aalpy.MERGING, {"seconds": SECONDS})}
        return {
            "environment": environment,
            "data": read_words(run) | self.identity(run),
            "protocol": {**run.settings, **protocol.get(run.settings["learner"], networks), "seed": run.seed},
            "result": results,
        }

    def summary(self, record: Record) -> str:
        learned = [one["LA"] for one in record["result"].values() if one["LA"] is not None]
        mean = f", {statistics.fmean(learned):.1%} {self.measure}" if learned else ""
        return f"{len(learned)} of {len(record['result'])} languages{mean}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        header = "learner | languages | nothing | exact | " + " | ".join(TESTS) + " | median seconds"
        fields = {"runs": runs(records, lambda record: record["table"]["row"])}
        for more, words in {"": NUM_WORDS, "_few": FEW_WORDS}.items():
            chosen = [record for record in records if record["data"]["words"] == words]
            found = {record["protocol"]["learner"]: record["result"] for record in chosen}
            asked = {name: one["asked"] for name, one in found.get("GRU", {}).items()}
            all_of_them = {**found, **({ASKED: asked} if asked else {})}
            rows = [[learner, *_cells(of_it)] for learner, of_it in all_of_them.items()]
            beside = [learner for learner in found if learner not in EVERY]
            languages = dict.fromkeys(name for learner in beside for name in found[learner])
            each = [
                [name, *(_percent(found[learner].get(name, {}).get("LA")) for learner in beside)] for name in languages
            ]
            fields[f"table{more}"] = table(header.split(" | "), rows) if found else ""
            fields[f"languages{more}"] = table(["language", *beside], each) if found else ""
        return fields


def _learned(name: str, truth: DFA, run: Run) -> dict[str, Any]:
    """What a learner makes of a language."""
    learner, sets = run.settings["learner"], word_sets(name, truth, run, "validation")
    if learner in (SEARCH, STRONG):
        return searched(truth, sets, run)
    if learner in NETWORKS:
        return _trained(learner, truth, sets, run)
    seconds, dfa = _aalpy.merged(learner, *sets["train"], truth.alphabet, SECONDS)
    return {"states": len(truth), "seconds": seconds, **quality(dfa, truth, sets)}


def _trained(layer: str, truth: DFA, sets: Mapping[str, Words], run: Run) -> dict[str, Any]:
    """Accuracy of a network on each test set, and the seconds of its training; of a GRU also what L* learns of it."""
    import keras

    from keras_interp_rnn import automata

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


def _fitted(model: Recognizer, sets: Mapping[str, Words], smoke: bool) -> float:
    """Trains a network, and returns the accuracy on the validation words of the weights that it keeps."""
    import keras
    import numpy as np

    model.compile(
        "adam",
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="accuracy")],
        jit_compile=not smoke,  # compiling takes seconds
    )
    encoding = model.layers[0].encoding
    length = 1 + max(len(word) for split in ("train", "validation") for word in sets[split].words)
    train, validation = (
        (encoding.ids(sets[split].words, length), np.array(sets[split].labels, "float32"))
        for split in ("train", "validation")
    )
    best = keras.callbacks.EarlyStopping("val_accuracy", mode="max", patience=PATIENCE, restore_best_weights=True)
    epochs = 1 if smoke else EPOCHS
    fitted = model.fit(*train, BATCH, epochs, verbose=0, callbacks=[best], validation_data=validation)
    return float(max(fitted.history["val_accuracy"]))


def _asked(model: Recognizer, truth: DFA, sets: Mapping[str, Words]) -> dict[str, Any]:
    """What L* learns from a network, until they agree on the training words."""
    began = time.process_time()
    try:
        dfa = _aalpy.asked(model, sets["train"].words, truth.alphabet, MAX_SYMBOLS)
    except TimeoutError:
        dfa = None
    return {"seconds": time.process_time() - began, **quality(dfa, truth, sets)}


def _cells(found: Mapping[str, Mapping[str, Any]]) -> list[object]:
    learned = [one for one in found.values() if one["LA"] is not None]
    exact = [one["exact"] for one in found.values() if "exact" in one]
    return [
        *(len(found), len(found) - len(learned), sum(exact) if exact else None),
        *(_percent(statistics.fmean(one[test] for one in learned)) if learned else None for test in TESTS),
        f"{statistics.median(one['seconds'] for one in found.values()):.0f}",
    ]


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _said(one: Mapping[str, Any]) -> str:
    accuracy = "nothing" if one["LA"] is None else f"LA {one['LA']:.1%}"
    exact = ", exact" if one.get("exact") else ""
    asked = f"; L*: {_said(one['asked'])}" if "asked" in one else ""
    return f"{accuracy}{exact}, in {one['seconds']:.0f} s{asked}"
