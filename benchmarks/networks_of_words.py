"""Small Keras networks that learn to judge sequences, for the benchmarks of attribution.

Words of twelve: four have a value, "not" turns that of the next one round, "very" doubles it, "but" leaves a quarter of
what came before. Brackets of two words, right if they are balanced and never deeper than four. Events of two numbers,
whose products add up.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]
"""Sequences (count, length) or (count, length, features), and what is right of each."""

WORDS = ("good", "great", "bad", "awful", "not", "very", "but", "film", "plot", "the", "a", "it")
VALUES = np.array([1.0, 2.0, -1.0, -2.0, *[0.0] * 8])
FACTORS = np.array([1.0, 1.0, 1.0, 1.0, -1.0, 2.0, *[1.0] * 6])
"""Of the next value."""
OFTEN = np.array([10, 7, 10, 7, 12, 8, 6, 8, 8, 8, 8, 8]) / 100
L = keras.layers


def words(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    ids = rng.choice(len(WORDS), (count, length), p=OFTEN)
    return ids.astype("int32"), np.tanh(totals(ids) / 4)


def totals(ids: np.ndarray) -> np.ndarray:
    """What texts (count, length) add up to."""
    total, factor = np.zeros(len(ids)), np.ones(len(ids))
    for column in ids.T:
        but, value = column == WORDS.index("but"), VALUES[column]
        total = np.where(but, total / 4, total + factor * value)
        factor = np.where(but | (value != 0), 1.0, factor * FACTORS[column])
    return total


def brackets(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    ids, depth = np.zeros((count, length), "int32"), np.zeros(count, int)
    for t in range(length):
        closes = (rng.random(count) < np.where(depth >= 3, 0.9, 0.5)) & (depth > 0)
        ids[:, t] = closes
        depth += np.where(closes, -1, 1)
    wrong = rng.random(count) < 0.5
    ids[wrong, rng.integers(length, size=count)[wrong]] ^= 1
    depths = np.cumsum(1 - 2 * ids, axis=1)
    return ids, ((depths >= 0) & (depths <= 4)).all(axis=1) * 2.0 - 1


def events(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.stack([rng.normal(size=(count, length)), rng.choice([-1, 1], (count, length))], axis=-1)
    return x.astype("float32"), np.tanh(x.prod(axis=-1).sum(axis=1) / 3)


class Kind(NamedTuple):
    """A network: what it learns, and its layers between the vectors and the head."""

    draw: Draw
    layers: Callable[[int], list[Any]]
    symbols: int | None = len(WORDS)


KINDS = {
    "LSTM": Kind(words, lambda units: [L.LSTM(units)]),
    "GRU": Kind(words, lambda units: [L.GRU(units)]),
    "Bidirectional LSTM": Kind(words, lambda units: [L.Bidirectional(L.LSTM(units // 2))]),
    "LSTM, mean pooling": Kind(words, lambda units: [L.LSTM(units, return_sequences=True), L.GlobalAveragePooling1D()]),
    "LSTM of brackets": Kind(brackets, lambda units: [L.LSTM(units)], 2),
    "GRU of events": Kind(events, lambda units: [L.GRU(units)], None),
    "LSTM over GRU": Kind(words, lambda units: [L.GRU(units, return_sequences=True), L.LSTM(units)]),
}
FEATURES = 8
"""Of the vector of a word."""


def trained(name: str, units: int, length: int, seed: int, updates: int, folder: Path | None) -> keras.Model:
    """A network that read sequences of half the length to the whole; from the folder, if it was kept there."""
    kind = KINDS[name]
    keras.utils.set_random_seed(seed)
    start = keras.Input((None, 2)) if kind.symbols is None else keras.Input((None,), dtype="int32")
    embedding = [] if kind.symbols is None else [L.Embedding(kind.symbols, FEATURES)]
    model = keras.Sequential([start, *embedding, *kind.layers(units), L.Dense(1)])
    kept = None if folder is None else folder / f"{name.replace(' ', '-')}-{units}-{length}-{seed}.weights.h5"
    if kept is not None and kept.exists():
        model.load_weights(kept)
        return model
    rng = np.random.default_rng([seed, 1])
    rate = keras.optimizers.schedules.CosineDecay(6e-3, updates)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), "mse")
    for _ in range(updates):
        model.train_on_batch(*kind.draw(rng, 64, int(rng.integers(length // 2, length + 1))))
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        model.save_weights(kept)
    return model


def correlation(name: str, model: keras.Model, length: int) -> float:
    """Of the answers to 1,000 other sequences with the right ones."""
    x, right = KINDS[name].draw(np.random.default_rng(1), 1000, length)
    return float(np.corrcoef(model.predict_on_batch(x)[:, 0], right)[0, 1])
