"""How many training steps a second does a network of ten units make, one step a call and many steps a call?

A step of so small a network is bound by what surrounds it: Keras's loop over batches, and the launches of the
operations of each step of time. `steps_per_execution` makes one call of many steps, XLA (`jit_compile=True`) few
operations of many. Steps are those of `fit` on batches of 32 words of 50 symbols, as in experiments on formal
languages.

    KERAS_BACKEND=tensorflow PYTHONPATH=. python benchmarks/small_networks.py     # or jax, torch
    PYTHONPATH=. python benchmarks/small_networks.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

from keras_interp_rnn import layers

SYMBOLS, BATCH, LENGTH = 4, 32, 50

NETWORKS: dict[str, Callable[[], keras.layers.Layer]] = {
    "SRLSTM(10, 5)": lambda: layers.SRLSTM(10, 5),
    "LSTM(10)": lambda: keras.layers.LSTM(10),
    "MinimalRNN(10)": lambda: layers.MinimalRNN(10),
    "ISAN(10)": lambda: layers.ISAN(10, SYMBOLS),
}


def ways(many: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and arguments of `compile`: as it is, with XLA, with many steps a call, with both."""
    yield "compile()", {}
    if keras.backend.backend() == "torch":  # it compiles nothing by default, and has no steps in one call
        return
    yield f"{many} steps a call", {"steps_per_execution": many}
    if keras.backend.backend() == "tensorflow":  # JAX compiles by XLA always
        yield "XLA", {"jit_compile": True}
        yield f"XLA, {many} steps a call", {"jit_compile": True, "steps_per_execution": many}


def steps_a_second(make: Callable[[], keras.layers.Layer], steps: int, rounds: int, **options: Any) -> float:
    """The median over epochs of `fit`, after one to compile."""
    keras.utils.set_random_seed(0)
    layer = make()
    before = [] if isinstance(layer, layers.ISAN) else [keras.layers.Embedding(SYMBOLS, 4)]
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, *before, layer, keras.layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, **options)
    rng = np.random.default_rng(0)
    x, y = rng.integers(SYMBOLS, size=(steps * BATCH, LENGTH)), rng.integers(2, size=(steps * BATCH, 1))
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        model.fit(x, y, batch_size=BATCH, verbose=0)
        seconds.append(time.perf_counter() - start)
    return steps / statistics.median(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=256, help="steps of an epoch")
    parser.add_argument("--many", type=int, default=64, help="steps of a call")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--smoke", action="store_true", help="a few steps of one network")
    args = parser.parse_args()
    if args.smoke:
        args.steps, args.many, args.rounds, args.only = 4, 2, 1, args.only[:1]
    print(f"{keras.backend.backend()}, Keras {keras.__version__}, {os.cpu_count()} cores; steps a second of fit.\n")
    print("| network | " + " | ".join(name for name, _ in ways(args.many)) + " |")
    print("|---|" + "---|" * len(list(ways(args.many))))
    for name in args.only:
        found = [steps_a_second(NETWORKS[name], args.steps, args.rounds, **of) for _, of in ways(args.many)]
        print(f"| {name} | " + " | ".join(f"{each:,.0f}" for each in found) + " |", flush=True)


if __name__ == "__main__":
    main()
