"""Table 1 of Foerster et al., 2017: test bits per character on text8, at three sizes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from examples.papers import _characters
from examples.papers._characters import EQUAL_TEXT, LONG, NETWORKS, RECENT, SEARCHED, equal_text
from examples.papers._experiment import (
    Claim,
    Finding,
    Record,
    bits,
    grouped,
    hardware,
    mean_and_range,
    runs,
    table,
)
from examples.papers._verdicts import fewer, reaches, spread_of

SIZES = ("8e4", "3.2e5", "1.28e6")

PAPER = {
    "RNN": (1.88, 1.69, 1.59),
    "IRNN": (1.89, 1.71, 1.58),
    "GRU": (1.83, 1.66, 1.59),
    "LSTM": (1.85, 1.68, 1.59),
    "ISAN": (1.92, 1.71, 1.58),
}
"""Network -> bits per character at each size."""

OTHERS = tuple(network for network in PAPER if network != "ISAN")

UNTRIED = "networks of 18 to 44 million weights would read the corpus for a week each"

TUNED = ("GRU", "LSTM")
"""The others whose learning rate was searched."""

EACH = [(network, size) for size in SIZES for network in NETWORKS] + [
    (network, size) for size in SIZES[1:] for network in RECENT
]


class Text8(_characters.CharacterTable):
    name = "isan-text8"
    title = "ISAN on character text"
    place = "Foerster et al. 2017, table 1"
    minutes = 30
    rows = {
        f"{network}-{size}": _characters.settings(network, size, SEARCHED.get(network, {})) for network, size in EACH
    } | {
        f"{network}-{size}{EQUAL_TEXT}": equal_text(_characters.settings(network, size, LONG.get(network, {})))
        for network, size in EACH
    }
    paper = {
        f"{network}-{size}{end}": bits
        for network, row in PAPER.items()
        for size, bits in zip(SIZES, row, strict=True)
        for end in ("", EQUAL_TEXT)
    }

    def called(self, record: Record) -> str:
        minutes, network = record["protocol"].get("minutes"), record["model"]["layer"]
        parts = [record["data"]["name"], record["model"]["size"], network, f"{minutes:g} minutes" if minutes else None]
        return ", ".join(filter(None, parts)) + EQUAL_TEXT * (_kind(record) == "equal text")

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        records = sorted(records, key=lambda record: _by_data_size_and_mean_bits([record]))
        timed = [record for record in records if _kind(record) == "timed"]
        others = [record for record in records if _kind(record) != "timed"]
        heading = (
            "Runs (Adam, its learning rate the one given here divided by the number of units, cosine decay, clipping "
            "by the global norm, state carried across windows)"
        )
        return {
            "by_characters": self._by_characters(others),
            "equal_time": self._equal_time(timed),
            "texts": _texts(records),
            "runs": runs(records, self.called, heading),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        longest = max(record["data"]["characters"] for record in records)
        groups: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            if record["data"]["characters"] == longest:
                which = _kind(record), record["model"]["layer"], record["model"]["size"]
                groups.setdefault(which, []).append(record)

        def of(kind: str, network: str, size: str, measure: str = "test_bits") -> list[float]:
            return [record["result"][measure] for record in groups.get((kind, network, size), [])]

        spread = spread_of(of(*which) for which in groups)

        def keeps_up(kind: str, when: str) -> Finding:
            own, found = of(kind, "ISAN", "1.28e6"), [bits for bits in (of(kind, n, "1.28e6") for n in OTHERS) if bits]
            if len(found) < len(OTHERS):
                return Finding(f"{when}: {len(found)} of {len(OTHERS)} others on record")
            return fewer(own, min(found), bits, -0.01, spread, f"{when}, the best of the others")

        def ahead(network: str) -> Finding:
            found = fewer(
                of("equal text", network, "8e4"), of("equal text", "ISAN", "8e4"), bits, 0.01, spread, network
            )
            untuned = f"{found.figure}, rate not searched" * bool(found.figure)
            return found if network in TUNED else Finding(untuned)

        step = []
        read = {network: max(of("timed", network, "1.28e6", "characters"), default=0) for network in NETWORKS}
        units = {
            network: group[0]["model"]["units"] for (_, network, size), group in groups.items() if size == "1.28e6"
        }
        if {"ISAN", "LSTM"} <= set(units) and min(read.values()):
            fewer_products = 4 * units["LSTM"] ** 2 / units["ISAN"] ** 2
            fastest = max(OTHERS, key=lambda network: read[network])
            faster = {network: f"{read['ISAN'] / read[network]:.0f} times as much" for network in OTHERS}
            figure = (
                f"{fewer_products:.1f} times fewer than an LSTM (of 1.28 million weights, in equal time, it reads "
                f"{faster['LSTM']} as the LSTM, and {faster[fastest]} as the {fastest}, the fastest of the others)"
            )
            step = [Finding(figure, abs(fewer_products / 27 - 1) <= 0.1)]
        return [
            self.claim(
                "largest",
                "at most 5 % more, on as long a text",
                reaches(of("to the end", "ISAN", "1.28e6"), 1.58, bits, 0.05 * 1.58, spread),
            ),
            self.claim(
                "as good",
                "less than 0.01 bits behind the best of them, in equal time; and after equal text",
                keeps_up("timed", "in equal time"),
                keeps_up("equal text", "after equal text"),
                decides="RNN, IRNN and LSTM of 1.28 million weights on 128 million characters: 3 to 7 hours each on a "
                "core",
            ),
            self.claim(
                "smallest",
                "after equal text, each is more than 0.01 bits ahead",
                *(ahead(network) for network in OTHERS),
                decides="512 million characters, a search of the rates of RNN and IRNN, and three seeds of each",
            ),
            self.claim(
                "cost of a step",
                "an LSTM of as many weights multiplies the state by 27 times as many, to a tenth",
                *step,
            ),
            *(
                self.claim(name, "on the whole corpus, 0.8 billion words", decides=UNTRIED)
                for name in ("Billion Word", "wider", "samples")
            ),
        ]

    def _by_characters(self, records: Sequence[Record]) -> str:
        rows = []
        for group in sorted(grouped(records, _alike).values(), key=_by_data_size_and_mean_bits):
            record, results = group[0], [each["result"] for each in group]
            model, network = record["model"], record["model"]["layer"]
            minutes = statistics.mean(result["seconds"] for result in results) / 60
            own = [network, model["size"], model["units"], f"{model['parameters']:,}", len(group)]
            found = [mean_and_range([result["test_bits"] for result in results], bits)]
            found.append(bits(statistics.mean(result["validation_bits"] for result in results)))
            read = f"{results[0]['characters'] / 1e6:,.0f} M"
            paper, machine = self.paper.get(f"{network}-{model['size']}"), hardware(record["environment"])
            rows.append([record["data"]["name"], *own, *found, paper, read, f"{minutes:.0f}", machine])
        columns = "data | network | largest size | units | weights | seeds | test bits | validation bits | paper"
        return table(f"{columns} | characters read | minutes | hardware", rows)

    def _equal_time(self, records: Sequence[Record]) -> str:
        rows = []
        for record in records:
            model, result = record["model"], record["result"]
            own = [model["layer"], model["units"], f"{model['parameters']:,}", bits(result["test_bits"])]
            minutes = f"{result['training_seconds'] / 60:.0f} of {record['protocol']['minutes']:.0f}"
            read, paper = f"{result['characters'] / 1e6:,.1f} M", self.paper.get(f"{model['layer']}-{model['size']}")
            rows.append([record["data"]["name"], *own, paper, minutes, read, hardware(record["environment"])])
        columns = "data | network | units | weights | test bits | paper, text8 | minutes of training"
        return table(f"{columns} | characters read | hardware", rows)


def _kind(record: Record) -> str:
    """Whether a network trained for a number of minutes, on as much text as others, or to its end."""
    if record["protocol"].get("minutes"):
        return "timed"
    row = record.get("table", {}).get("row", "")
    return "equal text" if row.endswith(EQUAL_TEXT) else "to the end"


def _alike(record: Record) -> tuple[Any, ...]:
    """The same for networks that differ in their seeds alone, on hardware of one kind."""
    model, read = record["model"], record["result"]["characters"]
    return record["data"]["name"], model["size"], model["layer"], read, hardware(record["environment"])


def _by_data_size_and_mean_bits(records: Sequence[Record]) -> tuple[str, float, float]:
    mean = statistics.mean(record["result"]["test_bits"] for record in records)
    return records[0]["data"]["name"], float(records[0]["model"]["size"]), mean


def _texts(records: Sequence[Record]) -> str:
    """A line for each text, so that no figure is taken for one of another text."""
    texts: dict[str, dict[str, Any]] = {record["data"]["name"]: record["data"] for record in records}
    return "\n".join(
        f"- **{name}**: {text['characters']:,} characters in all, split 90/5/5, sha256 of the text "
        f"`{text['text_sha256'][:16]}…`. {'This is text8.' if text['whole_text8'] else 'Not the whole text8.'}"
        for name, text in sorted(texts.items())
    )
