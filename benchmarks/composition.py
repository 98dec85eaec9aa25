"""How much faster is held-out text scored word by word, from a table of composed maps, than symbol by symbol?

A text is cut into equal pieces, which are read side by side, each from the learned initial state: nothing is warmed
up, so the bits are those of texts of that length. Symbol by symbol: the model's own fused forward and its cross-entropy
in one `tf.function`, at the best of several batch sizes, over as many of the pieces as `--fused-lanes` says (how many
batches follow each other does not change its speed). Word by word: `CompositionTable.score` over all pieces, its
segmentation counted. Both in turn, round after round, in one process with one thread each; medians over the rounds, by
the clock and by processor time, which other processes on the machine disturb less. Bits are compared on the pieces
that both read.

    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1 \
        python benchmarks/composition.py --model model.keras --text wiki.xz
    python benchmarks/composition.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import collections
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from turns import in_turn

from keras_interp_rnn import datasets, layers
from keras_interp_rnn.analysis import CompositionTable

SYMBOLS = len(datasets.text.ALPHABET)


def network(path: str | None, units: int) -> keras.Sequential:
    """ISAN and Dense head, stateless, with the weights of a saved model or as they are drawn."""
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    if path:
        model.set_weights(keras.models.load_model(path).get_weights())
    return model


def frequent(text: str) -> list[str]:
    """Groups of two to twelve letters, those first that would save most steps alone: count times (length - 1)."""
    counts = collections.Counter(text[i : i + n] for n in range(2, 13) for i in range(len(text) - n + 1))
    counts = {group: count for group, count in counts.items() if count > 1}
    return sorted(counts, key=lambda group: counts[group] * (len(group) - 1), reverse=True)


def fused_scorer(model: keras.Sequential) -> Callable[[np.ndarray, int], np.ndarray]:
    @tf.function
    def bits(text: tf.Tensor) -> tf.Tensor:
        nats = tf.nn.sparse_softmax_cross_entropy_with_logits(text[:, 1:], model(text[:, :-1]))
        return nats / float(np.log(2))

    def score(lanes: np.ndarray, batch: int) -> np.ndarray:
        batches = (lanes[i : i + batch].astype(np.int32) for i in range(0, len(lanes), batch))
        return np.concatenate([bits(tf.constant(text)).numpy() for text in batches])

    return score


class Timed:
    """Calls something, keeps what it gave and the processor seconds of each call."""

    def __init__(self, step: Callable[[], np.ndarray]) -> None:
        self.step, self.seconds = step, []

    def __call__(self) -> None:
        start = time.process_time()
        self.result = self.step()
        self.seconds.append(time.process_time() - start)


def best_batch(score: Callable[[np.ndarray, int], np.ndarray], lanes: np.ndarray, sizes: list[int], rounds: int) -> int:
    steps = {str(size): lambda size=size: score(lanes[: max(sizes)], size) for size in sizes}
    times = {name: statistics.median(seconds) for name, seconds in in_turn(steps, rounds, warm_up=1).items()}
    symbols = lanes[: max(sizes)].size
    rates = ", ".join(f"{symbols / t:,.0f} ({name})" for name, t in times.items())
    print(f"Symbol by symbol, characters/s by batch size: {rates}", flush=True)
    return int(min(times, key=times.__getitem__))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a saved model of ISAN and Dense head; default: new weights")
    parser.add_argument("--units", type=int, default=216, help="of the network with new weights, if none is given")
    parser.add_argument("--text", help="split 90/5/5: words from the first part; default: Python's documentation")
    parser.add_argument("--corpus", type=int, default=1_000_000, help="characters the words are chosen from")
    parser.add_argument("--lanes", type=int, default=16_384, help="pieces the text is cut into")
    parser.add_argument("--fused-lanes", type=int, default=2_048, help="pieces that are read symbol by symbol")
    parser.add_argument("--characters", type=int, default=240, help="scored in each piece")
    parser.add_argument("--words", type=int, nargs="+", default=[80, 300, 1200, 4600], help="in the table")
    parser.add_argument("--batches", type=int, nargs="+", default=[128, 256, 512, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    args = parser.parse_args()
    if args.smoke:
        args.units, args.corpus, args.lanes, args.fused_lanes, args.characters = 24, 20_000, 64, 32, 20
        args.words, args.batches, args.rounds = [20, 50], [16, 32], 1
    text = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    train, _, test = datasets.text.split(text)
    needed = args.lanes * (args.characters + 1)
    if needed > len(test):
        parser.error(f"the test split has {len(test):,} characters, {needed:,} are needed: fewer --lanes")
    lanes = test[:needed].reshape(args.lanes, -1)
    model = network(args.model, args.units)
    score = fused_scorer(model)
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, NumPy {np.__version__}, {os.cpu_count()} cores.")
    print(f"{args.lanes:,} pieces of {args.characters} characters to score, {lanes[:, 1:].size:,} in all.")
    batch = best_batch(score, lanes, args.batches, max(args.rounds // 2, 1))
    print(f"\nOne thread each, symbol by symbol in batches of {batch}, median of {args.rounds} rounds:\n")
    print("| table, MiB | words | longest | mean length | characters/s, words | characters/s, symbols ", end="")
    print("| ratio (range) | ratio, processor time | bits | apart | apart, one symbol |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    groups = [datasets.text.encode(group) for group in frequent(datasets.text.decode(train[: args.corpus]))]
    for number in args.words:
        table = CompositionTable(model, groups[:number], max_bytes=2**32)
        steps = sum(len(table.segment(lane[:-1])) for lane in lanes[:50])
        words = Timed(lambda table=table: table.score(lanes))
        symbols = Timed(lambda: score(lanes[: args.fused_lanes], batch))
        clock = in_turn({"symbols": symbols, "words": words}, args.rounds, warm_up=1)
        fewer = lanes[:, 1:].size / lanes[: args.fused_lanes, 1:].size
        ratios = [fewer * s / w for s, w in zip(clock["symbols"], clock["words"], strict=True)]
        processor = [fewer * s / w for s, w in zip(symbols.seconds[1:], words.seconds[1:], strict=True)]
        apart = words.result[: args.fused_lanes].astype(np.float64) - symbols.result
        print(
            f"| {table.nbytes / 2**20:.0f} | {len(table):,} | {max(map(len, table.words))} "
            f"| {lanes[:50, 1:].size / steps:.2f} "
            f"| {words.result.size / statistics.median(clock['words']):,.0f} "
            f"| {symbols.result.size / statistics.median(clock['symbols']):,.0f} "
            f"| **{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f}) "
            f"| {statistics.median(processor):.2f} | {words.result.mean(dtype=np.float64):.4f} "
            f"| {abs(apart.mean()):.0e} | {abs(apart).max():.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
