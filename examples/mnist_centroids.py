"""What do the centroids of a network that reads digits pixel by pixel stand for?

Takes a network with centroids that `python -m keras_interp_rnn reproduce sr-mnist-quarter` has trained, and draws the
mean probability of moving to each centroid at every pixel, for each digit (figure 7 of the paper); the same for single
digits that it reads rightly (figure 8); and all digits in the plane, by t-SNE of their mean transition probabilities
(figure 9). Prints how well a logistic regression tells the digits by those k numbers alone.

    python examples/mnist_centroids.py mnist --model runs/reproduce/sr-mnist-quarter-SR-LSTM-P-k-10-0/model.keras
    python examples/mnist_centroids.py --smoke                                              # needs the extra examples

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 6 and 7.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("folder", nargs="?", type=Path, help="folder with the four files of MNIST (default: TFDS's mnist)")
parser.add_argument("--model", type=Path, help="trained model with centroids: model.keras of its run")
parser.add_argument("--side", type=int, default=14, help="pixels on a side of a digit: 14 or 28")
parser.add_argument("--digits", type=int, default=2000, help="test digits, drawn at random")
parser.add_argument("--shown", type=int, default=10, help="largest number of centroids in a figure")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--figures", default="runs/mnist_centroids", help="folder of the figures")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="an untrained network on noise, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    from keras_interp_rnn import analysis, datasets, figures, layers
    from keras_interp_rnn.reproduce import records, sources


def data(args: argparse.Namespace):
    """A trained model, and digits as it reads them."""
    if args.smoke:
        inputs = keras.Input((36, 1))
        model = keras.Model(inputs, keras.layers.Dense(10)(layers.SRGRU(6, 4)(inputs)))
        return model, np.random.default_rng(0).random((args.digits, 36, 1), "float32"), np.arange(args.digits) % 10
    model = keras.models.load_model(args.model)
    x, y = sources.mnist(args.folder, side=args.side).test
    rows = np.random.default_rng(args.seed).permutation(len(x))[: args.digits]
    return model, x[rows], y[rows]


def main() -> None:
    if args.smoke:
        args.digits, args.figures = 60, tempfile.mkdtemp(prefix="mnist_centroids-")
        args.records = args.figures
    elif not args.model:
        parser.error("give --model, or --smoke")
    try:
        model, x, y = data(args)
    except (datasets.DataError, ValueError) as error:
        print(f"mnist_centroids: {error}", file=sys.stderr)
        sys.exit(2)
    folder, side = Path(args.figures), round(x.shape[1] ** 0.5)
    folder.mkdir(parents=True, exist_ok=True)
    chunks = [analysis.trace(model, x[first : first + 100])["alpha"] for first in range(0, len(x), 100)]
    # At the last pixel the state stays as it is: no transition.
    alpha = np.nan_to_num(np.concatenate(chunks)).transpose(0, 2, 1).reshape(len(x), -1, side, side)
    share = alpha.mean(axis=(0, 2, 3))
    shown = np.argsort(-share)[: args.shown]

    of_digit = np.stack([alpha[y == digit].mean(axis=0) for digit in range(10)])
    names = [f"{i}\n{share[i]:.0%}" for i in shown]
    means = of_digit[:, shown]
    figure = figures.pixel_maps(
        means, [*"0123456789"], columns=names, label="mean probability", max_value=float(means.max())
    )
    figure.savefig(folder / "figure7.png", dpi=150)

    predicted = model.predict(x, batch_size=100, verbose=0).argmax(axis=1)
    right = [np.flatnonzero((y == digit) & (predicted == digit)) for digit in range(10)]
    chosen = [rows[0] for rows in right if len(rows)]
    maps = alpha[chosen][:, shown[:3]].transpose(1, 0, 2, 3)
    grid = np.concatenate([x[chosen].reshape(1, -1, side, side), maps])
    rows = ["read", *(f"centroid {i}" for i in shown[:3])]
    figure = figures.pixel_maps(grid, rows, columns=[str(y[i]) for i in chosen], label="pixel, or probability")
    figure.savefig(folder / "figure8.png", dpi=150)

    described, half = StandardScaler().fit_transform(alpha.mean(axis=(2, 3))), len(x) // 2
    score = LogisticRegression(max_iter=5000).fit(described[:half], y[:half]).score(described[half:], y[half:])
    points = TSNE(perplexity=min(30, half // 3), random_state=args.seed, init="pca").fit_transform(described)
    order = np.argsort(y, kind="stable")
    figures.feature_map(points[order], y[order].astype(str)).savefig(folder / "figure9.png", dpi=150)
    accuracy = float(np.mean(predicted == y))
    what = "images of noise, an untrained network" if args.smoke else "digits"
    print(f"{len(x)} {what}, {side * side} pixels each: accuracy {accuracy:.1%}.")
    print(f"A classifier of their {len(share)} mean transition probabilities: accuracy {score:.1%} on {len(x) - half}.")
    record = {
        "experiment": "mnist_centroids",
        "data": {"name": "smoke" if args.smoke else "mnist", "pixels": side * side, "digits": len(x)},
        "model": {"centroids": len(share), "run": args.model.parent.name if args.model else "untrained"},
        "protocol": {"seed": args.seed},
        "result": {
            "accuracy": accuracy,
            "by_transitions": float(score),
            "centroids_used": int((share > 0.001).sum()),
        },
    }
    records.write(Path(args.records) / "mnist_centroids.json", record)
    print(f"Figures: {folder}")


if __name__ == "__main__":
    main()
