"""Section 3.1 of Foerster et al., 2017: which parts of an ISAN does it need?"""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _characters
from examples.papers._experiment import (
    UNTRIED,
    Claim,
    Finding,
    Record,
    below,
    mean_of_row,
    number,
)

TRAINED = {
    "size": "4.5e5",
    "batch": 64,
    "length": 50,
    "clip": 1.0,
    "epochs": 6,
    "validation": 64,
}


SMALL = "8e4"
"""Weights of the smaller linear networks."""


class Ablations(_characters.CharacterTable):
    """Networks without a part of the ISAN, and counted models."""

    name = "isan-ablations"
    title = "What makes an ISAN work"
    place = "Foerster et al. 2017, section 3.1"
    rows = {network: {"network": network} for network in _characters.COUNTED} | {
        network: {"network": network, **TRAINED} for network in (*_characters.ABLATIONS, "ISAN")
    }
    rows |= {
        f"{network}, {SMALL} weights": {"network": network, **TRAINED, "size": SMALL}
        for network in ("linear", "linear, nonlinear readout")
    }
    paper = {"naive Bayes": 3.3, "linear": 3.1, "linear, nonlinear readout": 2.15, "ISAN": 1.58}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        def shown(bits: float) -> str:
            return f"{bits:.3f}"

        def bits(row: str) -> float | None:
            return mean_of_row(records, row, "test_bits")

        def is_about(row: str, paper: float) -> Finding:
            value = bits(row)
            return Finding("", None) if value is None else Finding(shown(value), abs(value - paper) <= 0.05 * paper)

        nonlinear = "linear, nonlinear readout"
        return [
            Claim(
                "section 3.1",
                "A fully linear network has 3.1 bits per character, slightly fewer than naive Bayes (3.3).",
                "both within 5 %; fewer than naive Bayes",
                (
                    is_about("linear", 3.1),
                    is_about("naive Bayes", 3.3),
                    below(bits("linear"), bits("naive Bayes"), shown),
                ),
            ),
            Claim(
                "section 3.1",
                "With a nonlinear readout it has 2.15, so the switch is what counts.",
                "at most 5 % more; the ISAN has fewer",
                (number(bits(nonlinear), 2.15, shown, 0.05 * 2.15), below(bits("ISAN"), bits(nonlinear), shown)),
            ),
            Claim(
                "section 3.1",
                "Both are independent of the number of weights.",
                f"within 5 % of each other with {TRAINED['size']} and with {SMALL} weights",
                tuple(_alike(bits(row), bits(f"{row}, {SMALL} weights")) for row in ("linear", nonlinear)),
            ),
            Claim(
                "version 1, section 5.1",
                "Without biases an ISAN has 4.1 bits, the same as unigrams.",
                "within 5 %; within 0.01 bits of unigrams",
                (is_about("ISAN without biases", 4.1), *_as_unigrams(bits("ISAN without biases"), bits("unigrams"))),
            ),
        ]


def _alike(large: float | None, small: float | None) -> Finding:
    if large is None or small is None:
        return Finding("", None)
    return Finding(f"{large:.3f} and {small:.3f}", abs(small - large) <= 0.05 * large)


def _as_unigrams(own: float | None, unigrams: float | None) -> tuple[Finding, ...]:
    if own is None or unigrams is None:
        return UNTRIED
    return (Finding(f"{own:.3f} against {unigrams:.3f}", abs(own - unigrams) <= 0.01),)
