"""How much faster does an ISAN train than a Keras LSTM or GRU of as many weights, and how does its step time grow?

Side by side: whole training steps (`train_on_batch` with Adam and clipping, as an ordinary user compiles them) of all
models in turn, round after round, so that a noisy machine is noisy to all; medians over the rounds.
Growth: states and gradients of the layer alone, without readout and optimizer, on the whole-sequence path and
stepwise (a gather of one matrix per sequence and step), over time, batch, units and symbols. Factored: the same of a
`FactoredISAN`, beside its cell in `keras.layers.RNN` and an ISAN of as many units.

    python benchmarks/isan_vs_lstm.py            # all, about ten minutes on two cores
    python benchmarks/isan_vs_lstm.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import math
import os
import statistics
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from turns import in_turn

from keras_interp_rnn import datasets, layers, losses

SYMBOLS = 27
LARGEST_STEPWISE = 10e9  # bytes; beyond, the stepwise column is nan


def isan(batch: int, length: int, units: int, fused: bool | str = "auto") -> keras.Model:
    layer = layers.ISAN(units, SYMBOLS, return_sequences=True, fused=fused)
    return compiled([keras.Input((length,), batch_size=batch, dtype="int32"), layer])


def gated(kind: type, batch: int, length: int, units: int) -> keras.Model:
    one_hot = keras.layers.Embedding(SYMBOLS, SYMBOLS, embeddings_initializer="identity", trainable=False)
    return compiled(
        [keras.Input((length,), batch_size=batch, dtype="int32"), one_hot, kind(units, return_sequences=True)]
    )


def compiled(parts: list) -> keras.Model:
    model = keras.Sequential([*parts, keras.layers.Dense(SYMBOLS)])
    model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.44), losses.BitsPerSymbol())
    return model


def trainable(model: keras.Model) -> int:
    return sum(int(np.prod(w.shape)) for w in model.trainable_weights)


def equal_gru(parameters: int) -> int:
    """Units of the GRU, with readout, whose number of weights comes closest."""
    return min(range(1, 2000), key=lambda n: abs(3 * n * (n + SYMBOLS + 2) + SYMBOLS * (n + 1) - parameters))


def side_by_side(batch: int, length: int, units: int, lstm_units: int, rounds: int) -> None:
    models = {f"ISAN({units})": isan(batch, length, units)}
    models |= {
        f"ISAN({units}), stepwise": isan(batch, length, units, fused=False),
        f"LSTM({lstm_units})": gated(keras.layers.LSTM, batch, length, lstm_units),
    }
    gru_units = equal_gru(trainable(models[f"ISAN({units})"]))
    models[f"GRU({gru_units})"] = gated(keras.layers.GRU, batch, length, gru_units)
    windows = datasets.Windows(datasets.text.python_documentation(), batch, length=length)
    x, y = windows[0]
    times = in_turn({name: lambda m=model: m.train_on_batch(x, y) for name, model in models.items()}, rounds)
    reference = times[f"LSTM({lstm_units})"]
    print(f"\nTraining step, batch {batch}, {length} characters, median of {rounds} rounds:\n")
    print("| model | weights | ms a step | characters/s | times the LSTM, round by round |")
    print("|---|---|---|---|---|")
    for name, model in models.items():
        median = statistics.median(times[name])
        ratios = [theirs / ours for theirs, ours in zip(reference, times[name], strict=True)]
        print(
            f"| {name} | {trainable(model):,} | {1000 * median:.0f} | {batch * length / median:,.0f} "
            f"| {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |"
        )


def isan_step(fused: bool | str, batch: int, length: int, units: int, symbols: int) -> Callable[[], object]:
    layer = layers.ISAN(units, symbols, return_sequences=True, fused=fused, recurrent_initializer="zeros")
    return layer_step(layer, batch, length, symbols)


def layer_step(layer: keras.layers.Layer, batch: int, length: int, symbols: int, axes: int = 2) -> Callable[[], object]:
    """States and gradients of the layer alone. Symbols are drawn by Zipf's law, so that some are common."""
    weights = 1 / np.arange(1, symbols + 1)
    ids = np.random.default_rng(0).choice(symbols, (batch, length), p=weights / weights.sum())
    ids = tf.constant(ids[..., None] if axes == 3 else ids, tf.int32)
    layer(ids[:1, :1])

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids) ** 2)
        gradients = tape.gradient(loss, [w.value for w in layer.trainable_weights])
        return tf.add_n(
            [tf.reduce_sum(tf.convert_to_tensor(g.values if hasattr(g, "values") else g)) for g in gradients]
        )

    return lambda: step().numpy()


