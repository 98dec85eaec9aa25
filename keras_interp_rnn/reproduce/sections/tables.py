"""The report's sections on tables that `python -m keras_interp_rnn reproduce` ran: all of one form."""

from __future__ import annotations

import math
import re
import statistics
from typing import Any

from keras_interp_rnn.reproduce.papers import ENTRIES
from keras_interp_rnn.reproduce.sections.runs import ending, remark, runs


def table(records: list[dict[str, Any]]) -> str:
    """A table: a line for each row, the paper's figure and ours, the mean over seeds."""
    entry = ENTRIES[records[0]["experiment"]]
    by_row: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for record in records:
        which = record["table"]
        by_row.setdefault((record["data"].get("name", ""), which["order"], which["row"]), []).append(record)
    lines = [_line(found, entry.figures.get(row)) for (_, _, row), found in sorted(by_row.items())]
    budgets = [record["protocol"]["minutes"] for record in records if record["protocol"].get("minutes")]
    command = f"reproduce {records[0]['experiment']}" + (f" --budget {statistics.mode(budgets):g}" if budgets else "")
    return (
        f"\n## {entry.title} ({entry.place})\n\n"
        f"`python -m keras_interp_rnn {command}`; test {entry.measure}, lower is better, "
        "means over seeds and in brackets the lowest and the highest. "
        f"{entry.about}\n\n"
        "| data | network | weights | seeds | test | paper | validation | minutes of training | read |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
        + "".join(lines)
        + remark(records)
        + "".join(_read(record) for record in _readable(records))
        + runs(records, _name)
    )


TUNING = """
## Searches

`python -m keras_interp_rnn tune`: Bayesian optimization of the validation loss after a short training, over what
Collins, Sohl-Dickstein and Sussillo (2017) search. Losses are bits per character, or nats. Settings of the best trial;
learning rates of networks on characters are to be divided by the number of units. Steps are those of the search's own
batch (in its run): a trial of half the batch has twice as many. inf: a trial whose training ran away.

| table | row | trials | steps of each | best loss | median | worst | learning rate | others |
|---|---|---|---|---|---|---|---|---|
"""


def tuning(records: list[dict[str, Any]]) -> str:
    """Searches for settings."""
    lines = []
    for record in records:
        trials, how = record["result"]["trials"], record["protocol"]
        if not trials:
            continue
        losses = sorted(math.inf if trial["val_loss"] is None else trial["val_loss"] for trial in trials)
        settings = dict(trials[0]["settings"])
        rate = settings.pop("learning_rate")
        others = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in sorted(settings.items()))
        lines.append(
            f"| {record['table']['table']} | {record['table']['row']} | {len(trials)} | {how['steps'] * how['epochs']} "
            f"| {losses[0]:.3f} | {statistics.median(losses):.3f} | {losses[-1]:.3f} | {rate:.3g} | {others} |\n"
        )
    return (
        TUNING
        + "".join(lines)
        + ending(records, lambda record: f"{record['table']['table']}, {record['table']['row']}")
    )


def _readable(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the networks that were asked what their centroids stand for, the one that does best on the validation data."""
    asked = [record for record in records if "reading" in record]
    return sorted(asked, key=lambda record: record["result"]["validation_error"])[:1]


def _read(record: dict[str, Any]) -> str:
    """Prototypes, phrases and explained texts of a network (tables 6 to 10 of Wang, Lawrence and Niepert)."""
    found = record["reading"]
    entry = ENTRIES[record["experiment"]]
    parts = [
        f"\nRead off {_name(record)}, on {found['texts']:,} test texts, those without an e-mail address among a "
        f"thousand drawn at random. {entry.read}\n\nIts centroids (tables 6 and 7): the class that "
        "the head gives each, the share of the steps that arrive there, and the words that move it there with the "
        "highest mean transition probability, of equals the commoner first.\n\n| class | share | words |\n"
        "|---|---|---|\n"
    ]
    for centroid in found["centroids"]:
        parts.append(f"| {centroid['class']} | {centroid['share']:.1%} | {_told_apart(centroid['words'])} |\n")
    parts.append(
        "\nPhrases with the highest mean probability of moving to centroids of a class (table 10):\n\n"
        "| class | words | phrases |\n|---|---|---|\n"
    )
    for length, of_class in found["phrases"].items():
        for label, phrases in sorted(of_class.items()):
            parts.append(f"| {label} | {length} | {_told_apart(phrases)} |\n")
    parts.append(
        "\nTexts that it judges rightly, of the short ones those along which its states vary most. A word is **bold** "
        "where the probability of moving to the centroids of the text's class is higher than at the word before by a "
        "tenth or more, *in italics* where it is lower by as much (tables 8 and 9):\n\n"
    )
    for text in found["explained"]:
        before = [text["probabilities"][0], *text["probabilities"]]
        words = [
            mark + _plain(word) + mark
            for word, mark in zip(text["words"], map(_mark, text["probabilities"], before), strict=True)
        ]
        parts.append(f"- {text['class']}: {' '.join(words)}\n")
    return "".join(parts)


def _told_apart(ranked: list[Any]) -> str:
    """Words or phrases with their probabilities, in as many digits as tell them apart, from two to four."""
    for digits in (2, 3, 4):
        shown = [f"{probability:.{digits}f}" for _, probability in ranked]
        if len(set(shown)) == len(ranked):
            break
    return ", ".join(f"{_plain(text)} ({number})" for (text, _), number in zip(ranked, shown, strict=True))


def _mark(probability: float | None, before: float) -> str:
    """What Markdown puts around a word that moves a network."""
    if probability is None:
        return ""
    return "**" if probability - before >= 0.1 else "*" if before - probability >= 0.1 else ""


def _plain(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([^\w\s])", r"\\\1", text)


def _line(found: list[dict[str, Any]], paper: float | str | None) -> str:
    """Of a row, from its records and the paper's figure."""
    results = [record["result"] for record in found]
    bits = "test_bits" in results[0]
    test, validation = ("test_bits", "validation_bits") if bits else ("test_error", "validation_error")

    def shown(value: float | str | None) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        return f"{value:.3f}" if bits else f"{value:.1%}"

    values = [result[test] for result in results]
    spread = f" ({shown(min(values))} to {shown(max(values))})" if len(values) > 1 else ""
    minutes = f"{statistics.mean(result['training_seconds'] for result in results) / 60:.0f}"
    if asked := found[0]["protocol"].get("minutes"):
        minutes += f" of {asked:g}"
    read = statistics.mean(result["characters" if bits else "sequences"] for result in results)
    seen = f"{read / 1e6:,.1f} M characters" if bits else f"{read:,.0f} sequences"
    return (
        f"| {found[0]['data'].get('name', '')} | {found[0]['table']['row']} "
        f"| {found[0]['model']['parameters']:,} | {len(found)} "
        f"| {shown(statistics.mean(values))}{spread} | {shown(paper)} "
        f"| {shown(statistics.mean(result[validation] for result in results))} | {minutes} | {seen} |\n"
    )


def _name(record: dict[str, Any]) -> str:
    return f"{record['table']['row']}, seed {record['protocol']['seed']}"
