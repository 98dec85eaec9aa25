"""Can a factorised switch replace one matrix for each symbol?

Trains an ISAN, factored ISANs of several ranks and an LSTM of about as many weights for as many steps on characters and
on pairs of characters (729 symbols), and lets an oscillator whose frequency the input sets be followed by a factored
ISAN, by a linear network, whose matrix nothing switches, and by a GRU.

    python examples/factored_isan.py                          # Python's own documentation; ten minutes on two cores
    python examples/factored_isan.py --text text8.zip --steps 20000 --weights 1000000

Reference: Foerster et al., ICML 2017, section 3.1 for pairs, 5.2 for the factorisation.
"""

import itertools
import sys
import tempfile
import time
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file (default: Python's own documentation)")
parser.add_argument("--weights", type=int, default=60_000, help="weights on characters; twice that on pairs")
parser.add_argument("--factors", type=int, nargs="+", default=[8, 32, 128], help="ranks of the factored ISANs")
parser.add_argument("--steps", type=int, default=2000, help="training steps of each network")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--tested", type=int, default=200_000, help="characters of the test text to read")
parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
parser.add_argument("--smoke", action="store_true", help="a few steps, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers, losses
    from keras_interp_rnn.reproduce import records

BATCH, LENGTH, EMBEDDED = 32, 50, 27
FLAGS = {"return_sequences": True, "stateful": True}


def symbol_networks(symbols: int, weights: int, factors: list[int]) -> dict:
    """Layers of at most so many weights with the readout, by name."""

    def units(count) -> int:
        return next(n for n in itertools.count(1) if count(n + 1) + (n + 2) * symbols > weights)

    n = units(lambda n: symbols * n * (n + 1) + n)
    networks = {f"ISAN({n})": [layers.ISAN(n, symbols, **FLAGS)]}
    for f in factors:
        n = units(lambda n, f=f: symbols * (f + n) + 2 * n * f + n * n + n)
        networks[f"FactoredISAN({n}, {f})"] = [layers.FactoredISAN(n, f, symbols, **FLAGS)]
    n = units(lambda n: symbols * EMBEDDED + 4 * n * (n + EMBEDDED + 1))
    # An embedding whose gradient is dense: of an Embedding's, Keras 3.15 squares each reading of a symbol by itself.
    one_hot = keras.layers.CategoryEncoding(symbols, output_mode="one_hot")
    networks[f"LSTM({n})"] = [one_hot, keras.layers.Dense(EMBEDDED, use_bias=False), keras.layers.LSTM(n, **FLAGS)]
    return networks


def signal_networks() -> dict:
    """About 1,200 weights each."""
    return {
        "linear(33)": keras.layers.SimpleRNN(
            33, "linear", recurrent_initializer=keras.initializers.Orthogonal(0.9), return_sequences=True
        ),
        "FactoredISAN(24, 11)": layers.FactoredISAN(24, 11, return_sequences=True),
        "GRU(18)": keras.layers.GRU(18, return_sequences=True),
    }


def oscillator(count: int, steps: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Slowly changing commands in [-1, 1], and the sine that turns by 0.3 + 0.2 command at every step."""
    rng = np.random.default_rng(1)
    knots = rng.uniform(-1, 1, size=(count, steps // 10 + 2))
    places = np.arange(steps) / 10
    commands = np.stack([np.interp(places, np.arange(knots.shape[1]), row) for row in knots])
    sine = np.sin(np.cumsum(0.3 + 0.2 * commands, axis=1))
    return commands[:, :, None].astype("float32"), sine[:, :, None].astype("float32")


def adam(steps: int, rate: float) -> keras.optimizers.Optimizer:
    """With a warm-up: Adam's first steps are coherent, and would lift the spectral radius of any linear network."""
    warm_up = {"warmup_target": rate, "warmup_steps": steps // 10}
    schedule = keras.optimizers.schedules.CosineDecay(0.02 * rate, steps - steps // 10, 0.02, **warm_up)
    return keras.optimizers.Adam(schedule, global_clipnorm=1.0)


def read_text(middle: list, symbols: int, train: np.ndarray, test: np.ndarray, steps: int) -> tuple[int, float]:
    """Weights, and bits per symbol of the test text."""
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, *middle, keras.layers.Dense(symbols)])
    model.compile(adam(steps, 2e-3), losses.BitsPerSymbol(), jit_compile=False)
    model.fit(datasets.Windows(train, BATCH, length=LENGTH, num_windows=steps), shuffle=False, verbose=0)
    return model.count_params(), model.evaluate(datasets.Windows(test, BATCH, length=LENGTH), verbose=0)


def follow_signal(layer: keras.layers.Layer, steps: int) -> tuple[int, float]:
    """Weights, and the share of the variance that is left on 512 new sequences."""
    commands, sine = oscillator(64 * min(steps, 100) + 512)
    model = keras.Sequential([keras.Input(commands.shape[1:]), layer, keras.layers.Dense(1)])
    model.compile(adam(steps, 5e-3), "mse", jit_compile=False)
    epochs = -(-steps // min(steps, 100))
    model.fit(commands[512:], sine[512:], batch_size=64, epochs=epochs, verbose=0)
    return model.count_params(), model.evaluate(commands[:512], sine[:512], verbose=0) / float(sine[:512].var())


def main() -> None:
    if args.smoke:
        args.weights, args.factors, args.steps, args.tested = 9000, [4], 12, 20_000
        args.records = tempfile.mkdtemp(prefix="factored_isan-")
    try:
        text = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
        train, _, test = datasets.text.split(text)
    except datasets.DataError as error:
        print(f"factored_isan: {error}", file=sys.stderr)
        sys.exit(2)
    test = test[: args.tested]

    def report(task: str, name: str, weights: int, result: dict, seconds: float) -> None:
        [(unit, value)] = result.items()
        print(f"{task:12}{name:24}{weights:9,} weights{value:9.4f} {unit.replace('_', ' ')}", flush=True)
        record = {
            "experiment": "factored_isan",
            "data": {"name": task, "text": Path(args.text).name if args.text else "Python documentation"},
            "model": {"layer": name, "seed": args.seed, "parameters": weights},
            "protocol": {"steps": args.steps, "batch": BATCH, "length": LENGTH},
            "result": {**result, "seconds": round(seconds, 1)},
        }
        plain = name.translate({ord(c): "-" for c in "(, "}).replace("--", "-").strip(")")
        records.write(Path(args.records) / f"factored_isan-{task}-{plain}-{args.seed}.json", record)

    for name in list(signal_networks())[: 2 if args.smoke else None]:
        keras.utils.set_random_seed(args.seed)
        start = time.perf_counter()
        weights, left = follow_signal(signal_networks()[name], args.steps)
        report("oscillator", name, weights, {"of_the_variance_left": left}, time.perf_counter() - start)
    for task, width in (("characters", 1), ("pairs", 2)):
        symbols = len(datasets.text.ALPHABET) ** width
        parts = [part if width == 1 else datasets.text.pairs(part) for part in (train, test)]
        networks = list(symbol_networks(symbols, args.weights * width, args.factors).items())
        for name, middle in networks[1:2] if args.smoke and width == 2 else networks:  # tracing takes the time
            keras.utils.set_random_seed(args.seed)
            start = time.perf_counter()
            weights, bits = read_text(middle, symbols, *parts, args.steps)
            report(task, name, weights, {"bits_per_character": bits / width}, time.perf_counter() - start)


if __name__ == "__main__":
    main()
