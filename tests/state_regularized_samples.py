"""Random state-regularized networks and batches, as tests/samples.py has them for ISAN."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_interp_rnn import layers
from tests import gated_samples
from tests.oracles import state_regularized as oracle
from tests.samples import make_mask, outputs_of

KINDS = ("SimpleRNN", "GRU", "GRU of reset before", "LSTM", "PeepholeLSTM")
"""The cells of Keras and the one with peepholes; for the two conventions of Keras's GRU see the oracle."""
GATED = ("MinimalRNN", "CFN")
WITH_MEMORY = ("LSTM", "PeepholeLSTM")


def random_network(kind: str, rng: np.random.Generator, units: int, features: int) -> oracle.Network:
    """One of the oracle's networks with random weights, in float64."""
    if kind in GATED:
        return oracle.Memoryless(gated_samples.random_network(kind, rng, units, features))
    network = {"SimpleRNN": oracle.VanillaRNN, "GRU of reset before": oracle.GRU}.get(kind) or getattr(oracle, kind)
    weights = {}
    for name in network._fields:
        if name.startswith("B_") and kind == "GRU of reset before":
            continue
        shape = {"W": (units, features), "U": (units, units)}.get(name[0], (units,))
        weights[name] = rng.normal(size=shape) * (1.5 / np.sqrt(shape[-1]) if len(shape) == 2 else 1)
    return network(**weights)


def in_keras(network: oracle.Network) -> list[np.ndarray]:
    """A network's arrays (weights, or gradients by them) as the cell of that name has them: `variables`."""
    if isinstance(network, oracle.Memoryless):
        return gated_samples.in_keras(network.network)
    if isinstance(network, oracle.VanillaRNN):
        return [network.W.T, network.U.T, network.b]
    gates = "zrh" if isinstance(network, oracle.GRU) else "ifco"
    kernel, recurrent_kernel, bias = (
        np.concatenate([getattr(network, f"{letter}_{gate}") for gate in gates]).T for letter in "WUb"
    )
    if isinstance(network, oracle.GRU) and network.B_h is not None:
        bias = np.stack([bias, np.concatenate([network.B_z, network.B_r, network.B_h])])
    if isinstance(network, oracle.PeepholeLSTM):
        return [kernel, recurrent_kernel, bias, np.stack([network.p_i, network.p_f, network.p_o])]
    return [kernel, recurrent_kernel, bias]


def variables(cell: keras.layers.Layer) -> list[keras.Variable]:
    """A built cell's weights in the order of `in_keras`."""
    if isinstance(cell, (layers.MinimalRNNCell, layers.CFNCell)):
        return gated_samples.variables(cell)
    peephole = [cell.peephole] if hasattr(cell, "peephole") else []
    return [cell.kernel, cell.recurrent_kernel, cell.bias, *peephole]


def set_weights(cell: keras.layers.Layer, network: oracle.Network) -> None:
    for variable, array in zip(variables(cell), in_keras(network), strict=True):
        assert tuple(variable.shape) == array.shape
        variable.assign(np.ascontiguousarray(array))


def make_cell(kind: str, units: int, **arguments: Any) -> keras.layers.Layer:
    """The cell of a kind, not yet state-regularized."""
    if kind in ("SimpleRNN", "LSTM"):
        return getattr(keras.layers, f"{kind}Cell")(units, **arguments)
    if kind.startswith("GRU"):
        return keras.layers.GRUCell(units, reset_after=kind == "GRU", **arguments)
    return getattr(layers, f"{kind}Cell")(units, **arguments)


def make_layer(kind: str, units: int, centroids: int, **arguments: Any) -> layers.StateRegularizedRNN:
    """The state-regularized layer of a kind, or around the cell of a kind of `GATED`."""
    if kind in GATED:
        dtype = {name: arguments.pop(name) for name in ("dtype",) if name in arguments}
        of_cell = inspect.signature(layers.StateRegularizedCell).parameters
        rest = {name: arguments.pop(name) for name in list(arguments) if name in of_cell}
        cell = layers.StateRegularizedCell(make_cell(kind, units, **dtype), centroids, **rest, **dtype)
        return layers.StateRegularizedRNN(cell, **arguments, **dtype)
    reset = {"reset_after": kind == "GRU"} if kind.startswith("GRU") else {}
    return getattr(layers, f"SR{kind.split()[0]}")(units, centroids, **reset, **arguments)


