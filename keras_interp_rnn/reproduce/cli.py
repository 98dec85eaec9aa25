"""python -m keras_interp_rnn reproduce, tune: what they do; their options are in `arguments`."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keras_interp_rnn.reproduce import arguments, networks, papers, records, report
from keras_interp_rnn.reproduce.experiments import EXPERIMENTS, Asked, Characters, Classes
from keras_interp_rnn.reproduce.tables import TABLES, Table, listed


def main(given: list[str] | None = None) -> int:
    """`reproduce` with these arguments; returns the exit code of `run`."""
    return run(arguments.parse(["reproduce", *(sys.argv[1:] if given is None else given)]))


def tune(given: list[str] | None = None) -> int:
    """`tune` with these arguments; returns the exit code of `run`."""
    return run(arguments.parse(["tune", *(sys.argv[1:] if given is None else given)]))


def run(args: argparse.Namespace) -> int:
    """Runs a command; returns its exit code: 2 for a request that cannot be met, 130 where Ctrl-C stopped it."""
    if args.smoke:
        scratch = scratch_folder()
        args.runs, args.records = scratch / "runs", scratch / "records"
        if args.command == "tune":
            args.trials, args.steps, args.epochs = min(args.trials, 3), min(args.steps, 2), 1
    return _guarded(lambda: search(args) if args.command == "tune" else _do(args))


def _do(args: argparse.Namespace) -> None:
    if args.what == "list":
        print(listed())
    elif args.what == "report":
        found = report.read(args.records)
        if args.out is None:
            print(report.results(found))
        else:
            report.write(found, args.out)
    elif args.what == "all":
        _reproduce_all(args)
    else:
        [name] = _tables(args.what)
        reproduce(name, args)


def _guarded(command: Callable[[], None]) -> int:
    """Runs a command; what goes wrong is said in one line."""
    try:
        command()
    except (ValueError, ImportError) as error:
        print(f"keras_interp_rnn: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"keras_interp_rnn: {error}. Finished epochs and records are kept: the same command resumes.",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("\nStopped. The same command resumes after the last finished epoch.", file=sys.stderr)
        return 130
    return 0


def search(args: argparse.Namespace) -> None:
    """Searches, prints the best trials, and writes all of them into one record."""
    if args.what == "all":
        raise ValueError("One row is tuned at a time. Received: all. Name its table.")
    [name] = _tables(args.what)
    experiment = EXPERIMENTS[name]
    settings = _settings(name, args.row)
    if not isinstance(experiment, Characters | Classes) or settings["network"] in networks.COUNTED:
        raise ValueError(f"Networks on texts and classes are tuned. Received: {name}, {args.row}. Choose another.")
    from keras_interp_rnn import tuning

    asked = Asked(args.data, None, args.seed, args.runs, args.smoke, args.verbose)
    if isinstance(experiment, Characters):
        network, size, text, protocol = experiment.setting(settings, asked)
        protocol = dataclasses.replace(protocol, steps=args.steps, epochs=args.epochs)
        model: tuning.Characters | tuning.Classes = tuning.Characters(network, size, text, protocol, args.seed)
    else:
        of_classes, data = experiment.setting(settings, asked)
        of_classes = dataclasses.replace(of_classes, steps=args.steps, epochs=args.epochs)
        model = tuning.Classes(of_classes, data, args.seed)
    slug = _slug(f"{name}-{args.row}")
    tuner = tuning.search(model, args.runs / slug, args.trials, args.seed, args.verbose, args.keep)
    found = tuning.trials(tuner)
    record = {
        "experiment": "tuning",
        "environment": records.begun(args.runs / slug),
        "table": {"table": name, "row": args.row},
        "data": model.settings()["data"],
        "protocol": {
            "steps": args.steps,
            "epochs": args.epochs,
            "seed": args.seed,
            "batch": model.base.batch,
            "kept": args.keep,
        },
        "result": {"trials": found},
    }
    path = args.records / f"tuning-{slug}-{args.seed}.json"
    chief = os.environ.get("KERASTUNER_TUNER_ID", "chief") == "chief"
    if chief:
        records.write(path, record)
    for trial in found[:5]:
        shown = ", ".join(f"{key} {value:.4g}" for key, value in sorted(trial["settings"].items()))
        loss = "no number" if trial["val_loss"] is None else f"{trial['val_loss']:.4f}"
        print(f"{loss}: {shown}")
    print(f"{len(found)} trials. TensorBoard: tensorboard --logdir {args.runs / slug / 'tensorboard'}")
    if chief:
        print(f"Record: {path}")


def scratch_folder() -> Path:
    """Where --smoke works."""
    return Path(tempfile.mkdtemp(prefix="keras_interp_rnn-"))


def _reproduce_all(args: argparse.Namespace) -> None:
    """Every table whose data are to be had."""
    if args.data is not None or args.rows is not None:
        raise ValueError("All tables share neither data nor rows. Received: all with --data or --rows. Name a table.")
    left_out = []
    for name in TABLES:
        try:
            reproduce(name, args)
        except (ValueError, ImportError) as error:
            print(f"keras_interp_rnn: {name}: {error}", file=sys.stderr, flush=True)
            left_out.append(name)
    if left_out:
        raise ValueError(f"Not all tables could be run. Received: all, without {', '.join(left_out)}; see above.")


def reproduce(name: str, args: argparse.Namespace) -> None:
    """Every row of a table, for every seed, that has no record yet."""
    table, experiment = TABLES[name], EXPERIMENTS[name]
    rows = args.rows or list(table.rows)
    for row in rows:
        _settings(name, row)
    minutes = [row for row in rows if experiment.takes_minutes(table.rows[row])]
    if args.budget is not None and not minutes and args.what != "all" and not args.smoke:
        raise ValueError(
            f"Minutes are for rows that are trained for some time; {', '.join(rows[:3])} of {name} say themselves how "
            f"much is read. Received: --budget {args.budget:g}. Leave it out."
        )
    wanted = [
        (row, seed) for row in rows for seed in range(1 if experiment.nothing_drawn(table.rows[row]) else args.seeds)
    ]
    started, trained = time.monotonic(), 0
    for i, (row, seed) in enumerate(wanted):
        left = (
            f"; about {_duration((time.monotonic() - started) / trained * (len(wanted) - i))} left" if trained else ""
        )
        print(f"\n[{i + 1} of {len(wanted)}{left}] {name}, {row}, seed {seed}", flush=True)
        record, new = _record(name, table, row, seed, args)
        trained += new
        date, data = record.get("environment", {}).get("date", ""), record.get("data", {}).get("name", "its data")
        before = "" if new else f" (recorded before, {date}, on {data})"
        print(f"{row}: {_figure(record, papers.ENTRIES[name].measure)}{before}", flush=True)
    print(f"\nRecords: {args.records}", flush=True)


def _record(name: str, table: Table, row: str, seed: int, args: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Trains a row and writes its record, if there is none; the record, and whether it is new."""
    experiment = EXPERIMENTS[name]
    path = _path(name, row, seed, args)
    budget = args.budget if args.budget is not None else table.minutes
    if args.smoke or not experiment.takes_minutes(table.rows[row]):
        budget = None
    asked = Asked(args.data, budget, seed, args.runs / path.stem, args.smoke, args.verbose)
    own = {} if args.smoke else table.rows[row]
    before = records.made_before(path, table={"row": row}, protocol={**own, "minutes": budget})
    if before is not None:
        records.made_before(path, data=experiment.data(table.rows[row], asked))
        return before, False
    record = experiment.run(row, table.rows[row], asked)
    record["protocol"]["minutes"] = budget
    of_table = {"table": name, "row": row, "order": list(table.rows).index(row)}
    return records.write(path, {"experiment": table.records or name, "table": of_table, **record}), True


