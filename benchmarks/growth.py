"""How do time and memory of a training step grow with length, batch, units and symbols?

One thing is changed at a time, and each point is a process of its own: it builds a model, makes training steps, and
reports the median time of a step and the most memory that it held, less what it held before there was a model. The
slope of a curve is that of the line through its last three points, both axes logarithmic: 1 is in proportion, 2 with
the square.

length, batch, units: every step is read out over 27 symbols. symbols: the last step is read out over two classes, 16
units, ids uniform. The optimizer is Adam.

    python -m benchmarks.growth --figure docs/figures/growth.png       # half an hour on two cores
    python -m benchmarks.growth --changed symbols
    python -m benchmarks.growth --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

BASE = {"length": 100, "batch": 32, "units": 64, "symbols": 27}
POINTS = {
    "length": (100, 1_000, 10_000, 100_000),
    "batch": (8, 32, 128, 512),
    "units": (16, 64, 256, 512),
    "symbols": (100, 1_000, 10_000, 100_000),
}
ALSO = {"length": {"batch": 1}, "symbols": {"units": 16}}
"""What else differs from the base along a curve."""

MODELS = {
    **dict.fromkeys(("length", "batch", "units"), ("ISAN", "FactoredISAN", "MinimalRNN", "SRGRU", "Keras GRU")),
    "symbols": ("ISAN", "FactoredISAN", "MinimalRNN"),
}
LONGEST = {"SRGRU": 10_000, "Keras GRU": 10_000}
"""Steps of those that take a loop of Keras's, whose backward pass takes many minutes beyond."""

SECONDS, ROUNDS = 20, 9
"""Steps are made until this time is over, at least one and at most so many after the first two."""


