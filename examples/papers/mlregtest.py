"""MLRegTest: automata of regular languages of known classes from long words alone (van der Poel et al., 2024)."""

from __future__ import annotations

import abc
import statistics
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Run, runs, table
from examples.papers._files import cached
from examples.papers._lazy import automata, corpora, np

CLASSES = ("SL", "TSL", "SP", "LT", "TLT", "PT", "LTT", "TLTT", "PLT", "TPLT", "SF", "Zp", "Reg")
"""Strictly local and piecewise; locally, and piecewise, testable; with thresholds; star-free; counting; regular. T is
for on a tier."""

EVERY = {"04": 3, "16": 5}
"""Number of letters -> the step between languages that are run: every third, and every fifth."""

NONE = {("16", "SF"), ("16", "Zp")}
"""The benchmark has no such languages."""

NUM_WORDS, FEW_WORDS, NUM_TESTED = 10_000, 1_000, 2_000
"""Words of the training set, of the small one, and of each test set."""

FEW: dict[str, Any] = {"words": FEW_WORDS}
"""Settings of a row with the small training set."""

TESTS = {"SR": "short_random", "LR": "long_random", "SA": "short_adversarial", "LA": "long_adversarial"}


class Words(NamedTuple):
    """Words of a set, and whether they are in the language."""

    words: Sequence[Sequence[Hashable]]
    labels: list[bool]


class OnAutomata(Experiment):
    """An experiment that makes something of each of several automata, and keeps each result."""

    run_name = "{table[row]}"

    @abc.abstractmethod
    def chosen(self, run: Run) -> Mapping[str, automata.DFA]:
        """The automata of a row, by name."""

    @abc.abstractmethod
    def learned(self, name: str, truth: automata.DFA, run: Run) -> dict[str, Any]:
        """The result on an automaton, for the record."""

    @abc.abstractmethod
    def described(self, one: Mapping[str, Any]) -> str:
        """A result on an automaton, for the screen."""

    @abc.abstractmethod
    def about(self, run: Run) -> Record:
        """Data, network and protocol of the record."""

    def run(self, run: Run) -> Record:
        environment = _records.start_run(run.folder, {**run.settings, "seed": run.seed, **self.identity(run)})
        results: dict[str, Any] = {}
        for name, truth in self.chosen(run).items():
            results[name] = cached(run.folder / f"{name}.json", partial(self.learned, name, truth, run), states=int)
            if run.verbose:
                print(f"  {name}: {self.described(results[name])}", flush=True)
        return {"environment": environment, **self.about(run), "result": results}


class OnLanguages(OnAutomata):
    place = "van der Poel et al. 2024, MLRegTest"
    data = "the benchmark's automata, a folder or an archive of it"
    options = frozenset({"data"})

    def read(self, data: Path | None, smoke: bool, settings: Any) -> dict[str, automata.DFA]:
        if smoke:
            return {"04.04.SL.2.1.0": automata.DFA.from_regex("(b|a+c)*a*", alphabet="abc")}
        if data is None:
            raise ValueError("The benchmark's files are not downloaded. Received: no --data. Give their folder.")
        names = corpora.mlregtest.languages(source=data)
        chosen = [
            name
            for letters, every in EVERY.items()
            for name in [name for name in names if name.startswith(f"{letters}.")][::every]
        ]
        return {name: corpora.mlregtest.automaton(name, source=data) for name in chosen}

    def identity(self, run: Run) -> dict[str, Any]:
        text = "\n".join(f"{name} {dfa.to_json()}" for name, dfa in self.load(run).items())
        return {"sha256": _records.sha256(np.frombuffer(text.encode(), np.uint8))}

    def about(self, run: Run) -> Record:
        words = {"name": "smoke" if run.smoke else "MLRegTest", "words": run.settings.get("words", NUM_WORDS)}
        return {"data": {**words, **self.identity(run)}}


