"""Section 3.1 of Foerster et al., 2017: two characters a symbol, 27² = 729 symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _characters
from examples.papers._characters import EQUAL_TEXT, LONG, SEARCHED, equal_text
from examples.papers._experiment import Claim, Finding, Record
from examples.papers._lazy import datasets
from examples.papers._verdicts import fewer, reaches, values_of


def _settings(network: str, own: Mapping[str, Any]) -> dict[str, Any]:
    return _characters.settings(network, "1.28e6", {"length": 50, **own})


class Pairs(_characters.CharacterTable):
    name = "isan-pairs"
    title = "Pairs of characters as symbols"
    place = "Foerster et al. 2017, section 3.1"
    minutes = 30
    rows = {network: _settings(network, SEARCHED.get(network, {})) for network in ("ISAN", "GRU", "LSTM")} | {
        f"{network}{EQUAL_TEXT}": equal_text(_settings(network, LONG.get(network, {})), 2)
        for network in ("ISAN", "LSTM")
    }
    paper = {
        f"{network}{end}": bits / 2 for network, bits in (("ISAN", 3.55), ("LSTM", 3.4)) for end in ("", EQUAL_TEXT)
    }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> _characters.Text:
        text = _characters.text8(data, smoke)
        parts = {part: datasets.text.pairs(symbols) for part, symbols in text.parts.items()}
        return _characters.Text(parts, text.symbols**2, text.info, characters_per_symbol=2)

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        isan, lstm = (values_of(records, f"{network}{EQUAL_TEXT}", "test_bits") for network in ("ISAN", "LSTM"))

        def per_pair(bits: float) -> str:
            return f"{2 * bits:.2f}"

        behind = fewer(lstm, isan, per_pair)
        return [
            self.claim(
                "ISAN", "at most 5 % more", reaches(isan, 3.55 / 2, per_pair, 0.05 * 3.55 / 2, _characters.SPREAD)
            ),
            self.claim(
                "LSTM ahead",
                "the LSTM has fewer bits, after a search of its rate",
                Finding(f"{behind.figure}, rate not searched" * bool(behind.figure)),
                decides="a search of the LSTM's rate, three seeds, 512 million characters: 6 hours on two cores",
            ),
        ]
