"""Can a factored switch replace one matrix for each symbol?

An ISAN of n units has a matrix of n² weights for each symbol. A FactoredISAN has one common matrix and switches f
factors, W(x) = W_0 + U diag(g(x)) V, so that many symbols cost few weights. Trains both on pairs of characters, 729
symbols, with about the same number of weights.

    python examples/factored_isan.py                         # Python's own documentation; five minutes on two cores
    python examples/factored_isan.py --text text8.zip --steps 20000

Reference: Foerster et al., ICML 2017, section 3.1 for pairs, 5.2 for the factorization.
"""

import sys

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file (default: Python's own documentation)")
parser.add_argument("--steps", type=int, default=1000, help="training steps of each network")
parser.add_argument("--smoke", action="store_true", help="a few steps")
args = parser.parse_args()

with command_line.quiet():
    import keras

    from keras_interp_rnn import datasets, layers, losses

BATCH, LENGTH, SYMBOLS = 32, 50, len(datasets.text.ALPHABET) ** 2


def train(layer: keras.layers.Layer, windows: datasets.Windows) -> keras.Model:
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, layer, keras.layers.Dense(SYMBOLS)])
    # With a warm-up: Adam's first steps are coherent, and would raise the spectral radius of any linear network.
    warm_up = {"warmup_target": 2e-3, "warmup_steps": args.steps // 10}
    rate = keras.optimizers.schedules.CosineDecay(4e-5, args.steps - args.steps // 10, 0.02, **warm_up)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), losses.BitsPerSymbol(), jit_compile=False)
    model.fit(windows, shuffle=False, verbose=command_line.VERBOSE)
    return model


def main() -> None:
    if args.smoke:
        args.steps = 5
    symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    train_text, _, test = (datasets.text.pairs(part) for part in datasets.text.split(symbols))
    test = test[: 5_000 if args.smoke else 100_000]
    flags = {"return_sequences": True, "stateful": True}
    networks = {
        "ISAN(11)": layers.ISAN(11, SYMBOLS, **flags),
        "FactoredISAN(60, 32)": layers.FactoredISAN(60, 32, SYMBOLS, **flags),
    }
    print(f"{'network':22}{'weights':>9}{'bits per character':>20}")
    for name, layer in networks.items():
        keras.utils.set_random_seed(0)
        model = train(layer, datasets.Windows(train_text, BATCH, length=LENGTH, num_windows=args.steps))
        bits = model.evaluate(datasets.Windows(test, BATCH, length=LENGTH), verbose=0) / 2
        print(f"{name:22}{model.count_params():9,}{bits:20.3f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        print(f"factored_isan: {error}", file=sys.stderr)
        sys.exit(2)
