"""With thousands of symbols, most are not in a batch: should the optimizer leave their matrices alone?

Trains an ISAN that has a matrix for each of the most frequent words of a text to predict the next word: once by Adam,
which moves every matrix at every step along earlier gradients, and once by `LazyAdam`, which moves those of the words
in the batch. Prints bits per word on test text, and the time of a step.

    python examples/rare_symbols.py                          # Python's own documentation; two minutes on two cores
    python examples/rare_symbols.py --text text8.zip --symbols 10000 --steps 2000

Reference: Foerster et al., ICML 2017, section 5.2, for many symbols; `optimizers.LazyAdam` for the rule.
"""

import sys
import time

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file (default: Python's own documentation)")
parser.add_argument("--symbols", type=int, default=5000, help="number of different word ids")
parser.add_argument("--units", type=int, default=16, help="state size")
parser.add_argument("--steps", type=int, default=300, help="training steps of each network")
parser.add_argument("--smoke", action="store_true", help="a few words, a few steps")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers, losses
    from keras_interp_rnn.optimizers import LazyAdam

BATCH, LENGTH = 32, 25


def word_ids(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Texts as ids of words; the vocabulary is that of the first."""
    texts = [datasets.text.decode(part).split() for part in parts]
    vocabulary = datasets.words.Vocabulary.of(texts[:1], args.symbols)
    return [vocabulary.encode([text], len(text) + 1, end=False)[0] for text in texts]


def build(optimizer: type[keras.optimizers.Optimizer]) -> keras.Model:
    keras.utils.set_random_seed(0)
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    isan = layers.ISAN(args.units, args.symbols, return_sequences=True, stateful=True, recurrent_constraint=None)
    model = keras.Sequential([inputs, isan, keras.layers.Dense(args.symbols)])
    rate = keras.optimizers.schedules.CosineDecay(3e-3, args.steps, 0.02)
    model.compile(optimizer(rate, global_clipnorm=1.0), losses.BitsPerSymbol(), jit_compile=False)
    return model


def main() -> None:
    if args.smoke:
        args.symbols, args.units, args.steps = 300, 4, 6
    symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    train, _, test = datasets.text.split(symbols)
    train, test = word_ids([train, test[: 20_000 if args.smoke else 500_000]])
    share = len(np.unique(train[: BATCH * LENGTH])) / args.symbols
    print(f"{len(train):,} words for training; a batch holds about {share:.0%} of {args.symbols:,}.")
    print(f"{'optimizer':12}{'bits per word':>15}{'ms per step':>13}")
    for optimizer in (keras.optimizers.Adam, LazyAdam):
        model, seconds = build(optimizer), []
        windows = datasets.Windows(train, BATCH, length=LENGTH)
        bar = keras.utils.Progbar(args.steps, verbose=command_line.VERBOSE)
        for step in range(args.steps):
            x, y = windows[step % len(windows)]
            started = time.perf_counter()
            model.train_on_batch(x, y)
            seconds.append(time.perf_counter() - started)
            bar.update(step + 1)
        bits = model.evaluate(datasets.Windows(test, BATCH, length=LENGTH), verbose=0)
        print(f"{optimizer.__name__:12}{bits:15.3f}{1000 * np.median(seconds[1:]):13.1f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        print(f"rare_symbols: {error}", file=sys.stderr)
        sys.exit(2)
