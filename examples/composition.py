"""How much faster does an ISAN read whole words?

Reading a word is one affine map, since compositions of affine maps are affine. Takes the most frequent words of a
training text, and scores held-out text twice, symbol by symbol with the model and word by word with a table of their
maps: the same bits, and the time of both. Without a model it trains a small one.

    python examples/composition.py --model model.keras --text wiki.xz --words 1000 --lanes 16384

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 5.1.
"""

import collections
import sys
import time

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--model", help="a saved model of an ISAN and a Dense head over text8's 27 symbols")
parser.add_argument("--text", help="a text file, plain, .gz, .xz or .zip (default: Python's own documentation)")
parser.add_argument("--words", type=int, default=500, help="number of words in the table")
parser.add_argument("--lanes", type=int, default=512, help="pieces of the held-out text, read side by side")
parser.add_argument("--smoke", action="store_true", help="seconds: a small model, a short text")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, datasets, layers, losses

SYMBOLS = len(datasets.text.ALPHABET)


def build(units: int) -> keras.Model:
    isan = layers.ISAN(units, SYMBOLS, return_sequences=True)
    return keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(SYMBOLS)])


def trained(text: np.ndarray, units: int, epochs: int) -> keras.Model:
    windows = datasets.Windows(text, 64, length=50)
    model = build(units)
    schedule = keras.optimizers.schedules.CosineDecay(3e-3, epochs * len(windows), alpha=0.02)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.44), losses.BitsPerSymbol())
    model.fit(windows, epochs=epochs, shuffle=False, verbose=command_line.LINES)
    return model


def symbol_by_symbol(model: keras.Model, lanes: np.ndarray) -> np.ndarray:
    """Bits of every next symbol by the model itself."""
    logits = model.predict(lanes[:, :-1], batch_size=512, verbose=0).astype("float64")
    log_p = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))
    return -np.take_along_axis(log_p, lanes[:, 1:, None], axis=-1)[..., 0] / np.log(2)


def main() -> None:
    if args.smoke:
        args.words, args.lanes = 50, 64
    text = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    train, _, test = datasets.text.split(text[:100_000] if args.smoke else text)
    if args.model:  # without the fixed batch and the carried states that it was trained with
        source = keras.models.load_model(args.model)
        model = build(next(layer.units for layer in source.layers if isinstance(layer, layers.ISAN)))
        model.set_weights(source.get_weights())
    else:
        model = trained(train, *((24, 1) if args.smoke else (64, 3)))
    counts = collections.Counter(datasets.text.decode(train).split())
    words = [datasets.text.encode(f"{word} ") for word, _ in counts.most_common(args.words)]
    table = analysis.CompositionTable(model, words)
    steps = len(table.segment(test[:20_000]))
    print(f"\n{table}. Held-out text takes a step for {len(test[:20_000]) / steps:.2f} characters.")
    length = len(test) // args.lanes  # of pieces, each read from the learned initial state
    lanes = test[: args.lanes * length].reshape(args.lanes, -1).astype(np.int32)
    print(f"{args.lanes} pieces of {length} characters, read side by side:")
    bits = {}
    for name, score in {"symbol by symbol": lambda x: symbol_by_symbol(model, x), "word by word": table.score}.items():
        score(lanes[:2])  # what is compiled or fetched once
        started = time.perf_counter()
        bits[name] = score(lanes)
        seconds = time.perf_counter() - started
        print(f"  {name:18} {bits[name].mean():.6f} bits per character in {seconds:.2f} s")
    print(f"  They differ by {np.abs(np.subtract(*bits.values())).max():.0e} bits at most.")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"composition: {error}", file=sys.stderr)
        sys.exit(2)
