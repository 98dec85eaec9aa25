"""How fast do the linear recurrences train beside Keras's LSTM of as many weights, and how does a step grow with time?

Whole training steps (`train_on_batch` with Adam) of all networks in turn, round after round, so that a noisy machine is
noisy to all; medians over the rounds. Every network reads ids through an Embedding and predicts the next id. All
products are in float32, without TensorFloat-32. On an accelerator the LSTM is cuDNN's, through torch too where that is
installed, and the linear recurrences run in passes over pairs of steps; `MinGRU, stepwise` is the same layer with
`fused=False`, one step after the other. --growth times MinGRU alone, from 1,000 to 100,000 steps.

    PYTHONPATH=. python benchmarks/linear_recurrences.py  # about five minutes on two cores
    PYTHONPATH=. KERAS_BACKEND=jax python benchmarks/linear_recurrences.py --steps 256 2048 4096 --out linear.json
    PYTHONPATH=. python benchmarks/linear_recurrences.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
with contextlib.suppress(ImportError):
    importlib.import_module("torch._dynamo")  # its triton 3.8 ends the process where TensorFlow 2.21 came before it
import keras
import numpy as np
from accelerator import set_precision, torch_steps
from turns import in_turn

from benchmarks.environment import environment
from keras_interp_rnn import layers

SYMBOLS = 27


def networks(scale: int, accelerated: bool) -> dict[str, tuple[keras.layers.Layer, int]]:
    """Layers, each with the width of its Embedding; about 8 * scale^2 weights each."""
    n, flags = scale, {"return_sequences": True}
    # On an accelerator cuDNN's LSTM or an error: Keras would fall back to its loop without a word.
    lstm = keras.layers.LSTM(n, use_cudnn=accelerated or "auto", **flags)
    return {
        "MinGRU": (layers.MinGRU(2 * n, **flags), 2 * n),
        "LSTM": (lstm, n),
        "LRU": (layers.LRU(n, state_dim=2 * n, **flags), n),
        "MinGRU, stepwise": (layers.MinGRU(2 * n, fused=False, **flags), 2 * n),
        "MinLSTM": (layers.MinLSTM(round(1.633 * n), **flags), round(1.633 * n)),
        "RGLRU": (layers.RGLRU(2 * n, **flags), 2 * n),
        "GatedLinearAttention": (
            layers.GatedLinearAttention(round(1.41 * n / 8) * 8, **flags),
            round(1.41 * n / 8) * 8,
        ),
        "DeltaNet": (layers.DeltaNet(round(1.41 * n / 8) * 8, **flags), round(1.41 * n / 8) * 8),
    }


def training_step(layer: keras.layers.Layer, width: int, batch: int, steps: int) -> tuple[Callable[[], float], int]:
    """A training step, which ends when its loss is there; and the layer's number of weights."""
    inputs = keras.Input((steps,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, keras.layers.Embedding(SYMBOLS, width), layer, keras.layers.Dense(SYMBOLS)])
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.random.default_rng(0).integers(SYMBOLS, size=(2, batch, steps)).astype("int32")
    return lambda: float(model.train_on_batch(x, y)), layer.count_params()


def growth(scale: int, lengths: list[int]) -> list[dict[str, float]]:
    """Seconds of a training step of MinGRU at batch 1."""
    rows = []
    for steps in lengths:
        step, _ = training_step(layers.MinGRU(scale, return_sequences=True), scale, 1, steps)
        seconds = statistics.median(in_turn({"step": step}, 3)["step"])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"| {steps:,} | {1000 * seconds:.0f} | {1e6 * seconds / steps:.2f} | {peak:.2f} |", flush=True)
        rows.append({"steps": steps, "seconds": seconds, "peak_gib": peak})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[256, 2048])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--scale", type=int, default=400, help="units of the LSTM")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", help="names of networks")
    parser.add_argument("--seconds", type=float, help="no new row is begun after so many")
    parser.add_argument("--growth", action="store_true", help="time MinGRU from 1,000 to 100,000 steps instead")
    parser.add_argument("--out", help="a JSON file for the results")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        args.steps, args.batch, args.scale, args.rounds = [8], 2, 16, 2
    set_precision("float32")
    began, record = time.monotonic(), {**environment(), "times": []}
    print(f"{record['backend']} on {record['accelerator'] or 'the CPU'}.", flush=True)
    if args.growth:
        print("\n| steps | training step, ms | us a step | peak memory, GiB |\n|---|---|---|---|")
        record["growth"] = growth(args.scale, [100, 200] if args.smoke else [1_000, 10_000, 100_000])
    for steps in [] if args.growth else args.steps:
        chosen = {k: v for k, v in networks(args.scale, bool(record["accelerator"])).items() if k in (args.only or [k])}
        print(f"\nBatch {args.batch}, {steps:,} steps; medians of {args.rounds} rounds.\n")
        print("| network | weights | training step, ms | LSTM's time over it |\n|---|---|---|---|", flush=True)
        made: dict[str, Callable[[], float]] = {}
        weights: dict[str, int] = {}
        for name, (layer, width) in chosen.items():
            if args.seconds and time.monotonic() - began > args.seconds:
                print(f"Left out, for want of time: {name}.")
                continue
            made[name], weights[name] = training_step(layer, width, args.batch, steps)
            made[name]()  # compiles
        if record["accelerator"] and importlib.util.find_spec("torch"):
            of_torch = torch_steps("LSTM", args.scale, args.scale, args.batch, steps, "float32")
            made["torch.nn.LSTM"], weights["torch.nn.LSTM"] = of_torch.training, of_torch.weights
        times = {name: statistics.median(found) for name, found in in_turn(made, args.rounds, warm_up=1).items()}
        for name, seconds in times.items():
            ratio = f"{times['LSTM'] / seconds:.2f}" if "LSTM" in times else ""
            print(f"| {name} | {weights[name]:,} | {1000 * seconds:.1f} | {ratio} |", flush=True)
            row = {"network": name, "weights": weights[name], "steps": steps, "batch": args.batch, "seconds": seconds}
            record["times"].append(row)
        if args.out:
            Path(args.out).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
