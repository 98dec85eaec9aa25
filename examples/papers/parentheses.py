"""Tables 1 and 2 and figure 6 of Wang, Lawrence and Niepert, 2022: balanced parentheses."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from examples.papers import _languages
from examples.papers._experiment import Claim, Finding, Record, percent
from examples.papers._languages import NETWORKS, PAPER, rows_of
from examples.papers._lazy import drawings, figures
from examples.papers._verdicts import above, alike, fewer, reaches, standard_error

CONFIGS = {"large": 2, "large_near": 2, "small": 20, "small_near": 20}
"""Set of words -> passes over the words of each stage."""

OTHERS = {"small": {"passes": 20}, "large_near": {"passes": 2}, "small_paper": PAPER}
"""Set of words -> settings of the rows with other numbers of centroids."""

ERRORS = {
    "large-LSTM": (0.005, 0.334, 0.341, 0.002, 0.207, 0.543),
    "large-SR-LSTM": (0.038, 0.255, 0.313, 0.044, 0.227, 0.540),
    "large-SR-LSTM-P": (0.000, 0.001, 0.003, 0.000, 0.004, 0.020),
    "small-LSTM": (0.068, 0.472, 0.479, 0.042, 0.409, 0.519),
    "small-SR-LSTM": (0.037, 0.347, 0.352, 0.028, 0.279, 0.508),
    "small-SR-LSTM-P-2": (0.019, 0.096, 0.097, 0.014, 0.038, 0.399),
    "small-SR-LSTM-P": (0.017, 0.189, 0.196, 0.015, 0.138, 0.380),
    "small-SR-LSTM-P-10": (0.021, 0.205, 0.213, 0.012, 0.154, 0.432),
    "small-SR-LSTM-P-50": (0.034, 0.192, 0.191, 0.047, 0.128, 0.410),
}
"""The paper's, for each test."""

TESTED = 1000
"""Strings in each test."""


class Parentheses(_languages.LanguageTable):
    name = "sr-parentheses"
    title = "Balanced parentheses"
    place = "Wang, Lawrence and Niepert 2022, tables 1 and 2"
    language = "balanced_parentheses"
    tests = _languages.PARENTHESES
    rows = {
        name: row
        for rows in (
            *(rows_of(NETWORKS, config, passes=passes) for config, passes in CONFIGS.items()),
            *(rows_of(["SR-LSTM-P"], config, k, **own) for config, own in OTHERS.items() for k in (2, 10, 50)),
            *(rows_of(NETWORKS, config, **PAPER) for config in ("large_paper", "small_paper")),
        )
        for name, row in rows.items()
    }
    rows["large_paper-SR-LSTM-P-shared"] = {**rows["large_paper-SR-LSTM-P"], "shared_peephole": True}
    # The same errors for networks on the package's own strings and on those of the paper's grammar.
    paper_errors = ERRORS | {name.replace("-", "_paper-", 1): errors for name, errors in ERRORS.items()}
    paper = _languages.percentages(paper_errors)

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        of, large, small = self.by_row(records), "large_paper", "small_paper"
        shown = [_languages.shown(test) for test in self.tests]

        def almost(test: str, errors: Sequence[float], paper: float) -> Finding:
            found = reaches(errors, paper, percent, 0.01, error=standard_error(max(paper, 0.001), TESTED))
            return Finding(f"{test}: {found.figure}" * bool(found.figure), found.holds)

        own, lstm = of[f"{large}-SR-LSTM-P"], of[f"{large}-LSTM"]
        by_k = [of[f"{small}-SR-LSTM-P{end}"] for end in ("-2", "", "-10", "-50")]
        best, alikes = [], []
        for test, *groups in zip(shown, *by_k, strict=True):
            if not all(groups):
                continue
            two, *others = groups
            best.append(fewer(two, min(others, key=statistics.mean), percent, of=test))
            worst, least = (bound(groups, key=statistics.mean) for bound in (max, min))
            alikes.append(alike(worst, least, percent, 0.12, of=test))
        return [
            self.claim(
                "perfect",
                f"`{large}`: at most one point more, in each column",
                *map(almost, shown, own, ERRORS["large-SR-LSTM-P"]),
                decides="the published curriculum in full, 3 million steps: range is learned early and lost ([range "
                "against precision](#range-against-precision-wang-lawrence-and-niepert-2022-table-1))",
            ),
            self.claim(
                "LSTM",
                f"`{large}`: more than 40 % in that column, at the end of the training",
                above(lstm[-1], 0.4, percent, shown[-1]),
            ),
            *(
                self.claim(
                    name,
                    f"`{words}`: fewer errors in each column",
                    *self.ahead(of, f"{words}-{better}", f"{words}-{worse}"),
                    decides=decides,
                )
                for name, words, better, worse, decides in (
                    ("SR-LSTM-P", large, "SR-LSTM-P", "LSTM", "more seeds"),
                    ("SR-LSTM", large, "SR-LSTM", "LSTM", "more seeds"),
                    ("SR-LSTM, small", small, "SR-LSTM", "LSTM", "five seeds of each"),
                    ("SR-LSTM-P, small", small, "SR-LSTM-P", "SR-LSTM", "five seeds of each"),
                )
            ),
            self.claim(
                "two centroids",
                f"`{small}`: fewer than the best of 5, 10 and 50, in each column",
                *best,
                decides="five seeds of each number of centroids",
                evidence="seeds",
            ),
            self.claim(
                "robust",
                f"`{small}`: best and worst are at most 12 points apart in each column, as in the paper",
                *alikes,
                decides="five seeds of each number of centroids",
                evidence="seeds",
            ),
        ]

    def pictures(self, records: Sequence[Record]) -> dict[str, figures.Figure]:
        """Figure 6: validation errors on `small` by the number of centroids, of the run with the lowest seed."""
        curves = {}
        for centroids, record in by_centroids(records).items():
            points = [point for point in record["curve"] if point["loss"] is not None]
            steps, errors = ([point[name] for point in points] for name in ("step", "validation_error"))
            curves[f"k = {centroids}"] = steps, errors
        return {"parentheses-centroids.png": drawings.error_curves(curves)} if len(curves) > 1 else {}


def by_centroids(records: Sequence[Record]) -> dict[int, Record]:
    """Number of centroids of an SR-LSTM-P on `small` -> the record with the lowest seed."""
    drawn: dict[int, Record] = {}
    for record in sorted(records, key=lambda record: (record["protocol"]["centroids"], record["model"]["seed"])):
        if (record["data"]["config"], record["model"]["layer"]) == ("small", "SR-LSTM-P"):
            drawn.setdefault(record["protocol"]["centroids"], record)
    return drawn
