"""Range against precision: how far networks count parentheses, and how exactly, through training.

Table 1 of Wang, Lawrence and Niepert, 2022, has one figure for each set of strings, of a network at the end of its
training. Here the errors on these strings are recorded all along a short training, apart for each difference between
the numbers of opening and closing parentheses: a coarse count finds a difference of three, an exact one a difference of
one. Beside them are two remedies: weights averaged over the last passes, and stopping by longer validation strings.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from examples.papers import _languages
from examples.papers._experiment import Claim, Finding, Record, Run, by_row, mean_and_range, percent, runs, table
from examples.papers._languages import NETWORKS, PAPER
from examples.papers._lazy import corpora, drawings, figures, keras, np
from examples.papers._verdicts import fewer

CONFIG, LONGER = "large_paper", "test_d10_20_l200"
"""The words, and the split of which a second drawing is the validation set of longer strings."""

DIFFERENCES = ("0", "1", "2", "3 and more")
"""Numbers of parentheses too many or too few; of 0 are the strings of the language alone."""

DEEPEST = "test_d20_l1000"

BY_LONGER, AT_THE_END = "longer words", "the end"

RULES = {
    "validation": ("validation_error", "wrong"),
    BY_LONGER: ("longer_error", "wrong"),
    f"{BY_LONGER}, averaged weights": ("averaged_longer_error", "averaged"),
    AT_THE_END: ("step", "wrong"),
}
"""Name of a rule by which training stops -> what is lowest there, and the counts that are then taken."""

# A sixteenth of the steps of `sr-parentheses` in which words grow, and twice as many after them.
SHORT = PAPER | {"steps": 256, "growing": 12, "total": 36}


class RangeAndPrecision(_languages.LanguageExperiment):
    name = "range-precision"
    title = "Range against precision"
    place = "Wang, Lawrence and Niepert 2022, table 1"
    language = "balanced_parentheses"
    tests = _languages.PARENTHESES
    run_name = "{table[row]}, seed {model[seed]}"
    rows = {
        network: {"config": CONFIG, "network": network, "centroids": 5 * network.startswith("SR"), **SHORT}
        for network in NETWORKS
    }

    def run(self, run: Run) -> Record:
        record = super().run(run)
        return {**record, "curve": [_compact(point) for point in record["curve"]]}

    def tests_of(self, run: Run) -> tuple[str, ...]:
        return self.tests  # the tables need all

    def protocol(self, run: Run) -> _languages.Protocol:
        protocol = super().protocol(run)
        return dataclasses.replace(protocol, total=8) if run.smoke else protocol

    def judges(self, run: Run) -> Sequence[keras.callbacks.Callback]:
        from examples.papers import _range  # with Keras

        words, protocol = self.load(run), self.protocol(run)
        tests = {test: words(test) for test in self.tests_of(run)}
        longer = words("validation") if run.smoke else corpora.balanced_parentheses.load(LONGER, config=CONFIG, seed=1)
        return [_range.Judge(tests, longer, start_token=protocol.start_token, growing=protocol.growing)]

    def result(self, run: Run, model: keras.Model, curve: Sequence[Record]) -> Record:
        """For each test its numbers of strings by difference."""
        from examples.papers import _range  # with Keras

        differences = {test: _range.differences(self.load(run)(test)) for test in self.tests_of(run)}
        counts = {test: np.bincount(of, minlength=len(DIFFERENCES)) for test, of in differences.items()}
        return {"words": {test: of.tolist() for test, of in counts.items()}}

    def summary(self, record: Record) -> str:
        return ", ".join(f"{test} {error:.1%}" for test, error in self._errors(record, record["curve"][-1]).items())

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        """Errors where each rule stops, and by difference; medians over seeds."""
        stops, differences = [], []
        for network, group in by_row(records).items():
            for rule, (criterion, counted) in RULES.items():
                points = [_stop(record, criterion) for record in group]
                steps = statistics.median(point["step"] for point in points)
                errors = [self._errors(*pair, counted) for pair in zip(group, points, strict=True)]
                cells = [mean_and_range([of[test] for of in errors], middle=statistics.median) for test in self.tests]
                stops.append([network, rule, len(group), f"{steps:,.0f}", *cells])
            for rule in (BY_LONGER, AT_THE_END):
                points = [_stop(record, RULES[rule][0]) for record in group]
                for test in (self.tests[0], DEEPEST):
                    shares = [self._by_difference(*pair, test) for pair in zip(group, points, strict=True)]
                    medians = [f"{statistics.median(of):.0%}" for of in zip(*shares, strict=True)]
                    differences.append([network, rule, _languages.shown(test), *medians])
        header = ["network", "stopped by", "seeds", "step", *map(_languages.shown, self.tests)]
        return {
            "stops": table(header, stops),
            "differences": table(["network", "stopped by", "strings", *DIFFERENCES], differences),
            "runs": runs(records, self.called),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        through = {
            network: [
                statistics.mean(self._errors(record, point)[DEEPEST] for point in _evaluated(record))
                for record in group
            ]
            for network, group in by_row(records).items()
        }

        def keeps_range(better: str, worse: str) -> Finding:
            return fewer(through.get(better, []), through.get(worse, []), percent, of=f"{better}, {worse}")

        return [
            self.claim(
                "deeper",
                "fewer errors at depth 20 in the mean over the training, once words have their full length; with "
                "peepholes and without",
                keeps_range("SR-LSTM", "LSTM"),
                keeps_range("SR-LSTM-P", "LSTM-P"),
                decides="more seeds",
                picture="range-precision.png",
                shows="errors through the training, over the mean of which the claim is; at its end most balanced "
                "strings of depth 20 (difference 0) are rejected, with centroids and without.",
            )
        ]

    def pictures(self, records: Sequence[Record]) -> dict[str, figures.Figure]:
        """Errors by difference through training, at depth 1 to 10 and at depth 20; medians and quartiles."""
        panels: dict[tuple[str, str], tuple[list[int], Any]] = {}
        for network, group in by_row(records).items():
            for test in (DEEPEST, self.tests[0]):
                points = [_evaluated(record, 0) for record in group]
                errors = [
                    [self._by_difference(record, point, test) for point in of_record]
                    for record, of_record in zip(group, points, strict=True)
                ]
                panels[_languages.shown(test), network] = [point["step"] for point in points[0]], np.array(errors)
        return {"range-precision.png": drawings.errors_by_difference(panels, DIFFERENCES)}

    def _errors(self, record: Record, point: Record, counted: str = "wrong") -> dict[str, float]:
        """Test -> error at a point of the curve."""
        words = record["result"]["words"]
        tests = [test for test in self.tests if test in words]
        return {test: sum(wrong) / sum(words[test]) for test, wrong in zip(tests, point[counted], strict=True)}

    def _by_difference(self, record: Record, point: Record, test: str) -> list[float]:
        """The error on the strings of a test with each difference; 0 where there is none."""
        wrong, words = point["wrong"][self.tests.index(test)], record["result"]["words"][test]
        return [few / max(many, 1) for few, many in zip(wrong, words, strict=True)]


def _evaluated(record: Record, least: int | None = None) -> list[Record]:
    """The points of the curve at which the network was evaluated, once words have their full length."""
    protocol = record["protocol"]
    grown = protocol["growing"] * protocol["steps"] if least is None else least
    return [point for point in record["curve"] if "wrong" in point and point["step"] >= grown]


def _stop(record: Record, criterion: str) -> Record:
    """The point at which a criterion is lowest; the last one for "step", which counts back."""
    points = [point for point in _evaluated(record) if criterion in point]
    return min(points, key=lambda point: -point["step"] if criterion == "step" else point[criterion])


def _compact(point: Record) -> Record:
    """A point of the curve with its counts as integers, and without what was not evaluated there."""
    counts = {name: np.array(point[name], int).tolist() for name in ("wrong", "averaged")}
    return {name: value for name, value in {**point, **counts}.items() if value not in (None, [])}
