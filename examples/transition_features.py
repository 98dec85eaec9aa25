"""Do the transition probabilities alone tell good reviews from bad ones?

Takes the network that examples/imdb_sr_lstm.py trained, describes each review by the mean of its transition
probabilities, k numbers in all, and draws them in the plane by t-SNE (figure 9 of the paper, there on MNIST). Prints
how well a logistic regression tells the classes by these k numbers.

    python examples/transition_features.py aclImdb --model runs/imdb/model.keras      # needs the extra examples

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 7.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    import keras
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.manifold import TSNE

    from keras_interp_rnn import analysis, datasets, figures, layers


def data(args: argparse.Namespace):
    """A model, ids of texts and their labels."""
    rng = np.random.default_rng(args.seed)
    if args.smoke:
        model = keras.Sequential(
            [
                keras.Input((12,), dtype="int32"),
                keras.layers.Embedding(9, 4, mask_zero=True),
                layers.SRLSTM(4, 3, name="recurrent"),
                keras.layers.Dense(1),
            ]
        )
        labels = np.arange(args.reviews) % 2
        return model, rng.integers(1, 5, (args.reviews, 12)) + 4 * labels[:, None], labels
    model = keras.models.load_model(args.model)
    train, _ = datasets.imdb.read(args.folder, "train")
    vocabulary = datasets.words.Vocabulary.of(
        [datasets.words.tokenize(text) for text in train], model.layers[0].input_dim
    )
    texts, labels = datasets.imdb.read(args.folder, "test")
    chosen = rng.permutation(len(texts))[: args.reviews]
    ids = vocabulary.encode([datasets.words.tokenize(texts[i]) for i in chosen], model.input_shape[1])
    return model, ids, labels[chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="aclImdb, or a folder with its tables")
    parser.add_argument("--model", default="runs/imdb/model.keras")
    parser.add_argument("--reviews", type=int, default=2000, help="of the test set, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", default="runs/imdb/figure9.png")
    parser.add_argument("--smoke", action="store_true", help="an untrained network on made-up ids")
    args = parser.parse_args()
    if args.smoke:
        args.reviews, args.figure = 60, f"{tempfile.mkdtemp(prefix='transition_features-')}/figure9.png"
    elif not args.folder:
        parser.error("give the folder aclImdb, or --smoke")
    try:
        model, ids, labels = data(args)
    except (datasets.text.TextError, ValueError) as error:
        print(f"transition_features: {error}", file=sys.stderr)
        sys.exit(2)
    features = []
    for first in range(0, len(ids), 200):
        alpha = analysis.trace(model, ids[first : first + 200])["alpha"]
        features.append(np.nanmean(alpha, axis=1))
    described = np.concatenate(features)
    half = len(described) // 2
    score = LogisticRegression().fit(described[:half], labels[:half]).score(described[half:], labels[half:])
    print(f"{described.shape[1]} mean transition probabilities tell {score:.1%} of {len(ids) - half} reviews right.")
    points = TSNE(perplexity=min(30, half // 3), random_state=args.seed, init="pca").fit_transform(described)
    figure = figures.feature_map(points, [datasets.imdb.CLASSES[label] for label in labels])
    Path(args.figure).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.figure, dpi=150)
    print(f"Figure: {args.figure}")


if __name__ == "__main__":
    main()
