"""What do the centroids of a network that reads digits pixel by pixel stand for?

Trains a network that reads digits as 196 pixels and moves among ten centroids, or takes a trained one, and draws the
mean probability of moving to each centroid at every pixel, for each digit (figure 7 of the paper), and the same for
single digits that it classifies correctly (figure 8).

    python examples/mnist_centroids.py mnist         # the folder with the four files; ten minutes on two cores
    python examples/mnist_centroids.py mnist --model model.keras  # of `examples.papers run sr-mnist-quarter`

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 6 and 7.
"""

import tempfile

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("folder", nargs="?", help="folder with the four files of MNIST (default: TFDS's mnist)")
parser.add_argument("--model", help="a trained model with centroids (default: train one)")
parser.add_argument("--epochs", type=int, default=2, help="passes over the training digits")
parser.add_argument("--centroids", type=int, default=10, help="number of centroids")
parser.add_argument("--digits", type=int, default=1000, help="number of test digits")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--figures", default="runs/mnist_centroids", help="folder of the figures")
parser.add_argument("--smoke", action="store_true", help="images of noise, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures, layers

SIDE = 14


def digits(split: str):
    """Pixels (digits, 196, 1) in [0, 1], the means of four, and classes."""
    if args.smoke:
        x, y = np.random.default_rng(0).random((60, SIDE * SIDE, 1)), np.arange(60) % 10
        return x.astype("float32"), y
    images, y = datasets.mnist.load(split, source=args.folder)
    pixels = images.reshape(len(images), SIDE, 2, SIDE, 2).mean(axis=(2, 4)) / 255
    return pixels.reshape(len(images), -1, 1).astype("float32"), y


def train() -> keras.Model:
    keras.utils.set_random_seed(args.seed)
    inputs = keras.Input((None, 1))
    recurrent = layers.SRPeepholeLSTM(32, args.centroids, temperature=2.0, regularize_last_step=False)
    model = keras.Model(inputs, keras.layers.Dense(10)(recurrent(inputs)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01, global_clipnorm=5.0), loss, metrics=["accuracy"])
    model.fit(*digits("train"), 32, args.epochs, verbose=command_line.LINES)
    return model


def main() -> None:
    if args.smoke:
        args.epochs, args.figures = 1, tempfile.mkdtemp(prefix="mnist_centroids-")
    with command_line.data_errors():
        model = keras.models.load_model(args.model) if args.model else train()
        x, y = (part[: args.digits] for part in digits("test"))
    right = model.predict(x, batch_size=100, verbose=0).argmax(axis=1) == y
    print(f"{np.mean(right):.1%} of {len(x)} digits are classified correctly.")

    traced = [analysis.trace(model, x[first : first + 100])["alpha"] for first in range(0, len(x), 100)]
    # At the last pixel the state does not move: no transition.
    alpha = np.nan_to_num(np.concatenate(traced)).transpose(0, 2, 1).reshape(len(x), -1, SIDE, SIDE)
    share = alpha.mean(axis=(0, 2, 3))
    shown = np.argsort(-share)[:10]
    means = np.stack([alpha[y == digit].mean(axis=0) for digit in range(10)])[:, shown]
    names = [f"{i}\n{share[i]:.0%}" for i in shown]
    label, highest = "mean probability", float(means.max())
    figure = figures.pixel_maps(means, [*"0123456789"], columns=names, label=label, max_value=highest)
    command_line.save(figure, f"{args.figures}/figure7.png")

    chosen = [np.flatnonzero(y == digit)[np.argmax(right[y == digit])] for digit in range(10)]
    maps = alpha[chosen][:, shown[:3]].transpose(1, 0, 2, 3)
    grid = np.concatenate([x[chosen].reshape(1, -1, SIDE, SIDE), maps])
    rows = ["read", *(f"centroid {i}" for i in shown[:3])]
    figure = figures.pixel_maps(grid, rows, columns=[*"0123456789"], label="pixel, or probability")
    command_line.save(figure, f"{args.figures}/figure8.png")


if __name__ == "__main__":
    main()