def measured(name: str, length: int, batch: int, units: int, symbols: int, lazily: bool) -> dict[str, float]:
    """Seconds of a training step and MiB that it needs; in a process of its own."""
    import keras

    from keras_interp_rnn import layers, losses

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    ids = rng.integers(symbols, size=(batch, length)).astype(np.int32)
    warm = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    warm.compile("adam", "mse")
    warm.train_on_batch(np.ones((2, 1)), np.ones((2, 1)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    every = {"return_sequences": not lazily}
    parts = {
        "ISAN": lambda: [layers.ISAN(units, symbols, **every)],
        "FactoredISAN": lambda: [layers.FactoredISAN(units, units // 2, vocabulary_size=symbols, **every)],
        "MinimalRNN": lambda: [keras.layers.Embedding(symbols, units), layers.MinimalRNN(units, **every)],
        "SRGRU": lambda: [keras.layers.Embedding(symbols, units), layers.SRGRU(units, 10, **every)],
        "Keras GRU": lambda: [keras.layers.Embedding(symbols, units), keras.layers.GRU(units, **every)],
    }[name]()
    inputs = keras.Input((length,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, *parts, keras.layers.Dense(2 if lazily else symbols)])
    if lazily:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        targets = ids[:, -1] % 2
    else:
        loss, targets = losses.BitsPerSymbol(), np.roll(ids, -1, axis=1)
    model.compile(keras.optimizers.Adam(1e-3), loss)
    times: list[float] = []
    began = time.monotonic()
    while len(times) < 3 or (len(times) < 2 + ROUNDS and time.monotonic() - began < SECONDS):
        start = time.perf_counter()
        model.train_on_batch(ids, targets)
        times.append(time.perf_counter() - start)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {"seconds": statistics.median(times[2:]), "MiB": max((after - before) / unit, 1.0)}


def point(name: str, sizes: dict[str, int], lazily: bool) -> dict[str, float] | None:
    """As `measured`; None if the process does not end well."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    command = [sys.executable, "-m", "benchmarks.growth", "--point", json.dumps([name, sizes, lazily])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def slope(points: list[int], values: list[float]) -> float:
    """Of the line through the logarithms of the last three."""
    return float(np.polyfit(np.log(points[-3:]), np.log(values[-3:]), 1)[0])


def curve(name: str, changed: str, points: tuple[int, ...], small: dict[str, int]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"points": [], "seconds": [], "MiB": []}
    for value in points:
        if changed == "length" and value > LONGEST.get(name, value):
            break
        one = point(name, {**BASE, **ALSO.get(changed, {}), **small, changed: value}, changed == "symbols")
        if one is None:
            print(f"{name}, {changed} {value:,}: the process was ended; out of memory?", file=sys.stderr)
            break
        found["points"].append(value)
        found["seconds"].append(one["seconds"])
        found["MiB"].append(one["MiB"])
    return found


def row(name: str, found: dict[str, list[float]], points: tuple[int, ...]) -> str:
    cells = [
        f"{1e3 * seconds:,.1f} ms, {mib:,.0f} MiB" for seconds, mib in zip(found["seconds"], found["MiB"], strict=True)
    ]
    cells += [""] * (len(points) - len(cells))
    slopes = [
        f"{slope(found['points'], found[what]):.2f}" if len(found["points"]) > 1 else "" for what in ("seconds", "MiB")
    ]
    return f"| {' | '.join([name, *cells, *slopes])} |"


def draw(curves: dict[str, dict[str, dict[str, list[float]]]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(name for of_it in curves.values() for name in of_it))
    colors = dict(zip(names, ("#1b6ca8", "#e0a458", "#4f8f5b", "#a8434f", "#8c8c8c", "#7d5ba6"), strict=False))
    size = (2.6 * len(curves), 5)
    figure, axes = plt.subplots(
        2, len(curves), figsize=size, layout="constrained", sharex="col", sharey="row", squeeze=False
    )
    for column, (changed, of_it) in enumerate(curves.items()):
        for line, (what, factor) in enumerate((("seconds", 1e3), ("MiB", 1))):
            for name, found in of_it.items():
                values = factor * np.array(found[what])
                axes[line, column].loglog(found["points"], values, "o-", color=colors[name], markersize=3, label=name)
            axes[line, column].spines[["top", "right"]].set_visible(False)
            axes[line, column].grid(alpha=0.3)
        every = sorted({point for found in of_it.values() for point in found["points"]})
        axes[1, column].set_xticks(every, [f"{point:,}" for point in every], fontsize="small")
        axes[1, column].xaxis.minorticks_off()
        axes[1, column].set_xlabel(changed)
    axes[0, 0].set_ylabel("training step (ms)")
    axes[1, 0].set_ylabel("memory (MiB)")
    handles = [plt.Line2D([], [], color=colors[name], marker="o", markersize=3, label=name) for name in names]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(names), frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changed", nargs="+", choices=[*POINTS], default=[*POINTS], help="default: all")
    parser.add_argument("--figure", help="a picture, .png or .svg")
    parser.add_argument("--smoke", action="store_true", help="one tiny point")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        name, sizes, lazily = json.loads(args.point)
        print(json.dumps(measured(name, **sizes, lazily=lazily)))
        return
    curves: dict[str, dict[str, dict[str, list[float]]]] = {}
    small = {"length": 6, "batch": 4, "units": 8} if args.smoke else {}
    for changed in ["symbols"] if args.smoke else args.changed:
        points = (20,) if args.smoke else POINTS[changed]
        fixed = {**BASE, **ALSO.get(changed, {}), **small}
        print(f"\n{', '.join(f'{name} {value}' for name, value in fixed.items() if name != changed)}:\n")
        header = [changed, *(f"{value:,}" for value in points), "slope of time", "of memory"]
        print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
        curves[changed] = {}
        for name in MODELS[changed][:1] if args.smoke else MODELS[changed]:
            curves[changed][name] = curve(name, changed, points, small)
            print(row(name, curves[changed][name], points), flush=True)
    if args.figure:
        draw(curves, args.figure)


if __name__ == "__main__":
    main()
