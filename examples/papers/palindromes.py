"""Table 3 of Wang, Lawrence and Niepert, 2022: palindromes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _languages
from examples.papers._experiment import Claim, Finding, Record
from examples.papers._languages import NETWORKS, PAPER, rows_of
from examples.papers._lazy import datasets


class Palindromes(_languages.LanguageTable):
    name = "sr-palindromes"
    title = "Palindromes"
    place = "Wang, Lawrence and Niepert 2022, table 3"
    language = "palindromes"
    tests = ("test_l100", "test_l200", "test_l500")
    rows = {
        **rows_of(NETWORKS, "large", passes=10),
        **rows_of(NETWORKS, "small", passes=100),
        **rows_of(NETWORKS, "large_paper", **PAPER),
        **rows_of(NETWORKS, "large_near_paper", **PAPER),
    }
    paper_errors = {
        "large-LSTM": (0.312, 0.420, 0.477),
        "large-LSTM-P": (0.284, 0.362, 0.415),
        "large-SR-LSTM": (0.280, 0.360, 0.446),
        "large-SR-LSTM-P": (0.105, 0.167, 0.298),
    }
    paper_errors |= {row.replace("large", "large_paper"): errors for row, errors in paper_errors.items()}
    paper = _languages.percentages(paper_errors)

    def read(
        self, data: Path | None, smoke: bool, settings: Mapping[str, Any]
    ) -> Callable[[str], datasets.LabelledWords]:
        """Split -> its words; `..._paper` is the paper's training on the words of the config before it."""
        config = str(settings.get("config", "")).removesuffix("_paper")
        return super().read(data, smoke, {**settings, "config": config})

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        of, words = self.by_row(records), "large_paper"

        def ahead(better: str, worse: str) -> list[Finding]:
            return self.ahead(of, f"{words}-{better}", f"{words}-{worse}", f"{better}, ")

        open_yet = (
            "three seeds of the published curriculum (two million steps), and the paper's negatives: ours have half of "
            "the symbols replaced, and the training loss was still falling"
        )
        return [
            self.claim(
                "centroids",
                f"`{words}`: SR-LSTM has fewer errors than LSTM, and SR-LSTM-P than LSTM-P, at each length",
                *ahead("SR-LSTM", "LSTM"),
                *ahead("SR-LSTM-P", "LSTM-P"),
                decides=open_yet,
            ),
            self.claim(
                "peepholes",
                f"`{words}`: LSTM-P has fewer errors than LSTM, and SR-LSTM-P than SR-LSTM, at each length",
                *ahead("LSTM-P", "LSTM"),
                *ahead("SR-LSTM-P", "SR-LSTM"),
                decides=open_yet,
            ),
        ]
