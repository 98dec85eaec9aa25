"""Where does a network that checks parentheses keep its count: in the state or in the memory?

Trains an LSTM and an SR-LSTM-P, an LSTM with peepholes whose hidden state moves among k centroids, to tell balanced
strings of parentheses and letters from unbalanced ones. Draws hidden state and memory of both along one string (the
paper's figure 5), and prints their errors on deeper strings and how far their states drift.

    python examples/parentheses_states.py          # three minutes on two cores

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2.
"""

import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--units", type=int, default=10, help="state size")
parser.add_argument("--centroids", type=int, default=5, help="number of centroids")
parser.add_argument("--data", default="large_near", help="configuration of datasets.balanced_parentheses")
parser.add_argument("--passes", type=int, default=1, help="passes over the words of each length")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--data-dir", help="folder of the prepared words (default: ~/tensorflow_datasets)")
parser.add_argument("--figures", default="runs/parentheses_states", help="folder of the figures")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="few words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import context_free, records

TESTS = ("test_d5_l200", "test_d10_l200", "test_d20_l1000")


def main() -> None:
    tests = TESTS
    if args.smoke:
        args.figures = args.records = tempfile.mkdtemp(prefix="parentheses_states-")
        args.data, args.data_dir, tests = "small", f"{args.figures}/data", TESTS[:1]

    def words(split: str) -> datasets.LabelledWords:
        return datasets.balanced_parentheses.load(split, config=args.data, data_dir=args.data_dir)

    train, validation, judged = words("train"), words("validation"), {name: words(name) for name in tests}
    if args.smoke:
        train, validation = context_free.nearly_one_length(train), context_free.nearly_one_length(validation)
    text = "((a)b(()c)(d(e))" * 3 + ")" * 3
    probe = datasets.LabelledWords((text,), np.array([True]), train.alphabet).ids(end=True)
    Path(args.figures).mkdir(parents=True, exist_ok=True)
    print(f"{'':10}" + "".join(f"{name:>16}" for name in tests) + "   drift of h   drift of c")
    result = {}
    for kind in ("SR-LSTM-P",) if args.smoke else ("LSTM", "SR-LSTM-P"):
        model = context_free.network(kind, len(train.alphabet), args.units, args.centroids, args.seed)
        context_free.train(model, train, validation, args.passes, seed=args.seed)
        errors = context_free.errors(model, judged)
        traced = analysis.trace(model, probe)
        drift = {name: float(analysis.relative_drift(traced[name][:, :-1])[0]) for name in "hc"}
        result[kind] = {"errors": errors, "drift": drift}
        numbers = "".join(f"{e:16.1%}" for e in errors.values()) + "".join(f"{d:13.1f}" for d in drift.values())
        over = "\r\x1b[K" if sys.stdout.isatty() else ""  # over the progress of the training
        print(f"{over}{kind:10}{numbers}")
        states = {"hidden state h": traced["h"][0, :-1], "memory c": traced["c"][0, :-1]}
        figures.state_paths(states, text).savefig(Path(args.figures) / f"figure5-{kind}.png", dpi=150)
    record = {
        "experiment": "parentheses_states",
        "data": context_free.identity(args.data, train),
        "protocol": {name: getattr(args, name) for name in ("units", "centroids", "passes", "seed")} | {"tests": tests},
        "result": result,
    }
    records.write(Path(args.records) / f"parentheses_states-{args.data}-{args.seed}.json", record)
    print(f"Figures: {args.figures}")


if __name__ == "__main__":
    main()
