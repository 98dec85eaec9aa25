"""What does `analysis.attribution` cost, with error bars?

Processor seconds of a whole call, as it comes, the median of some rounds: windows of 24 steps of four numbers, a text
of a thousand words, texts of 12, 16 and 40 words alone and 32 of them in a call. The networks are trained. A row also
says whether the shares are exact, and otherwise their largest standard error in parts of the range of the shares, the
runs of the network, and what limited them.

    PYTHONPATH=. python benchmarks/attribution_speed.py --out benchmarks/attribution_speed.jsonl
    PYTHONPATH=. python benchmarks/attribution_speed.py --smoke

Lines that are in --out are not repeated. The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.networks_of_words import KINDS, L, trained  # first: it sets Keras's backend

# isort: split
import keras
import numpy as np
import tensorflow as tf

from benchmarks.environment import environment
from benchmarks.records import Record, show
from keras_interp_rnn import analysis

UNITS = 32


def windows(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Four numbers a step, of which the second counts where the first is positive."""
    x = rng.normal(size=(count, length, 4)).astype("float32")
    return x, np.tanh(np.where(x[:, :, 0] > 0, x[:, :, 1], 0).sum(axis=1) / 2)


def of_windows(updates: int) -> keras.Model:
    keras.utils.set_random_seed(40)
    model = keras.Sequential([keras.Input((24, 4)), L.LSTM(UNITS), L.Dense(1)])
    model.compile(keras.optimizers.Adam(6e-3, global_clipnorm=1.0), "mse")
    rng = np.random.default_rng(41)
    for _ in range(updates):
        model.train_on_batch(*windows(rng, 64, 24))
    return model


def measured(model: keras.Model, x: np.ndarray, rounds: int, **options: Any) -> dict[str, Any]:
    analysis.attribution(model, x[:1], target=0, max_work=2**10)
    seconds, waited = [], []
    for _ in range(rounds):
        start, wall = time.process_time(), time.perf_counter()
        found = analysis.attribution(model, x, target=0, **options)
        seconds.append(time.process_time() - start)
        waited.append(time.perf_counter() - wall)
    spread = np.ptp(found.shares, axis=1, keepdims=True)
    return {
        "seconds": statistics.median(seconds),
        "waited": statistics.median(waited),
        "exact": bool(found.exact),
        "standard_error": (found.standard_error / spread).max(axis=1).tolist(),
        "runs": found.num_runs.tolist(),
        "reason": found.reason,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    some = {line["what"]: line for line in lines if "what" in line}
    yield "| what | processor s | exact | largest standard error, median (worst) | runs, median | what limited it |"
    yield f"|{'---|' * 6}"
    for what, line in some.items():
        error = line["standard_error"]
        errors = "" if line["exact"] else f"{statistics.median(error):.1%} ({max(error):.1%})"
        limit = line["reason"].partition("; ")[2]
        runs = f"{statistics.median(line['runs']):,.0f}"
        yield f"| {what} | {line['seconds']:.2f} | {'yes' if line['exact'] else 'no'} | {errors} | {runs} | {limit} |"
    for one, many in (("one text of 40 words", "32 texts of 40 words"),):
        if one in some and many in some:
            yield f"\nA batch of 32 costs {some[many]['seconds'] / some[one]['seconds']:.1f} times one."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file of JSON lines, which are not repeated")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and measure nothing")
    parser.add_argument("--only", help="rows whose name contains this")
    parser.add_argument("--networks", type=Path, help="a folder that keeps the trained networks")
    parser.add_argument("--updates", type=int, default=800, help="of training; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is kept; default: %(default)s")
    parser.add_argument("--write", action="store_true", help="with --table, into benchmarks/README.md")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.table:
        show(args.table, "attribution_speed", table, write=args.write)
        return
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if args.smoke:
        args.updates, args.rounds = 2, 1
    rng, record = np.random.default_rng(42), Record(None if args.smoke else args.out)
    record({"environment": environment()}, dict)
    text = KINDS["LSTM"].draw
    network = trained("LSTM", UNITS, 60, 40, args.updates, args.networks)
    of_numbers = of_windows(args.updates)
    rows: dict[str, tuple[keras.Model, np.ndarray]] = {}
    for length in (12, 16, 40):
        x = text(rng, 32, length)[0]
        rows[f"one text of {length} words"], rows[f"32 texts of {length} words"] = (network, x[:1]), (network, x)
    rows["one text of 1,000 words"] = network, text(rng, 1, 1000)[0]
    rows["one window of 24 steps"] = of_numbers, (x := windows(rng, 500, 24)[0])[:1]
    rows["500 windows of 24 steps"] = of_numbers, x
    if args.smoke:
        rows = {what: rows[what] for what in ("one text of 12 words", "32 texts of 12 words", "one window of 24 steps")}
    for what, (model, x) in rows.items():
        if (args.only or "") in what:
            line = record({"what": what}, lambda model=model, x=x: measured(model, x, args.rounds))
            print(what, f"{line['seconds']:.2f} s", flush=True)
    print(*table(record.lines), sep="\n")


if __name__ == "__main__":
    main()
