"""Random automata from words with wrong labels: the search, and RPNI and EDSM, which take every label for right."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from examples.papers import _aalpy
from examples.papers._experiment import Record, Run, by_row, runs, table
from examples.papers._lazy import automata, np
from examples.papers.mlregtest import OnAutomata, certified, inferred

if TYPE_CHECKING:
    Word = tuple[str, ...]

NUM_AUTOMATA = 40

STATES, SYMBOLS = range(3, 16), range(2, 5)
"""Each automaton is one state larger than the one before, over one symbol more, in turn."""

SHORT, LONGER, LONGEST = 1000, 3000, 20
"""All words up to the first length with so many, and so many longer ones, of all lengths up to `LONGEST`."""

NUM_FRESH, LONGEST_FRESH = 2000, 30
"""Words that no search has seen, with their right labels."""

EVERY = 4
"""With wrong labels RPNI and EDSM, which rarely end in time then, are given every fourth automaton."""

SECONDS = 10.0
"""After which RPNI and EDSM are ended, in a process of their own."""

SEARCH, LEARNERS = "search", _aalpy.MERGING


class Sample(NamedTuple):
    """An automaton's words, with the labels that are given and whether these are wrong; and fresh words."""

    words: list[Word]
    labels: list[bool]
    wrong: list[bool]
    fresh: list[Word]


class AutomataFromNoise(OnAutomata):
    name = "automata-noise"
    title = "Random automata from words with wrong labels"
    place = "no table of the papers"
    measure = "automata found exactly"
    rows = {
        **{f"{noise:.0%}": {"noise": noise, "known": True} for noise in (0.0, 0.01, 0.05, 0.1)},
        **{f"{noise:.0%}, not known": {"noise": noise, "known": False} for noise in (0.01, 0.05)},
    }

    def chosen(self, run: Run) -> dict[str, automata.DFA]:
        return {str(index): automaton(index) for index in range(1 if run.smoke else NUM_AUTOMATA)}

    def learned(self, name: str, truth: automata.DFA, run: Run) -> dict[str, Any]:
        """The result of each learner on the words of an automaton."""
        sizes = {"short": 60, "longer": 60} if run.smoke else {}
        noise, index = run.settings["noise"], int(name)
        drawn = sample(truth, noise, (index, run.seed), **sizes)
        result = {
            **{"states": len(truth), "symbols": len(truth.alphabet), "noise": noise},
            **{"words": len(drawn.words), "wrong": sum(drawn.wrong)},
            SEARCH: _searched(truth, drawn, run),
        }
        for learner in LEARNERS if run.settings["known"] and (not noise or index % EVERY == 0) else ():
            seconds, dfa = _aalpy.merged(learner, drawn.words, drawn.labels, truth.alphabet, SECONDS)
            result[learner] = {"seconds": seconds, **_quality(truth, dfa, drawn)}
        return result

    def described(self, one: Mapping[str, Any]) -> str:
        learned = ", ".join(f"{name} {_described(one[name])}" for name in (SEARCH, *LEARNERS) if name in one)
        return f"{one['states']} states, {one['symbols']} symbols: {learned}"

    def about(self, run: Run) -> Record:
        return {
            "data": {"name": "random automata", "short": SHORT, "longer": LONGER, "longest": LONGEST},
            "model": {"layer": "SRGRU", "compiled": True},
            "protocol": {**run.settings, "method": "search", "seconds": SECONDS, "seed": run.seed},
        }

    def summary(self, record: Record) -> str:
        found = [one[SEARCH] for one in record["result"].values()]
        return f"{_of([one['exact'] for one in found])} exact"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        records = [record for group in by_row(records).values() for record in group]
        every = [(record["protocol"]["noise"], one) for record in records for one in record["result"].values()]
        others = [(noise, one[learner]["exact"]) for noise, one in every for learner in LEARNERS if learner in one]
        rows: list[list[object]] = []
        labels: list[list[object]] = []
        estimates: list[list[object]] = []
        missed: list[list[object]] = []
        for record in records:
            row, found = record["table"]["row"], [*record["result"].values()]
            for learner in (SEARCH, *LEARNERS):
                of_it = [(one["states"], one[learner]) for one in found if learner in one]
                if of_it:
                    rows.append([row, learner, *_cells(of_it)])
            ended = [(one, one[SEARCH]) for one in found if one[SEARCH]["found"] is not None]
            contradicted = [sum(own[name] for _, own in ended) for name in ("contradicted", "wrong_contradicted")]
            labels.append([row, sum(one["wrong"] for one, _ in ended), *contradicted])
            if not record["protocol"]["known"] and ended:
                rates = [own["label_noise"] for _, own in ended]
                inside = sum(own["interval"][0] <= one["noise"] <= own["interval"][1] for one, own in ended)
                bounds = f"{min(rates):.2%} to {max(rates):.2%}"
                estimates.append([row, f"{statistics.median(rates):.2%}", bounds, inside])
            for one in found:
                if not one[SEARCH]["exact"]:
                    missed.append([row, one["states"], one["symbols"], _described(one[SEARCH])])
        estimated = table("wrong labels | median estimate | range | true rate in the interval", estimates)
        return {
            "exact": _of([one[SEARCH]["exact"] for _, one in every]),
            "exact_without_noise": _of([exact for noise, exact in others if not noise]),
            "exact_with_noise": _of([exact for noise, exact in others if noise]),
            "table": table(
                "wrong labels | learner | exact | certified | nothing | states too many | median s | longest s | fresh",
                rows,
            ),
            "labels": table("wrong labels | wrong | contradicted | both", labels),
            "estimates": estimated if estimates else "No such row was run so far.",
            "missed": table("wrong labels | states | symbols | what was found", missed),
            "runs": runs(records, self.called),
        }


