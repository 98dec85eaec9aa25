"""Does training on several machines give the network that one machine gives, and what does it cost?

Trains an ISAN on text, data-parallel. With TensorFlow every machine runs this script with the same list of workers
and a number of its own; each reads its share of every batch, and gradients are summed among them. With JAX
(KERAS_BACKEND=jax) one process uses all devices that it sees. Prints the bits per character, a checksum of the weights,
which is the same for any number of workers, and the time of a step. A run of TensorFlow that was stopped, or lost a
worker, goes on from its last checkpoint when all workers are started again.

    python examples/distributed.py --batch 64                                      # one worker
    python examples/distributed.py --batch 64 --workers a:2222 b:2222 --worker 0   # on machine a
    python examples/distributed.py --batch 64 --workers a:2222 b:2222 --worker 1   # on machine b
    XLA_FLAGS=--xla_force_host_platform_device_count=2 KERAS_BACKEND=jax python examples/distributed.py --batch 64
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--workers", nargs="+", default=["localhost"], help="host:port of each, the same list on all")
parser.add_argument("--worker", type=int, default=0, help="number of this worker in the list")
parser.add_argument("--batch", type=int, default=64, help="windows in a step, over all workers")
parser.add_argument("--length", type=int, default=50, help="characters in a window")
parser.add_argument("--units", type=int, default=64, help="state size")
parser.add_argument("--steps", type=int, default=200, help="training steps")
parser.add_argument("--optimizer", default="adam", choices=["adam", "sgd"], help="training rule")
parser.add_argument("--learning-rate", type=float, default=3e-3, help="learning rate at the start")
parser.add_argument("--every", type=int, default=50, help="steps between checkpoints")
parser.add_argument("--runs", default="runs/distributed", help="folder of the checkpoints, seen by all workers")
parser.add_argument("--smoke", action="store_true", help="a few steps, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers, losses

SYMBOLS = len(datasets.text.ALPHABET)


def network(args: argparse.Namespace) -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((args.length,), dtype="int32"),
            layers.ISAN(args.units, SYMBOLS, return_sequences=True),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    optimizer = {"adam": keras.optimizers.Adam, "sgd": keras.optimizers.SGD}[args.optimizer]
    model.compile(optimizer(args.learning_rate), losses.BitsPerSymbol())
    model.optimizer.build(model.trainable_variables)
    return model


def on_tensorflow(args: argparse.Namespace) -> tuple[keras.Model, list[float], list[float]]:
    """A hand-written loop: Keras's own `fit` (3.15) cannot begin under several workers.

    Without clipping: Keras clips every worker's share of a gradient, not their sum.
    """
    workers = len(args.workers)
    if workers > 1:
        task = {"type": "worker", "index": args.worker}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": args.workers}, "task": task})
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy() if workers > 1 else tf.distribute.get_strategy()
    folder = Path(args.runs) / f"worker-{args.worker}"  # only the first one's is read again
    first = Path(args.runs) / "worker-0"
    done = tf.Variable(0, dtype=tf.int64)
    with strategy.scope():
        model = network(args)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer, done=done)
        if latest := tf.train.latest_checkpoint(first):
            checkpoint.restore(latest).expect_partial()
            print(f"goes on after step {int(done)}")
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=1)
    windows = datasets.Windows(datasets.text.python_documentation(), args.batch, length=args.length)
    share = slice(args.worker * args.batch // workers, (args.worker + 1) * args.batch // workers)

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        def on_replica(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = model.loss(y, model(x, training=True))  # already divided by the number of workers
            gradients = tape.gradient(loss, model.trainable_weights)
            model.optimizer.apply(gradients, model.trainable_weights)  # sums them over the workers
            return loss * workers

        return strategy.experimental_local_results(strategy.run(on_replica, args=(x, y)))[0]

    bits, seconds = [], []
    for i in range(int(done), args.steps):
        x, y = (tf.constant(part[share]) for part in windows[i % len(windows)])
        started = time.perf_counter()
        bits.append(float(step(x, y)))
        seconds.append(time.perf_counter() - started)
        done.assign(i + 1)
        if (i + 1) % args.every == 0 or i + 1 == args.steps:
            manager.save()
    return model, bits, seconds


def on_jax(args: argparse.Namespace) -> tuple[keras.Model, list[float], list[float]]:
    """Keras's own step on all devices of this process, from the beginning: it is short, and keeps no checkpoints."""
    keras.distribution.set_distribution(keras.distribution.DataParallel())
    model = network(args)
    kernel = model.trainable_variables[0].value
    print(f"{len(kernel.sharding.device_set)} devices hold the weights")
    windows = datasets.Windows(datasets.text.python_documentation(), args.batch, length=args.length)
    bits, seconds = [], []
    for i in range(args.steps):
        started = time.perf_counter()
        bits.append(float(model.train_on_batch(*windows[i % len(windows)])))
        seconds.append(time.perf_counter() - started)
    return model, bits, seconds


def main() -> None:
    if args.smoke:
        args.units, args.steps, args.batch, args.every = 8, 5, 8, 2
        args.runs = tempfile.mkdtemp(prefix="distributed-")
    if args.batch % len(args.workers):
        parser.error(f"every worker reads as many windows: {args.batch} do not go into {len(args.workers)} parts")
    jax = keras.backend.backend() == "jax"
    if jax and len(args.workers) > 1:
        parser.error("--workers are for TensorFlow; with JAX this script uses all devices of one process")
    trained = on_jax if jax else on_tensorflow
    model, bits, seconds = trained(args)
    checksum = sum(float(np.abs(np.asarray(w)).sum()) for w in model.get_weights())
    if bits:
        later = seconds[len(seconds) // 5 :]
        print(f"{bits[-1]:.4f} bits per character of the last batch it read")
        print(f"{1000 * np.median(later):.1f} ms a step, median of {len(later)}")
    print(f"checksum of the weights: {checksum:.4f}")
    Path(args.runs).mkdir(parents=True, exist_ok=True)
    np.savez(Path(args.runs) / f"weights-{args.worker}.npz", *model.get_weights())


if __name__ == "__main__":
    main()
