"""Which item will a user meet next?

Trains a MinimalRNN to predict the next item of a user. One table of embeddings serves at both ends: the network reads
items from it, and its state is compared with all of them. Prints how often the next item is among the best 20.
`python -m examples.papers run minimal-rnn-recommendation` compares four networks, as the paper does.

    python examples/recommend.py interactions.txt           # lines `user item [time]`, or `user item item ...`
    python examples/recommend.py                             # random interactions that follow a rule

Reference: Chen, "MinimalRNN", 2017, arXiv:1711.06788, section 3.
"""

import sys

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("file", nargs="?", help="file of interactions, plain, .gz, .xz or .zip")
parser.add_argument("--units", type=int, default=64, help="state size")
parser.add_argument("--epochs", type=int, default=20, help="passes over the training data")
parser.add_argument("--smoke", action="store_true", help="a few users, two epochs")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers
    from keras_interp_rnn.recommender import Catalogue, Recommender


def build(items: int, units: int) -> Recommender:
    catalogue = Catalogue(items, units, name="catalogue")
    ids = keras.Input((None,), dtype="int32", name="items")
    states = layers.MinimalRNN(units, return_sequences=True)(catalogue(ids))
    model = Recommender({"items": ids}, states)
    # The loss is the catalogue's, over a sample of items. The sample has no fixed size, which XLA would need.
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0), jit_compile=False)
    return model


def ranks(model: Recommender, examples: datasets.interactions.Examples) -> np.ndarray:
    """The rank of every example's item among all items, after its history."""
    of_items = np.empty(len(examples.targets), int)
    for rows in examples.histories.batches(256):
        read = examples.histories.padded(rows)
        last = np.count_nonzero(read["items"], axis=1) - 1  # what follows is padding
        states = np.asarray(model.read(read))[np.arange(len(rows)), last]
        of_items[rows] = model.get_layer("catalogue").ranks(states, examples.targets[rows])
    return of_items


def main() -> None:
    if args.smoke:
        args.units, args.epochs = 8, 2
    keras.utils.set_random_seed(0)
    if args.file:
        data = datasets.interactions.load(args.file)
    else:
        data = datasets.interactions.generate(*((50, 64) if args.smoke else (1000, 2000)))
    train, validation, test = data.leave_one_out()
    model = build(len(data.names), args.units)
    print(f"{len(data.items):,} interactions with {len(data.names):,} items; {model.count_params():,} weights.")
    batches = datasets.interactions.TrainingBatches(train, 128)
    model.fit(batches, epochs=args.epochs, shuffle=False, verbose=command_line.LINES)
    for name, examples in {"last but one": validation, "last": test}.items():
        of_items = ranks(model, examples)
        print(f"The {name} item is among the best 20 for {np.mean(of_items <= 20):.1%} of the users", end=", ")
        print(f"the best for {np.mean(of_items == 1):.1%}.")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        print(f"recommend: {error}", file=sys.stderr)
        sys.exit(2)
