"""Before any training: how far back does an error reach in four recurrent networks?

Draws all weights orthogonal, reads normally distributed sequences, and computes the singular values of the Jacobians
dh_T/dx_{T-k} in closed form. `python -m examples.papers run minimal-rnn-start` repeats the paper's figure.

    python examples/jacobians_at_start.py

Reference: Chen, "MinimalRNN", 2017, arXiv:1711.06788, section 3, "Trainability", and figure 4.
"""

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--units", type=int, default=128, help="state size and number of input features")
parser.add_argument("--lags", type=int, nargs="+", default=[0, 5, 10, 25], help="steps between input and state")
parser.add_argument("--scale", type=float, default=1.0, help="standard deviation of the inputs")
parser.add_argument("--figure", default="runs/jacobians_at_start.png", help="file of the figure")
parser.add_argument("--smoke", action="store_true", help="a few units")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, figures, layers


def main() -> None:
    if args.smoke:
        args.units, args.lags = 8, [0, 5]
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).normal(scale=args.scale, size=(16, 50, args.units)).astype("float32")
    print("Singular values of dh_T/dx_(T-k): median (10th percentile, 90th percentile)")
    print(f"{'':12}" + "".join(f"{f'k = {lag}':>28}" for lag in args.lags))
    values = {}
    for kind in (keras.layers.SimpleRNN, keras.layers.GRU, layers.CFN, layers.MinimalRNN):
        # A new initializer for each layer: Keras warns of one that draws the same weights twice.
        layer = kind(args.units, kernel_initializer=keras.initializers.Orthogonal(seed=0))
        found = analysis.jacobian_singular_values(layer, inputs, lags=args.lags)
        values[kind.__name__] = found
        low, median, high = np.percentile(found.reshape(len(args.lags), -1), [10, 50, 90], axis=1)
        cells = [f"{m:10.2g} ({a:.1e}, {b:.1e})" for m, a, b in zip(median, low, high, strict=True)]
        print(f"{kind.__name__:12}" + "".join(cells), flush=True)
    command_line.save(figures.jacobian_histogram(values, args.lags), args.figure)


if __name__ == "__main__":
    main()
