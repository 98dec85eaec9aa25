"""`python -m examples.papers`: list, run, report, tune and check experiments."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _presets, _records, _report
from examples.papers._experiment import Experiment, Record, Result, Run

EXAMPLES = """
examples:
  python -m examples.papers list                         # experiments, their rows and data
  python -m examples.papers run sr-imdb --data aclImdb   # every row of a table; the same command resumes
  python -m examples.papers report --out results.md      # the report of all records, with its figures
  python -m examples.papers tune sr-imdb --row LSTM --data aclImdb --trials 20
  python -m examples.papers check --records examples/papers/records --report docs/results.md
"""

RECORDS = Path("runs/records")


def add_verbs(verbs: Any, experiments: Sequence[Experiment]) -> None:
    """Adds the commands to the subparsers of a command line; `execute` is in the namespace that it parses."""
    names = f"experiments: {', '.join(experiment.name for experiment in experiments)}"

    def verb(name: str, execute: Callable[[Sequence[Experiment], argparse.Namespace], None], says: str) -> Any:
        epilog = names if name in ("run", "tune") else ""
        of_verb = verbs.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.", epilog=epilog)
        of_verb.set_defaults(execute=lambda args: guarded(lambda: execute(experiments, args)))
        if name not in ("list", "preset"):
            says = f"the records (default: {RECORDS})"
            of_verb.add_argument("--records", type=Path, default=RECORDS, metavar="FOLDER", help=says)
        return of_verb

    def add_training(parser: Any, runs: str, hold: str, verbose: int) -> None:
        says = "file or folder, as `list` says (default: download)"
        parser.add_argument("--data", type=Path, metavar="PATH", help=says)
        says = "try it in seconds: generated data, tiny networks, a temporary folder"
        parser.add_argument("--smoke", action="store_true", help=says)
        says = f"{hold} (default: {runs})"
        parser.add_argument("--runs", type=Path, default=Path(runs), metavar="FOLDER", help=says)
        says = "as in fit: 0 silent, 1 a progress bar, 2 a line per epoch (default: %(default)s)"
        parser.add_argument("--verbose", type=int, default=verbose, metavar="{0,1,2}", help=says)

    verb("list", lambda of, args: print(listing(of)), "list the experiments, their rows and their data")

    run = verb("run", run_command, "run an experiment, or resume it where it was interrupted")
    run.add_argument("name", metavar="EXPERIMENT", help="an experiment, or `all`")
    run.add_argument("--rows", nargs="+", metavar="ROW", help="rows to run (default: all)")
    run.add_argument("--seeds", type=_positive(int), default=1, metavar="N", help="runs of each row (default: 1)")
    says = "seed of the first of them (default: 0)"
    run.add_argument("--first-seed", type=_seed, default=0, metavar="SEED", help=says)
    says = "minutes of training per run (default: the row's)"
    run.add_argument("--budget", type=_positive(float), metavar="MINUTES", help=says)
    run.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="trained model to analyse, .keras, or .npz of a preset (default: train a small one)",
    )
    verbose = 1 if sys.stdout and sys.stdout.isatty() else 2
    add_training(run, "runs/papers", "checkpoints, TensorBoard logs and figures", verbose)

    report = verb("report", report_command, "write the report of all records")
    report.add_argument("--out", type=Path, metavar="FILE", help="file of the report (default: print the text)")

    tune = verb("tune", tune_command, "search for the hyperparameters of a row; the same command resumes the search")
    tune.add_argument("name", metavar="EXPERIMENT", help="an experiment; `list` shows its rows")
    tune.add_argument("--row", required=True, help="the row whose hyperparameters are searched")
    for option, default, says in (
        ("--trials", 20, "number of trials"),
        ("--steps", 300, "batches per epoch, of the row's own size"),
        ("--epochs", 2, "epochs of a trial"),
    ):
        tune.add_argument(option, type=_positive(int), default=default, help=f"{says} (default: {default})")
    says = "settings that are not searched (default: none)"
    tune.add_argument("--keep", nargs="+", default=[], metavar="SETTING", help=says)
    tune.add_argument("--seed", type=int, default=0, help="seed of the search and of the weights (default: 0)")
    add_training(tune, "runs/tune", "the trials, with TensorBoard logs", verbose=0)

    check = verb("check", check_command, "check that every record is readable, registered and shown in the report")
    check.add_argument("--report", type=Path, metavar="FILE", help="report to compare (default: none)")

    preset = verb("preset", _presets.preset_command, "train presets again; the same command resumes")
    preset.add_argument("names", nargs="+", metavar="NAME", help="a preset")
    preset.add_argument("--data", type=Path, metavar="PATH", help="its data, as its card says (default: download)")
    for option, folder, says in (
        ("--runs", "runs/presets", "checkpoints and records"),
        ("--out", "runs/presets/files", "cards and weights; pass it to presets.load as source"),
    ):
        says = f"{says} (default: {folder})"
        preset.add_argument(option, type=Path, default=Path(folder), metavar="FOLDER", help=says)
    preset.add_argument("--verbose", type=int, default=2, metavar="{0,1,2}", help="as in fit (default: 2)")


def _positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be a finite number above 0. Received: {text}")
        return value

    number.__name__ = kind.__name__  # argparse names the type in its error
    return number


def _seed(text: str) -> int:
    if (value := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 0. Received: {text}")
    return value


def needs_keras(args: argparse.Namespace) -> bool:
    return args.verb in ("run", "tune", "preset") or bool(getattr(args, "out", None))


def guarded(command: Callable[[], None]) -> int:
    """Runs a command; returns its exit code: 0, 2 with one line on a user error, 130 if Ctrl-C stopped it."""
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # as in `list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, ImportError) as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"papers: {error}. Finished epochs and records are kept: the same command resumes.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. The same command resumes after the last finished epoch.", file=sys.stderr)
        return 130
    return 0


def listing(experiments: Sequence[Experiment]) -> str:
    """The experiments, with their rows, data and the paper's figures."""
    parts = []
    for experiment in experiments:
        budget = f"; {experiment.minutes:g} minutes of training a row" if experiment.minutes else ""
        parts.append(f"{experiment.name}: {experiment.title}, {experiment.place}; {experiment.measure}{budget}")
        if experiment.data:
            parts.append(f"  data: {experiment.data}")
        for row in filter(None, experiment.rows):
            paper = experiment.paper.get(row)
            parts.append(f"  - {row}" + ("" if paper is None else f" (paper: {paper})"))
    parts.append("\nTo run one: python -m examples.papers run EXPERIMENT. With --smoke it takes seconds.")
    return "\n".join(parts)


