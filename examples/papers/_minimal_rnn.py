"""The recurrent layers that Chen, 2017, compares, and how their gates start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from examples.papers._lazy import initializers, keras, layers, np

NETWORKS = ("vanilla", "GRU", "CFN", "MinimalRNN")
"""In the order of the paper's figures."""

GATED = ("GRU", "MinimalRNN")
"""Those that `initializers.CriticalBias` knows, whose gates start in several ways."""


def recurrent_layer(
    kind: str,
    units: int,
    features: int,
    seed: int,
    gate_bias: float | None = None,
    gate_steps: float | None = None,
    input_variance: float = 1.0,
    **flags: Any,
) -> keras.layers.Layer:
    """One of `NETWORKS`, every matrix orthogonal and drawn by itself, as in the paper.

    Args:
        gate_bias: of the gate that keeps the state, in a CFN minus it for the gate that admits the input; None for the
            layer's own. gate_steps, input_variance: in place of it, as `initializers.CriticalBias`.
    """
    seeds = iter(range(100 * seed, 100 * seed + 100))

    def orthogonal() -> keras.initializers.Initializer:
        return keras.initializers.Orthogonal(seed=next(seeds))

    if gate_steps is not None:
        flags["bias_initializer"] = initializers.CriticalBias(kind, gate_steps, input_variance=input_variance)
    both = {"kernel_initializer": orthogonal(), "recurrent_initializer": orthogonal()}
    if kind == "GRU":
        layer = keras.layers.GRU(units, **flags)
        layer.build((None, None, features))
        for weight in (layer.cell.kernel, layer.cell.recurrent_kernel):  # Keras draws the three gates as one matrix
            weight.assign(np.concatenate([orthogonal()((weight.shape[0], units)) for _ in range(3)], axis=1))
    elif kind == "MinimalRNN":
        encoder = keras.layers.Dense(units, "tanh", kernel_initializer=orthogonal())
        layer = layers.MinimalRNN(units, encoder=encoder, **both, **flags)
    else:
        layer = {"vanilla": keras.layers.SimpleRNN, "CFN": layers.CFN}[kind](units, **both, **flags)
    if gate_bias is not None:
        _set_gate_bias(layer, gate_bias, features)
    return layer


def gates_of(protocol: Mapping[str, Any]) -> str:
    """How the gates of a network start, as the end of its name; "" for the layer's own bias."""
    if (steps := protocol.get("gate_steps")) is not None:
        return f", gates for {steps:g} steps"
    return "" if (bias := protocol.get("gate_bias")) is None else f", gate bias {bias:g}"


def _set_gate_bias(layer: keras.layers.RNN, value: float, features: int) -> None:
    if not layer.built:
        layer.build((None, None, features))
    bias, n = np.zeros(layer.cell.bias.shape), layer.units
    bias[..., :n] = value  # u comes first in all three
    if isinstance(layer, layers.CFN):
        bias[n : 2 * n] = -value
    if bias.ndim == 2:  # a GRU has one for the input and one for the state, which are added
        bias[1] = 0
    layer.cell.bias.assign(bias)
