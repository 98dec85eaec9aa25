"""The output of a network as a game of the steps of a sequence, and its Shapley values without the package that is
measured: from all coalitions, or from a sample, with standard errors."""

import json
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROWS = 4096
"""Sequences that are read together."""


class Network:
    """The first logit of a network from the vectors of its words on, compiled once, in a dtype of its own."""

    def __init__(self, model: keras.Model, dtype: str) -> None:
        embeddings = [i for i, layer in enumerate(model.layers) if isinstance(layer, keras.layers.Embedding)]
        self.table = np.asarray(model.layers[embeddings[0]].get_weights()[0]) if embeddings else None
        features = model.input_shape[-1] if self.table is None else self.table.shape[1]
        rest = model.layers[embeddings[0] + 1 :] if embeddings else model.layers
        configs = [json.loads(json.dumps(layer.get_config()).replace("float32", dtype)) for layer in rest]
        configs[-1]["activation"] = "linear"
        as_dtype = [type(layer).from_config(config) for layer, config in zip(rest, configs, strict=True)]
        self.model = keras.Sequential([keras.Input((None, features)), *as_dtype])
        for layer, old in zip(as_dtype, rest, strict=True):
            layer.set_weights([np.asarray(weight, dtype) for weight in old.get_weights()])
        signature = tf.TensorSpec((None, None, features), dtype)
        self._run = tf.function(lambda x: self.model(x, training=False)[:, 0], input_signature=[signature])
        self.dtype = dtype

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(self._run(tf.convert_to_tensor(vectors, self.dtype)))

    def vectors(self, sequence: np.ndarray) -> np.ndarray:
        return sequence if self.table is None else self.table[sequence]


class Game:
    """From coalitions (m, steps), or one of them, to outputs (m,): absent steps, 0, are zeros. Counts what is run."""

    def __init__(self, network: Network, sequence: np.ndarray) -> None:
        self.network, self.vectors, self.runs = network, network.vectors(sequence), 0

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        coalitions = np.atleast_2d(coalitions)
        self.runs += len(coalitions)
        there = coalitions[:, :, None].astype(self.vectors.dtype)
        parts = [self.network(there[i : i + ROWS] * self.vectors) for i in range(0, len(there), ROWS)]
        return np.concatenate(parts).astype(np.float64)


def shapley_values(worth: np.ndarray) -> np.ndarray:
    """The values of the players of a game, whose worth has an axis for each: 0 absent, 1 present."""
    players = worth.ndim
    others = np.indices((2,) * (players - 1)).sum(axis=0)
    weights = np.array([1 / (players * math.comb(players - 1, size)) for size in range(players)])
    gains = [worth.take(1, axis=player) - worth.take(0, axis=player) for player in range(players)]
    return np.array([np.sum(weights[others] * gain) for gain in gains])


def exact(game: Game, players: int) -> np.ndarray:
    """From all coalitions."""
    sets = np.arange(2**players)[:, None] >> np.arange(players)[::-1] & 1
    return shapley_values(game(sets).reshape((2,) * players))


def unbiased(
    game: Callable[[np.ndarray], np.ndarray], players: int, pairs: int, rng: np.random.Generator, batches: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values and their standard errors, from pairs of complementary coalitions in independent batches.

    With the weights of Shapley's kernel, a size s as probable as p(s) = c / (s (n - s)), the value of player i is

        total / n + n / c E[(1 if i is there, else 0, less s / n) v(S)],

    linear in v, so that a mean over coalitions drawn otherwise, weighted, is unbiased. An additive game, fitted to the
    other batches, is subtracted from v, and its values are added. Sizes are drawn as often as each other.
    """
    n = players
    nobody, everybody = game(np.array([[0] * n, [1] * n]))
    total = everybody - nobody
    count = pairs // batches
    rows, half = [], []
    for _ in range(batches):
        size = rng.integers(1, n, count)
        order = rng.random((count, n)).argsort(axis=1).argsort(axis=1)
        coalitions = (order < size[:, None]).astype(np.int8)
        rows.append(coalitions)
        half.append((game(coalitions) - game(1 - coalitions)) / 2)
    weight = [(n - 1) / (each.sum(axis=1) * (n - each.sum(axis=1))) for each in rows]
    products = [np.einsum("m,mi,mj->ij", w, z - 0.5, z - 0.5) for w, z in zip(weight, rows, strict=True)]
    sides = [(w * h) @ (z - 0.5) for w, z, h in zip(weight, rows, half, strict=True)]
    found = []
    for k, (w, z, h) in enumerate(zip(weight, rows, half, strict=True)):
        fit = np.linalg.solve(sum(products) - products[k] + 1e-9 * np.eye(n), sum(sides) - sides[k])
        left = h - (z - 0.5) @ fit
        centred = z - z.mean(axis=1, keepdims=True)
        found.append(fit + (total - fit.sum()) / n + n * np.mean((w * left)[:, None] * centred, axis=0))
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(batches)


def merits(shares: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """The largest error in parts of the range of the right values, the correlation, and whether the largest agrees."""
    return {
        "error": float(np.abs(shares - right).max() / np.ptp(right)),
        "correlation": float(np.corrcoef(shares, right)[0, 1]),
        "same_top": bool(np.abs(shares).argmax() == np.abs(right).argmax()),
    }
