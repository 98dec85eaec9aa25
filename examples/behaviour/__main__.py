"""Fits networks of one to four units to choices and reads them: `python -m examples.behaviour --help`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

TASKS = ("bandit2", "bandit4", "reversal", "two-step")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.behaviour", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    read = commands.add_parser("read", help="fit a network to choices, and say what it is")
    measure = commands.add_parser("measure", help="append measurements to records; those that are there are left out")
    report = commands.add_parser("report", help="print the tables of records")
    for command in (read, measure):
        command.add_argument("--task", choices=TASKS, default="reversal", help="what was done (reversal)")
        command.add_argument("--data", type=Path, help="file of choices; without one they are simulated")
        command.add_argument("--agent", default="Q-learner", help="who makes simulated choices (Q-learner)")
        command.add_argument("--smoke", action="store_true", help="a trial run of seconds, on little data")
    read.add_argument("--units", type=int, default=2, help="of the network (2)")
    read.add_argument("--figure", type=Path, help="where to save figures, F-stays.png and F-portrait.png for F.png")
    measure.add_argument("what", choices=["recovery", "comparison", "speed"], help="what is measured")
    measure.add_argument("--trials", type=int, default=500, help="of each simulated agent or subject (500)")
    measure.add_argument("--subjects", type=int, default=20, help="number of simulated ones (20)")
    measure.add_argument(
        "--only", help="this agent that is recovered, this model that is compared; others are left out"
    )
    measure.add_argument("--part", default="1/1", help="1/4 for the first of four parts of the agents (1/1)")
    for command in (measure, report):
        command.add_argument("--records", type=Path, default=Path("runs/behaviour"), help="folder (runs/behaviour)")
    report.add_argument("--page", type=Path, help="page whose tables are replaced; without one they are printed")
    args = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from examples.behaviour import measurements, reading

    try:
        if args.command == "report":
            measurements.report(args.records, args.page)
        elif args.command == "measure":
            measurements.measure(args)
        else:
            reading.read(measurements.sessions_of(args)[1], units=args.units, figure=args.figure)
    except ValueError as error:
        print(f"behaviour: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
