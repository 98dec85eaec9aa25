"""Where does a network that checks parentheses keep its count: in the state or in the memory?

Trains an LSTM and an SR-LSTM-P, an LSTM with peepholes whose hidden state moves among k centroids, to tell balanced
strings of parentheses and letters from unbalanced ones. Draws hidden state and memory of both along one string (the
paper's figure 5), and prints their errors on deeper strings and how far their states drift.

    python examples/parentheses_states.py          # six minutes on two cores

More networks and strings: python -m examples.papers run sr-parentheses; sr-palindromes is like it.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2.
"""

import tempfile

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--centroids", type=int, default=5, help="number of centroids")
parser.add_argument("--words", default="large_near", help="config of datasets.balanced_parentheses")
parser.add_argument("--epochs", type=int, default=4, help="passes over the words of up to 100 symbols")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--figures", default="runs/parentheses_states", help="folder of the figures")
parser.add_argument("--smoke", action="store_true", help="few words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures, layers

TESTS = ("test_d5_l200", "test_d10_l200", "test_d20_l1000")
TEXT = "((a)b(()c)(d(e))" * 3 + ")" * 3


def words(split: str) -> datasets.LabelledWords:
    return datasets.balanced_parentheses.load(split, config=args.words)


def main() -> None:
    tests, lengths = TESTS, [20, 40, 60, 80] + [100] * args.epochs
    if args.smoke:
        args.figures = tempfile.mkdtemp(prefix="parentheses_states-")
        args.words, tests, lengths = "small", TESTS[:1], [20]
    train = words("train")
    recurrent = {
        "LSTM": keras.layers.LSTM(10),
        # The step of the end token goes without the centroids (section 4.4).
        "SR-LSTM-P": layers.SRPeepholeLSTM(10, args.centroids, regularize_last_step=False),
    }
    probe = datasets.LabelledWords((TEXT,), np.array([True]), train.alphabet).ids(end=True)
    print(f"{'':10}" + "".join(f"{test:>16}" for test in tests) + "   drift of h   drift of c")
    for name, layer in recurrent.items():
        keras.utils.set_random_seed(args.seed)
        embedding = keras.layers.Embedding(len(train.alphabet) + 3, 10, mask_zero=True)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, layer, keras.layers.Dense(1)])
        model.compile(
            keras.optimizers.RMSprop(2e-3, rho=0.95, momentum=0.9, global_clipnorm=1.0),
            keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
        )
        for length in lengths:  # short words first
            short = train.up_to(length)
            model.fit(short.ids(end=True), short.labels.astype("float32"), 32, verbose=command_line.VERBOSE)
        judged = {test: words(test) for test in tests}
        errors = [1 - model.evaluate(w.ids(end=True), w.labels, 32, verbose=0)[1] for w in judged.values()]
        traced = analysis.trace(model, probe)  # the end token is the last step
        drift = [float(analysis.relative_drift(traced[state][:, :-1])[0]) for state in "hc"]
        print(f"{name:10}" + "".join(f"{e:16.1%}" for e in errors) + "".join(f"{d:13.1f}" for d in drift), flush=True)
        states = {"hidden state h": traced["h"][0, :-1], "memory c": traced["c"][0, :-1]}
        command_line.save(figures.state_paths(states, TEXT), f"{args.figures}/figure5-{name}.png")


if __name__ == "__main__":
    main()
