"""How does a GRU remember three bits?

Trains a GRU to output, for each of its inputs, the last pulse that came, +1 or -1. Then looks for the states that it
does not leave without a pulse, and draws them in the space of the three outputs: a stable one for each of the eight
memories, and saddles between them, which a pulse has to cross. With the default seed these are the 27 points that the
paper expects; other seeds have the eight stable ones too, but a few saddles more (30 to 33 points with seeds 0 and 2).

    python examples/flip_flop.py          # about a minute on one thread

Reference: Sussillo and Barak, "Opening the Black Box", Neural Computation 25(3), 2013, section 3.1.
"""

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--bits", type=int, default=3, help="bits to remember")
parser.add_argument("--units", type=int, default=24, help="units of the GRU")
parser.add_argument("--steps", type=int, default=3000, help="training steps")
parser.add_argument("--starts", type=int, default=1500, help="starts of Newton's method")
parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers")
parser.add_argument("--figure", default="runs/flip_flop.png", help="file of the figure")
parser.add_argument("--smoke", action="store_true", help="two bits, eight units, and little training")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import matplotlib.pyplot as plt
    import numpy as np

    from keras_interp_rnn import analysis


def pulses(rng: np.random.Generator, num_sequences: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, in which a fifth of the steps has a pulse and the first has all, and the last pulse of each bit."""
    signs = rng.choice([-1.0, 1.0], (num_sequences, length, args.bits))
    inputs = np.where(rng.random(signs.shape) < 0.2, signs, 0.0)
    inputs[:, 0] = signs[:, 0]
    memory = inputs.copy()
    for t in range(1, length):
        memory[:, t] = np.where(inputs[:, t], inputs[:, t], memory[:, t - 1])
    return inputs.astype("float32"), memory.astype("float32")


def main() -> None:
    if args.smoke:
        args.bits, args.units, args.steps, args.starts = 2, 8, 50, 64
    rng = np.random.default_rng(args.seed)
    keras.utils.set_random_seed(args.seed)
    layer = keras.layers.GRU(args.units, return_sequences=True)
    model = keras.Sequential([keras.Input((None, args.bits)), layer, keras.layers.Dense(args.bits)])
    rate = keras.optimizers.schedules.ExponentialDecay(1e-2, args.steps, 0.1)
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), "mse")
    model.fit(*pulses(rng, 64 * args.steps, 40), batch_size=64, verbose=command_line.VERBOSE)
    inputs, memory = pulses(rng, 64, 100)
    print(f"Mean squared error on longer sequences: {model.evaluate(inputs, memory, verbose=0):.2g}")

    states = analysis.trace(layer, inputs)["h"][:, 20:]
    visited = states.reshape(-1, args.units)
    silence = np.zeros(args.bits)
    points = analysis.fixed_points(layer, silence, states=visited, num_starts=args.starts, seed=args.seed)
    print(f"{len(points.states)} fixed points from {points.num_converged} of {args.starts} starts,", end=" ")
    print(f"{points.attracts.sum()} of them stable; residual {points.residual:.1e}")
    for count, number in enumerate(np.bincount(points.num_unstable)):
        print(f"{number:3d} with {count} unstable direction{'' if count == 1 else 's'}")

    kernel, bias = model.layers[-1].get_weights()
    outputs, path = points.states @ kernel + bias, states[0] @ kernel + bias
    figure, axis = plt.subplots(figsize=(5, 5), subplot_kw={"projection": "3d"} if args.bits > 2 else {})
    axis.plot(*path.T[:3], color="0.8", linewidth=0.5)
    drawn = axis.scatter(*outputs.T[:3], c=points.num_unstable, cmap="viridis", s=30)
    figure.colorbar(drawn, label="unstable directions", shrink=0.6)
    command_line.save(figure, args.figure)


if __name__ == "__main__":
    main()