def growth(rounds: int, smoke: bool) -> None:
    base = {"length": 100, "batch": 128, "units": 216, "symbols": 27}
    cases = [{"length": t} for t in (100, 200, 400, 800)]
    cases += [{"batch": b} for b in (32, 128, 512)]
    cases += [{"units": n} for n in (54, 107, 216, 432)]
    cases += [{"symbols": k, "units": 64} for k in (27, 256, 729, 10_000)]
    if smoke:
        cases = [{"length": 5, "units": 24}, {"symbols": 100, "length": 5, "units": 24}]
    print(f"\nStates and gradients of the layer alone, median of {rounds} rounds; base: {base}:\n")
    print("| changed | whole-sequence, ms | symbols/s | stepwise, ms | stepwise / whole-sequence |")
    print("|---|---|---|---|---|")
    for case in cases:
        sizes = {**base, **case}
        # Stepwise, automatic differentiation keeps one (n, n) product per sequence and step.
        stepwise_bytes = 4 * sizes["batch"] * sizes["length"] * sizes["units"] ** 2
        paths = ("auto", False) if stepwise_bytes < LARGEST_STEPWISE else ("auto",)
        steps = {str(fused): isan_step(fused, **sizes) for fused in paths}
        times = in_turn(steps, rounds, warm_up=1)
        fast = statistics.median(times["auto"])
        slow = statistics.median(times["False"]) if "False" in times else math.nan
        changed = ", ".join(f"{name} {value:,}" for name, value in case.items())
        rate = sizes["batch"] * sizes["length"] / fast
        print(f"| {changed} | {1000 * fast:.0f} | {rate:,.0f} | {1000 * slow:.0f} | {slow / fast:.1f} |", flush=True)


def factored(rounds: int, smoke: bool) -> None:
    batch, length, units, factors = (4, 5, 8, 4) if smoke else (128, 100, 128, 64)
    print(f"\nStates and gradients of the layer alone, batch {batch}, {length} steps, n = {units}, f = {factors}:\n")
    print("| symbols | FactoredISAN, ms | its cell in RNN, ms | times as fast | ISAN, ms | times as fast |")
    print("|---|---|---|---|---|---|")
    for symbols in (27,) if smoke else (27, 729, 10_000):
        cell = layers.FactoredISANCell(units, factors, symbols)
        steps = {
            "own": layer_step(
                layers.FactoredISAN(units, factors, symbols, return_sequences=True), batch, length, symbols
            ),
            "cell": layer_step(keras.layers.RNN(cell, return_sequences=True), batch, length, symbols, axes=3),
            "ISAN": isan_step("auto", batch, length, units, symbols),
        }
        times = in_turn(steps, rounds)
        row = [f"{symbols:,}", f"{1000 * statistics.median(times['own']):.1f}"]
        for other in ("cell", "ISAN"):
            ratios = [theirs / ours for theirs, ours in zip(times[other], times["own"], strict=True)]
            row += [f"{1000 * statistics.median(times[other]):.1f}", f"{statistics.median(ratios):.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)


def matrix_product_rate(units: int) -> float:
    """FLOP/s of one large product, the machine's own rate."""
    rows, matrix = tf.random.normal((12_800, units)), tf.random.normal((units, units))
    product = tf.function(lambda: tf.matmul(rows, matrix))
    times = in_turn({"product": lambda: product().numpy()[0, 0]}, rounds=20)["product"]
    return 2 * 12_800 * units**2 / statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=["side-by-side", "growth", "factored"])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    rounds = 1 if args.smoke else args.rounds
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, {os.cpu_count()} cores.")
    if args.only in (None, "side-by-side"):
        for batch in (4,) if args.smoke else (128, 512):
            side_by_side(batch, *((10, 24, 20) if args.smoke else (100, 216, 550)), rounds)
        rate = matrix_product_rate(216)
        print(
            f"\nThe machine's own rate, one (12800, 216) x (216, 216) product: {rate / 1e9:.0f} GFLOP/s, which would be"
        )
        print(
            f"{rate / (6 * 216**2):,.0f} characters/s of an ISAN(216)'s recurrence (6 n^2 FLOP each, with gradients)."
        )
    if args.only in (None, "growth"):
        growth(max(rounds // 3, 1), args.smoke)
    if args.only in (None, "factored"):
        factored(rounds, args.smoke)


if __name__ == "__main__":
    main()
