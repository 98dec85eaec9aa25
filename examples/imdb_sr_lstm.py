"""What do the states of a network that judges film reviews stand for, and which words moved it?

Trains an SR-LSTM-P, an LSTM with peepholes whose hidden state moves among k centroids, to tell positive from negative
reviews. Prints its test error, the words that each centroid stands for (table 6 of the paper), phrases (table 10) and,
word by word, why it judged one negative and one positive review as it did (table 9). TensorBoard shows the transition
probabilities through training. `python -m keras_interp_rnn reproduce sr-imdb` compares eight networks, trained longer.

    python examples/imdb_sr_lstm.py aclImdb         # the unpacked archive; about six minutes on two cores
    python examples/imdb_sr_lstm.py --smoke

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 4.5, 5.3.1 and 6.
"""

import argparse
import sys
import tempfile

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("folder", nargs="?", help="the folder aclImdb, unpacked")
parser.add_argument(
    "--transition",
    default="mixture",
    choices=["mixture", "soft_argmax", "gumbel", "sample"],
    help="how the next centroid is chosen",
)
parser.add_argument("--centroids", type=int, default=10, help="number of centroids")
parser.add_argument("--temperature", type=float, default=1.0, help="temperature of the transitions")
parser.add_argument("--units", type=int, default=64, help="state size")
parser.add_argument("--embedding", type=int, default=64, help="size of the word vectors")
parser.add_argument("--vocabulary", type=int, default=10_000, help="number of different word ids")
parser.add_argument("--longest", type=int, default=200, help="words kept of a review, its last ones")
parser.add_argument("--dropout", type=float, default=0.5, help="fraction of the outputs dropped in training")
parser.add_argument("--epochs", type=int, default=4, help="passes over the training data")
parser.add_argument("--batch", type=int, default=64, help="sequences in a batch")
parser.add_argument("--learning-rate", type=float, default=3e-3, help="learning rate at the start")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--runs", default="runs/imdb", help="folder of the model, TensorBoard logs and figures")
parser.add_argument("--verbose", type=int, default=command_line.VERBOSE, help="as in fit: 0, 1 or 2")
parser.add_argument("--smoke", action="store_true", help="a few made-up words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, callbacks, datasets, figures, layers


def reviews(args: argparse.Namespace):
    """Tokenized texts and labels, for training and for the test."""
    if args.smoke:
        rng = np.random.default_rng(0)
        labels = np.tile([0, 1], 60)
        words = [["bad", "dull", "the", "film"], ["great", "loved", "the", "film"]]
        texts = [[words[label][i] for i in rng.integers(4, size=12)] for label in labels]
        return (texts[:80], labels[:80]), (texts[80:], labels[80:])
    found = []
    for split in ("train", "test"):
        texts, labels = datasets.imdb.load(split, source=args.folder)
        found.append(([datasets.words.tokenize(text) for text in texts], labels))
    return found


def network(args: argparse.Namespace, size: int) -> keras.Model:
    keras.utils.set_random_seed(args.seed)
    model = keras.Sequential(
        [
            keras.Input((args.longest,), dtype="int32"),
            keras.layers.Embedding(size, args.embedding, mask_zero=True),
            keras.layers.Dropout(args.dropout),
            layers.SRPeepholeLSTM(
                args.units,
                args.centroids,
                temperature=args.temperature,
                transition=args.transition,
                regularize_last_step=False,
                seed=args.seed,
                name="recurrent",
            ),
            keras.layers.Dropout(args.dropout),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    optimizer = keras.optimizers.Adam(args.learning_rate, global_clipnorm=1.0)
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="imdb_sr_lstm-")
        args.longest, args.units, args.embedding, args.centroids, args.epochs = 16, 8, 8, 4, 2
        args.runs = f"{folder}/runs"
    elif not args.folder:
        parser.error("give the folder aclImdb, or --smoke")
    try:
        (train_texts, train_labels), (test_texts, test_labels) = reviews(args)
    except datasets.DataError as error:
        print(f"imdb_sr_lstm: {error}", file=sys.stderr)
        sys.exit(2)
    vocabulary = datasets.words.Vocabulary.of(train_texts, args.vocabulary)
    train, test = (vocabulary.encode(texts, args.longest) for texts in (train_texts, test_texts))
    order = np.random.default_rng(args.seed).permutation(len(train))
    train, train_labels = train[order], train_labels[order]
    held_out = len(train) // 10
    model = network(args, len(vocabulary))
    watch = callbacks.TransitionProbabilities(
        args.runs, train[:4], validation=train[:200], tokens=vocabulary.names, layer="recurrent"
    )
    best = keras.callbacks.ModelCheckpoint(f"{args.runs}/model.keras", "val_accuracy", save_best_only=True, mode="max")
    model.fit(
        train[held_out:],
        train_labels[held_out:],
        args.batch,
        args.epochs,
        verbose=args.verbose,
        validation_data=(train[:held_out], train_labels[:held_out]),
        callbacks=[watch, best, keras.callbacks.TensorBoard(args.runs)],
    )
    model = keras.models.load_model(f"{args.runs}/model.keras")
    probabilities = model.predict(test, batch_size=500, verbose=0)[:, 0]
    error = float(np.mean((probabilities > 0.5) != test_labels))
    print(f"\nTest error: {error:.1%} of {len(test)} reviews.\n")

    found = analysis.prototypes(
        model, train[: 10 * args.batch], tokens=vocabulary.names, num_tokens=6, by="mean", min_count=3
    )
    print(f"Centroids (class 1 is positive):\n{found}\n")
    for label, phrases in analysis.phrases(
        model, train[: 10 * args.batch], length=3, tokens=vocabulary.names, num_phrases=5
    ).items():
        print(f"Phrases towards class {label}: " + ", ".join(f"{text!r} ({mean:.2f})" for text, mean, _ in phrases))
    short = np.argsort((test != 0).sum(axis=1), kind="stable")[: len(test) // 10]
    sure = [short[np.argmin(probabilities[short])], short[np.argmax(probabilities[short])]]
    explained = [analysis.explain(model, test[i], tokens=vocabulary.names) for i in sure]
    print("\n" + "\n\n".join(map(str, explained)))
    titles = [f"predicted probability of a positive review: {e.output[0]:.3f}" for e in explained]
    figure = figures.token_map([e.tokens for e in explained], [e.weights for e in explained], titles=titles)
    figure.savefig(f"{args.runs}/table9.png", dpi=150)
    print(f"\nFigure: {args.runs}/table9.png. TensorBoard: tensorboard --logdir {args.runs}")


if __name__ == "__main__":
    main()
