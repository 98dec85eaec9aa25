"""The report of records, docs/results*.md for ours: a figure without a record cannot appear in it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _records
from examples.papers._experiment import VERDICTS, Claim, Experiment, Record, table

HEAD = """# {title}

Generated from records by `python -m examples.papers report`; not to be edited.
"""

PAGES = {
    "Foerster et al. 2017": ("isan", "Results: input switched affine networks"),
    "Chen 2017": ("minimal-rnn", "Results: MinimalRNN"),
    "Wang, Lawrence and Niepert 2022": ("state-regularized", "Results: state-regularized networks"),
}
"""Papers -> name and title of their pages."""

OTHERS = ("others", "Results: automata, and searches")
"""The page of experiments that repeat nothing of these papers."""

IN_PICTURES = """
## In pictures

{counts} Below each picture is what the paper says, and what was found here.

{pictures}
"""

GLANCE = """
## The claims of the papers at a glance

{counts}

Claims of the papers that figures can bear out, a line for each, with the paper's sentence. The verdicts come from the
records, by the rule in the third column:

- **found** if all of it holds, **found in part** if some of it does;
- **contradicted** if a part fails and none holds, with the evidence;
- **undetermined** if the figures decide nothing, with what would;
- **not tried** if nothing was measured that could.

Shares of networks and differences between networks hold or fail with their whole interval of 95 %. One training decides
nothing, unless the spread between seeds is known; claims that some network does something, or on a reading of one
network, need no second one. ✓ holds, ✗ fails, – decides nothing. Data, sizes and training times are often not the
papers': the linked sections say in what.

{tables}
"""

INCOMPLETE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Raised where a record lacks something, or has something of another kind."""

WHICH_GRU = """
GRU: Keras's, whose reset gate multiplies after the product with the recurrent kernel (`reset_after=True`). In the
papers it multiplies before.
"""


def read(folder: Path) -> list[Record]:
    """All records of a folder, in the order of their runs' names; ValueError if there is none or one is damaged."""
    if not folder.is_dir():
        raise ValueError(f"`--records` must be a folder of .jsonl files. Received: {folder}. Give another.")
    found = [
        {**record, "file": f"{path}: {record['run']}"}
        for path in folder.glob("*.jsonl")
        for record in _records.read(path)
    ]
    return sorted(found, key=lambda record: record["run"])


def pages(
    experiments: Sequence[Experiment],
    records: Sequence[Record],
    templates: Path | None = None,
    path: Path | None = None,
    failed: dict[str, str] | None = None,
) -> dict[str, str]:
    """The report of these records in Markdown: names of its pages -> their text, the first page first.

    Args:
        experiments: in the order of the report.
        templates: folder of the Markdown templates, `<name of the experiment>.md`; an experiment without one gets a
            heading and its tables.
        path: of the first page; the others are next to it, `<its stem>-<name>.md`. Pictures that are not in its folder,
            or all without a path, are left out.
        failed: where to put the reason for each experiment that cannot be shown, which is then left out.

    Raises:
        ValueError: if a record is of none of the experiments; without `failed`, if one lacks what its section says of
            it, naming its file, or if a template has a field that its experiment does not fill in.
    """
    shown: list[tuple[Experiment, list[Claim], str]] = []
    for experiment, of_this in by_experiment(experiments, records):
        with _left_out(experiment, failed):
            text = section(experiment, of_this, templates)
            shown.append((experiment, _told(experiment.claims, of_this), text))
    first, folder = path.stem if path else "results", path.parent if path else None
    sections: dict[tuple[str, str], list[str]] = {page: [] for page in (*PAGES.values(), OTHERS)}
    for experiment, _, text in shown:
        sections[PAGES.get(_paper(experiment), OTHERS)].append(text)
    others = {
        f"{first}-{name}.md": HEAD.format(title=title) + _contents("".join(texts)) + "".join(texts)
        for (name, title), texts in sections.items()
        if texts
    }
    links = "".join(f"\n**[{_headings(text, '#')[0]}]({page})**\n{_contents(text)}" for page, text in others.items())
    claims = _best_measured(shown)
    start = HEAD.format(title="Results") + _in_pictures(claims, folder) + (links or "\nNo records yet.\n")
    return _linked({f"{first}.md": start + at_a_glance(claims), **others}, folder)


