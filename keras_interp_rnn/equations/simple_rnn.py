r"""The vanilla network, h_t = tanh(x_t K + b + h_{t-1} U): Elman, 1990; Keras's SimpleRNN. States are rows.

With relu, and U initialized to the identity, it is the IRNN of Le, Jaitly and Hinton, arXiv:1504.00941.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import DenseEquations, Drive, Patch, PulledBack, States, Step, scaled

ACTIVATIONS: dict[str, tuple[Callable[[Any, Tensor], Tensor], Callable[[Any, Tensor], Tensor]]] = {
    "tanh": (lambda xp, x: xp.tanh(x), lambda xp, y: 1 - y * y),
    "relu": (lambda xp, x: xp.maximum(x, 0), lambda xp, y: xp.sign(y)),
    "linear": (lambda xp, x: x, lambda xp, y: xp.ones_like(y)),
    "sigmoid": (lambda xp, x: xp.sigmoid(x), lambda xp, y: y * (1 - y)),
}
"""Known activations: the function, and its slope as a function of its value."""


@dataclass(frozen=True)
class SimpleRNN(DenseEquations):
    """The equations of a vanilla RNN.

    Attributes:
        kernel: (features, n). recurrent_kernel: (n, n). bias: (n,), or None.
        activation: a name of `ACTIVATIONS`, or a function.
    """

    activation: str | Callable[[Tensor], Tensor] = "tanh"

    @property
    def has_derivative(self) -> bool:
        return isinstance(self.activation, str)

    def step_given_product(
        self, xp: ArrayModule, states: States, product: Tensor, drive: Drive, patch: Patch | None = None
    ) -> Step:
        x = drive[0] + product
        return Step(
            (ACTIVATIONS[self.activation][0](xp, x) if isinstance(self.activation, str) else self.activation(x),), {}
        )

    def kept(self, xp: ArrayModule, product: Tensor, step: Step) -> Tensor:
        return step.states[0]

    def pull_back(self, xp: ArrayModule, states: States, drive: Drive, kept: Tensor) -> Callable[[Tensor], PulledBack]:
        assert isinstance(self.activation, str)
        slope = ACTIVATIONS[self.activation][1](xp, kept)

        def pull(left: Tensor) -> PulledBack:
            through = scaled(left, slope)
            return PulledBack(xp.zeros_like(left), through, (through,))

        return pull
