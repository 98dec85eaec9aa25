"""The recurrent layers that Chen, 2017, compares, and how their gates start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras

NETWORKS = ("vanilla", "GRU", "CFN", "MinimalRNN")
"""In the order of the paper's figures."""

GATED = ("GRU", "MinimalRNN")
"""Those that `initializers.CriticalBias` knows, whose gates start in several ways."""


def recurrent_layer(kind: str, units: int, features: int, seed: int, **flags: Any) -> keras.layers.Layer:
    """One of `NETWORKS`, every matrix orthogonal and drawn by itself, as in the paper."""
    import keras
    import numpy as np

    from keras_interp_rnn import layers

    seeds = iter(range(100 * seed, 100 * seed + 100))

    def orthogonal() -> keras.initializers.Initializer:
        return keras.initializers.Orthogonal(seed=next(seeds))

    both = {"kernel_initializer": orthogonal(), "recurrent_initializer": orthogonal()}
    if kind == "vanilla":
        return keras.layers.SimpleRNN(units, **both, **flags)
    if kind == "CFN":
        return layers.CFN(units, **both, **flags)
    if kind == "MinimalRNN":
        encoder = keras.layers.Dense(units, "tanh", kernel_initializer=orthogonal())
        return layers.MinimalRNN(units, encoder=encoder, **both, **flags)
    if kind != "GRU":
        raise ValueError(f"The networks are {', '.join(NETWORKS)}. Received: {kind!r}.")
    layer = keras.layers.GRU(units, **flags)
    layer.build((None, None, features))
    for weight in (layer.cell.kernel, layer.cell.recurrent_kernel):  # Keras draws the three gates as one matrix
        weight.assign(np.concatenate([orthogonal()((weight.shape[0], units)) for _ in range(3)], axis=1))
    return layer


def set_gate_bias(layer: keras.layers.RNN, value: float, features: int) -> None:
    """Sets the bias of the gate that keeps the state; in a CFN minus it for the gate that admits the input."""
    import numpy as np

    from keras_interp_rnn import layers

    if not layer.built:
        layer.build((None, None, features))
    bias, n = np.zeros(layer.cell.bias.shape), layer.units
    bias[..., :n] = value  # u comes first in all three
    if isinstance(layer, layers.CFN):
        bias[n : 2 * n] = -value
    if bias.ndim == 2:  # a GRU has one for the input and one for the state, which are added
        bias[1] = 0
    layer.cell.bias.assign(bias)
