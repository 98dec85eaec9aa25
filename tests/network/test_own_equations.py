"""A cell from outside of the package: with equations of its own it is read exactly, without them by the backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.equations import DenseEquations, PulledBack, Step, scaled
from tests.gated_samples import assert_close


@dataclass(frozen=True)
class Euler(DenseEquations):
    """A residual step, h_t = h_{t-1} + tanh(x_t K + b + h_{t-1} U) / 4."""

    def step_given_product(self, xp: Any, states: Any, product: Any, drive: Any) -> Step:
        change = xp.tanh(product + drive[0])
        return Step((states[0] + change / 4,), {"change": change})

    def pull_back(self, xp: Any, states: Any, drive: Any, kept: Any) -> Callable[[Any], PulledBack]:
        change = xp.tanh(kept + drive[0])

        def pull(product: Any) -> PulledBack:
            through = scaled(product, (1 - change * change) / 4)
            return PulledBack(product, through, (through,))

        return pull


class SilentCell(keras.layers.Layer):
    """A user's cell that brings no equations."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="recurrent_kernel")
        self.bias = self.add_weight(shape=(self.units,), name="bias")

    def call(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        argument = ops.matmul(inputs, self.kernel) + self.bias + ops.matmul(states[0], self.recurrent_kernel)
        new = states[0] + ops.tanh(argument) / 4
        return new, [new]


class EulerCell(SilentCell):
    """A user's cell that brings them."""

    def equations(self, read: Callable[[Any], Any]) -> Euler:
        return Euler(read(self.kernel), read(self.recurrent_kernel), read(self.bias))


def pair(wrapped: Callable[[Any], Any] = lambda cell: cell) -> list[keras.layers.RNN]:
    """The layer over either cell, with the same random weights."""
    found = []
    for kind in (EulerCell, SilentCell):
        cell = wrapped(kind(4, dtype="float64"))
        runs = layers.StateRegularizedRNN if isinstance(cell, layers.StateRegularizedCell) else keras.layers.RNN
        layer = runs(cell, dtype="float64")
        layer(np.zeros((1, 2, 5)))
        rng = np.random.default_rng(0)
        for weight in layer.trainable_variables:
            weight.assign(rng.normal(size=weight.shape))
        found.append(layer)
    return found


def regularized(cell: Any) -> layers.StateRegularizedCell:
    return layers.StateRegularizedCell(cell, 3, temperature=0.5, strength=0.8, dtype="float64")


@pytest.mark.parametrize("wrapped", [lambda cell: cell, regularized], ids=["plain", "state-regularized"])
@pytest.mark.parametrize("with_respect_to", ["input", "state"])
@pytest.mark.parametrize("lag", [0, 3])
def test_both_ways_agree_and_say_which_they_are(wrapped: Any, with_respect_to: str, lag: int) -> None:
    inputs = np.random.default_rng(1).normal(size=(2, 6, 5))
    exact, differentiated = (
        analysis.input_output_jacobian(layer, inputs, lag=lag, with_respect_to=with_respect_to)
        for layer in pair(wrapped)
    )
    assert exact.method == "closed form"
    assert differentiated.method == "autodiff"
    assert np.abs(exact).max() > 1e-3
    assert_close(np.asarray(exact), np.asarray(differentiated), "float64")


def test_singular_values_say_it_too() -> None:
    inputs = np.random.default_rng(1).normal(size=(2, 6, 5))
    found = [analysis.jacobian_singular_values(layer, inputs, lags=[0, 2]) for layer in pair()]
    assert [values.method for values in found] == ["closed form", "autodiff"]
    assert found[0][1].method == "closed form"  # of a part as of the whole


def test_quantities_are_traced_by_name() -> None:
    inputs = np.random.default_rng(1).normal(size=(2, 6, 5))
    with_equations, without = (analysis.trace(layer, inputs) for layer in pair())
    assert set(with_equations) == {"h", "change"}
    assert set(without) == {"h"}
    np.testing.assert_array_equal(with_equations["h"], without["h"])
    steps = np.diff(with_equations["h"], axis=1, prepend=np.zeros((2, 1, 4)))
    np.testing.assert_allclose(with_equations["change"], 4 * steps, atol=1e-5)
