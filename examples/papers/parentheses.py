"""Tables 1 and 2 and figure 6 of Wang, Lawrence and Niepert, 2022: balanced parentheses."""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _languages
from examples.papers._experiment import Claim, Finding, Record, claim, percent
from examples.papers._languages import NETWORKS, PAPER, rows_of
from examples.papers._lazy import drawings, figures

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


class Parentheses(_languages.LanguageTable):
    """Networks that learn balanced parentheses."""

    name = "sr-parentheses"
    title = "Balanced parentheses"
    place = "Wang, Lawrence and Niepert 2022, tables 1 and 2"
    language = "balanced_parentheses"
    tests = (
        *("test_d1_10_l100", "test_d10_20_l100", "test_d10_20_l200"),
        *("test_d5_l200", "test_d10_l200", "test_d20_l1000"),
    )
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
    # The same errors beside networks on the package's own strings and on those of the paper's grammar.
    paper_errors = ERRORS | {name.replace("-", "_paper-", 1): errors for name, errors in ERRORS.items()}
    paper = _languages.percentages(paper_errors)

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        of = self.means(records)
        shown = [_languages.shown(test) for test in self.tests]

        def ordered(*rows: str) -> list[Finding]:
            """Whether errors ascend, for each test."""
            missing = ", ".join(row for row in rows if row not in of)
            if missing:
                return [Finding(f"no record of {missing}")]
            found = []
            for test, *errors in zip(shown, *(of[row] for row in rows), strict=True):
                rises = all(a < b for a, b in zip(errors, errors[1:], strict=False))
                found.append(Finding(f"{test}: {', '.join(map(percent, errors))}", rises))
            return found

        large, small = "large_paper", "small_paper" if "small_paper-LSTM" in of else "small"
        own, limits = of.get(f"{large}-SR-LSTM-P", []), [error + 0.01 for error in ERRORS["large-SR-LSTM-P"]]
        almost = [
            Finding(f"{test}: {percent(error)}", error <= limit)
            for test, error, limit in zip(shown, own, limits, strict=False)
        ]
        badly = [Finding(f"{shown[-1]}: {percent(error)}", error >= 0.4) for error in of.get(f"{large}-LSTM", [])[-1:]]
        k = {n: of.get(f"{small}-SR-LSTM-P{'' if n == 5 else f'-{n}'}", []) for n in (2, 5, 10, 50)}
        apart = robust = Finding()
        if all(k.values()):
            by_test = list(zip(*k.values(), strict=True))
            best = sum(min(errors) == errors[0] for errors in by_test)
            widest = max(max(errors) - min(errors) for errors in by_test)
            apart = Finding(f"{best} of {len(by_test)} columns", best > len(by_test) / 2)
            robust = Finding(f"{100 * widest:.1f} points", widest <= 0.12)
        return [
            claim(
                "table 1, large",
                "An SR-LSTM-P is almost perfect: 0 to 0.4 % errors, and 2.0 % at depth 20.",
                f"`{large}`: at most one point more, in each column",
                *almost,
            ),
            claim(
                "table 1, large",
                "An LSTM extrapolates badly: 54.3 % errors at depth 20.",
                f"`{large}`: at least 40 % in that column",
                *badly,
            ),
            claim(
                "table 1, large",
                "An SR-LSTM-P extrapolates better than an LSTM.",
                f"`{large}`: fewer errors in each column",
                *ordered(f"{large}-SR-LSTM-P", f"{large}-LSTM"),
            ),
            claim(
                "table 1, large",
                "An SR-LSTM is better than an LSTM on strings deeper or longer than those of the training.",
                f"`{large}`: fewer errors in each column",
                *ordered(f"{large}-SR-LSTM", f"{large}-LSTM"),
            ),
            claim(
                "table 1, small",
                "SR-LSTM-P is better than SR-LSTM, which is better than LSTM.",
                f"`{small}`: in each column, in this order",
                *ordered(f"{small}-SR-LSTM-P", f"{small}-SR-LSTM", f"{small}-LSTM"),
            ),
            claim(
                "table 2",
                "Two centroids have the fewest errors on most kinds of strings.",
                f"`{small}`: of 2, 5, 10 and 50, in most columns",
                apart,
            ),
            claim(
                "table 2, figure 6",
                "The number of centroids matters little.",
                f"`{small}`: at most 12 points between them in each column, as in the paper",
                robust,
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
