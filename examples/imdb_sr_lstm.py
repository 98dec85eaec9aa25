"""What do the states of a network that judges film reviews stand for, and which words moved it?

Trains an SR-LSTM-P, an LSTM with peepholes whose hidden state moves among k centroids, to tell positive from negative
reviews. Prints its test error, the words that each centroid stands for (table 6 of the paper), phrases (table 10) and,
word by word, why it judged one negative and one positive review as it did (table 9). TensorBoard shows the transition
probabilities through training. More networks, trained longer: `python -m examples.papers run sr-imdb`.

    python examples/imdb_sr_lstm.py aclImdb         # the unpacked archive; about six minutes on two cores

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 4.5, 5.3.1 and 6.
"""

import tempfile

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("folder", nargs="?", help="the folder aclImdb, unpacked (default: TFDS's imdb_reviews)")
parser.add_argument("--centroids", type=int, default=10, help="number of centroids")
parser.add_argument("--length", type=int, default=200, help="words kept of a review, its last ones")
parser.add_argument("--epochs", type=int, default=4, help="passes over the training data")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--run", default="runs/imdb", help="folder of the model, TensorBoard logs and figures")
parser.add_argument("--smoke", action="store_true", help="a few made-up words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, callbacks, datasets, figures, layers


def reviews(split: str):
    """Tokenized texts and labels."""
    if args.smoke:
        rng, labels = np.random.default_rng(0), np.tile([0, 1], 40)
        words = [["bad", "dull", "the", "film"], ["great", "loved", "the", "film"]]
        return [[words[label][i] for i in rng.integers(4, size=12)] for label in labels], labels
    texts, labels = datasets.imdb.load(split, source=args.folder)
    return [datasets.words.tokenize(text) for text in texts], labels


def main() -> None:
    units = 64
    if args.smoke:
        units, args.length, args.epochs, args.run = 8, 16, 2, tempfile.mkdtemp(prefix="imdb_sr_lstm-")
    with command_line.data_errors():
        (texts, y), (test_texts, y_test) = reviews("train"), reviews("test")
    vocabulary = datasets.words.Vocabulary.of(texts, 10_000)
    x, x_test = (vocabulary.encode(part, args.length) for part in (texts, test_texts))
    order = np.random.default_rng(args.seed).permutation(len(x))
    x, y, held_out, names = x[order], y[order], len(x) // 10, vocabulary.names

    keras.utils.set_random_seed(args.seed)
    model = keras.Sequential(
        [
            keras.Input((args.length,), dtype="int32"),
            keras.layers.Embedding(len(vocabulary), units, mask_zero=True),
            keras.layers.Dropout(0.5),
            layers.SRPeepholeLSTM(units, args.centroids, regularize_last_step=False, seed=args.seed, name="recurrent"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
    watch = callbacks.TransitionProbabilities(args.run, x[:4], validation=x[:200], tokens=names, layer="recurrent")
    best = keras.callbacks.ModelCheckpoint(f"{args.run}/model.keras", "val_accuracy", save_best_only=True, mode="max")
    how = {"validation_data": (x[:held_out], y[:held_out]), "callbacks": [watch, best], "verbose": command_line.LINES}
    model.fit(x[held_out:], y[held_out:], 64, args.epochs, **how)
    model = keras.models.load_model(f"{args.run}/model.keras")
    probabilities = model.predict(x_test, batch_size=500, verbose=0)[:, 0]
    print(f"\nTest error: {np.mean((probabilities > 0.5) != y_test):.1%} of {len(x_test)} reviews.\n")

    prototypes = analysis.prototypes(model, x[:640], tokens=names, num_tokens=6, by="mean", min_count=3)
    print(f"Centroids (class 1 is positive):\n{prototypes}\n")
    for label, phrases in analysis.phrases(model, x[:640], length=3, tokens=names, num_phrases=5).items():
        print(f"Phrases towards class {label}: " + ", ".join(f"{text!r} ({mean:.2f})" for text, mean, _ in phrases))
    short = np.argsort(np.count_nonzero(x_test, axis=1), kind="stable")[: len(x_test) // 10]
    sure = [short[np.argmin(probabilities[short])], short[np.argmax(probabilities[short])]]
    explained = [analysis.explain(model, x_test[i], tokens=names) for i in sure]
    print("\n" + "\n\n".join(map(str, explained)))
    titles = [f"predicted probability of a positive review: {e.output[0]:.3f}" for e in explained]
    figure = figures.token_map([e.tokens for e in explained], [e.weights for e in explained], titles=titles)
    command_line.save(figure, f"{args.run}/table9.png")
    print(f"TensorBoard: tensorboard --logdir {args.run}")


if __name__ == "__main__":
    main()
