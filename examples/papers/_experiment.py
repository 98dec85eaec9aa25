"""An experiment: the rows of a paper's table, how each is run, and how its records are shown in the report.

Nothing here imports Keras, so that the list of experiments and `--help` come at once.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]

CLAIMS = Path(__file__).parent / "claims"

VERDICTS = ("found", "found in part", "contradicted", "undetermined", "not tried")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a row.

    Attributes:
        row: its name. settings: those of the row.
        data: file or folder of local data; None downloads them. model: file of the trained model that is analysed, if
            the experiment takes one. minutes: of training; None for the row's own number of epochs.
        seed: of weights and draws. folder: for checkpoints, logs and figures.
        smoke: tiny networks on generated data. verbose: as in `fit`.
    """

    row: str
    settings: Mapping[str, Any]
    data: Path | None
    model: Path | None
    minutes: float | None
    seed: int
    folder: Path
    smoke: bool = False
    verbose: int = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """Our figure for one part of a claim, and whether that part holds.

    Attributes:
        figure: ours; "" where nothing was measured. holds: None where nothing was, or where the figure decides nothing.
    """

    figure: str = ""
    holds: bool | None = None


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of a paper, held against the records.

    Attributes:
        place: section, table or figure of the paper. says: the claim. quote: the paper's sentence; "" for a number in a
            table, and for version 1, of which we have no text.
        rule: when it counts as found. findings: the parts of the claim.
        decides: what would decide what is open, or why it was not tried. evidence: what contradicts it or a part of it:
            a proof, seeds, or the authors' published networks.
        picture: of the report, which shows it; "" if there is none. shows: what the picture has, a sentence that begins
            small, if that is less than the claim, or another thing.
    """

    place: str
    says: str
    quote: str
    rule: str
    findings: tuple[Finding, ...]
    decides: str = ""
    evidence: str = ""
    picture: str = ""
    shows: str = ""

    @property
    def measured(self) -> float:
        """The fraction of the findings that have a figure."""
        return sum(bool(finding.figure) for finding in self.findings) / len(self.findings)

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`.

        Found if all parts hold, found in part if some do; else contradicted if one fails, undetermined if there are
        figures, and not tried without.
        """
        holds = [finding.holds for finding in self.findings]
        if any(holds):
            return "found" if all(holds) else "found in part"
        if False in holds:
            return "contradicted"
        return "undetermined" if self.measured else "not tried"


