"""How fast are the layers on the accelerator at hand, beside the backend's own LSTM and GRU (cuDNN's, where they are)?

Runs the core of the layers' tests there (with --tests), then times forward passes and training steps, in turn, medians.
A training step ends when its loss is in the computer's memory, a forward pass when all its logits are there. Every
network reads ids or embedded ids, so that the products with the inputs count for all. Works on any backend; the JAX
backend needs no TensorFlow built for a GPU, but has cuDNN's LSTM alone (Keras 3.15): its GRU is a loop; torch and
TensorFlow have both. The JSON file says on which chip the figures were had; where there is no accelerator it says so
and times the CPU.

    KERAS_BACKEND=jax python benchmarks/accelerator.py --tests --out accelerator.json
    KERAS_BACKEND=jax python benchmarks/accelerator.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
from turns import in_turn

from examples.papers import environment
from keras_interp_rnn import layers

SYMBOLS = 27


def networks(units: int, isan_units: int, lstm_units: int, accelerated: bool) -> dict[str, list[keras.layers.Layer]]:
    """Layers from ids to states; the first two have about equally many weights, the others equal units."""

    def embedded(recurrent: keras.layers.Layer, size: int) -> list[keras.layers.Layer]:
        return [keras.layers.Embedding(SYMBOLS, size), recurrent]

    flags = {"return_sequences": True}
    # On an accelerator cuDNN's LSTM or an error: Keras would fall back to its loop without a word.
    fused = {"use_cudnn": accelerated or "auto", **flags}
    return {
        f"ISAN({isan_units}, {SYMBOLS})": [layers.ISAN(isan_units, SYMBOLS, **flags)],
        f"LSTM({lstm_units})": embedded(keras.layers.LSTM(lstm_units, **fused), SYMBOLS),
        f"MinimalRNN({units})": embedded(layers.MinimalRNN(units, **flags), units),
        f"CFN({units})": embedded(layers.CFN(units, **flags), units),
        f"GRU({units})": embedded(keras.layers.GRU(units, **flags), units),
        f"LSTM({units})": embedded(keras.layers.LSTM(units, **fused), units),
        f"SRLSTM({units}, 10)": embedded(layers.SRLSTM(units, 10, **flags), units),
        f"SRGRU({units}, 10)": embedded(layers.SRGRU(units, 10, **flags), units),
    }


def steps(recurrent: list[keras.layers.Layer], batch: int, length: int) -> tuple[Callable, Callable, int]:
    """A forward pass, a training step, and the number of weights."""
    inputs = keras.Input((length,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, *recurrent, keras.layers.Dense(SYMBOLS)])
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.random.default_rng(0).integers(SYMBOLS, size=(2, batch, length)).astype("int32")
    return lambda: model.predict_on_batch(x)[0, 0, 0], lambda: float(model.train_on_batch(x, y)), model.count_params()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="run the core of the layers' tests first")
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", help="a JSON file for the results")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    sizes = (args.units, 216, 550)
    if args.smoke:
        args.batch, args.length, args.rounds, sizes = [4], 10, 2, (8, 6, 8)
    tests = None
    if args.tests:  # before this process takes the accelerator's memory
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not matrix", "tests/layers", "tests/test_recurrence.py"]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
        tests = (done.stdout or done.stderr).strip().splitlines()[-1]
        print(f"Tests of the layers: {tests}")
        if done.returncode:
            sys.exit(f"The tests of the layers failed (exit code {done.returncode}); nothing was timed.")
    record = {**environment(), "tests": tests, "times": []}
    accelerated = bool(record["accelerator"])
    print(f"{record['backend']} on {record['accelerator'] or 'the CPU: no accelerator is at hand'}.")
    for batch in args.batch:
        made = {name: steps(recurrent, batch, args.length) for name, recurrent in networks(*sizes, accelerated).items()}
        forward = in_turn({name: found[0] for name, found in made.items()}, args.rounds)
        training = in_turn({name: found[1] for name, found in made.items()}, args.rounds)
        print(f"\nBatch {batch}, {args.length} steps; ms, median of {args.rounds} rounds:\n")
        print("| network | weights | forward | training step | symbols/s in training |\n|---|---|---|---|---|")
        for name, (_, _, weights) in made.items():
            ahead, whole = (statistics.median(times[name]) for times in (forward, training))
            rate = batch * args.length / whole
            print(f"| {name} | {weights:,} | {1000 * ahead:.2f} | {1000 * whole:.2f} | {rate:,.0f} |", flush=True)
            row = {"network": name, "weights": weights, "batch": batch, "length": args.length}
            record["times"].append({**row, "forward_seconds": ahead, "training_seconds": whole})
    if args.out:
        Path(args.out).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
