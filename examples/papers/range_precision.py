"""Range against precision: how far networks count parentheses, and how exactly, through training.

Table 1 of Wang, Lawrence and Niepert, 2022, has one figure for each set of strings, of a network at the end of its
training. Here the errors on these strings are recorded all along a short training, apart for each difference between
the numbers of opening and closing parentheses: a coarse count finds a difference of three, an exact one a difference of
one. Beside them are two remedies: weights averaged over the last passes, and stopping by longer validation strings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from examples.papers import _languages, _records
from examples.papers._experiment import Record, Run, runs
from examples.papers._languages import NETWORKS, PAPER
from examples.papers._lazy import datasets, np

CONFIG, LONGER = "large_paper", "test_d10_20_l200"
"""The words, and the split of which a second drawing is the validation set of longer strings."""

DIFFERENCES = ("0", "1", "2", "3 and more")
"""Numbers of parentheses too many or too few; of 0 are the strings of the language alone."""

# A sixteenth of the steps of `sr-parentheses` in which words grow, and twice as many after them.
SHORT = PAPER | {"steps": 256, "growing": 12, "total": 36}


class RangeAndPrecision(_languages.LanguageExperiment):
    """Errors of four networks along a short training, by difference and by depth."""

    name = "range-precision"
    title = "Range against precision"
    place = "Wang, Lawrence and Niepert 2022, table 1"
    language = "balanced_parentheses"
    tests = (
        *("test_d1_10_l100", "test_d10_20_l100", "test_d10_20_l200"),
        *("test_d5_l200", "test_d10_l200", "test_d20_l1000"),
    )
    rows = {
        network: {"config": CONFIG, "network": network, "centroids": 5 * network.startswith("SR"), **SHORT}
        for network in NETWORKS
    }

    def run(self, run: Run) -> Record:
        from examples.papers import _range  # with Keras

        words, protocol, network = self.load(run), self.protocol(run), run.settings["network"]
        if run.smoke:
            protocol = dataclasses.replace(protocol, total=8)
        own = {"network": network, "seed": run.seed, "data": self.identity(run)}
        environment = _records.start_run(run.folder, {**dataclasses.asdict(protocol), **own})
        tests = {test: words(test) for test in self.tests_of(run)}
        longer = words("validation") if run.smoke else datasets.balanced_parentheses.load(LONGER, config=CONFIG, seed=1)
        judge = _range.Judge(tests, longer, protocol)
        both = words("train"), words("validation")
        model, curve = _languages.train(network, *both, protocol, run.seed, run.folder, run.verbose, [judge])
        counts = {test: np.bincount(_range.differences(of), minlength=len(DIFFERENCES)) for test, of in tests.items()}
        return {
            "environment": environment,
            "data": self.identity(run),
            "model": {"layer": network, "seed": run.seed, "parameters": model.count_params()},
            "protocol": dataclasses.asdict(protocol),
            "result": {
                "words": {test: of.tolist() for test, of in counts.items()},
                "seconds": curve[-1]["seconds"],
            },
            "curve": [_compact(point) for point in curve],
        }

    def summary(self, record: Record) -> str:
        wrong, words = record["curve"][-1]["wrong"], record["result"]["words"]
        errors = [sum(of) / sum(all_of) for of, all_of in zip(wrong, words.values(), strict=True)]
        return ", ".join(f"{test} {error:.1%}" for test, error in zip(words, errors, strict=True))

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        return {"runs": runs(records, self.called)}


def _compact(point: Record) -> Record:
    """A point of the curve with its counts as integers, and without what was not evaluated there."""
    counts = {name: np.array(point[name], int).tolist() for name in ("wrong", "averaged")}
    return {name: value for name, value in {**point, **counts}.items() if value not in (None, [])}