@functools.cache
def claims_of(experiment: str) -> dict[str, tuple[str, str, str]]:
    """Name of a claim on an experiment -> its place in the paper, the claim, and the paper's sentence or "".

    They are in the folder `claims`, in one file for each paper.
    """
    found, of_these = {}, False
    pages = (path.read_text("utf-8").strip() for path in sorted(CLAIMS.glob("*.md")))
    for text in "\n\n".join(pages).split("\n\n"):
        words = " ".join(re.sub("^> ", "", text, flags=re.MULTILINE).split())
        if text.startswith("#"):
            of_these = experiment in words.removeprefix("## ").split(", ")
        elif of_these and (parts := re.fullmatch(r"\*\*(.*?)\*\* \((.*?)\)\. (.*)", words)):
            name, place, says = parts.groups()
            found[name] = (place, says, "")
        elif of_these:
            found[name] = (place, says, words)
    return found


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a row, as the usual table shows it.

    Attributes:
        test: on test data, in `unit`. validation: on validation data. seconds: of training, without validation.
        read: what training read: characters if the unit is "bits", else sequences.
        unit: "bits", shown with three decimals; "error", a fraction, shown in percent; or another name in Python's
            form, such as "squared_error", shown with four digits.
        more: further entries of the record.
    """

    test: float
    validation: float
    seconds: float
    read: float
    unit: str
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("test", "validation", "seconds", "read"):
            if not isinstance(value := getattr(self, name), int | float):
                raise ValueError(f"`{name}` of a Result must be a number. Received: {value!r}. Convert it by `float`.")
        if not self.unit.isidentifier():
            raise ValueError(
                f"The unit of a Result must be a name in Python's form. Received: {self.unit!r}. Write it like "
                "'squared_error'."
            )

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Result:
        """Inverse of `entries`; ValueError or KeyError if something is missing."""
        tested = [name.removeprefix("test_") for name in entries if name.startswith("test_")]
        units = [unit for unit in tested if f"validation_{unit}" in entries]
        if len(units) != 1:
            raise ValueError(f"A result must have test and validation of one unit. Received: {sorted(entries)}.")
        (unit,) = units
        names = cls._names(unit)
        more = {name: value for name, value in entries.items() if name not in names}
        test, validation, seconds, read = (entries[name] for name in names)
        return cls(test, validation, seconds, read, unit, more)

    def entries(self) -> dict[str, Any]:
        """Its entries in a record."""
        values = (self.test, self.validation, self.seconds, self.read)
        return {**dict(zip(self._names(self.unit), values, strict=True)), **self.more}

    def shown(self, value: float) -> str:
        """A value in the unit."""
        return f"{value:{ {'bits': '.3f', 'error': '.1%'}.get(self.unit, '.4g') }}"

    @staticmethod
    def _names(unit: str) -> tuple[str, str, str, str]:
        """Names in a record of test, validation, seconds and read."""
        return f"test_{unit}", f"validation_{unit}", "training_seconds", "characters" if unit == "bits" else "sequences"


@dataclasses.dataclass(frozen=True)
class Trainable:
    """A network and how it is trained: by `_training.train` for a row of a table, by `tuning.search` in trials.

    Attributes:
        base: its protocol, a dataclass with `batch`, `steps` and `epochs`. build: protocol -> compiled model.
        batches: (protocol, number of batches done, number left) -> those left. validation: protocol -> as `fit` takes
            it.
        space: hyperparameters of KerasTuner -> the settings of a trial that differ from `base`.
        data: of the data, for a record. seed: of the weights. worst: the loss that counts for a training that
            diverged.
    """

    base: Any
    build: Callable[[Any], Any]
    batches: Callable[[Any, int, int | None], Any]
    validation: Callable[[Any], Any]
    space: Callable[[Any], dict[str, Any]]
    data: Mapping[str, Any]
    seed: int
    worst: float

    def protocol(self, hp: Any) -> Any:
        return dataclasses.replace(self.base, **self.space(hp))


class Experiment(abc.ABC):
    """A table or figure of a paper, repeated.

    A subclass has a file of its own and is listed in `EXPERIMENTS`. Its prose is a Markdown template, `<name>.md`
    next to the records, in which `{table}` and the other names of `fields` are replaced.

    Attributes:
        name: name on the command line, in records and of the template.
        title, place: what is reproduced, and where the paper has it.
        measure: what its numbers measure, such as "bits per character".
        data: what `--data` takes; "" if the experiment reads no data.
        options: those of "data", "model", "budget" that it uses. The command refuses the others.
        rows: name -> settings. A single run without a name is the row "".
        paper: row -> the paper's figure, or its words where it gives none.
        minutes: default budget of training; None trains for the row's own number of epochs.
        of_data: names of those settings of a row on which its data depend.
        small: settings of a `--smoke` run, in place of the row's.
        header: columns of its table, as in "network | errors", whose lines `lines` gives; "" for the usual table.
        run_name: what a record is called in the list of runs, with fields of the record.
        resets_before: whether the reset gates of its GRUs multiply before the product, as in the papers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[str]
    measure: ClassVar[str]
    data: ClassVar[str] = ""
    options: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[Mapping[str, Mapping[str, Any]]] = {"": {}}
    paper: ClassVar[Mapping[str, float | str]] = {}
    minutes: ClassVar[float | None] = None
    of_data: ClassVar[tuple[str, ...]] = ()
    small: ClassVar[Mapping[str, Any]] = {}
    header: ClassVar[str] = ""
    run_name: ClassVar[str] = "{table[row]}, seed {protocol[seed]}"
    resets_before: ClassVar[bool] = False

    @abc.abstractmethod
    def run(self, run: Run) -> Record:
        """Runs a row.

        Returns:
            Its record: `data`, with a name; `model`, with the number of `parameters`; `protocol`, with the `seed`;
            `result`, a `Result`, or a dictionary if there is a `header`, or `fields` and `summary` are overridden; and,
            where it trains, `curve` and `environment`.

        Raises:
            ValueError: if the data or the model cannot be read.
        """

    def settings(self, run: Run) -> dict[str, Any]:
        """The settings of a run: those of its row, and those of `small` for `--smoke`."""
        return {**run.settings, **(self.small if run.smoke else {})}

    def identity(self, run: Run) -> dict[str, Any]:
        """Name and digest of the data, as a record has them; a record of other data is not taken for this run's."""
        return {}

    def is_timed(self, row: str) -> bool:
        """Whether a row trains for `--budget` minutes."""
        return "budget" in self.options

    def is_deterministic(self, row: str) -> bool:
        """Whether all seeds give a row the same result."""
        return False

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> Any:
        """The data of a row: local, downloaded, or generated for `smoke`."""
        raise NotImplementedError(f"{self.name} reads no data.")

    def load(self, run: Run) -> Any:
        """The data of a run; kept for the next one, which often has the same. ValueError if they cannot be read."""
        written = run.data.stat().st_mtime_ns if run.data is not None and run.data.exists() else None
        of_data = {name: run.settings[name] for name in self.of_data if name in run.settings}
        key = (run.data, written, run.smoke, of_data)
        if getattr(self, "_loaded", (None,))[0] != key:
            try:
                self._loaded = key, self.read(run.data, run.smoke, of_data)
            except ValueError as error:  # it names the argument of the function that reads
                raise ValueError(re.sub("`(source|path)`", "`--data`", str(error))) from None
        return self._loaded[1]

    def tunable(self, run: Run, steps: int, epochs: int) -> Trainable:
        """The network that `tune` searches, with trials of `epochs` epochs of `steps`."""
        raise ValueError(
            f"Networks on characters and on classes are tuned. Received: {self.name}, {run.row}. Choose another."
        )

    def summary(self, record: Record) -> str:
        """A result on the screen: its lines of the table, each cell after the name of its column."""
        if self.header:
            lines = (zip(self.header.split(" | "), line, strict=True) for line in self.lines([record]))
            return "\n  ".join(
                ", ".join(f"{column} {cell}" for column, cell in line if cell is not None) for line in lines
            )
        result = Result.of(record["result"])
        return f"{result.shown(result.test)} {self.measure}"

    def lines(self, records: Sequence[Record]) -> Iterable[Sequence[object]]:
        """The lines of the table with the columns of `header`."""
        return (line for record in records for line in self.lines_of(record))

    def lines_of(self, record: Record) -> Iterable[Sequence[object]]:
        """The lines of one record in that table."""
        return ()

    def called(self, record: Record) -> str:
        """The name of a record in the list of runs."""
        return self.run_name.format(**record)

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        """Name -> Markdown that replaces `{name}` in the template."""
        own = table(self.header, self.lines(records)) if self.header else table_of_rows(records, self.paper)
        return {"table": own, "runs": runs(records, self.called)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        """The paper's claims that these records bear on, in the paper's order."""
        return []

    def claim(self, name: str, rule: str, *findings: Finding, **more: str) -> Claim:
        """One of `claims_of` this experiment; without findings nothing was measured of it. Arguments as in `Claim`."""
        return Claim(*claims_of(self.name)[name], rule, findings or (Finding(),), **more)

    def pictures(self, records: Sequence[Record]) -> Mapping[str, Figure]:
        """File name -> figure drawn from the records; ImportError without matplotlib."""
        return {}

    def template(self, fields: Mapping[str, str]) -> str:
        """The section of a report that has no template for this experiment."""
        parts = "\n\n".join(f"{{{name}}}" for name, text in fields.items() if text)
        return (
            f"## {self.title} ({self.place})\n\n"
            f"`python -m examples.papers run {self.name}`; {self.measure}.\n\n{parts}\n"
        )


def table(header: str | Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, its columns in a list or as "one | other"; None is an empty cell."""
    columns = header.split(" | ") if isinstance(header, str) else header
    lines = ["|" + "".join(" |" if cell in (None, "") else f" {cell} |" for cell in line) for line in (columns, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def runs(records: Sequence[Record], name: Callable[[Record], str], heading: str = "Runs") -> str:
    """A folded list of the records: date, code, hardware, versions, settings.

    Args:
        name: record -> what it is called. heading: shown while the list is folded.
    """
    lines = [f"<details><summary>{heading}</summary>\n"]
    for record in records:
        environment = record["environment"]
        settings = ", ".join(
            f"{key.replace('_', ' ')} {value}"
            for key, value in sorted(record["protocol"].items())
            if value not in ("", None)
        )
        versions = ", ".join(f"{package} {version}" for package, version in sorted(environment["versions"].items()))
        commits = dict.fromkeys(place["commit"] for place in _places(environment))
        commit = f"commit `{'`, then `'.join(commits)}`" if all(commits) else "outside a checkout"
        parts = [environment["date"], commit, hardware(environment), f"Python {environment['python']}", versions]
        lines.append(f"- {name(record)}: {', '.join(parts)}{'; ' * bool(settings)}{settings}.")
    return "\n".join([*lines, "\n</details>"])


def percent(value: float) -> str:
    return f"{value:.1%}"


def bits(value: float) -> str:
    """Bits per symbol."""
    return f"{value:.3f}"


def hardware(environment: Mapping[str, Any]) -> str:
    """Processor and accelerator of a run, of each place where it was resumed too."""

    def of_place(place: Mapping[str, Any]) -> str:
        processor = re.sub(r"^1 cores\b", "1 core", place["hardware"])
        return f"{processor} and {place['accelerator']}" if place.get("accelerator") else processor

    return ", then ".join(dict.fromkeys(map(of_place, _places(environment))))


def _places(environment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Where a run was started, and where it was resumed."""
    return [environment, *environment.get("resumed", ())]


def grouped(records: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Key -> its records, keys in ascending order."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return dict(sorted(groups.items()))


def by_row(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Row -> its records, in the order of the rows."""
    places = grouped(records, lambda record: (record["table"]["order"], record["table"]["row"]))
    return {row: group for (_, row), group in places.items()}


def mean_and_range(
    values: Sequence[float],
    shown: Callable[[float], str] = percent,
    middle: Callable[[Sequence[float]], float] = statistics.mean,
) -> str:
    """The mean or the median, and in brackets the lowest and the highest of several."""
    brackets = f" ({shown(min(values))} to {shown(max(values))})" if len(values) > 1 else ""
    return shown(middle(values)) + brackets


def table_of_rows(records: Sequence[Record], paper: Mapping[str, float | str]) -> str:
    """The usual table: a line for each row with means over seeds, and in brackets the lowest and the highest."""

    def order(record: Record) -> tuple[str, int, str]:
        return record["data"].get("name", ""), record["table"]["order"], record["table"]["row"]

    lines = [[name, row, *_of_row(group, paper.get(row))] for (name, _, row), group in grouped(records, order).items()]
    return table("data | network | weights | seeds | test | paper | validation | minutes of training | read", lines)


def _of_row(group: Sequence[Record], paper: float | str | None) -> list[str]:
    results = [Result.of(record["result"]) for record in group]
    shown, is_bits = results[0].shown, results[0].unit == "bits"
    minutes = f"{statistics.mean(result.seconds for result in results) / 60:.0f}"
    if budget := group[0]["protocol"].get("minutes"):
        minutes += f" of {budget:g}"
    read = statistics.mean(result.read for result in results)
    return [
        f"{group[0]['model']['parameters']:,}",
        f"{len(group)}",
        mean_and_range([result.test for result in results], shown),
        shown(paper) if isinstance(paper, int | float) else paper or "",
        shown(statistics.mean(result.validation for result in results)),
        minutes,
        f"{read / 1e6:,.1f} M characters" if is_bits else f"{read:,.0f} sequences",
    ]