class Sample(NamedTuple):
    """A network in the paper's orientation with its centroids, and a batch to read, in float64."""

    kind: str
    network: oracle.Network
    stochastic: oracle.Stochastic
    start: np.ndarray  # (batch, n), another state for each sequence
    memory: np.ndarray | None  # (batch, n), where the network has a memory
    inputs: np.ndarray  # (batch, time, features)
    mask: np.ndarray | None  # bool (batch, time)
    cotangent: np.ndarray  # (batch, time, n)

    @property
    def units(self) -> int:
        return self.start.shape[1]

    @property
    def centroids(self) -> int:
        return self.stochastic.S.shape[1]

    @property
    def starts(self) -> list[np.ndarray]:
        """The initial states as Keras takes them."""
        return [self.start] if self.memory is None else [self.start, self.memory]

    def with_(self, **changed: Any) -> Sample:
        """With other settings of the stochastic component."""
        return self._replace(stochastic=self.stochastic._replace(**changed))

    def path(self, from_zeros: bool = True, g: np.ndarray | None = None, **flags: bool) -> oracle.Path:
        """The oracle's, from zeros or from `start` and `memory`."""
        start, memory = self.start, self.memory
        if from_zeros:
            start, memory = np.zeros_like(start), None if memory is None else np.zeros_like(memory)
        return oracle.path(self.network, self.stochastic, start, self.inputs, memory, g, self.mask, **flags)

    def outputs(self, path: oracle.Path, go_backwards: bool = False, zero_output_for_mask: bool = False) -> np.ndarray:
        """The outputs of a Keras RNN."""
        return outputs_of(path.h, self.mask, go_backwards, zero_output_for_mask)

    def settings(self) -> dict[str, Any]:
        """The stochastic component as arguments of `StateRegularizedCell`."""
        _, transition, tau, strength, noise, straight_through = self.stochastic
        settings = {"transition": transition, "temperature": tau, "strength": strength, "noise": noise}
        return {**settings, "straight_through": straight_through}

    def layer(self, **arguments: Any) -> layers.StateRegularizedRNN:
        """A built layer with these weights and settings, in float64 unless told otherwise."""
        arguments = {"dtype": "float64", **self.settings(), **arguments}
        layer = make_layer(self.kind, self.units, self.centroids, **arguments)
        layer.build(self.inputs.shape)
        set_weights(layer.cell.cell, self.network)
        layer.cell.centroids.assign(np.ascontiguousarray(self.stochastic.S.T))
        return layer

    def cell(self, **arguments: Any) -> layers.StateRegularizedCell:
        """A built cell with these weights and settings, in float64 unless told otherwise."""
        arguments = {"dtype": "float64", **self.settings(), **arguments}
        inner = make_cell(self.kind, self.units, dtype=arguments["dtype"])
        cell = layers.StateRegularizedCell(inner, self.centroids, **arguments)
        cell.build((self.inputs.shape[0], *self.inputs.shape[2:]))
        set_weights(inner, self.network)
        cell.centroids.assign(np.ascontiguousarray(self.stochastic.S.T))
        return cell


def sample(
    kind: str,
    seed: int = 0,
    transition: str = "mixture",
    batch: int = 3,
    time: int = 5,
    features: int = 2,
    units: int = 4,
    centroids: int = 6,
    mask: str | None = None,
    **settings: Any,
) -> Sample:
    """A random network of `KINDS` or `GATED`, random centroids and a random batch.

    Args:
        mask: one of `samples.MASKS`, or None.
        **settings: tau, strength, noise, straight_through of the oracle's stochastic component. Those of the tests are
            sums of a few powers of two, which any precision holds exactly.
    """
    rng = np.random.default_rng(seed)
    return Sample(
        kind=kind,
        network=random_network(kind, rng, units, features),
        stochastic=oracle.Stochastic(rng.normal(size=(units, centroids)), transition, **{"tau": 0.75, **settings}),
        start=rng.normal(size=(batch, units)),
        memory=rng.normal(size=(batch, units)) if kind in WITH_MEMORY else None,
        inputs=rng.normal(size=(batch, time, features)),
        mask=None if mask is None else make_mask(mask, rng, batch, time),
        cotangent=rng.normal(size=(batch, time, units)),
    )


@functools.cache
def revealed_noise(
    seed: int, shape: tuple[int, int, int], draws: int = 1, go_backwards: bool = False, dtype: str = "float64"
) -> list[np.ndarray]:
    """The Gumbel noise (batch, time, k) of a layer's first calls, up to one number for each step of each sequence.

    That number makes no difference to any transition. The layer is one whose u is zero and whose centroids are the unit
    vectors, so that its states are the softmax of the noise.
    """
    batch, time, k = shape
    layer = make_layer("SimpleRNN", k, k, transition="gumbel", seed=seed, return_sequences=True, dtype=dtype)
    layer.go_backwards = go_backwards
    layer.build((batch, time, 1))
    for variable in variables(layer.cell.cell):
        variable.assign(np.zeros(variable.shape))
    layer.cell.centroids.assign(np.eye(k))
    x = np.zeros((batch, time, 1), dtype)
    noise = [np.log(keras.ops.convert_to_numpy(layer(x, training=True))) for _ in range(draws)]
    return [g.astype("float64") for g in noise]
