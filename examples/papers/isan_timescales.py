"""Figure 4 of Foerster et al., 2017: how far back an ISAN looks, and what a space is worth."""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, table
from examples.papers._lazy import Array, analysis, figures, keras

HISTORY = (0, 1, 2, 3, 5, 10, 20, 50, 100)
"""Numbers of symbols."""

POSITIONS = 12
"""In a word, that records have."""


class Timescales(_isan_text.IsanText):
    name = "isan-timescales"
    title = "Timescales"
    place = "Foerster et al. 2017, figure 4"
    measure = "decay of contributions in characters, and bits per character"
    rows = {"": {"symbols": 20_000, "oldest": 150}}
    small = {"symbols": 1000, "oldest": 30}
    header = "text | fast | slow | error of the fit | error of a single exponential"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        settings = self.settings(run)
        scales = analysis.timescales(model, parts[2][: settings["symbols"]], max_age=settings["oldest"])
        fit = scales.fit()
        figures.timescales(scales, fit).savefig(run.folder / "figure4.png", dpi=120)
        medians = ("median_all", "median_without", "median_only", "median_separators")
        return {**settings, "part": "test"}, {
            "scales": list(fit.scales),
            "error": fit.error,
            "error_of_one": fit.error_of_one,
            "history": {n: float(scales.history[n]) for n in HISTORY if n < len(scales.history)},
            "whole": scales.whole,
            **{name: getattr(scales, name)[:POSITIONS].tolist() for name in medians},
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        result = record["result"]
        errors = (f"{result[name]:.1%}" for name in ("error", "error_of_one"))
        return [[_text(record), *(f"{scale:.1f}" for scale in result["scales"]), *errors]]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        lengths = sorted({int(n) for record in records for n in record["result"]["history"]})
        history, medians = [], []
        for record in records:
            result, protocol = record["result"], record["protocol"]
            bits = [*(_history(record)[n] for n in lengths), result["whole"]]
            history.append([_text(record), f"{protocol['symbols']:,}", *(f"{one:.2f}" for one in bits)])
            for which, name in (("last space", "median_only"), ("all spaces", "median_separators")):
                if name in result:
                    bits = [*result[name][:8], result["median_all"][1], result["median_without"][1]]
                    medians.append([_text(record), which, *(f"{one:.2f}" for one in bits)])
        return {
            **super().fields(records),
            "history": table(["text", "characters read", *lengths, "all"], history),
            "medians": table(["text", "kept", *range(1, 9), "2, all symbols", "2, without the space"], medians),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        # The claims are on a network that is trained to its end.
        record = min(records, key=lambda record: record["result"]["whole"])
        best, history = record["result"], _history(record)
        fast, slow = best["scales"]
        fit = f"{fast:.1f} and {slow:.1f} characters; off by {best['error']:.1%}, one exponential by "
        two = best["error"] <= best["error_of_one"] / 2
        gained = (history[0] - history[10]) / (history[0] - best["whole"])
        of_spaces = best.get("median_separators", best["median_only"])[3:12]
        onset, without = (best[name][1] for name in ("median_all", "median_without"))
        return [
            self.claim(
                "two scales",
                "two exponentials at least halve the error of one; the faster scale is at most ten characters",
                Finding(f"{fit}{best['error_of_one']:.1%}", two),
                Finding(f"{fast:.1f}", fast <= 10),
                picture="isan-4.png",
            ),
            self.claim(
                "spaces",
                "at each of letters 4 to 12 the median is below 1 bit",
                *(Finding(f"{letter}: {median:.2f}", median < 1) for letter, median in enumerate(of_spaces, 4)),
                decides="a second network, trained to its end",
            ),
            self.claim(
                "onset",
                "without it the second letter costs at least a tenth more bits",
                Finding(f"{without:.2f} instead of {onset:.2f}", without >= 1.1 * onset),
            ),
            self.claim(
                "history",
                "ten characters bring at least 90 % of the gain of the whole history",
                Finding(f"{gained:.0%}", gained >= 0.9),
            ),
        ]


def _text(record: Record) -> str:
    return f"{record['data']['name']}, {record['protocol']['part']}"


def _history(record: Record) -> dict[int, float]:
    """Number of symbols -> bits."""
    return {int(n): bits for n, bits in record["result"]["history"].items()}
