"""docs/results.md, generated from the records: a figure without a record cannot appear in it.

python -m keras_interp_rnn.reproduce.report docs/records docs/results.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

PAPER_TABLE_1 = {"8e4": 1.92, "3.2e5": 1.71, "1.28e6": 1.58}
"""ISAN's row of table 1, text8 test bits per character by largest number of parameters (Foerster et al. 2017)."""

HEAD = """# Results

Generated from the records in this folder by `python -m keras_interp_rnn.reproduce.report`; not to be edited.
"""

TEXT8 = """
## ISAN on character text (Foerster et al. 2017, table 1)

`examples/text8_isan.py`; test bits per character, lower is better. The paper's figures are for the whole text8
(100 million characters) and ISAN's row of table 1. A figure from other data can be set beside them, not against them.

| data | largest size | units | weights | test bits | validation bits | paper, text8 | characters read | hours |
|---|---|---|---|---|---|---|---|---|
"""


def results(records: list[dict[str, Any]]) -> str:
    """The whole report as Markdown."""
    text8 = [record for record in records if record["experiment"] == "isan_text8"]
    if not text8:
        return HEAD + "\nNo records yet.\n"
    text8.sort(key=lambda record: (record["data"]["name"], float(record["model"]["size"])))
    return HEAD + TEXT8 + "".join(map(_row, text8)) + "\n" + _data(text8) + "\n" + _runs(text8)


def _row(record: dict[str, Any]) -> str:
    model, result = record["model"], record["result"]
    return (
        f"| {record['data']['name']} | {model['size']} | {model['units']} | {model['parameters']:,} "
        f"| {result['test_bits']:.3f} | {result['validation_bits']:.3f} | {PAPER_TABLE_1.get(model['size'], '')} "
        f"| {result['characters'] / 1e6:,.0f} M | {result['seconds'] / 3600:.1f} |\n"
    )


def _data(records: list[dict[str, Any]]) -> str:
    """One line per text, so that no figure is taken for one of another text."""
    texts = {record["data"]["name"]: record["data"] for record in records}
    lines = [
        f"- **{name}**: {text['characters']:,} characters in all, split 90/5/5, sha256 of the text "
        f"`{text['text_sha256'][:16]}…`. {'This is text8.' if text['whole_text8'] else 'Not the whole text8.'}\n"
        for name, text in sorted(texts.items())
    ]
    return "Data:\n\n" + "".join(lines)


def _runs(records: list[dict[str, Any]]) -> str:
    lines = []
    for record in records:
        where, how = record["environment"], record["protocol"]
        settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in sorted(how.items()))
        versions = ", ".join(f"{name} {version}" for name, version in sorted(where["versions"].items()))
        lines.append(
            f"- {record['data']['name']}, {record['model']['size']}: {where['date']}, commit `{where['commit']}`, "
            f"{where['hardware']}, Python {where['python']}, {versions}; {settings}.\n"
        )
    return "Runs (Adam, cosine decay, clipping by the global norm, state carried across windows):\n\n" + "".join(lines)


def read(folder: Path) -> list[dict[str, Any]]:
    """All records of a folder, by file name."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def main() -> None:
    """Writes the report of a folder of records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("records", type=Path, help="folder of JSON records")
    parser.add_argument("report", type=Path, help="the Markdown file to write")
    args = parser.parse_args()
    args.report.write_text(results(read(args.records)))


if __name__ == "__main__":
    main()