def write(
    experiments: Sequence[Experiment],
    records: Sequence[Record],
    path: Path,
    templates: Path | None = None,
    failed: dict[str, str] | None = None,
) -> None:
    """Writes the pages, and in the folder `figures` next to them the pictures drawn from the records; as `pages`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for experiment, of_this in by_experiment(experiments, records):
        with _left_out(experiment, failed):
            for name, figure in _told(experiment.pictures, of_this).items():
                (path.parent / "figures").mkdir(exist_ok=True)
                figure.savefig(path.parent / "figures" / name, dpi=150)
    for name, text in pages(experiments, records, templates, path, failed).items():
        path.with_name(name).write_text(text)


def _linked(texts: dict[str, str], folder: Path | None) -> dict[str, str]:
    """The pages; a link to a section leads to the page that has it, and pictures that are not there are left out."""
    pages_of = {_anchor(heading): page for page, text in texts.items() for heading in _headings(text, "##+")}
    picture, link = re.compile(r"^!\[.*\]\((.*)\)\n", re.MULTILINE), re.compile(r"(?<=\]\()#(.*?)(?=\))")

    def on(page: str, text: str) -> str:
        text = picture.sub(lambda found: found[0] if folder and (folder / found[1]).is_file() else "", text)
        return link.sub(lambda found: pages_of.get(found[1], page).removesuffix(page) + found[0], text)

    return {page: on(page, text) for page, text in texts.items()}


@contextlib.contextmanager
def _left_out(experiment: Experiment, failed: dict[str, str] | None) -> Iterator[None]:
    """Puts the reason for which an experiment cannot be shown into `failed`, if there is such a place."""
    try:
        yield
    except ValueError as error:
        if failed is None:
            raise
        failed[experiment.name] = str(error)


def by_experiment(
    experiments: Sequence[Experiment], records: Sequence[Record]
) -> list[tuple[Experiment, list[Record]]]:
    """The experiments that have records, with these; rows are in the order that the experiment has now.

    Raises:
        ValueError: if a record is of none of them.
    """
    found: dict[str, list[Record]] = {experiment.name: [] for experiment in experiments}
    rows = {experiment.name: [*experiment.rows] for experiment in experiments}
    for record in records:
        name, place = record["experiment"], record.get("table")
        if name not in found:
            raise ValueError(
                f"A record must be of an experiment that `list` names. Received: {record.get('file', 'a record')} of "
                f"{name!r}. Remove it, or register the experiment."
            )
        if isinstance(place, dict) and place["row"] in rows[name]:  # rows may have been added since it was written
            record = {**record, "table": {**place, "order": rows[name].index(place["row"])}}
        found[name].append(record)
    return [(experiment, found[experiment.name]) for experiment in experiments if found[experiment.name]]


def _best_measured(shown: Sequence[tuple[Experiment, Sequence[Claim], str]]) -> dict[str, list[tuple[Claim, str]]]:
    """Papers -> their claims, each with a link to its section.

    Where several experiments bear on one claim, as on all pixels and on a quarter of them, the one counts that has
    measured most of it; of equal ones the first.

    Args:
        shown: experiments with their claims, and the sections of the report.
    """
    by_paper: dict[str, dict[tuple[str, str], tuple[Claim, str]]] = {}
    for experiment, claims, text in shown:
        anchor = _anchor(_headings(text, "###?")[-1])
        of_paper = by_paper.setdefault(_paper(experiment), {}) if claims else {}
        for claim in claims:
            what = claim.place, claim.says
            if what not in of_paper or claim.measured > of_paper[what][0].measured:
                of_paper[what] = claim, f"[{claim.place}](#{anchor})"
    return {paper: list(of_paper.values()) for paper, of_paper in by_paper.items()}


def _in_pictures(claims: Mapping[str, Sequence[tuple[Claim, str]]], folder: Path | None) -> str:
    """The claims that a picture in the folder shows; "" if there is none."""
    pictured = [
        f"![{claim.shows[:1].upper() + claim.shows[1:] or claim.says}](figures/{claim.picture})\n\n"
        f"{paper}, {link}: {claim.says} "
        f"**{claim.verdict.capitalize()}**: {_ours(claim)}." + f" In the picture: {claim.shows}" * bool(claim.shows)
        for paper, of_paper in claims.items()
        for claim, link in of_paper
        if claim.picture and folder and (folder / "figures" / claim.picture).is_file()
    ]
    return IN_PICTURES.format(counts=_all_counts(claims), pictures="\n\n".join(pictured)) if pictured else ""


def at_a_glance(claims: Mapping[str, Sequence[tuple[Claim, str]]]) -> str:
    """The claims of the papers, the verdict on each, and how many are found; "" if there is none."""
    parts = []
    for paper, of_paper in claims.items():
        rows = [[link, _says(claim), claim.rule, _ours(claim), _verdict(claim)] for claim, link in of_paper]
        lines = table("place | the paper says | counts as found if | ours | verdict", rows)
        parts.append(f"### {paper}: {_counts([claim for claim, _ in of_paper])}\n\n{lines}")
    return GLANCE.format(counts=_all_counts(claims), tables="\n\n".join(parts)) if claims else ""


def _says(claim: Claim) -> str:
    return f"{claim.says} *“{claim.quote}”*" if claim.quote else claim.says


def _verdict(claim: Claim) -> str:
    """The verdict, what speaks against the claim, and what would decide it."""
    if claim.verdict == "found":
        return "**found**"
    fails = any(finding.holds is False for finding in claim.findings)
    against = f" Against it: {claim.evidence}." * (fails and bool(claim.evidence))
    lead = "Why" if claim.verdict == "not tried" else "What would decide it"
    return f"**{claim.verdict}**.{against}" + f" {lead}: {claim.decides}." * bool(claim.decides)


def _ours(claim: Claim) -> str:
    return "; ".join(f"{_mark(finding.holds)} {finding.figure}".strip() for finding in claim.findings)


def _all_counts(claims: Mapping[str, Sequence[tuple[Claim, str]]]) -> str:
    every = [claim for of_paper in claims.values() for claim, _ in of_paper]
    return f"Of {len(every)} claims: {_counts(every)}."


def _counts(claims: Sequence[Claim]) -> str:
    verdicts = [claim.verdict for claim in claims]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)


def _mark(holds: bool | None) -> str:
    return "–" if holds is None else "✓" if holds else "✗"


def section(experiment: Experiment, records: Sequence[Record], templates: Path | None) -> str:
    """The section of an experiment, with a note on the GRU below its first table that has one."""
    fields = _told(experiment.fields, records)
    path = templates / f"{experiment.name}.md" if templates else None
    template = path.read_text() if path and path.is_file() else experiment.template(fields)
    for name in re.findall(r"\{(\w+)\}", template):
        if name not in fields:
            raise ValueError(
                f"A template's fields must be among {', '.join(f'{{{field}}}' for field in fields)}. Received: "
                f"{{{name}}} in {path}. Correct it."
            )
    lines = ("\n" + re.sub(r"\{(\w+)\}", lambda field: fields[field[1]], template)).split("\n")
    of_gru = [i for i, line in enumerate(lines) if line.startswith("|") and re.search(r"\bGRU\b", line)]
    if of_gru and not experiment.resets_before:
        end = next((i for i in range(of_gru[0], len(lines)) if not lines[i].startswith("|")), len(lines))
        lines[end:end] = WHICH_GRU.rstrip("\n").split("\n")
    return "\n".join(lines)


def _told(tell: Callable[[Sequence[Record]], Any], records: Sequence[Record]) -> Any:
    """Fields, claims or pictures of records; a ValueError names the file of the first record without them."""
    try:
        return tell(records)
    except INCOMPLETE as error:
        for record in records:
            try:
                tell([record])
            except INCOMPLETE as reason:
                raise ValueError(
                    f"A record of {record['experiment']} holds all that the report reads of one. Received: "
                    f"{record.get('file', 'a record')} ({reason!r}). Remove it, or make it again."
                ) from error
        raise


def _paper(experiment: Experiment) -> str:
    return re.sub(r", (section|table|figure).*", "", experiment.place)


def _headings(text: str, level: str) -> list[str]:
    return re.findall(rf"^(?:{level}) (.*)$", text, re.MULTILINE)


def _contents(text: str) -> str:
    """Links to the sections, whose names are made into anchors as GitHub does it."""
    return "\n" + "".join(f"- [{heading}](#{_anchor(heading)})\n" for heading in _headings(text, "##"))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-")
