"""How well do the layers tell promoters of E. coli from other DNA, 81 bases each?

The data are the benchmark of iPromoter-2L (Liu et al., Bioinformatics 34, 2018), as PromoterLCNN distributes it: two
files of 2,860 sequences in FASTA, promoters and non-promoters (github.com/occasumlux/Promoters,
Dataset/Benchmark_dataset/promoter_and_non-promoter). Each seed draws another split, 3,720 sequences to train, 1,000 to
choose the epoch, 1,000 to test, and another network.

    PYTHONPATH=. python benchmarks/promoters.py positive2860.txt negative2860.txt --seeds 5

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
from scipy import stats

from keras_interp_rnn import layers

BASES, UNITS = "acgt", 24

NETWORKS: dict[str, Callable[[], list[keras.layers.Layer]]] = {
    "ISAN(24)": lambda: [layers.ISAN(UNITS, 4)],
    "two-way ISAN(24)": lambda: [keras.layers.Bidirectional(layers.ISAN(UNITS, 4))],
    "MinGRU(24)": lambda: [keras.layers.Embedding(4, UNITS), layers.MinGRU(UNITS)],
    "DeltaNet(24)": lambda: [keras.layers.Embedding(4, UNITS), layers.DeltaNet(UNITS, num_heads=2)],
    "MinimalRNN(24)": lambda: [keras.layers.Embedding(4, UNITS), layers.MinimalRNN(UNITS)],
    "SRLSTM(24, 10)": lambda: [keras.layers.Embedding(4, UNITS), layers.SRLSTM(UNITS, 10)],
    "LSTM(24)": lambda: [keras.layers.Embedding(4, UNITS), keras.layers.LSTM(UNITS)],
    "24 convolutions of 12 bases": lambda: [
        keras.layers.Embedding(4, UNITS),
        keras.layers.Conv1D(UNITS, 12, activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
    ],
}


def sequences(path: Path) -> np.ndarray:
    """The sequences of a FASTA file as ids (sequences, bases)."""
    records = path.read_text().split(">")[1:]
    texts = ["".join(record.splitlines()[1:]).lower() for record in records]
    return np.array([[BASES.index(base) for base in text] for text in texts], np.int32)


def accuracy(
    make: Callable[[], list[keras.layers.Layer]], x: np.ndarray, y: np.ndarray, seed: int, epochs: int
) -> float:
    """The share of test sequences that are labelled right, at the epoch with the least validation loss."""
    keras.utils.set_random_seed(seed)
    order = np.random.default_rng(seed).permutation(len(x))
    train, validation, test = np.split(order, [len(x) - 2000, len(x) - 1000])
    model = keras.Sequential([keras.Input((x.shape[1],), dtype="int32"), *make(), keras.layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0), loss, metrics=["accuracy"])
    stop = keras.callbacks.EarlyStopping("val_loss", patience=8, restore_best_weights=True)
    model.fit(
        x[train], y[train], 64, epochs, verbose=0, validation_data=(x[validation], y[validation]), callbacks=[stop]
    )
    return float(np.mean((model.predict(x[test], verbose=0)[:, 0] > 0) == y[test]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("positive", type=Path, nargs="?", help="promoters, FASTA")
    parser.add_argument("negative", type=Path, nargs="?", help="other DNA, FASTA")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--smoke", action="store_true", help="random sequences, one epoch of one network")
    args = parser.parse_args()
    if args.smoke:
        x = np.random.default_rng(0).integers(4, size=(2200, 81), dtype=np.int32)
        y, args.seeds, args.epochs, args.only = x[:, 0] % 2, 1, 1, args.only[:1]
    elif args.positive is None or args.negative is None:
        parser.error("Both files are needed: promoters, then other DNA. Or pass --smoke.")
    else:
        parts = sequences(args.positive), sequences(args.negative)
        x, y = np.concatenate(parts), np.repeat([1, 0], [len(part) for part in parts])
    print("| network | accuracy, % | each seed |\n|---|---|---|")
    for name in args.only:
        found = [100 * accuracy(NETWORKS[name], x, y, seed, args.epochs) for seed in range(args.seeds)]
        half = stats.t.ppf(0.975, len(found) - 1) * stats.sem(found) if len(found) > 1 else np.nan
        each = ", ".join(f"{value:.1f}" for value in found)
        print(f"| {name} | {np.mean(found):.1f} ± {half:.1f} | {each} |", flush=True)


if __name__ == "__main__":
    main()