class RegularLanguages(OnLanguages):
    name = "mlregtest"
    title = "Regular languages from long words"
    measure = "languages whose automaton is found"
    rows = {
        f"{letters}.{kind}{more}": {"letters": letters, "kind": kind, **settings}
        for more, settings in {
            "": {},
            ", 1,000 words": FEW,
        }.items()
        for letters in EVERY
        for kind in CLASSES
        if (letters, kind) not in NONE
    }

    def chosen(self, run: Run) -> dict[str, automata.DFA]:
        row = run.settings["letters"], run.settings["kind"]
        return {name: truth for name, truth in self.load(run).items() if run.smoke or row_of(name) == row}

    def learned(self, name: str, truth: automata.DFA, run: Run) -> dict[str, Any]:
        return searched(truth, word_sets(name, truth, run), run)

    def described(self, one: Mapping[str, Any]) -> str:
        if one["found"] is None:
            return f"nothing, in {one['seconds']:.0f} s"
        if one["exact"]:
            return f"exact, {one['states']} states, by {one['method']}, in {one['seconds']:.0f} s"
        return f"another automaton of {one['found']} states that contradicts no word; LA {one['LA']:.1%}"

    def about(self, run: Run) -> Record:
        protocol = {"method": "search", "sampling": "weak", "seed": run.seed}
        return {**super().about(run), "model": {"layer": "SRGRU", "compiled": True}, "protocol": protocol}

    def summary(self, record: Record) -> str:
        found = record["result"].values()
        exact = sum(one["exact"] for one in found)
        return f"{exact} of {len(found)} exact, {sum(one['certified'] for one in found)} certified"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        header = "languages | number | exact | certified | contradict no word | SR | LR | SA | LA | median seconds"
        fields = {"runs": runs(records, self.called)}
        groups = {"weak": ("weak", NUM_WORDS), "strong": ("strong", NUM_WORDS)}
        groups |= {f"{sampling}_few": (sampling, FEW_WORDS) for sampling in groups}
        for group, (sampling, words) in groups.items():
            chosen = [
                record
                for record in records
                if (record["protocol"].get("sampling", "weak"), record["data"]["words"]) == (sampling, words)
            ]
            found = {name: one for record in chosen for name, one in record["result"].items()}
            cells = [[record["table"]["row"], *_cells([*record["result"].values()])] for record in chosen]
            missed = [[name, one["states"], self.described(one)] for name, one in found.items() if not one["exact"]]
            fields |= {
                group: table(header, [*cells, ["all", *_cells([*found.values()])]]) if found else "",
                f"{group}_exact": f"{sum(one['exact'] for one in found.values())} of {len(found)}",
                f"{group}_certified": str(sum(one["certified"] for one in found.values())),
                f"{group}_missed": table("language | states | what was found", missed),
            }
        return fields


def row_of(name: str) -> tuple[str, str]:
    """Number of letters and class of a language."""
    letters, _, kind = name.split(".")[:3]
    return letters, kind


def word_sets(name: str, truth: automata.DFA, run: Run) -> dict[str, Words]:
    """The words of a language: to train on, to validate on, and of each of `TESTS`."""
    splits = ("train", *TESTS.values(), "validation")
    if run.smoke:
        both = truth, truth.complement()
        words = [dfa.sample(n, seed) for dfa in both for n in range(3, 9) for seed in range(20)]
        return dict.fromkeys(splits, Words(words, [truth.accepts(word) for word in words]))
    assert run.data is not None
    trained = run.settings.get("words", NUM_WORDS)
    sizes = {"train": trained, "validation": min(trained, NUM_TESTED)}
    sets = {}
    for split in splits:
        number = sizes.get(split, NUM_TESTED)
        drawn = corpora.mlregtest.load(split, language=name, source=run.data, num_words=number, seed=run.seed)
        sets[split] = Words(drawn.words, drawn.labels.tolist())
    return sets


def quality(dfa: automata.DFA | None, truth: automata.DFA, sets: Mapping[str, Words]) -> dict[str, Any]:
    """States of an automaton, whether it is the language's, and its accuracy on each test set; None without one."""
    if dfa is None:
        return {"found": None, "exact": False, **dict.fromkeys(TESTS)}
    dfa = dfa.minimize()
    accuracies = {
        test: statistics.fmean(dfa.accepts(word) == label for word, label in zip(*sets[split], strict=True))
        for test, split in TESTS.items()
    }
    return {"found": len(dfa), "exact": dfa.equivalent(truth), **accuracies}


def searched(truth: automata.DFA, sets: Mapping[str, Words], run: Run) -> dict[str, Any]:
    """The result of the search on a language, with its seconds of computing."""
    began = time.process_time()
    found = inferred(*sets["train"], truth, run)
    seconds, dfa = time.process_time() - began, found and found.dfa
    result = {"states": len(truth), "seconds": seconds, **quality(dfa, truth, sets)}
    return {**result, "certified": certified(dfa), "method": found.method if found else ""}


def inferred(
    words: Sequence[Sequence[Hashable]], labels: Sequence[bool], truth: automata.DFA, run: Run, **settings: Any
) -> Any:
    """The result of `automata.infer`; None if it finds nothing."""
    try:
        return automata.infer(words, labels, alphabet=truth.alphabet, seed=run.seed, time_budget=None, **settings)
    except ValueError as error:
        if "No automaton was found" not in str(error):
            raise
        return None


def certified(dfa: automata.DFA | None) -> bool:
    """Whether the network that is compiled from an automaton is proved to be it."""
    return dfa is not None and automata.certify(automata.compile(dfa), dfa).holds


def ended(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The results on the languages for which a learner ended."""
    return [one for one in found if one["LA"] is not None]


def means(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Cells of a table: the mean accuracy on each of `TESTS`, and the median of the seconds."""
    answers = ended(found)
    accuracies = [f"{statistics.fmean(one[test] for one in answers):.1%}" if answers else "" for test in TESTS]
    return [*accuracies, f"{statistics.median(one['seconds'] for one in found):.0f}"]


def _cells(found: Sequence[dict[str, Any]]) -> list[object]:
    exact, proved = (sum(one[name] for one in found) for name in ("exact", "certified"))
    return [len(found), exact, proved, len(ended(found)), *means(found)]
