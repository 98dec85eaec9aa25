"""Does training on several machines give the network that one machine gives, and what does it cost?

Every machine runs this script, with TensorFlow and the same list of workers. Each reads its part of every batch, and
gradients are summed over them: the weights are those of one worker, but for rounding. When a worker is lost, start all
of them again: they resume from the last checkpoint.

    python examples/distributed.py                                      # one worker
    python examples/distributed.py --workers a:2222 b:2222 --worker 0   # on machine a
    python examples/distributed.py --workers a:2222 b:2222 --worker 1   # on machine b
"""

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
parser.add_argument("--units", type=int, default=16, help="state size")
parser.add_argument("--steps", type=int, default=100, help="training steps")
parser.add_argument("--run", default="runs/distributed", help="folder of the checkpoints, seen by all workers")
parser.add_argument("--smoke", action="store_true", help="five steps, in a temporary folder")
args = parser.parse_args()
if args.batch % len(args.workers):
    parser.error(f"--batch must be a multiple of the number of workers, {len(args.workers)}. Received: {args.batch}.")
task = {"type": "worker", "index": args.worker}
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": args.workers}, "task": task})

with command_line.quiet():
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_interp_rnn import datasets, layers, losses

SYMBOLS, LENGTH = len(datasets.text.ALPHABET), 100


def build() -> keras.Model:
    keras.utils.set_random_seed(0)
    isan = layers.ISAN(args.units, SYMBOLS, return_sequences=True)
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), isan, keras.layers.Dense(SYMBOLS)])
    model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())  # clipping would be of each worker's part
    model.optimizer.build(model.trainable_variables)
    return model


def main() -> None:
    if args.smoke:
        args.steps, args.run = 5, tempfile.mkdtemp(prefix="distributed-")
    run, workers = Path(args.run), len(args.workers)
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if workers > 1 else tf.distribute.get_strategy()
    done = tf.Variable(0, dtype=tf.int64)
    with strategy.scope():
        model = build()
        checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer, done=done)
        if latest := tf.train.latest_checkpoint(run / "worker-0"):  # only the first one's is read again
            checkpoint.restore(latest).expect_partial()
            print(f"resumes after step {int(done)}")
    every = {"step_counter": done, "checkpoint_interval": 5}
    manager = tf.train.CheckpointManager(checkpoint, run / f"worker-{args.worker}", max_to_keep=1, **every)

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> None:  # Keras's own `fit` (3.15) cannot begin under several workers
        with tf.GradientTape() as tape:
            loss = model.loss(y, model(x, training=True))  # already divided by the number of workers
        model.optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)  # sums over them

    windows, milliseconds = datasets.Windows(datasets.text.python_documentation(), args.batch, length=LENGTH), []
    bar = keras.utils.Progbar(args.steps, verbose=command_line.VERBOSE)
    for i in range(int(done), args.steps):
        part = [tf.constant(array[args.worker :: workers]) for array in windows[i % len(windows)]]
        started = time.perf_counter()
        strategy.run(step, args=part)
        milliseconds.append(1000 * (time.perf_counter() - started))
        done.assign(i + 1)
        manager.save()
        bar.update(i + 1)
    print(f"checksum of the weights: {sum(np.abs(weight).sum() for weight in model.get_weights()):.4f}")
    print(f"{np.median(milliseconds or [0]):.1f} ms a step, median of {len(milliseconds)}")
    np.savez(run / f"weights-{args.worker}.npz", *model.get_weights())


if __name__ == "__main__":
    main()
