"""Whose shares find the words that a network's decision rests on?

Trains a Keras LSTM and GRU on IMDB reviews, splits their logit among the words by each method of
`analysis.attribution`, and deletes the words that speak most for the decision, one after the other: the lower the logit
on the side of the decision, the better. Beside them gradient times input, and a random order.

    python -m benchmarks.attribution --data aclImdb         # about two minutes on one thread
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_interp_rnn import analysis, datasets

DELETED = (0, 1, 2, 5, 10, 20)
METHODS = ("shapley", "telescoping", "path_integral", "occlusion")


def reviews(args: argparse.Namespace, split: str, count: int, vocabulary: object = None) -> tuple:
    """Ids and labels of some reviews of a split, and the vocabulary of the training split."""
    folders = [args.data / split / name for name in ("neg", "pos")]
    files = [(file, label) for label, folder in enumerate(folders) for file in sorted(folder.glob("*.txt"))]
    texts, labels = [file.read_text(encoding="utf-8") for file, _ in files], np.array([label for _, label in files])
    chosen = np.random.default_rng(args.seed).permutation(len(texts))[:count]
    some = [texts[i] for i in chosen]
    vocabulary = vocabulary or datasets.Alphabet.from_texts(some, max_size=5000)
    return vocabulary.encode_batch(some, length=100, end=False, truncate=True), labels[chosen], vocabulary


def trained(kind: str, ids: np.ndarray, labels: np.ndarray, seed: int) -> keras.Model:
    keras.utils.set_random_seed(seed)
    layer = getattr(keras.layers, kind)(32)
    embedding = keras.layers.Embedding(int(ids.max()) + 1, 32, mask_zero=True)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(3e-3), keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(ids, labels, batch_size=64, epochs=3, verbose=0)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("aclImdb"), help="the folder of the unpacked reviews")
    parser.add_argument("--reviews", type=int, default=200, help="reviews of the test split that are explained")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="random ids in place of reviews")
    args = parser.parse_args()
    if args.smoke:
        rng = np.random.default_rng(0)
        ids, labels, test, truth = rng.integers(1, 50, (64, 12)), rng.integers(2, size=64), None, None
        test, truth = ids[:8], labels[:8]
    else:
        ids, labels, vocabulary = reviews(args, "train", 15_000)
        test, truth, _ = reviews(args, "test", args.reviews, vocabulary)
    for kind in ("LSTM", "GRU"):
        model = trained(kind, ids, labels, args.seed)
        embedding, layer, head = model.layers
        embedded, mask = tf.convert_to_tensor(embedding(test)), test != 0
        with tf.GradientTape() as tape:
            tape.watch(embedded)
            logits = head(layer(embedded, mask=mask))[:, 0]
        sign = np.sign(logits.numpy())
        print(f"\n{kind}: {np.mean((sign > 0) == truth):.1%} of {len(test)} reviews right; logit left after deleting")
        shares = {"gradient x input": (tape.gradient(logits, embedded) * embedded).numpy().sum(axis=-1)}
        said = {"gradient x input": ""}
        for method in METHODS:
            start = time.perf_counter()
            split = analysis.attribution(model, test, target=0, method=method)
            shares[method] = split.shares
            seconds = time.perf_counter() - start
            relative = split.residual / np.abs(split.output).min()
            said[method] = f"residual {split.residual:.1e} ({relative:.1e} of the smallest output), {seconds:.1f} s"
        one = np.repeat(embedded[:1].numpy(), mask.shape[1], axis=0) * (1 - np.eye(mask.shape[1]))[:, :, None]
        without = head(layer(one.astype("float32"), mask=np.repeat(mask[:1], len(one), axis=0))).numpy()[:, 0]
        apart = np.abs((logits.numpy()[0] - without) * mask[0] - shares["occlusion"][0]).max()
        said["occlusion"] += f", {apart:.1e} from brute force in float32"
        shares["random"], said["random"] = np.random.default_rng(1).normal(size=mask.shape), ""
        print(f"| method | {' | '.join(map(str, DELETED))} | |")
        for name, values in shares.items():
            order = np.argsort(-np.where(mask, values * sign[:, None], -np.inf), axis=1)
            left = []
            for count in DELETED:
                kept = embedded.numpy().copy()
                np.put_along_axis(kept, order[:, :count, None], 0, axis=1)
                left.append(np.mean(sign * head(layer(kept, mask=mask)).numpy()[:, 0]))
            print(f"| {name} | {' | '.join(f'{value:.2f}' for value in left)} | {said[name]} |", flush=True)


if __name__ == "__main__":
    main()
