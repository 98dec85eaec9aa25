r"""The vanilla network, h_t = tanh(x_t K + b + h_{t-1} U): Elman, 1990; Keras's SimpleRNN. States are rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn.equations._cell import DenseEquations, PulledBack, States, Step, scaled

Array = Any


@dataclass(frozen=True)
class SimpleRNN(DenseEquations):
    """kernel (features, n), recurrent_kernel (n, n); activation in place of tanh, or None."""

    activation: Callable[[Array], Array] | None = None

    @property
    def has_derivative(self) -> bool:
        return self.activation is None

    def step_given_product(self, xp: Any, states: States, product: Array, drive: tuple[Array, ...]) -> Step:
        return Step(((self.activation or xp.tanh)(drive[0] + product),), {})

    def pull_back(self, xp: Any, states: States, drive: tuple[Array, ...]) -> Callable[[Array], PulledBack]:
        [state] = self.step(xp, states, drive).states
        slope = 1 - state * state

        def pull(product: Array) -> PulledBack:
            through = scaled(product, slope)
            return PulledBack(xp.zeros_like(product), through, (through,))

        return pull
