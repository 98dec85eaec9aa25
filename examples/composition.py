"""How much faster does an ISAN read whole words?

Reading a word is one affine map, since compositions of affine maps are affine. Takes a saved model and a text, chooses
the words that save most steps on the training part within a budget of memory, and scores held-out text twice, symbol
by symbol with the model and word by word with the table: the same bits, and the time of both. Shows the words that are
used most and where each symbol's map leads when it is read for ever. Without a model it trains a small one on the
English documentation that ships with Python itself.

    python examples/composition.py                                        # a minute on two cores
    python examples/composition.py --model model.keras --text wiki.xz --budget 256 --lanes 16384

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 5.1.
"""

import sys
import tempfile
import time
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--model", help="a saved model of an ISAN and a Dense head over text8's 27 symbols")
parser.add_argument("--text", help="a text file, plain, .gz, .xz or .zip (default: Python's own documentation)")
parser.add_argument("--budget", type=float, default=16, help="size of the table in MiB")
parser.add_argument("--corpus", type=int, default=4_000_000, help="characters from which the words are chosen")
parser.add_argument("--lanes", type=int, default=512, help="pieces of the held-out text, read side by side")
parser.add_argument("--units", type=int, default=64, help="state size of the model trained without --model")
parser.add_argument("--epochs", type=int, default=3, help="passes over the training data")
parser.add_argument("--records", default="runs/composition", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="seconds: a small model, a short text, a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_interp_rnn import datasets, layers, losses
    from keras_interp_rnn.analysis import CompositionTable, fixed_points
    from keras_interp_rnn.reproduce import records

SYMBOLS = len(datasets.text.ALPHABET)
BATCH, LENGTH = 64, 50


def build(units: int, stateful: bool) -> keras.Sequential:
    return keras.Sequential(
        [
            keras.Input((LENGTH if stateful else None,), batch_size=BATCH if stateful else None, dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True, stateful=stateful),
            keras.layers.Dense(SYMBOLS),
        ]
    )


def trained(text: np.ndarray, units: int, epochs: int) -> keras.Sequential:
    windows = datasets.Windows(text, BATCH, length=LENGTH)
    model = build(units, stateful=True)
    schedule = keras.optimizers.schedules.CosineDecay(3e-3, epochs * len(windows), alpha=0.02)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.44), losses.BitsPerSymbol())
    print(f"Training an ISAN of {units} units on {len(text):,} characters, loss in bits per character.")
    model.fit(windows, epochs=epochs, shuffle=False, verbose=2)
    return model


def symbol_by_symbol(model: keras.Sequential, batch: int):
    """A function of pieces that gives the bits of every next symbol by the model itself."""

    @tf.function(reduce_retracing=True)
    def bits(text: tf.Tensor) -> tf.Tensor:
        logits = model(text[:, :-1])
        return tf.nn.sparse_softmax_cross_entropy_with_logits(text[:, 1:], logits) / float(np.log(2))

    return lambda lanes: np.concatenate([bits(tf.constant(lanes[i : i + batch])) for i in range(0, len(lanes), batch)])


def timed(name: str, score, lanes: np.ndarray) -> tuple[np.ndarray, float]:
    score(lanes[:1024])  # what is compiled or fetched once
    start = time.perf_counter()
    bits = score(lanes)
    rate = bits.size / (time.perf_counter() - start)
    speed = "" if args.smoke else f", {rate:11,.0f} characters/s"  # too short to be timed
    print(f"  {name:<18} {bits.mean(dtype=np.float64):.6f} bits per character{speed}")
    return bits, rate


def main() -> None:
    if args.smoke:
        args.units, args.epochs, args.budget, args.lanes = 24, 1, 1, 64
        args.records = tempfile.mkdtemp(prefix="composition-")
    text = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    text = text[:100_000] if args.smoke else text
    train, _, test = datasets.text.split(text)
    source = keras.models.load_model(args.model) if args.model else trained(train, args.units, args.epochs)
    model = build(source.layers[0].units, stateful=False)
    model.set_weights(source.get_weights())

    start = time.perf_counter()
    table = CompositionTable.from_corpus(model, train[: args.corpus], max_bytes=int(args.budget * 2**20))
    seconds = time.perf_counter() - start
    print(f"\n{table}, made in {seconds:.1f} s.")
    sample = test[:20_000]
    used = table.segment(sample)
    print(f"Held-out text takes a step for {len(sample) / len(used):.2f} characters. Used most, of two and more:")
    frequent = [n for n in np.argsort(-np.bincount(used, minlength=len(table))) if len(table.words[n]) > 1]
    names = [datasets.text.decode(np.array(table.words[n])) for n in frequent[:12]]
    print("  " + ", ".join(f"'{name}'" for name in names))

    # All of the held-out text in equal pieces, each from the learned initial state, for both alike.
    length = len(test) // args.lanes
    if length < 2:
        raise ValueError(f"A piece has at least two characters. Received: {len(test):,} for {args.lanes} lanes.")
    lanes = test[: args.lanes * length].reshape(args.lanes, length).astype(np.int32)
    print(f"\n{args.lanes} pieces of {length} characters, read side by side:")
    bits, rate = timed("symbol by symbol", symbol_by_symbol(model, 512), lanes)
    table_bits, table_rate = timed("word by word", table.score, lanes)
    apart = np.abs(table_bits - bits)
    print(f"  Bits differ by {apart.mean():.0e} on average, by {apart.max():.0e} at most.", end=" ")
    print("" if args.smoke else f"Words take {rate / table_rate:.0%} of the time of symbols.")

    points = fixed_points(model)
    slowest = int(points.spectral_radius.argmax())
    print(
        f"\n{points.attracts.sum()} of {SYMBOLS} symbols lead to a fixed point when read again and again; the largest "
        f"spectral radius, {points.spectral_radius[slowest]:.3f}, is that of '{datasets.text.ALPHABET[slowest]}'."
    )
    record = {
        "experiment": "composition",
        "data": {"name": args.text or "Python documentation", "characters": int(lanes.size)},
        "model": {"layer": "ISAN", "units": model.layers[0].units, "parameters": model.count_params()},
        "protocol": {"budget": table.nbytes, "words": len(table), "lanes": args.lanes, "corpus": args.corpus},
        "result": {
            "mean_length": len(sample) / len(used),
            "bits": float(table_bits.mean(dtype=np.float64)),
            "apart": float(apart.max()),
            "characters_per_second": {"symbols": rate, "words": table_rate},
            "attracting": int(points.attracts.sum()),
        },
    }
    records.write(Path(args.records) / f"composition-{model.layers[0].units}-{args.budget:g}.json", record)
    print(f"Record: {args.records}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"composition: {error}", file=sys.stderr)
        sys.exit(2)
