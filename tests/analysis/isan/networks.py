"""Input-switched affine networks of known weights, for the tests of their readings."""

import functools
from typing import NamedTuple

import keras
import numpy as np

from keras_interp_rnn import analysis, layers
from tests.oracles import counting
from tests.oracles import isan as loops

# Units, symbols, outputs: a readout narrower than the state, and one that spans it.
SIZES = [(7, 4, 3), (6, 9, 2), (3, 4, 5)]
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


@functools.cache
def network(units, symbols, outputs, seed):
    """A model with random asymmetric weights, and the same as the paper writes them: W, b, h_0, W_ro, b_ro."""
    rng = np.random.default_rng(seed)
    isan = layers.ISAN(units, symbols, return_sequences=True, dtype="float64")
    head = keras.layers.Dense(outputs, dtype="float64")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, head])
    weights = [rng.normal(size=w.shape) * 0.6 for w in model.get_weights()]
    model.set_weights(weights)
    kernel, bias, start, readout, readout_bias = weights
    return model, (kernel.transpose(0, 2, 1), bias, start, readout.T, readout_bias)


def isan_of(kernel, bias, start=None):
    """A layer with these weights, in row convention; the initial state is 0 unless given."""
    isan = layers.ISAN(bias.shape[1], len(bias), return_sequences=True, dtype="float64")
    isan.build((None, None))
    isan.set_weights([kernel, bias, np.zeros(bias.shape[1]) if start is None else start])
    return isan


def contracting(units, symbols, outputs, seed):
    """A layer whose states stay small, its readout, and its weights as the paper writes them."""
    _, (W, b, h0, W_ro, b_ro) = network(units, symbols, outputs, seed)
    W = W / np.linalg.norm(W, 2, axis=(1, 2)).max()
    return isan_of(W.transpose(0, 2, 1), b, h0), (W_ro.T, b_ro), (W, b, h0)


def readout_of_rank(rank, units, outputs, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(units, rank)) @ rng.normal(size=(rank, outputs)), rng.normal(size=outputs)


def shift(state):
    """The coordinates z = h - state."""
    same = np.eye(len(state))
    maps = analysis.AffineMap(same, -state), analysis.AffineMap(same, state)
    return analysis.Basis(*maps, 0, tuple(f"unit {i}" for i in range(len(state))))


# types, maximum, delay, noise, further units that remember what no output needs
HIDDEN = [(2, 5, 1, 1, 0), (2, 3, 1, 1, 5), (1, 2, 2, 2, 3), (3, 2, 0, 0, 2)]


class Hidden(NamedTuple):
    """A delay line in a random basis, states as rows, and states that it reached."""

    layer: layers.ISAN
    readout: tuple[np.ndarray, np.ndarray]
    task: tuple[int, int, int]
    paper: tuple[np.ndarray, ...]
    states: np.ndarray  # (batch, time, n)
    codes: np.ndarray  # (batch, time, hot), the delay line's own states


@functools.cache
def hidden(types, maximum, delay, noise, further, seed, error=0.0):
    rng = np.random.default_rng(seed)
    W, b, h0, W_ro, b_ro = paper = counting.delay_line(types, maximum, delay, noise)
    symbols, m = b.shape
    n = m + further
    kernel, bias, start, readout = map(np.zeros, ((symbols, n, n), (symbols, n), n, (n, len(b_ro))))
    kernel[:, :m, :m], bias[:, :m], start[:m], readout[:m] = W.transpose(0, 2, 1), b, h0, W_ro.T
    kernel[:, :, m:] = rng.normal(size=(symbols, n, further)) * 0.3 / np.sqrt(n)
    bias[:, m:] = rng.normal(size=(symbols, further))
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    change, shift = left * rng.uniform(0.5, 2, n) @ right, rng.normal(size=n)
    inverse = np.linalg.inv(change)
    kernel = inverse @ kernel @ change
    bias = bias @ change - shift @ kernel + shift
    layer = isan_of(kernel + error * rng.normal(size=kernel.shape), bias, start @ change + shift)
    head = (inverse @ readout, b_ro - shift @ inverse @ readout)
    text = rng.integers(symbols, size=(60, 80))
    states = loops.states(kernel.transpose(0, 2, 1), bias, start @ change + shift, text)
    return Hidden(layer, head, (types, maximum, delay), paper, states, loops.states(W, b, h0, text))
