"""Random weights of the gated networks, and where a cell has them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from keras_interp_rnn import layers
from tests.oracles import minimal_rnn as oracle
from tests.tolerances import assert_close as assert_close_within

FROM_INPUTS = ("W_x", "V_u", "V_i")
"""The matrices (n, features) of the oracle's networks; the others are (n, n)."""


def assert_close(actual: Any, expected: Any, dtype: str, backend: str | None = None) -> None:
    """As in tests/tolerances.py, for numbers that may have gone through keras.ops.tanh."""
    if backend is None and keras.backend.backend() == "jax" and dtype == "float64":
        backend = "jax, tanh"
    assert_close_within(actual, expected, dtype, backend)


def random_network(kind: str, rng: np.random.Generator, units: int, features: int) -> oracle.Network:
    """One of the oracle's networks with random weights, in float64."""
    network = getattr(oracle, kind)
    weights = {}
    for name in network._fields:
        shape = (units,) if name.startswith("b") else (units, features if name in FROM_INPUTS else units)
        weights[name] = rng.normal(size=shape) * (1.5 / np.sqrt(shape[-1]) if len(shape) == 2 else 1)
    return network(**weights)


def in_keras(network: oracle.Network) -> list[np.ndarray]:
    """A network's arrays (weights, or gradients by them) as the layer of that name has them: `variables`."""
    if isinstance(network, oracle.CFN):
        U_u, V_u, b_u, U_i, V_i, b_i, W_x, b_x = network
        return [np.concatenate(parts).T for parts in ([V_u, V_i, W_x], [U_u, U_i], [b_u, b_i, b_x])]
    encoder = [] if network.W_x is None else [network.W_x.T, network.b_z]
    return [network.U_z.T, network.U_h.T, network.b_u, *encoder]


def variables(cell: layers.MinimalRNNCell | layers.CFNCell) -> list[keras.Variable]:
    """A built cell's weights in the order of `in_keras`."""
    encoder = cell.encoder.weights if isinstance(cell, layers.MinimalRNNCell) else []
    return [cell.kernel, cell.recurrent_kernel, cell.bias, *encoder]
