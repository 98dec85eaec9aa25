"""Section 3.1 of Foerster et al., 2017: which parts of an ISAN does it need?"""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _characters
from examples.papers._experiment import Claim, Finding, Record, bits
from examples.papers._verdicts import alike, fewer, reaches, values_of

TRAINED = {"size": "4.5e5", "batch": 64, "length": 50, "clip": 1.0, "epochs": 6, "validation": 64}

SPREAD = _characters.SPREAD

SMALL = "8e4"
"""Weights of the smaller linear networks."""

NONLINEAR = "linear, nonlinear readout"


class Ablations(_characters.CharacterTable):
    name = "isan-ablations"
    title = "What makes an ISAN work"
    place = "Foerster et al. 2017, section 3.1"
    rows = {network: {"network": network} for network in _characters.COUNTED} | {
        network: {"network": network, **TRAINED} for network in (*_characters.ABLATIONS, "ISAN")
    }
    rows |= {
        f"{network}, {SMALL} weights": {"network": network, **TRAINED, "size": SMALL}
        for network in ("linear", NONLINEAR)
    }
    paper = {"naive Bayes": 3.3, "linear": 3.1, NONLINEAR: 2.15, "ISAN": 1.58}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        def of(row: str) -> list[float]:
            return values_of(records, row, "test_bits")

        def is_about(row: str, paper: float) -> Finding:
            return alike(of(row), [paper], bits, 0.05 * paper, SPREAD, f"{row}, the paper's")

        def by_size(row: str) -> Finding:
            return alike(of(row), of(f"{row}, {SMALL} weights"), bits, 0.05 * 2.15, SPREAD, row)

        return [
            self.claim(
                "linear",
                "both within 5 %; fewer than naive Bayes",
                is_about("linear", 3.1),
                is_about("naive Bayes", 3.3),
                fewer(of("linear"), of("naive Bayes"), bits, spread=SPREAD),
            ),
            self.claim(
                "nonlinear readout",
                "at most 5 % more; the ISAN has fewer",
                reaches(of(NONLINEAR), 2.15, bits, 0.05 * 2.15, SPREAD),
                fewer(of("ISAN"), of(NONLINEAR), bits, spread=SPREAD),
            ),
            self.claim(
                "size",
                f"with {TRAINED['size']} and with {SMALL} weights at most 5 % apart",
                by_size("linear"),
                by_size(NONLINEAR),
                evidence="two networks below the paper's 2.15, whose floor was its training",
            ),
            self.claim(
                "without biases",
                "within 5 %; within 0.01 bits of unigrams",
                is_about("ISAN without biases", 4.1),
                alike(of("ISAN without biases"), of("unigrams"), bits, 0.01, SPREAD, "unigrams"),
            ),
        ]
