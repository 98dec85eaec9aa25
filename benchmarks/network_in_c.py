"""A small network in C: how large is it, how far from Keras, and how fast beside ONNX Runtime?

Models ids -> recurrent layer -> Dense(27), with weights near their initial ones, are written by `deploy.to_c` and
compiled. Bytes of code and of constants are those of the object file of `cc -O2` (`size -A`), rates those of `-O3`.
All outputs of random sequences are compared with Keras's, both in float32, as the largest difference divided by the
largest output, or by 1 if that is smaller; and those of the weights in int8 likewise. Rates are those of one text,
symbol by symbol in a loop in C, and of the same text read as a whole by ONNX Runtime on one thread; seconds of the
processor, in turn.

    pip install -e ".[export]"                     # without it the rate of ONNX Runtime is left out
    python benchmarks/network_in_c.py              # ten minutes on two cores; needs a C compiler
    python benchmarks/network_in_c.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
from turns import in_turn

from keras_interp_rnn import deploy, layers

SYMBOLS, FEATURES = 27, 16

LOOP = """
void run(int count, int steps, const int *symbols, float *outputs) {
    network_state state;
    for (int s = 0; s < count; s++) {
        network_reset(&state);
        for (int t = 0; t < steps; t++, outputs += network_outputs) network_step(&state, *symbols++, outputs);
    }
}
"""


def families(units: int) -> dict[str, Callable[[], list[keras.layers.Layer]]]:
    """The layers of each model below its readout."""
    every = {"return_sequences": True}

    def embedded(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
        return [keras.layers.Embedding(SYMBOLS, FEATURES), layer]

    return {
        "ISAN": lambda: [layers.ISAN(units, SYMBOLS, **every)],
        "DiagonalISAN": lambda: [layers.DiagonalISAN(units, SYMBOLS, **every)],
        "MinimalRNN": lambda: embedded(layers.MinimalRNN(units, **every)),
        "MinGRU": lambda: embedded(layers.MinGRU(units, **every)),
        "SRGRU, mixture": lambda: embedded(layers.SRGRU(units, 10, **every)),
        "SRGRU, soft_argmax": lambda: embedded(layers.SRGRU(units, 10, transition="soft_argmax", **every)),
        "SimpleRNN": lambda: embedded(keras.layers.SimpleRNN(units, **every)),
        "GRU": lambda: embedded(keras.layers.GRU(units, **every)),
        "LSTM": lambda: embedded(keras.layers.LSTM(units, **every)),
    }


def model_of(make: Callable[[], list[keras.layers.Layer]], seed: int = 0) -> keras.Model:
    """A model with asymmetric weights."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *make(), keras.layers.Dense(SYMBOLS)])
    rng = np.random.default_rng(seed)
    noise = (rng.normal(0, 0.1, w.shape) / (np.sqrt(w.shape[-2]) if w.ndim > 1 else 1) for w in model.get_weights())
    model.set_weights([w + more if w.ndim else w for w, more in zip(model.get_weights(), noise, strict=True)])
    return model


class Compiled:
    """A model as C; its bytes of code and of constants."""

    def __init__(self, model: keras.Model, weights: str, folder: Path) -> None:
        text = deploy.to_c(model, weights=weights)
        (folder / "network.c").write_text(text, encoding="ascii")
        (folder / f"{weights}.c").write_text(text + LOOP, encoding="ascii")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run(["cc", *flags, "-O2", "-c", "network.c"], cwd=folder, check=True)
        library = f"{weights}.so"
        build = ["-O3", "-shared", "-fPIC", f"{weights}.c", "-lm", "-o", library]
        subprocess.run(["cc", *flags, *build], cwd=folder, check=True)
        sizes = subprocess.run(["size", "-A", "network.o"], cwd=folder, check=True, capture_output=True, text=True)
        sections = re.findall(r"^\.(text|rodata)\S*\s+(\d+)", sizes.stdout, re.MULTILINE)
        self.code, self.constants = (sum(int(n) for name, n in sections if name == each) for each in ("text", "rodata"))
        self._library = ctypes.CDLL(str(folder / library))

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        """The outputs (batch, time, symbols)."""
        outputs = np.empty((*ids.shape, SYMBOLS), np.float32)
        pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (np.ascontiguousarray(ids, np.intc), outputs))
        self._library.run(*ids.shape, *pointers)
        return outputs


def runtime_of(model: keras.Model, folder: Path) -> Callable[[np.ndarray], np.ndarray] | None:
    """The model in ONNX Runtime, or None where that is not installed or refuses the file."""
    try:
        import onnxruntime
        import tf2onnx  # noqa: F401
    except ImportError:
        return None
    model.export(folder / "network.onnx", format="onnx", verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(folder / "network.onnx", options)
    except Exception as error:  # of a class of its own for each reason
        print(f"ONNX Runtime refuses {model.layers[-2].name}: {str(error)[-120:]}", file=sys.stderr)
        return None
    [place] = session.get_inputs()
    return lambda ids: session.run(None, {place.name: ids.astype(np.int32)})[0]


def row(name: str, units: int, model: keras.Model, ids: np.ndarray, text: np.ndarray, rounds: int) -> str:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        ours, rounded = (Compiled(model, weights, folder) for weights in ("float32", "int8"))
        expected = model.predict(ids, batch_size=1000, verbose=0)
        size = max(1.0, float(np.abs(expected).max()))
        apart = [float(np.abs(way(ids) - expected).max()) / size for way in (ours, rounded)]
        ways = {"C": lambda: ours(text), "C, int8": lambda: rounded(text)}
        runtime = runtime_of(model, folder)
        if runtime is not None:
            ways["ONNX Runtime"] = lambda: runtime(text)
        times = in_turn(ways, rounds, clock=time.process_time)
    rates = [f"{text.size / statistics.median(seconds):,.0f}" for seconds in times.values()]
    rates += ["–"] * (3 - len(rates))
    sizes = f"{ours.code:,} | {ours.constants:,} | {rounded.constants:,}"
    return f"| {name} | {units} | {sizes} | {apart[0]:.1e} | {apart[1]:.1e} | {' | '.join(rates)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, a minute")
    args = parser.parse_args()
    units, count, rounds = ([3], 50, 1) if args.smoke else (args.units, args.sequences, args.rounds)
    rng = np.random.default_rng(0)
    ids, text = rng.integers(SYMBOLS, size=(count, 20)), rng.integers(SYMBOLS, size=(1, 100 if args.smoke else 5000))
    print(
        "| layer | units | code, bytes | constants | in int8 | difference | in int8 | symbols/s | in int8 "
        "| ONNX Runtime |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for size in units:
        for name, make in families(size).items():
            print(row(name, size, model_of(make), ids, text, rounds), flush=True)


if __name__ == "__main__":
    main()