def run_command(experiments: Sequence[Experiment], args: argparse.Namespace) -> None:
    """Runs every row and seed that has no record yet, of one experiment or of all."""
    if args.smoke:
        _work_in_scratch(args)
    if args.name != "all":
        run_rows(_named(experiments, args.name), args)
        return
    refused = [f"--{name}" for name in ("data", "rows", "model", "budget") if getattr(args, name) is not None]
    if refused:
        raise ValueError(f"All experiments share no {refused[0]}. Received: all with {refused[0]}. Name an experiment.")
    failed = []
    for experiment in filter(lambda experiment: experiment.rows, experiments):
        try:
            run_rows(experiment, args)
        except (ValueError, ImportError) as error:
            print(f"papers: {experiment.name}: {error}", file=sys.stderr, flush=True)
            failed.append(experiment.name)
    if failed:
        raise ValueError(f"Not every experiment could be run. Received: all, without {', '.join(failed)}; see above.")


def run_rows(experiment: Experiment, args: argparse.Namespace) -> None:
    if not experiment.rows:
        raise ValueError(
            f"{experiment.title} are made by `tune EXPERIMENT --row ROW`. Received: run {experiment.name}."
        )
    rows = list(experiment.rows) if args.rows is None else args.rows
    for row in rows:
        _settings(experiment, row)
    _require_used(experiment, rows, args)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    runs = [(row, seed) for row in rows for seed in ([0] if experiment.is_deterministic(row) else seeds)]
    started, trained = time.monotonic(), 0
    for i, (row, seed) in enumerate(runs):
        left = (time.monotonic() - started) / max(trained, 1) * (len(runs) - i) / 60
        remaining = f"; about {left:.0f} min left" if trained else ""
        what = ", ".join(filter(None, (experiment.name, row, f"seed {seed}")))
        print(f"\n[{i + 1} of {len(runs)}{remaining}] {what}", flush=True)
        record, is_new = _run(experiment, row, seed, args)
        trained += is_new
        date = record.get("environment", {}).get("date", "")
        data = record.get("data", {}).get("name", "its data")
        before = "" if is_new else f" (recorded before, {date}, on {data})"
        print(f"{row or experiment.name}: {experiment.summary(record)}{before}", flush=True)
    print(f"\nRecords: {args.records}", flush=True)


