"""Random weights, sequences and masks for the gated networks, as tests/samples.py has them for ISAN."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np

from keras_interp_rnn import layers
from tests.oracles import minimal_rnn as oracle
from tests.samples import make_mask, outputs_of
from tests.tolerances import assert_close as assert_close_within

KINDS = ("MinimalRNN", "CFN")
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
    """A built cell's weights in the order of `in_keras`; of an encoder of its own making."""
    encoder = cell.encoder.weights if isinstance(cell, layers.MinimalRNNCell) else []
    return [cell.kernel, cell.recurrent_kernel, cell.bias, *encoder]


def set_weights(cell: layers.MinimalRNNCell | layers.CFNCell, network: oracle.Network) -> None:
    for variable, array in zip(variables(cell), in_keras(network), strict=True):
        variable.assign(np.ascontiguousarray(array))


class Sample(NamedTuple):
    """A network in the paper's orientation, and a batch to read, in float64."""

    network: oracle.MinimalRNN | oracle.CFN
    start: np.ndarray  # (batch, n), another state for each sequence
    inputs: np.ndarray  # (batch, time, features)
    mask: np.ndarray | None  # bool (batch, time)
    cotangent: np.ndarray  # (batch, time, n)

    @property
    def kind(self) -> str:
        return type(self.network).__name__

    @property
    def units(self) -> int:
        return self.start.shape[1]

    def states(self, start: np.ndarray | None = None, go_backwards: bool = False) -> np.ndarray:
        """The oracle's states, from zeros unless told another start."""
        start = np.zeros_like(self.start) if start is None else start
        return oracle.states(self.network, start, self.inputs, self.mask, go_backwards)

    def outputs(
        self, start: np.ndarray | None = None, go_backwards: bool = False, zero_output_for_mask: bool = False
    ) -> np.ndarray:
        """The outputs of a Keras RNN."""
        return outputs_of(self.states(start, go_backwards), self.mask, go_backwards, zero_output_for_mask)

    def cell(self, **arguments: Any) -> layers.MinimalRNNCell | layers.CFNCell:
        """A built cell with these weights, in float64 unless told otherwise."""
        cell = getattr(layers, f"{self.kind}Cell")(self.units, **{"dtype": "float64", **arguments})
        cell.build((self.inputs.shape[0], *self.inputs.shape[2:]))
        set_weights(cell, self.network)
        return cell

    def layer(self, **arguments: Any) -> layers.MinimalRNN | layers.CFN:
        """A built layer with these weights, in float64 unless told otherwise."""
        layer = getattr(layers, self.kind)(self.units, **{"dtype": "float64", **arguments})
        layer.build(self.inputs.shape)
        set_weights(layer.cell, self.network)
        return layer


def sample(
    kind: str,
    seed: int = 0,
    batch: int = 3,
    time: int = 7,
    features: int = 5,
    units: int = 4,
    mask: str | None = None,
) -> Sample:
    """Random weights of a network of `KINDS` and a random batch, with a mask of `samples.MASKS`, or None."""
    rng = np.random.default_rng(seed)
    return Sample(
        network=random_network(kind, rng, units, features),
        start=rng.normal(size=(batch, units)),
        inputs=rng.normal(size=(batch, time, features)),
        mask=None if mask is None else make_mask(mask, rng, batch, time),
        cotangent=rng.normal(size=(batch, time, units)),
    )
