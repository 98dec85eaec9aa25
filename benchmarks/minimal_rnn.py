"""How much faster does a MinimalRNN train than its neighbours, and what do its Jacobians cost?

Training: whole training steps (`train_on_batch` with Adam, as an ordinary user compiles them) of networks of equal
units, in turn, round after round, so that a noisy machine is noisy to all; medians over the rounds. The inputs are
embedded items, as many features as units, and the last state is read.
Jacobians: singular values of dh_T/dx_{T-25} by `analysis.jacobian_singular_values`, by `tape.batch_jacobian` on the
unrolled graph, and by a loop over `tape.gradient`; the latter two with their singular values by the same routine.

    python benchmarks/minimal_rnn.py            # both, about ten minutes on two cores
    python benchmarks/minimal_rnn.py --smoke

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

from keras_interp_rnn import analysis, layers

ITEMS = 1000
KINDS = {
    "MinimalRNN": layers.MinimalRNN,
    "CFN": layers.CFN,
    "GRU": keras.layers.GRU,
    "LSTM": keras.layers.LSTM,
    "SimpleRNN": keras.layers.SimpleRNN,
}


def training_step(recurrent: list[keras.layers.Layer], batch: int, length: int, xla: bool) -> Callable[[], object]:
    model = keras.Sequential(
        [keras.Input((length,), batch_size=batch, dtype="int32"), *recurrent, keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", jit_compile=xla)
    rng = np.random.default_rng(0)
    x, y = rng.integers(ITEMS, size=(batch, length)), rng.normal(size=(batch, 1))
    return lambda: model.train_on_batch(x, y)


def training(cases: list[tuple[int, int]], length: int, rounds: int) -> None:
    print(f"\nTraining step, {length} steps, ms, median of {rounds} rounds; times the MinimalRNN's, round by round:\n")
    print("| units | batch | " + " | ".join(KINDS) + " |")
    print("|---|---|" + "---|" * len(KINDS))
    for units, batch in cases:
        steps = {
            name: training_step([keras.layers.Embedding(ITEMS, units), kind(units)], batch, length, xla=False)
            for name, kind in KINDS.items()
        }
        times = in_turn(steps, rounds)
        ours = times["MinimalRNN"]
        cells = []
        for theirs in times.values():
            ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
            cells.append(f"{1000 * statistics.median(theirs):.0f} ({statistics.median(ratios):.2f})")
        print(f"| {units} | {batch} | " + " | ".join(cells) + " |", flush=True)


def compiled(units: int, batch: int, length: int, rounds: int) -> None:
    """What XLA changes, and an encoder that looks the items up instead of a dense one over their embeddings."""

    def embedded(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
        return [keras.layers.Embedding(ITEMS, units), layer]

    networks: dict[str, Callable[[], list[keras.layers.Layer]]] = {
        "MinimalRNN, encoder=Embedding": lambda: [layers.MinimalRNN(units, keras.layers.Embedding(ITEMS, units))],
        "MinimalRNN": lambda: embedded(layers.MinimalRNN(units)),
        "CFN": lambda: embedded(layers.CFN(units)),
        # use_cudnn: Keras marks a GRU that may use cuDNN as unfit for XLA.
        "GRU": lambda: embedded(keras.layers.GRU(units, use_cudnn=False)),
    }
    times = in_turn(
        {
            name + suffix: training_step(recurrent(), batch, length, xla)
            for name, recurrent in networks.items()
            for suffix, xla in (("", False), (", XLA", True))
        },
        rounds,
    )
    print(f"\n{units} units, batch {batch}, {length} steps: ms a training step; the GRU's (without XLA) times ours:\n")
    print("| network | ms | times |\n|---|---|---|")
    for name, ours in times.items():
        ratios = [a / b for a, b in zip(times["GRU"], ours, strict=True)]
        print(f"| {name} | {1000 * statistics.median(ours):.0f} | {statistics.median(ratios):.2f} |", flush=True)


def jacobians(kind: str, units: int, features: int, batch: int, lag: int, rounds: int, with_loop: bool) -> None:
    layer = KINDS[kind](units)
    inputs = np.random.default_rng(0).normal(size=(batch, lag + 1, features)).astype("float32")
    layer(inputs)
    unrolled = KINDS[kind].from_config({**layer.get_config(), "unroll": True})
    unrolled(inputs)
    unrolled.set_weights(layer.get_weights())

    @tf.function
    def batch_jacobian(first: tf.Tensor, rest: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(first)
            state = unrolled(tf.concat([first[:, None], rest], 1))
        return tape.batch_jacobian(state, first)

    @tf.function
    def one_row(first: tf.Tensor, rest: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(first)
            entry = unrolled(tf.concat([first[:, None], rest], 1))[:, row]
        return tape.gradient(entry, first)

    first, rest = tf.constant(inputs[:, 0]), tf.constant(inputs[:, 1:])

    def looped() -> np.ndarray:
        rows = [one_row(first, rest, tf.constant(row)).numpy() for row in range(units)]
        return np.linalg.svd(np.stack(rows, axis=1), compute_uv=False)

    ways: dict[str, Callable[[], np.ndarray]] = {
        "jacobian_singular_values": lambda: analysis.jacobian_singular_values(layer, inputs, lags=[lag])[0],
        "batch_jacobian": lambda: np.linalg.svd(batch_jacobian(first, rest).numpy(), compute_uv=False),
    }
    if with_loop:
        ways["loop"] = looped
    times = in_turn(ways, rounds, warm_up=1)
    found = {name: way() for name, way in ways.items()}
    largest = found["batch_jacobian"].max()
    apart = np.abs(found["jacobian_singular_values"] - found["batch_jacobian"]).max() / largest
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    ours = medians["jacobian_singular_values"]
    others = " | ".join(
        f"{1000 * medians[name]:.0f} ({medians[name] / ours:.1f})" if name in medians else ""
        for name in ("batch_jacobian", "loop")
    )
    print(f"| {kind} | {units} | {features} | {1000 * ours:.0f} | {others} | {apart:.1e} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", choices=["training", "jacobians"])
    parser.add_argument("--units", type=int, nargs="+", default=[64, 256, 640])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    rounds = 1 if args.smoke else args.rounds
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, {os.cpu_count()} cores.")
    if args.only != "jacobians":
        cases = [(units, 128) for units in args.units] + [(256, batch) for batch in (32, 512)]
        training([(8, 4)] if args.smoke else cases, 5 if args.smoke else 100, rounds)
        compiled(*(8, 4, 5) if args.smoke else (256, 128, 100), rounds)
    if args.only != "training":
        batch, lag = (2, 3) if args.smoke else (32, 25)
        print(f"\nSingular values of dh_T/dx_(T-{lag}), batch {batch}, ms, median of {rounds} rounds:\n")
        print(
            "| network | units | features | ours | batch_jacobian (times ours) | loop (times ours) | apart, relative |"
        )
        print("|---|---|---|---|---|---|---|")
        for kind, units, features, loop in (
            ("MinimalRNN", 256, 256, True),
            ("MinimalRNN", 256, 32, False),
            ("CFN", 256, 256, False),
            ("GRU", 256, 256, False),
        ):
            sizes = (6, 5) if args.smoke else (units, features)
            jacobians(kind, *sizes, batch, lag, max(rounds // 3, 1), loop)


if __name__ == "__main__":
    main()