def _run(experiment: Experiment, row: str, seed: int, args: argparse.Namespace) -> tuple[Record, bool]:
    """The record of a run, and whether it is new; a run that has a record is not repeated."""
    name = f"{_slug(f'{experiment.name}-{row}')}-{seed}"
    minutes = None
    if experiment.is_timed(row) and not args.smoke:
        minutes = args.budget if args.budget is not None else experiment.minutes
    settings = experiment.rows[row]
    run = Run(row, settings, args.data, args.model, minutes, seed, args.runs / name, args.smoke, args.verbose)
    finished = _records.find(args.records, experiment.name, name)
    if finished is not None:
        place = _records.path_of(args.records, experiment.name)
        protocol = {"minutes": minutes} if args.smoke else {**settings, "minutes": minutes}
        _records.require_equal(finished, place, table={"row": row}, protocol=protocol)
        _records.require_equal(finished, place, data=experiment.identity(run))
        return finished, False
    run.folder.mkdir(parents=True, exist_ok=True)
    record = _checked(experiment, experiment.run(run))
    record["protocol"]["minutes"] = minutes
    row_of_table = {"table": experiment.name, "row": row, "order": list(experiment.rows).index(row)}
    whole = {"experiment": experiment.name, "run": name, "table": row_of_table, **record}
    return _records.append(args.records, whole), True


def _checked(experiment: Experiment, record: Record) -> Record:
    """The record as it is written; ValueError if the usual table cannot show it, or if it has no digest of its data."""
    result = record.get("result")
    if type(experiment).fields is Experiment.fields and not experiment.header:
        if not isinstance(result, Result):
            raise ValueError(
                f"`run` of {experiment.name} must return a record whose result is a Result. Received: {result!r}. "
                "Return one, or give `header` and `lines_of`."
            )
        for part, entry in (("data", "name"), ("model", "parameters"), ("protocol", "seed")):
            if entry not in record.get(part, {}):
                raise ValueError(
                    f"`run` of {experiment.name} must return a record with {entry!r} in {part!r}. Received: "
                    f"{part} {record.get(part)}. Add it, or give `header` and `lines_of`."
                )
    if experiment.data and not _records.has_digest(record):
        raise ValueError(
            f"`run` of {experiment.name} must return a record with one of {', '.join(_records.DIGESTS)} in 'data'. "
            f"Received: {record.get('data')}. Add `identity`."
        )
    return {**record, "result": result.entries()} if isinstance(result, Result) else record


def _require_used(experiment: Experiment, rows: Sequence[str], args: argparse.Namespace) -> None:
    """Refuses an option that these rows have no use for."""
    for option in ("data", "model", "budget"):
        value = getattr(args, option)
        used = option in experiment.options and (option != "budget" or any(map(experiment.is_timed, rows)))
        if value is not None and not used and not args.smoke:
            which = ", ".join(filter(None, rows[:3]))
            why = ": the number of epochs is part of the experiment" if option == "budget" else ""
            raise ValueError(
                f"{experiment.name}{f' ({which})' if which else ''} has no use for --{option}. "
                f"Received: --{option} {value}. Leave it out{why}."
            )


