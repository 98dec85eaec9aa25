"""Section 3.1 of Foerster et al., 2017: which parts of an ISAN does it need?"""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _characters
from examples.papers._experiment import Claim, Finding, Record, below, bits, claim, mean_of_row, number

TRAINED = {"size": "4.5e5", "batch": 64, "length": 50, "clip": 1.0, "epochs": 6, "validation": 64}

SMALL = "8e4"
"""Weights of the smaller linear networks."""

NONLINEAR = "linear, nonlinear readout"


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
        for network in ("linear", NONLINEAR)
    }
    paper = {"naive Bayes": 3.3, "linear": 3.1, NONLINEAR: 2.15, "ISAN": 1.58}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        def of(row: str) -> float | None:
            return mean_of_row(records, row, "test_bits")

        def is_about(row: str, paper: float) -> Finding:
            value = of(row)
            return Finding() if value is None else Finding(bits(value), abs(value - paper) <= 0.05 * paper)

        def close(first: str, second: str, between: str, share: float = 0.0, apart: float = 0.0) -> Finding:
            one, other = of(first), of(second)
            if one is None or other is None:
                return Finding()
            return Finding(f"{bits(one)} {between} {bits(other)}", abs(one - other) <= share * one + apart)

        return [
            claim(
                "section 3.1",
                "A fully linear network has 3.1 bits per character, slightly fewer than naive Bayes (3.3).",
                "both within 5 %; fewer than naive Bayes",
                is_about("linear", 3.1),
                is_about("naive Bayes", 3.3),
                below(of("linear"), of("naive Bayes"), bits),
            ),
            claim(
                "section 3.1",
                "With a nonlinear readout it has 2.15, so the switch is what counts.",
                "at most 5 % more; the ISAN has fewer",
                number(of(NONLINEAR), 2.15, bits, 0.05 * 2.15),
                below(of("ISAN"), of(NONLINEAR), bits),
            ),
            claim(
                "section 3.1",
                "Both are independent of the number of weights.",
                f"within 5 % of each other with {TRAINED['size']} and with {SMALL} weights",
                *(close(row, f"{row}, {SMALL} weights", "and", share=0.05) for row in ("linear", NONLINEAR)),
            ),
            claim(
                "version 1, section 5.1",
                "Without biases an ISAN has 4.1 bits, the same as unigrams.",
                "within 5 %; within 0.01 bits of unigrams",
                is_about("ISAN without biases", 4.1),
                close("ISAN without biases", "unigrams", "against", apart=0.01),
            ),
        ]
