"""What does a second worker cost, and what does it bring?

Trains the ISAN of examples/distributed.py with one worker and with two on this machine, in turn, one thread and, where
the system can, one core for each. Every worker reads as many windows a step as the one alone, so what a step of two
takes longer is the sum of gradients over the loopback, and what the two take from each other's memory.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --smoke

The results, with hardware, date and commit, are in docs/scaling.md.
"""

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LENGTH = 100
"""Characters in a window of the example."""

EXAMPLE = Path(__file__).parents[1] / "examples" / "distributed.py"
ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}


def addresses(workers: int) -> list[str]:
    """Free ports of this machine."""
    sockets = [socket.socket() for _ in range(workers)]
    for free in sockets:
        free.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{free.getsockname()[1]}" for free in sockets]
    for free in sockets:
        free.close()
    return found


def milliseconds(workers: int, windows: int, args: argparse.Namespace) -> float:
    """Of a step, as the slowest worker has it."""
    sizes = {"batch": windows * workers, "units": args.units, "steps": args.steps}
    with tempfile.TemporaryDirectory(prefix="scaling-") as runs:
        command = [sys.executable, str(EXAMPLE), "--run", runs]
        command += [text for name, size in sizes.items() for text in (f"--{name}", str(size))]
        command += ["--workers", *addresses(workers)]
        environment = {**os.environ, **ONE_THREAD, "KERAS_BACKEND": "tensorflow"}
        processes = []
        for worker in range(workers):
            started = subprocess.Popen(
                [*command, "--worker", str(worker)], env=environment, stdout=subprocess.PIPE, text=True
            )
            if hasattr(os, "sched_setaffinity"):
                cores = sorted(os.sched_getaffinity(0))
                os.sched_setaffinity(started.pid, {cores[worker % len(cores)]})
            processes.append(started)
        said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"{EXAMPLE.name} failed with {workers} workers; what it said is above.")
    return max(float(found) for text in said for found in re.findall(r"([\d.]+) ms a step", text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, nargs="+", default=[64, 256], help="that each worker reads in a step")
    parser.add_argument("--units", type=int, default=216)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        args.windows, args.units, args.steps, args.rounds = [4], 8, 5, 1
    print("| windows a worker | one worker, ms a step | two workers | share of communication | characters/s | of two |")
    print("|---|---|---|---|---|---|")
    for windows in args.windows:
        rounds = [[milliseconds(workers, windows, args) for workers in (1, 2)] for _ in range(args.rounds)]
        one, two = (statistics.median(times) for times in zip(*rounds, strict=True))
        shares = [1 - alone / both for alone, both in rounds]
        rates = [1000 * workers * windows * LENGTH / time for workers, time in ((1, one), (2, two))]
        print(
            f"| {windows} | {one:.0f} | {two:.0f} | {statistics.median(shares):.0%} ({min(shares):.0%} to "
            f"{max(shares):.0%}) | {rates[0]:,.0f} | {rates[1]:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
