"""Can a network that counts parentheses be read completely, down to zeros and ones?

Trains an ISAN to output the nesting levels of parentheses one step late. Then looks for a basis in which its states and
matrices are zeros and ones, without being told the counts, rounds them, and tests the rounded network.

    python examples/counting.py                              # two types, up to 5: about five minutes on two cores

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, section 4 and figure 9.
"""

import sys

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--types", type=int, default=2, help="types of parentheses")
parser.add_argument("--maximum", type=int, default=5, help="largest count")
parser.add_argument("--steps", type=int, default=5000, help="training steps")
parser.add_argument("--smoke", action="store_true", help="one type, up to 2")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, layers
    from keras_interp_rnn.datasets import counting


def train(task: dict[str, int], units: int) -> keras.Model:
    keras.utils.set_random_seed(0)
    isan = layers.ISAN(units, 2 * args.types + 1, return_sequences=True, recurrent_constraint=None)
    dense = keras.layers.Dense(args.types * (args.maximum + 1))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, dense])
    schedule = keras.optimizers.schedules.CosineDecay(5e-3, args.steps, alpha=0.003)
    # The decay removes what the task does not need: the memory of earlier counts, and unused directions.
    model.compile(keras.optimizers.AdamW(schedule, 0.4, beta_2=0.99, global_clipnorm=1.0), "mse")
    stream = counting.stream(0, 250 * 32, length=60, **task)
    bar = keras.utils.Progbar(args.steps, verbose=command_line.LINES, stateful_metrics=["loss"])
    for step in range(250, args.steps + 1, 250):
        symbols, counts = next(stream)
        history = model.fit(symbols, counting.one_hot(counts, args.maximum), 32, shuffle=False, verbose=0)
        bar.update(step, [("loss", history.history["loss"][-1])])
    return model


def wrong(layer: layers.ISAN, kernel: np.ndarray, bias: np.ndarray, test: counting.Counts) -> int:
    """Steps at which a network and its readout have some count wrong."""
    codes = (analysis.trace(layer, test.symbols)["h"] @ kernel + bias).reshape(*test.counts.shape, -1)
    return int((codes.argmax(axis=-1) != test.counts).any(axis=-1).sum())


def main() -> None:
    if args.smoke:
        args.types, args.maximum, args.steps = 1, 2, 750
    task = {"num_types": args.types, "max_count": args.maximum}
    units = 3 * args.types * (args.maximum + 1) - 1
    model = train(task, units)
    isan, dense = model.layers
    test = next(counting.stream(1, 1000, length=100, **task))

    states = analysis.trace(model, test.symbols[:150])["h"]
    basis = analysis.sparse_basis(model, states)
    rounded, readout = analysis.binarized_network(model, basis)
    names = counting.symbol_names(args.types)
    print(f"\n{basis.num_binary} coordinates are 0 or 1 in every state, up to {basis.residual:.4f}.")
    print(f"The matrix of {names[0]!r}, rounded:")
    for row in analysis.homogeneous_matrices(rounded)[0, : basis.num_binary, : basis.num_binary]:
        print("  " + " ".join("1" if entry else "." for entry in row))
    errors = wrong(isan, *dense.get_weights(), test), wrong(rounded, readout.matrix, readout.offset, test)
    print(f"Wrong among {test.counts[..., 0].size:,} steps: {errors[0]} as trained, {errors[1]} with zeros and ones.")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:  # a network that did not learn the task has no such basis
        sys.exit(f"counting: {error}")
