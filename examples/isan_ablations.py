"""What makes an ISAN work: the biases, the switching, or the readout?

Trains an ISAN, an ISAN whose biases are zero, and linear networks without switching under a linear and under a
nonlinear readout on the same text for as many steps, and counts n-grams and a naive Bayes model beside them.

    python examples/isan_ablations.py                         # Python's own documentation; five minutes on two cores
    python examples/isan_ablations.py --text text8.zip --steps 20000 --units 216

Reference: Foerster et al., ICML 2017, section 3.1; its version 1 for the network without biases.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    import keras

    from keras_interp_rnn import analysis, datasets, layers
    from keras_interp_rnn.reproduce import isan_text, records

SYMBOLS = len(datasets.text.ALPHABET)
BATCH, LENGTH = 64, 50


class Zero(keras.constraints.Constraint):
    """Keeps a weight at zero."""

    def __call__(self, w):
        return keras.ops.zeros_like(w)


def networks(units: int) -> dict:
    flags = {"return_sequences": True, "stateful": True}
    linear = {"activation": "linear", "recurrent_initializer": keras.initializers.Orthogonal(0.9), **flags}
    return {
        "ISAN": lambda: [layers.ISAN(units, SYMBOLS, **flags)],
        "ISAN without biases": lambda: [
            layers.ISAN(units, SYMBOLS, bias_initializer="zeros", bias_constraint=Zero(), **flags)
        ],
        "linear, linear readout": lambda: [keras.layers.SimpleRNN(units, **linear)],
        "linear, nonlinear readout": lambda: [
            keras.layers.SimpleRNN(units, **linear),
            keras.layers.Dense(4 * units, "relu"),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", help="a text file; by default Python's own documentation")
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4000, help="of training each")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--tested", type=int, default=500_000, help="characters of the test text")
    parser.add_argument("--records", default="runs/records", help="where the JSON records go")
    parser.add_argument("--smoke", action="store_true", help="a few steps, in a scratch folder")
    args = parser.parse_args()
    if args.smoke:
        args.units, args.steps, args.records = 8, 10, tempfile.mkdtemp(prefix="isan_ablations-")
    try:
        symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
        train, _, test = datasets.text.split(symbols)
    except datasets.text.TextError as error:
        print(f"isan_ablations: {error}", file=sys.stderr)
        sys.exit(2)
    test = test[: args.tested]
    counted = {"unigram": analysis.BackoffModel(train, 1, SYMBOLS).bits(test)}
    counted["naive Bayes"] = min(analysis.NaiveBayes(train, m, SYMBOLS).bits(test) for m in range(1, 7))
    counted["bigram"] = analysis.BackoffModel(train, 2, SYMBOLS).bits(test)
    print(f"{'':28}{'weights':>9}{'test bits per character':>25}")
    for name, value in counted.items():
        print(f"{name:28}{'counted':>9}{value:25.3f}", flush=True)
    for seed in args.seeds:
        for name, make in networks(args.units).items():
            keras.utils.set_random_seed(seed)
            model = isan_text.train(make(), train, args.steps)
            bits = model.evaluate(datasets.Windows(test, BATCH, LENGTH), verbose=0)
            print(f"{name:28}{model.count_params():9,}{bits:25.3f}", flush=True)
            record = {
                "experiment": "isan_ablations",
                "data": {"name": Path(args.text).name if args.text else "Python documentation"},
                "model": {"layer": name, "seed": seed, "parameters": model.count_params()},
                "protocol": {"units": args.units, "steps": args.steps, "batch": BATCH, "length": LENGTH},
                "result": {"test_bits": bits, "counted": counted},
            }
            records.write(Path(args.records) / f"isan_ablations-{name.replace(' ', '_')}-{seed}.json", record)


if __name__ == "__main__":
    main()