def automaton(index: int) -> automata.DFA:
    """A minimal automaton with a random table, of the states and symbols whose turn it is."""
    states, alphabet = STATES[index % len(STATES)], "abcd"[: SYMBOLS[index % len(SYMBOLS)]]
    return random_automaton(np.random.default_rng([index, 0]), states, alphabet)


def random_automaton(rng: np.random.Generator, states: int, alphabet: str) -> automata.DFA:
    """A minimal automaton of so many states with a random table."""
    while True:
        transitions = rng.integers(states, size=(states, len(alphabet)))
        accepting = np.flatnonzero(rng.random(states) < 0.5)
        dfa = automata.DFA(transitions.tolist(), accepting.tolist(), alphabet=alphabet).minimize()
        if len(dfa) == states:
            return dfa


def sample(truth: automata.DFA, noise: float, seed: Sequence[int], short: int = SHORT, longer: int = LONGER) -> Sample:
    """Words of an automaton: drawn from one seed, their noise from another, and fresh words from a third."""
    symbols = [str(symbol) for symbol in truth.alphabet]
    words: list[Word] = [()]
    length = 0
    while len(words) < short:
        length += 1
        words += itertools.product(symbols, repeat=length)

    def some(which: int, number: int, shortest: int, longest: int) -> list[Word]:
        rng = np.random.default_rng([*seed, which])
        lengths = rng.integers(shortest, longest + 1, size=number)
        return [tuple(rng.choice(symbols, size=each).tolist()) for each in lengths]

    words = [*dict.fromkeys([*words, *some(1, longer, length + 1, LONGEST)])]
    wrong = (np.random.default_rng([*seed, 2]).random(len(words)) < noise).tolist()
    seen = {*words}
    fresh = [word for word in some(3, NUM_FRESH, 0, LONGEST_FRESH) if word not in seen]
    labels = [truth.accepts(word) != flipped for word, flipped in zip(words, wrong, strict=True)]
    return Sample(words, labels, wrong, fresh)


def _searched(truth: automata.DFA, drawn: Sample, run: Run) -> dict[str, Any]:
    began = time.monotonic()
    noise = run.settings["noise"] if run.settings["known"] else None
    found = inferred(drawn.words, drawn.labels, truth, run, label_noise=noise)
    dfa = found and found.dfa
    result = {"seconds": time.monotonic() - began, "certified": certified(dfa), **_quality(truth, dfa, drawn)}
    if found is None:
        return result
    contradicted = {*found.contradicted}
    truly = {word for word, wrong in zip(drawn.words, drawn.wrong, strict=True) if wrong}
    return {
        **{**result, "method": found.method},
        **{"contradicted": len(contradicted), "wrong_contradicted": len(contradicted & truly)},
        **{"label_noise": found.label_noise, "interval": list(found.label_noise_interval)},
    }


def _quality(truth: automata.DFA, dfa: automata.DFA | None, drawn: Sample) -> dict[str, Any]:
    """States, whether they are the right ones, and accuracy on fresh words; None where nothing was found."""
    if dfa is None:
        return {"found": None, "exact": False, "accuracy": None}
    right = [dfa.accepts(word) == truth.accepts(word) for word in drawn.fresh]
    dfa = dfa.minimize()
    return {"found": len(dfa), "exact": dfa.equivalent(truth), "accuracy": statistics.fmean(right)}


def _of(exact: Sequence[bool]) -> str:
    return f"{sum(exact)} of {len(exact)}"


def _cells(found: Sequence[tuple[int, dict[str, Any]]]) -> list[object]:
    """Cells of a learner's line, from the number of states of each automaton and the result on it."""
    ended = [(states, one) for states, one in found if one["found"] is not None]
    seconds = [one["seconds"] for _, one in found]
    certified = [one["certified"] for _, one in found if "certified" in one]
    return [
        _of([one["exact"] for _, one in found]),
        sum(certified) if certified else None,
        len(found) - len(ended),
        f"{statistics.median(one['found'] - states for states, one in ended):+.0f}" if ended else None,
        f"{statistics.median(seconds):.1f}",
        f"{max(seconds):.1f}",
        f"{statistics.fmean(one['accuracy'] for _, one in ended):.2%}" if ended else None,
    ]


def _described(one: dict[str, Any]) -> str:
    if one["found"] is None:
        return f"nothing, in {one['seconds']:.0f} s"
    return f"{'exact' if one['exact'] else 'another'}, {one['found']} states, in {one['seconds']:.1f} s"