def report_command(experiments: Sequence[Experiment], args: argparse.Namespace) -> None:
    """Prints the report, or writes it with its figures; what cannot be shown is left out and named at the end."""
    records = _report.read(args.records)
    failed: dict[str, str] = {}
    if args.out is None:
        print("\n".join(_report.pages(experiments, records, args.records, failed=failed).values()))
    else:
        _report.write(experiments, records, args.out, args.records, failed)
    if failed:
        reasons = " ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise ValueError(f"The report has all tables but {', '.join(failed)}. {reasons}")


def check_command(experiments: Sequence[Experiment], args: argparse.Namespace) -> None:
    """Checks records, templates and, if it is given, the report made from them."""
    records = _report.read(args.records)
    pages = _report.pages(experiments, records, args.records, args.report)
    for path, text in ((args.report.with_name(name), text) for name, text in pages.items() if args.report):
        if not path.is_file() or path.read_text() != text:
            raise ValueError(
                f"A report is generated from its records. Received: {path}, which differs from what {args.records} "
                f"gives. Write it again: report --records {args.records} --out {args.report}."
            )
    by_experiment = _report.by_experiment(experiments, records)
    print(f"{len(records)} records of {len(by_experiment)} experiments can be read.")
    undigested = [
        record for one, records in by_experiment for record in records if one.data and not _records.has_digest(record)
    ]
    if undigested:
        print(f"{len(undigested)} of them, older than digests, do not say which data they are of exactly.")


def tune_command(experiments: Sequence[Experiment], args: argparse.Namespace) -> None:
    """Searches, prints the best trials, and writes all of them into one record."""
    from examples.papers import tuning

    if args.smoke:
        _work_in_scratch(args)
        args.trials, args.steps, args.epochs = min(args.trials, 3), min(args.steps, 2), 1
    if args.name == "all":
        raise ValueError("One row is tuned at a time. Received: all. Name its experiment.")
    experiment = _named(experiments, args.name)
    slug, settings = _slug(f"{experiment.name}-{args.row}"), _settings(experiment, args.row)
    folder = args.runs / slug
    run = Run(args.row, settings, args.data, None, None, args.seed, folder, args.smoke, args.verbose)
    network = experiment.tunable(run, args.steps, args.epochs)
    tuner = tuning.search(network, folder, args.trials, seed=args.seed, verbose=args.verbose, keep=args.keep)
    trials = tuning.trials(tuner, network.worst)
    asked = {name: getattr(args, name) for name in ("steps", "epochs", "seed")}
    record = {
        "experiment": "tuning",
        "run": f"tuning-{slug}-{args.seed}",
        "environment": _records.run_environment(folder),
        "table": {"table": experiment.name, "row": args.row},
        "data": network.data,
        "protocol": {**asked, "batch": network.base.batch, "kept": args.keep},
        "result": {"trials": trials},
    }
    for trial in trials[:5]:
        found = ", ".join(f"{key} {value:.4g}" for key, value in sorted(trial["settings"].items()))
        print(f"{'diverged' if trial['val_loss'] is None else format(trial['val_loss'], '.4f')}: {found}")
    print(f"{len(trials)} trials. TensorBoard: tensorboard --logdir {folder / 'tensorboard'}")
    if os.environ.get("KERASTUNER_TUNER_ID", "chief") == "chief":
        _records.append(args.records, record)
        print(f"Record: {_records.path_of(args.records, 'tuning')}")


def scratch_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="keras_interp_rnn-"))


def _work_in_scratch(args: argparse.Namespace) -> None:
    scratch = scratch_folder()
    args.runs, args.records = scratch / "runs", scratch / "records"


def _named(experiments: Sequence[Experiment], name: str) -> Experiment:
    by_name = {experiment.name: experiment for experiment in experiments}
    if name not in by_name:
        raise ValueError(f"The experiments are {', '.join(by_name)}; `list` says more. Received: {name!r}.")
    return by_name[name]


def _settings(experiment: Experiment, row: str) -> Any:
    if row not in experiment.rows:
        rows = ", ".join(map(repr, experiment.rows))
        raise ValueError(f"{experiment.name} has the rows {rows}. Received: {row!r}. Take one of them.")
    return experiment.rows[row]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
