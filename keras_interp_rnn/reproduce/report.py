"""The report of records, docs/results.md for ours: a figure without a record cannot appear in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_interp_rnn.reproduce import pictures, records
from keras_interp_rnn.reproduce.sections import isan, minimal_rnn, state_regularized, tables

HEAD = """# Results

Generated from records by `python -m keras_interp_rnn reproduce report`; not to be edited.
"""

INCOMPLETE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised where something is missing in a record or of another kind."""

WHICH_GRU = """
GRU: Keras's, whose reset gate multiplies after the product with the recurrent kernel (`reset_after=True`). In the
papers it multiplies before.
"""

SECTIONS = {
    "isan_text8": isan.text8,
    "isan-lm1b": tables.table,
    "isan-lm1b-full": tables.table,
    "isan_spectra": isan.spectra,
    "isan_predictions": isan.predictions,
    "isan_timescales": isan.timescales,
    "isan_subspaces": isan.subspaces,
    "isan_ngrams": isan.ngrams,
    "isan-ablations": tables.table,
    "isan-pairs": tables.table,
    "counting": isan.counting,
    "factored_isan": isan.factored,
    "rare_symbols": isan.rare,
    "jacobians_at_start": minimal_rnn.start,
    "recommend": minimal_rnn.recommend,
    "tomita": state_regularized.tomita,
    "temperature": state_regularized.temperature,
    "compare_extraction": state_regularized.compare,
    "balanced_parentheses": state_regularized.parentheses,
    "parentheses_states": state_regularized.states,
    "palindromes": state_regularized.palindromes,
    "sr-imdb": tables.table,
    "sr-mnist": tables.table,
    "sr-mnist-quarter": tables.table,
    "mnist_centroids": state_regularized.digits,
    "sr-newsgroups": tables.table,
    "tuning": tables.tuning,
}
"""Experiment of the records -> what is written of them, in the order of the report."""


def results(found: list[dict[str, Any]], folder: Path | None = None) -> str:
    """The whole report of these records as Markdown.

    Args:
        folder: of the report; pictures that are not there, or all without a folder, are left out.

    Raises:
        ValueError: if a record lacks what the report says of its experiment, naming its file.
    """
    parts = []
    for experiment, section in SECTIONS.items():
        of_this = [record for record in found if record["experiment"] == experiment]
        if of_this:
            parts.append(_with_which_gru(_told(section, of_this)))
    picture = re.compile(r"^!\[.*\]\((.*)\)\n", re.MULTILINE)
    text = picture.sub(lambda link: link[0] if folder and (folder / link[1]).is_file() else "", "".join(parts))
    return HEAD + (_contents(text) + text if text else "\nNo records yet.\n")


def read(folder: Path) -> list[dict[str, Any]]:
    """All records of a folder, by file name.

    What somebody has to say of the figures of an experiment, in the file `remarks/EXPERIMENT.md` of the folder, is the
    `remark` of its records.

    Raises:
        ValueError: if there is no such folder, or a record in it cannot be read.
    """
    if not folder.is_dir():
        raise ValueError(f"Records are JSON files in a folder. Received: {folder}, which is none. Give another.")
    found = [{**records.read(path), "file": str(path)} for path in sorted(folder.glob("*.json"))]
    remarks = {path.stem: path.read_text() for path in (folder / "remarks").glob("*.md")}
    return [
        {**record, "remark": remarks[record["experiment"]]} if record["experiment"] in remarks else record
        for record in found
    ]


def write(found: list[dict[str, Any]], path: Path) -> None:
    """Writes the report, and beside it the figures whose data are in the records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _told(lambda of_these: pictures.draw(of_these, path.parent / "figures"), found)
    path.write_text(results(found, path.parent))


def _told(tell: Callable[[list[dict[str, Any]]], Any], found: list[dict[str, Any]]) -> Any:
    """What is told of records; a ValueError names the file of one of which it cannot be told."""
    try:
        return tell(found)
    except INCOMPLETE as error:
        for record in found:
            try:
                tell([record])
            except INCOMPLETE as reason:
                raise ValueError(
                    f"A record of {record['experiment']} holds all that the report reads of one. Received: "
                    f"{record.get('file', 'a record')} ({reason!r}). Take it away, or make it again."
                ) from error
        raise


def _with_which_gru(section: str) -> str:
    """The section with a word on the GRU below its first table that has one."""
    lines = section.split("\n")
    found = [i for i, line in enumerate(lines) if line.startswith("|") and re.search(r"\bGRU\b", line)]
    if not found:
        return section
    end = next((i for i in range(found[0], len(lines)) if not lines[i].startswith("|")), len(lines))
    return "\n".join(lines[:end]) + "\n" + WHICH_GRU.rstrip("\n") + "\n" + "\n".join(lines[end:])


def _contents(text: str) -> str:
    """Links to the sections, whose names are made into anchors as GitHub does it."""
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings]
    links = [f"- [{heading}](#{anchor})\n" for heading, anchor in zip(headings, anchors, strict=True)]
    return "\n" + "".join(links)
