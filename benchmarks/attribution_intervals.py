"""How often does the interval that `analysis.attribution` states hold the exact Shapley value?

Networks of several tasks, kinds and seeds read sequences of 14 steps, whose values are known from all 16,384
coalitions, and of 60 steps, whose values come from `games.unbiased`, which shares nothing with the package. The
interval of a share is 1.96 standard errors to both sides, where a normal error stays in 95 % of cases. At 14 steps a
small budget keeps `attribution` from exact values; at 60 steps it has its default, and smaller ones. The standard
errors of the values at 60 steps are added to the stated ones (root of the sum of squares), and shown.

    PYTHONPATH=. python benchmarks/attribution_intervals.py --out benchmarks/attribution_intervals.jsonl
    PYTHONPATH=. python benchmarks/attribution_intervals.py --smoke

Lines that are in --out are not repeated. The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.networks_of_words import KINDS, trained  # first: it sets Keras's backend

# isort: split
import numpy as np

from benchmarks.environment import environment
from benchmarks.games import Game, Network, exact, unbiased
from benchmarks.records import Record, show
from keras_interp_rnn import analysis

NAMES = ("LSTM of brackets", "GRU of events", "Bidirectional LSTM", "LSTM over GRU", "LSTM, mean pooling")
SEEDS = (101, 102)
UNITS = 20
TEXTS = {14: 16, 60: 4}
BUDGETS = {14: (2**11, 2**12, 2**13), 60: (2**14, 2**17, None)}
"""Updates of the state of each text; None for the default."""
Z = 1.96


def measure(record: Record, name: str, seed: int, length: int, args: Any) -> None:
    model = trained(name, UNITS, length, seed, args.updates, args.networks)
    weights = zlib.crc32(b"".join(np.ascontiguousarray(each).tobytes() for each in model.get_weights()))
    count = args.texts or TEXTS[length]
    texts = KINDS[name].draw(np.random.default_rng([seed, length, 3]), count, length)[0]
    key = {"network": name, "seed": seed, "length": length, "weights": weights, "texts": count}

    def right() -> dict[str, Any]:
        network = Network(model, "float64")
        games = [Game(network, text) for text in texts]
        if length <= 16:
            values = [exact(game, length) for game in games]
            return {"values": np.array(values).tolist(), "errors": np.zeros((count, length)).tolist()}
        found = [unbiased(game, length, args.pairs, np.random.default_rng([i, 6])) for i, game in enumerate(games)]
        return {"values": [one.tolist() for one, _ in found], "errors": [error.tolist() for _, error in found]}

    line = record({**key, "what": "right values"}, right)
    values, errors = np.array(line["values"]), np.array(line["errors"])
    for budget in args.budgets or BUDGETS[length]:

        def found(budget: int | None = budget) -> dict[str, Any]:
            shares, stated, runs = [], [], []
            for text in texts:
                options = {} if budget is None else {"max_work": budget, "tolerance": 1e-9}
                split = analysis.attribution(model, text[None], target=0, method="shapley", **options)
                shares.append(split.shares[0])
                stated.append(split.standard_error[0])
                runs.append(int(split.num_runs[0]))
            spread = np.ptp(values, axis=1, keepdims=True)
            return {
                "error": (np.abs(shares - values) / spread).tolist(),
                "standard_error": (stated / spread).tolist(),
                "of_values": (errors / spread).tolist(),
                "runs": runs,
            }

        record({**key, "what": "shares", "budget": budget or 0}, found)
    print(f"{name}, seed {seed}, {length} steps", flush=True)


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each length and budget, over the networks; then each network by itself."""
    some = [line for line in lines if line.get("what") == "shares"]
    columns = (
        "steps | budget | network | shares | within 1.96 | half width | mean error | worst of a text | of the values"
    )
    yield f"| {columns} |\n|{'---|' * 9}"
    for by_network in (False, True):
        groups: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
        for line in some:
            name = line["network"] if by_network else "all"
            groups.setdefault((line["length"], line["budget"] or 2**62, name), []).append(line)
        for (length, budget, name), own in sorted(groups.items()):
            error, stated, of_values = (
                np.concatenate([np.ravel(line[key]) for line in own])
                for key in ("error", "standard_error", "of_values")
            )
            worst = np.mean(np.concatenate([np.max(line["error"], axis=1) for line in own]))
            held = np.mean(error <= Z * np.sqrt(stated**2 + of_values**2) + 1e-12)
            cells = [
                str(length),
                "default" if budget == 2**62 else f"{budget:,}",
                name,
                f"{len(error):,}",
                f"{held:.1%}",
                f"{Z * stated.mean():.4f}",
                f"{error.mean():.4f}",
                f"{worst:.4f}",
                f"{of_values.mean():.4f}",
            ]
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file of JSON lines, which are not repeated")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and measure nothing")
    parser.add_argument("--networks", type=Path, help="a folder that keeps the trained networks")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(TEXTS))
    parser.add_argument("--only", help="networks whose name contains this")
    parser.add_argument("--texts", type=int, help="of each network; by default 16 of 14 steps and 4 of 60")
    parser.add_argument("--budgets", type=int, nargs="+", help="updates of the state of each text")
    parser.add_argument("--pairs", type=int, default=100_000, help="of coalitions, for the values at 60 steps")
    parser.add_argument("--updates", type=int, default=800, help="of training; default: %(default)s")
    parser.add_argument("--write", action="store_true", help="with --table, into benchmarks/README.md")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.table:
        show(args.table, "attribution_intervals", table, write=args.write)
        return
    seeds = SEEDS
    if args.smoke:
        args.lengths, args.texts, args.budgets, args.pairs, args.updates = [11, 18], 1, [2**10], 40, 2
        args.only, seeds = "events", SEEDS[:1]
    record = Record(None if args.smoke else args.out)
    record({"environment": environment()}, dict)
    for length in args.lengths:
        for name in NAMES if args.only is None else [name for name in NAMES if args.only in name]:
            for seed in seeds:
                measure(record, name, seed, length, args)
    print(*table(record.lines), sep="\n")


if __name__ == "__main__":
    main()
