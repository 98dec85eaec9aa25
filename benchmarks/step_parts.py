"""Where does a training step spend its time?

Whole training steps of an ISAN and an LSTM of as many weights on text, of a MinimalRNN and a GRU of as many units over
embedded items, and of a GRU cell without and with state regularization. Each step is timed four times: its recurrent
layer forward; the layer forward and back; the loss with all its gradients; and the whole `train_on_batch`. The
differences, round by round, are the parts. The embedding counts as part of its layer, whose input it is; the readout
and the loss are what the loss takes more than the layer; clipping, Adam and the ISAN's constraint what the step takes
more than the loss. Differences of large times are noisy: a part of a few milliseconds beside hundreds may come out
negative, and counts as nothing in the picture.

    python benchmarks/step_parts.py --figure docs/figures/step-parts.png      # five minutes on two cores
    python benchmarks/step_parts.py --one-thread                              # processor seconds, beside other work
    python benchmarks/step_parts.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "--one-thread" in sys.argv:
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1")

import keras
import numpy as np
import tensorflow as tf
from turns import in_turn

from keras_interp_rnn import layers, losses

SYMBOLS, ITEMS = 27, 1000
PARTS = ("layer, forward", "layer, back", "readout and loss", "clipping, Adam, constraint")


def parts_of(kind: str, batch: int, length: int, small: bool) -> dict[str, Callable[[], object]]:
    """Four functions, each of which does what the one before does and more."""
    rng = np.random.default_rng(0)
    units, lstm, gated, centroids = (12, 10, 8, 3) if small else (216, 550, 256, 10)
    one_hot = keras.layers.Embedding(SYMBOLS, SYMBOLS, embeddings_initializer="identity", trainable=False)
    every_step = {"return_sequences": True}
    body = {
        "ISAN": lambda: [layers.ISAN(units, SYMBOLS, **every_step)],
        "LSTM": lambda: [one_hot, keras.layers.LSTM(lstm, **every_step)],
        "MinimalRNN": lambda: [keras.layers.Embedding(ITEMS, gated), layers.MinimalRNN(gated)],
        "GRU": lambda: [keras.layers.Embedding(ITEMS, gated), keras.layers.GRU(gated)],
        "GRUCell": lambda: [keras.layers.Embedding(ITEMS, gated), keras.layers.RNN(keras.layers.GRUCell(gated))],
        "SRGRU": lambda: [keras.layers.Embedding(ITEMS, gated), layers.SRGRU(gated, centroids)],
    }[kind]()
    text = kind in ("ISAN", "LSTM")
    recurrent = keras.Sequential([keras.Input((length,), batch_size=batch, dtype="int32"), *body])
    model = keras.Sequential([recurrent, keras.layers.Dense(SYMBOLS if text else 1)])
    loss = losses.BitsPerSymbol() if text else keras.losses.MeanSquaredError()
    model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.44), loss)
    x = rng.integers(SYMBOLS if text else ITEMS, size=(batch, length)).astype(np.int32)
    y = np.roll(x, -1, axis=1) if text else rng.normal(size=(batch, 1)).astype(np.float32)
    ids, targets = tf.constant(x), tf.constant(y)
    forward = tf.function(lambda: recurrent(ids, training=True))
    cotangent = tf.constant(rng.normal(size=forward().shape).astype(np.float32))

    def gradients(value: Callable[[], tf.Tensor], of: keras.Model) -> Callable[[], object]:
        def found() -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                result = value()
            return tape.gradient(result, [weight.value for weight in of.trainable_weights])

        return tf.function(found)

    back = gradients(lambda: tf.reduce_sum(cotangent * recurrent(ids, training=True)), recurrent)
    of_loss = gradients(lambda: loss(targets, model(ids, training=True)), model)
    return dict(zip(PARTS, (forward, back, of_loss, lambda: model.train_on_batch(x, y)), strict=True))


def draw(medians: dict[str, list[float]], path: str, title: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3), constrained_layout=True)
    left = np.zeros(len(medians))
    for part, color in zip(PARTS, ("#1b6ca8", "#7fb3d5", "#e0a458", "#8c8c8c"), strict=True):
        widths = np.array([max(times[PARTS.index(part)], 0) for times in medians.values()])
        bars = axes.barh(list(medians), widths, left=left, label=part, color=color)
        ink = "white" if part == PARTS[0] else "black"
        labels = [f"{width:.0f}" if width > left.max() / 30 else "" for width in widths]
        axes.bar_label(bars, labels, label_type="center", color=ink)
        left += widths
    axes.margins(x=0.02)
    axes.invert_yaxis()
    axes.set_xlabel(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), fontsize="small")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--one-thread", action="store_true", help="processor seconds: for a machine that is busy")
    parser.add_argument("--figure", help="a picture, .png or .svg")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    batch, length, rounds = (4, 6, 2) if args.smoke else (args.batch, 100, args.rounds)
    clock = time.process_time if args.one_thread else time.perf_counter
    kinds = ("ISAN", "LSTM", "MinimalRNN", "GRU", "GRUCell", "SRGRU")
    steps = {kind: parts_of(kind, batch, length, args.smoke) for kind in kinds}
    names = {f"{kind}, {part}": step for kind in kinds for part, step in steps[kind].items()}
    times = in_turn(names, rounds, clock=clock)
    unit = f"{'processor ' if args.one_thread else ''}milliseconds a step, batch {batch}, {length} steps"
    print(f"{unit}, median of {rounds} rounds\n\n| model | {' | '.join(PARTS)} | whole step |\n|---{'|---' * 5}|")
    medians = {}
    for kind in kinds:
        upto = 1000 * np.array([times[f"{kind}, {part}"] for part in PARTS])
        medians[kind] = list(np.median(np.diff(upto, axis=0, prepend=0), axis=1))
        cells = [*medians[kind], statistics.median(upto[-1])]
        print(f"| {kind} | {' | '.join(f'{x:.1f}' for x in cells)} |", flush=True)
    if args.figure:
        draw(medians, args.figure, unit)


if __name__ == "__main__":
    main()
