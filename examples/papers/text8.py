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
    below,
    bits,
    claim,
    grouped,
    hardware,
    mean_and_range,
    number,
    runs,
    table,
)

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

EACH = [(network, size) for size in SIZES for network in NETWORKS] + [
    (network, size) for size in SIZES[1:] for network in RECENT
]


class Text8(_characters.CharacterTable):
    """Networks that predict the next character of text8, in equal time, and in equal text."""

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
        minutes, network = record["protocol"].get("minutes"), record["model"].get("layer")
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
        results: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            if record["data"]["characters"] == longest:
                which = _kind(record), record["model"].get("layer", "ISAN"), record["model"]["size"]
                results.setdefault(which, []).append(record["result"])

        def mean(kind: str, network: str, size: str, measure: str = "test_bits") -> float | None:
            """The mean over seeds."""
            found = results.get((kind, network, size), [])
            return statistics.mean(result[measure] for result in found) if found else None

        def keeps_up(kind: str, size: str, when: str) -> Finding:
            own = mean(kind, "ISAN", size)
            found = [value for network in OTHERS if (value := mean(kind, network, size)) is not None]
            if own is None or len(found) < len(OTHERS):
                return Finding(f"{when}: {len(found)} of {len(OTHERS)} others on record")
            figure = f"{when}: {own:.3f} against {min(found):.3f} to {max(found):.3f}"
            return Finding(figure, own <= min(found) + 0.01)

        def ahead(network: str, size: str) -> Finding:
            other, own = (mean("equal text", each, size) for each in (network, "ISAN"))
            found = below(other, own, bits, 0.01)
            return Finding(f"{network}: {found.figure or 'not on record'}", found.holds)

        isan, *others = (mean("timed", network, "1.28e6", "characters") for network in ("ISAN", *OTHERS))
        read = [characters for characters in others if characters is not None]
        faster = []
        if isan is not None and len(read) == len(OTHERS):
            most = max(read)
            figure = f"{isan / 1e6:.1f} M characters in equal time, the others at most {most / 1e6:.1f} M"
            faster = [Finding(figure, isan > most), Finding(f"{isan / most:.0f} times", isan >= 27 * most)]
        return [
            claim(
                "table 1",
                "An ISAN with 1.28 million weights predicts text8 with 1.58 bits per character.",
                "at most 5 % more, on as long a text",
                number(mean("to the end", "ISAN", "1.28e6"), 1.58, bits, 0.05 * 1.58),
            ),
            claim(
                "table 1",
                "With 1.28 million weights it is as good as RNN, IRNN, GRU and LSTM (1.58 to 1.59).",
                "at most 0.01 bits behind the best of them, in equal time and after equal text",
                keeps_up("timed", "1.28e6", "in equal time"),
                keeps_up("equal text", "1.28e6", "after equal text"),
            ),
            claim(
                "table 1",
                "With 80,000 weights it is considerably worse than the others (1.92 against 1.83 to 1.89).",
                "more than 0.01 bits behind each of them, after equal text",
                *(ahead(network, "8e4") for network in OTHERS),
            ),
            claim(
                "section 5.1",
                "A step of an ISAN over K symbols costs 1/K of a step of another network with as many weights.",
                "reads more than every other network in equal time; reads 27 times as much",
                *faster,
            ),
        ]

    def _by_characters(self, records: Sequence[Record]) -> str:
        rows = []
        for group in sorted(grouped(records, _alike).values(), key=_by_data_size_and_mean_bits):
            record, results = group[0], [each["result"] for each in group]
            model, network = record["model"], record["model"].get("layer", "ISAN")
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
    """What networks have in common that differ in their seeds alone, on hardware of one kind."""
    model, read = record["model"], record["result"]["characters"]
    return record["data"]["name"], model["size"], model.get("layer", "ISAN"), read, hardware(record["environment"])


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
