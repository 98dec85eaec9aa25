"""The report's sections on tables that `python -m keras_interp_rnn reproduce` ran: all of one form."""

from __future__ import annotations

import statistics
from typing import Any

from keras_interp_rnn.reproduce.sections.common import runs


def table(records: list[dict[str, Any]]) -> str:
    """A table: a line for each row, the paper's figure and ours, the mean over seeds."""
    first = records[0]
    by_row: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for record in records:
        which = record["table"]
        by_row.setdefault((record["data"].get("name", ""), which["order"], which["row"]), []).append(record)
    lines = [_line(row, found) for (_, _, row), found in sorted(by_row.items())]
    measure = first["table"]["measure"]
    return (
        f"\n## {first['table']['place']}\n\n`python -m keras_interp_rnn reproduce {first['experiment']}`; test "
        f"{measure}, lower is better, means over seeds and in brackets the lowest and the highest. "
        f"{first['table']['about']}\n\n"
        "| data | network | weights | seeds | test | paper | validation | minutes of training | read |\n"
        "|---|---|---|---|---|---|---|---|---|\n" + "".join(lines) + "\nRuns:\n\n" + runs(records, _name)
    )


def _line(row: str, found: list[dict[str, Any]]) -> str:
    results = [record["result"] for record in found]
    bits = "test_bits" in results[0]
    test, validation = ("test_bits", "validation_bits") if bits else ("test_error", "validation_error")

    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}" if bits else f"{value:.1%}"

    values = [result[test] for result in results]
    spread = f" ({shown(min(values))} to {shown(max(values))})" if len(values) > 1 else ""
    minutes = statistics.mean(result["training_seconds"] for result in results) / 60
    read = statistics.mean(result["characters" if bits else "sequences"] for result in results)
    seen = f"{read / 1e6:,.1f} M characters" if bits else f"{read:,.0f} sequences"
    return (
        f"| {found[0]['data'].get('name', '')} | {row} | {found[0]['model']['parameters']:,} | {len(found)} "
        f"| {shown(statistics.mean(values))}{spread} | {shown(found[0]['table']['paper'])} "
        f"| {shown(statistics.mean(result[validation] for result in results))} | {minutes:.0f} | {seen} |\n"
    )


def _name(record: dict[str, Any]) -> str:
    return f"{record['table']['row']}, seed {record['protocol']['seed']}"
