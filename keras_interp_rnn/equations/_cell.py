r"""What a cell's equations say: a step, its quantities by name, and the step linearized where it was taken.

States are rows (docs/conventions.md). A cell has one state or several, h first; side by side they are the whole state
s_t, with s entries. A `drive` is what the inputs alone make of a step, for all steps at once.

A product with a step's Jacobian is taken from the left: P (batch, r, s) -> P ds_t/ds_{t-1}, r rows for each sequence,
row i of ds_t/ds_{t-1} belonging to s_t[i], as in the papers. So no Jacobian is formed to be multiplied.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from keras_interp_rnn._types import Tensor

States = tuple[Tensor, ...]


class Step(NamedTuple):
    """A step: the next states, each (..., n), and the other quantities of the step by the papers' names."""

    states: States
    quantities: dict[str, Tensor]


class LinearStep(NamedTuple):
    """One step of every sequence of a batch, linearized: P (batch, r, s) -> P @ Jacobian.

    Attributes:
        before: -> P @ ds_t/ds_{t-1} (batch, r, s).
        input: -> P @ ds_t/dx_t (batch, r, features).
    """

    before: Callable[[Tensor], Tensor]
    input: Callable[[Tensor], Tensor]


class CellEquations(ABC):
    """The equations of a cell with its weights."""

    @property
    def has_derivative(self) -> bool:
        """Whether `linearization` holds: that of a cell with other activations than its paper's does not."""
        return True

    @abstractmethod
    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        """What inputs (..., features) make of their steps, arrays (..., width)."""

    @abstractmethod
    def step(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Step:
        """One step from states (batch, n) under a drive (batch, width)."""

    @abstractmethod
    def linearization(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> LinearStep:
        """The step from these states under this drive, linearized."""

    @property
    def outputs_state(self) -> bool:
        """Whether a step outputs h as it is."""
        return type(self).output is CellEquations.output

    def output(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Tensor:
        """What a step outputs, (..., units), from the states after it: h unless the cell has a readout of its own."""
        return states[0]


class PulledBack(NamedTuple):
    """P times the derivatives of a step by what enters it, each (batch, r, width).

    Attributes:
        states: by the states, where they enter besides the product h U.
        product: by the product h U.
        drive: by each part of the drive.
    """

    states: Tensor
    product: Tensor
    drive: tuple[Tensor, ...]


@dataclass(frozen=True)
class DenseEquations(CellEquations):
    """A cell whose state enters by one product h_{t-1} U and whose input by a drive x_t K + b.

    Attributes:
        kernel: K (features, width). recurrent_kernel: U (n, width).
        bias: b (width,), or None.
    """

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor | None

    @abstractmethod
    def step_given_product(self, xp: Any, states: States, product: Tensor, drive: tuple[Tensor, ...]) -> Step:
        """The step, given the product h_{t-1} U."""

    @abstractmethod
    def pull_back(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Callable[[Tensor], PulledBack]:
        """What takes P (batch, r, s) to P times the step's derivatives."""

    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        drive = xp.matmul(inputs, self.kernel)
        return (drive if self.bias is None else drive + self.bias,)

    def step(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Step:
        return self.step_given_product(xp, states, xp.matmul(states[0], self.recurrent_kernel), drive)

    def into_input(self, xp: Any, pulled: tuple[Tensor, ...]) -> Tensor:
        """P times the derivatives by the drive's parts, taken on to the input."""
        return times(xp, pulled[0], xp.transpose(self.kernel))

    def linearization(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> LinearStep:
        pull = self.pull_back(xp, states, drive)
        units = self.recurrent_kernel.shape[0]

        def before(product: Tensor) -> Tensor:
            pulled = pull(product)
            through = times(xp, pulled.product, xp.transpose(self.recurrent_kernel))
            first = pulled.states[..., :units] + through
            return first if len(states) == 1 else xp.concatenate([first, pulled.states[..., units:]], axis=-1)

        return LinearStep(before, lambda product: self.into_input(xp, pull(product).drive))


@functools.singledispatch
def between(gate: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """The mean g a + (1 - g) b, all (..., n); other arithmetics than that of arrays register their own."""
    return second + gate * (first - second)


def scaled(product: Tensor, diagonal: Tensor) -> Tensor:
    """P diag(d): P (batch, r, n), d (batch, n)."""
    return product * diagonal[..., None, :]


def times(xp: Any, product: Tensor, matrix: Tensor) -> Tensor:
    """P M as one product of matrices: P (batch, r, m), M (m, n)."""
    return xp.reshape(
        xp.matmul(xp.reshape(product, (-1, product.shape[-1])), matrix), (*product.shape[:-1], matrix.shape[-1])
    )