def _settings(name: str, row: str) -> Mapping[str, Any]:
    rows = TABLES[name].rows
    if row not in rows:
        raise ValueError(f"{name} has the rows {', '.join(map(repr, rows))}. Received: {row!r}. Take one of them.")
    return rows[row]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def _path(name: str, row: str, seed: int, args: argparse.Namespace) -> Path:
    return Path(args.records / f"{name}-{_slug(row)}-{seed}.json")


def _tables(what: str) -> list[str]:
    if what == "all":
        return list(TABLES)
    if what not in TABLES:
        raise ValueError(f"The tables are {', '.join(TABLES)}; `list` says more. Received: {what!r}.")
    return [what]


def _figure(record: dict[str, Any], measure: str) -> str:
    result = record["result"]
    if "errors" in result:
        return ", ".join(f"{test} {wrong:.1%}" for test, wrong in result["errors"].items())
    if "map_20" in result:
        return f"MAP@20 {result['map_20']:.4f}"
    if "MinimalRNN" in result:
        medians = ", ".join(f"{network} {found['p10_p50_p90'][-1][1]:.1e}" for network, found in result.items())
        return f"median singular value of dh_T/dx_(T-{record['protocol']['lags'][-1]}): {medians}"
    if "test_bits" in result:
        return f"{result['test_bits']:.3f} {measure}"
    return f"{result['test_error']:.1%} {measure}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
