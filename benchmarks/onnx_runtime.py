"""How fast does ONNX Runtime read text with an ISAN, and does it compute the same?

One model, ids -> ISAN(216, 27) on its default path -> Dense(27), exported once by `model.export(format="onnx")`.
Batches of random text are read in turn by `tf.function(model)`, by `predict_on_batch` and by ONNX Runtime, round after
round; median characters per second, and the ratio round by round to the first. Beside them the largest difference of
the logits from those of `tf.function`.

    pip install -e ".[export]"
    python benchmarks/onnx_runtime.py              # two minutes on two cores
    python benchmarks/onnx_runtime.py --one-thread     # processor seconds, beside other work
    python benchmarks/onnx_runtime.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from turns import in_turn

from keras_interp_rnn import layers

SYMBOLS = 27


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--one-thread", action="store_true", help="processor seconds: for a machine that is busy")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    try:
        import onnxruntime
        import tf2onnx  # noqa: F401
    except ImportError as error:
        print(f"This benchmark needs the export extra: pip install -e '.[export]' ({error}).")
        return
    threads = 1 if args.one_thread else 0
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    clock = time.process_time if args.one_thread else time.perf_counter
    units = 12 if args.smoke else 216
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "isan.onnx"
        model(np.zeros((2, 3), np.int32))
        model.export(path, format="onnx", verbose=False)
        session = onnxruntime.InferenceSession(path, options)
    [place] = session.get_inputs()
    compiled = tf.function(model)
    print(f"ONNX Runtime {onnxruntime.__version__}, TensorFlow {tf.__version__}, ISAN({units}, {SYMBOLS})\n")
    print("| batch | length | tf.function | predict_on_batch | ONNX Runtime | ratio | difference | largest logit |")
    print("|---|---|---|---|---|---|---|---|")
    for batch, length in [(4, 6)] if args.smoke else [(1, 100), (32, 100), (128, 100), (512, 100), (128, 1000)]:
        ids = np.random.default_rng(batch).integers(SYMBOLS, size=(batch, length)).astype(np.int32)
        ways = {
            "tf.function": lambda ids=ids: compiled(tf.constant(ids)).numpy(),
            "predict_on_batch": lambda ids=ids: model.predict_on_batch(ids),
            "ONNX Runtime": lambda ids=ids: session.run(None, {place.name: ids})[0],
        }
        right = ways["tf.function"]()
        apart = max(float(np.abs(way() - right).max()) for way in (ways["ONNX Runtime"], ways["predict_on_batch"]))
        times = in_turn(ways, 1 if args.smoke else args.rounds, clock=clock)
        ratios = [a / b for a, b in zip(times["tf.function"], times["ONNX Runtime"], strict=True)]
        rates = " | ".join(f"{batch * length / statistics.median(seconds):,.0f}" for seconds in times.values())
        print(
            f"| {batch} | {length} | {rates} | {statistics.median(ratios):.2f} | {apart:.1e} "
            f"| {np.abs(right).max():.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
