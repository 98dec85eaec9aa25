"""How long does a network take for one symbol of a stream?

Each layer reads one symbol and hands its states on: a model of one step, (symbol, states) -> (logits, new states), as
docs/deploy.md builds it. A thousand steps by each way of running it, on one thread, and twenty by `predict` of the
stateful model; the median of a step and its 99th percentile in microseconds, with the calls from Python. The largest
difference is that of the logits from those of the layer that reads the whole text at once.

    python benchmarks/streaming.py             # two minutes; KERAS_BACKEND says which backend
    python benchmarks/streaming.py --processor # processor time, beside other work
    python benchmarks/streaming.py --smoke

ONNX Runtime and LiteRT are there on TensorFlow, the first with the `export` extra. The results, with hardware and date,
are in docs/deploy.md.
"""

import argparse
import importlib.util
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1")
import keras
import numpy as np

from keras_interp_rnn import layers

SYMBOLS = 27
Step = Callable[[list[np.ndarray]], list[np.ndarray]]
"""From symbol and states to logits and new states."""


def kinds(units: int) -> dict[str, keras.layers.RNN]:
    flags = {"return_sequences": True}
    return {
        "ISAN": layers.ISAN(units, SYMBOLS, **flags),
        "FactoredISAN": layers.FactoredISAN(units, units // 2, SYMBOLS, **flags),
        "MinimalRNN": layers.MinimalRNN(units, **flags),
        "CFN": layers.CFN(units, **flags),
        "PeepholeLSTM": layers.PeepholeLSTM(units, **flags),
        "SRGRU": layers.SRGRU(units, 10, **flags),
        "Keras's GRU": keras.layers.GRU(units, **flags),
        "Keras's LSTM": keras.layers.LSTM(units, **flags),
    }


def embedded(layer: keras.layers.RNN, ids: keras.KerasTensor, table: keras.layers.Embedding) -> keras.KerasTensor:
    return ids if isinstance(layer, (layers.ISAN, layers.FactoredISAN)) else table(ids)


def models(layer: keras.layers.RNN) -> tuple[keras.Model, keras.Model, keras.Model]:
    """One that reads whole texts, one of a step with its states, a stateful one of a step; of the same weights."""
    table, head = keras.layers.Embedding(SYMBOLS, SYMBOLS), keras.layers.Dense(SYMBOLS)
    texts = keras.Input((None,), batch_size=1, dtype="int32")
    whole = keras.Model(texts, head(layer(embedded(layer, texts, table))))
    for weight in layer.weights:
        if "bias" in weight.name:  # zeros at first, and with them the states of a FactoredISAN
            weight.assign(keras.random.normal(weight.shape, stddev=0.1, seed=1))

    def again(**flags: bool) -> keras.layers.RNN:
        return type(layer).from_config({**layer.get_config(), "return_sequences": False, **flags})

    symbol = keras.Input((1,), batch_size=1, dtype="int32", name="symbol")
    sizes = keras.tree.flatten(layer.state_size)
    states = [keras.Input((size,), batch_size=1, name=f"state_{i}") for i, size in enumerate(sizes)]
    one = again(return_state=True, unroll=True)
    output, *new = one(embedded(layer, symbol, table), initial_state=states)
    step = keras.Model([symbol, *states], [head(output), *new])
    step([np.zeros(x.shape, x.dtype) for x in step.inputs])  # Keras exports what has been called
    carried = again(stateful=True)
    stream = keras.Model(symbol, head(carried(embedded(layer, symbol, table))))
    for copy in (one, carried):
        copy.set_weights(layer.get_weights())
    return whole, step, stream


def ways(step: keras.Model, folder: Path) -> Iterator[tuple[str, Step]]:
    """Ways of running the step: names, and functions from a list of arrays to one."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(step)
        yield "tf.function", lambda given: compiled(given)
        if importlib.util.find_spec("tf2onnx") and importlib.util.find_spec("onnxruntime"):
            yield "ONNX Runtime", onnx(step, folder / "step.onnx")
        yield "LiteRT", litert(step, folder / "step.tflite")
    elif backend == "jax":
        import jax

        yield "jax.jit", jax.jit(lambda given: step(given))
    else:
        import torch

        yield "torch.inference_mode", torch.inference_mode()(lambda given: step(given))


def onnx(step: keras.Model, path: Path) -> Step:
    import onnxruntime

    step.export(path, format="onnx", verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names = [place.name for place in step.inputs]
    return lambda given: session.run(None, dict(zip(names, given, strict=True)))


def litert(step: keras.Model, path: Path) -> Step:
    import tensorflow as tf

    step.export(path, format="litert", verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its next home
        run = tf.lite.Interpreter(str(path)).get_signature_runner()
    names = [place.name for place in step.inputs]

    def outputs(given: list[np.ndarray]) -> list[np.ndarray]:
        found = run(**dict(zip(names, given, strict=True)))
        return [found[f"output_{i}"] for i in range(len(found))]

    return outputs


def read(
    step: Step, text: np.ndarray, states: list[np.ndarray], clock: Callable[[], float]
) -> tuple[np.ndarray, list[float]]:
    """The logits of every step of a text, and the seconds of each by the clock."""
    logits, seconds = [], []
    for symbol in text:
        start = clock()
        output, *states = (np.asarray(x) for x in step([np.array([[symbol]], np.int32), *states]))
        seconds.append(clock() - start)
        logits.append(output[0])
    return np.array(logits), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=216)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--processor", action="store_true", help="processor time: for a machine that is busy")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    clock = time.process_time if args.processor else time.perf_counter
    units, steps = (8, 20) if args.smoke else (args.units, args.steps)
    print(
        f"Keras {keras.__version__} on {keras.backend.backend()}, {units} units, {steps} steps, microseconds a step\n"
    )
    print("| layer | way | median | 99 % | largest difference |\n|---|---|---|---|---|")
    text = np.random.default_rng(0).integers(SYMBOLS, size=steps)
    for name, layer in kinds(units).items():
        keras.utils.set_random_seed(0)
        whole, step, stream = models(layer)
        right = np.asarray(keras.ops.convert_to_numpy(whole(text[None])))[0]
        starts = [keras.ops.convert_to_numpy(start) for start in keras.tree.flatten(layer.get_initial_state(1))]
        with tempfile.TemporaryDirectory() as folder:
            runs = dict(ways(step, Path(folder)))
            runs["predict, stateful"] = lambda given, stream=stream: [stream.predict(given[0], verbose=0), *given[1:]]
            for way, run in runs.items():
                shorter = text[: 1 + steps // 50] if "predict" in way else text
                run([shorter[None, :1].astype(np.int32), *starts])  # traced, and its state not kept
                if "predict" in way:
                    next(part for part in stream.layers if isinstance(part, keras.layers.RNN)).reset_state()
                logits, seconds = read(run, shorter, starts, clock)
                apart = np.abs(logits - right[: len(shorter)]).max()
                figures = (1e6 * np.percentile(seconds, q) for q in (50, 99))
                print(f"| {name} | {way} | {' | '.join(f'{x:.0f}' for x in figures)} | {apart:.1e} |", flush=True)


if __name__ == "__main__":
    main()
