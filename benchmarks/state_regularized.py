"""What does the stochastic component cost over each base cell?

Whole training steps (`train_on_batch` with Adam) of a network around a cell and of the same network around the same
cell state-regularized, in turn, round after round, so that a noisy machine is noisy to both; medians over the rounds.
Beside them Keras's own layers, which run the same loop around the cell.

    python benchmarks/state_regularized.py            # about ten minutes on two cores
    python benchmarks/state_regularized.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
import statistics
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from turns import in_turn

from keras_interp_rnn import layers

CELLS: dict[str, Callable[[int], keras.layers.Layer]] = {
    "SimpleRNN": keras.layers.SimpleRNNCell,
    "GRU": keras.layers.GRUCell,
    "LSTM": keras.layers.LSTMCell,
    "PeepholeLSTM": layers.PeepholeLSTMCell,
    "MinimalRNN": layers.MinimalRNNCell,
    "CFN": layers.CFNCell,
}
BY_KERAS = {"SimpleRNN": keras.layers.SimpleRNN, "GRU": keras.layers.GRU, "LSTM": keras.layers.LSTM}
TRANSITIONS = ("mixture", "soft_argmax", "gumbel", "sample")


def step(recurrent: keras.layers.Layer, units: int, batch: int, length: int) -> Callable[[], object]:
    model = keras.Sequential([keras.Input((length, units), batch_size=batch), recurrent, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(batch, length, units)).astype("float32"), rng.normal(size=(batch, 1))
    return lambda: model.train_on_batch(x, y)


def regularized(cell: keras.layers.Layer, k: int, transition: str = "mixture") -> keras.layers.Layer:
    return layers.StateRegularizedRNN(layers.StateRegularizedCell(cell, k, transition=transition))


def cells(units: int, k: int, batch: int, length: int, rounds: int) -> None:
    print(f"\n{units} units, k = {k}, batch {batch}, {length} steps: ms, median of {rounds} rounds; ratio by round.\n")
    print("| cell | the cell in Keras's loop | in Keras's own layer | mixture | over the cell | over Keras's layer |")
    print("|---|---|---|---|---|---|")
    for name, make in CELLS.items():
        steps = {
            "cell": step(keras.layers.RNN(make(units)), units, batch, length),
            "mixture": step(regularized(make(units), k), units, batch, length),
        }
        if name in BY_KERAS:
            steps["keras"] = step(BY_KERAS[name](units), units, batch, length)
        times = in_turn(steps, rounds)
        ratios = {
            other: statistics.median(a / b for a, b in zip(times["mixture"], times[other], strict=True))
            for other in times
            if other != "mixture"
        }
        ms = {name: f"{1000 * statistics.median(seconds):.0f}" for name, seconds in times.items()}
        own, ratio = (ms["keras"], f"{ratios['keras']:.2f}") if "keras" in ms else ("", "")
        print(f"| {name} | {ms['cell']} | {own} | {ms['mixture']} | {ratios['cell']:.2f} | {ratio} |", flush=True)


def sizes(cases: list[tuple[int, int, str]], batch: int, length: int, rounds: int) -> None:
    print(f"\nSR over a GRU cell, batch {batch}, {length} steps: ms, median of {rounds} rounds; ratio by round.\n")
    print("| units | k | transition | the cell | regularized | ratio |")
    print("|---|---|---|---|---|---|")
    for units, k, transition in cases:
        steps = {
            "cell": step(keras.layers.RNN(keras.layers.GRUCell(units)), units, batch, length),
            "regularized": step(regularized(keras.layers.GRUCell(units), k, transition), units, batch, length),
        }
        times = in_turn(steps, rounds)
        ratio = statistics.median(a / b for a, b in zip(times["regularized"], times["cell"], strict=True))
        ms = [f"{1000 * statistics.median(seconds):.0f}" for seconds in times.values()]
        print(f"| {units} | {k} | {transition} | {ms[0]} | {ms[1]} | {ratio:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", choices=["cells", "sizes"])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    rounds = 1 if args.smoke else args.rounds
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, {os.cpu_count()} cores.")
    if args.only != "sizes":
        cells(*(8, 3, 4, 5) if args.smoke else (256, 10, 128, 100), rounds)
    if args.only != "cells":
        cases = [(units, 10, "mixture") for units in (10, 64, 512)]
        cases += [(256, k, "mixture") for k in (5, 100)] + [(256, 10, name) for name in TRANSITIONS[1:]]
        sizes([(4, 2, "sample")] if args.smoke else cases, *((4, 5) if args.smoke else (128, 100)), rounds)


if __name__ == "__main__":
    main()
