"""With ten thousand symbols, most are not in a batch: should the optimizer leave their matrices alone?

Trains an ISAN that has a matrix for each of a text's commonest words, and a factored one, to predict the next word:
once by Adam, which moves every matrix at every step along the gradients it had before, and once by `LazyAdam`, which
moves those of the words in the batch. Prints the bits per word on test text, and the time of a step.

    python examples/rare_symbols.py                          # Python's own documentation; four minutes on two cores
    python examples/rare_symbols.py --text text8.zip --symbols 10000 --steps 2000

Reference: Foerster et al., ICML 2017, section 5.2, for many symbols; `optimizers.LazyAdam` for the rule.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file (default: Python's own documentation)")
parser.add_argument("--symbols", type=int, default=5000, help="number of different word ids")
parser.add_argument("--units", type=int, default=16, help="state size")
parser.add_argument("--steps", type=int, default=300, help="training steps of each network")
parser.add_argument("--learning-rate", type=float, default=3e-3, help="learning rate at the start")
parser.add_argument("--corpus", type=int, default=20_000_000, help="characters of the training text to read")
parser.add_argument("--tested", type=int, default=500_000, help="characters of the test text to read")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
parser.add_argument("--smoke", action="store_true", help="a few steps, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers, losses
    from keras_interp_rnn.optimizers import LazyAdam
    from keras_interp_rnn.reproduce import records

BATCH, LENGTH = 32, 25
OPTIMIZERS = {"Adam": keras.optimizers.Adam, "LazyAdam": LazyAdam}


def word_ids(parts: list[np.ndarray], symbols: int) -> list[np.ndarray]:
    """Texts as ids of words; the vocabulary is that of the first."""
    texts = [datasets.text.decode(part).replace("_", " ").split() for part in parts]
    vocabulary = datasets.words.Vocabulary.of(texts[:1], symbols)
    return [vocabulary.encode([text], len(text) + 1, end=False)[0] for text in texts]


def networks(args: argparse.Namespace) -> dict:
    flags = {"return_sequences": True, "stateful": True}
    n, k = args.units, args.symbols
    return {
        f"ISAN({n}, {k})": lambda: layers.ISAN(n, k, recurrent_constraint=None, **flags),
        f"FactoredISAN({4 * n}, {2 * n}, {k})": lambda: layers.FactoredISAN(4 * n, 2 * n, k, **flags),
    }


def trained(layer: keras.layers.Layer, optimizer, parts: list[np.ndarray], args: argparse.Namespace):
    """The model, and milliseconds of a step, the first few left out."""
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, layer, keras.layers.Dense(args.symbols)])
    schedule = keras.optimizers.schedules.CosineDecay(args.learning_rate, args.steps, 0.02)
    model.compile(optimizer(schedule, global_clipnorm=1.0), losses.BitsPerSymbol(), jit_compile=False)
    windows = datasets.Windows(parts[0], BATCH, length=LENGTH)
    seconds = []
    for step in range(args.steps):
        x, y = windows[step % len(windows)]
        start = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - start)
    return model, 1000 * float(np.median(seconds[len(seconds) // 10 :]))


def main() -> None:
    if args.smoke:
        args.symbols, args.units, args.steps, args.tested = 300, 4, 6, 20_000
        args.records = tempfile.mkdtemp(prefix="rare_symbols-")
    try:
        text = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
        train, _, test = datasets.text.split(text)
        parts = word_ids([train[: args.corpus], test[: args.tested]], args.symbols)
    except (datasets.DataError, ValueError) as error:
        print(f"rare_symbols: {error}", file=sys.stderr)
        sys.exit(2)
    share = len(np.unique(parts[0][: BATCH * LENGTH])) / args.symbols
    print(f"{len(parts[0]):,} words for training; a batch holds about {share:.0%} of {args.symbols:,}.")
    print(f"{'network':32}{'optimizer':12}{'weights':>12}{'bits per word':>15}{'ms per step':>13}")
    for name, make in networks(args).items():
        for kind, optimizer in OPTIMIZERS.items():
            keras.utils.set_random_seed(args.seed)
            model, step = trained(make(), optimizer, parts, args)
            bits = model.evaluate(datasets.Windows(parts[1], BATCH, length=LENGTH), verbose=0)
            print(f"{name:32}{kind:12}{model.count_params():12,}{bits:15.3f}{step:13.1f}", flush=True)
            record = {
                "experiment": "rare_symbols",
                "data": {"name": Path(args.text).name if args.text else "Python documentation", "words": len(parts[0])},
                "model": {"layer": name, "seed": args.seed, "parameters": model.count_params()},
                "protocol": {"optimizer": kind, "symbols": args.symbols, "steps": args.steps, "batch": BATCH},
                "result": {"bits_per_word": bits, "milliseconds": step},
            }
            layer = name.split("(")[0]
            records.write(Path(args.records) / f"rare_symbols-{layer}-{kind}-{args.symbols}-{args.seed}.json", record)


if __name__ == "__main__":
    main()
