r"""Equations of cells: a step, its quantities by name, and its linearization.

States are rows (docs/conventions.md). A cell has one or several states, h first; their concatenation is the whole state
s_t, with s entries. The `drive` is the part of a step that depends on the inputs alone, for all steps at once.

Products with the Jacobian of a step are taken from the left: P (batch, r, s) -> P ds_t/ds_{t-1}, r rows for each
sequence, where row i of ds_t/ds_{t-1} belongs to s_t[i], as in the papers. The Jacobian itself is never formed.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from keras_interp_rnn._types import ArrayModule, Tensor

States = tuple[Tensor, ...]

Drive = tuple[Tensor, ...]

Patch = Callable[[str, Tensor], Tensor]
"""From the name of a quantity and its value to the value with which a step goes on."""


def unchanged(name: str, value: Tensor) -> Tensor:
    """The patch that replaces nothing."""
    return value


class Step(NamedTuple):
    """The next states, each (..., n), and the other quantities of a step by the papers' names."""

    states: States
    quantities: dict[str, Tensor]


class LinearStep(NamedTuple):
    """The linearization of a step, for every sequence of a batch: P (batch, r, s) -> P @ Jacobian.

    Attributes:
        before: -> P @ ds_t/ds_{t-1} (batch, r, s).
        input: -> P @ ds_t/dx_t (batch, r, features).
    """

    before: Callable[[Tensor], Tensor]
    input: Callable[[Tensor], Tensor]


class CellEquations(ABC):
    """The equations of a cell with its weights.

    Attributes:
        patched: names of the quantities that the `patch` of a step may replace.
    """

    patched: ClassVar[tuple[str, ...]] = ()

    @property
    def has_derivative(self) -> bool:
        """Whether `linearization` is valid, which it is only for the activations of the paper."""
        return True

    @abstractmethod
    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        """The drive of inputs (..., features), arrays (..., width)."""

    @abstractmethod
    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        """One step from states (batch, n) under a drive (batch, width)."""

    @abstractmethod
    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        """The linearization of the step from these states under this drive."""

    @property
    def outputs_state(self) -> bool:
        """Whether the output of a step is h."""
        return type(self).output is CellEquations.output

    def output(self, xp: ArrayModule, states: States, drive: Drive) -> Tensor:
        """The output of a step, (..., units), from the states after it: h, unless the cell has its own readout."""
        return states[0]


class PulledBack(NamedTuple):
    """P times the derivatives of a step, each (batch, r, width).

    Attributes:
        states: by the states, outside of the product h U.
        product: by the product h U.
        drive: by each part of the drive.
    """

    states: Tensor
    product: Tensor
    drive: Drive


@dataclass(frozen=True)
class DenseEquations(CellEquations):
    """A cell with one product h_{t-1} U of the state and a drive x_t K + b of the input.

    Attributes:
        kernel: K (features, width). recurrent_kernel: U (n, width).
        bias: b (width,), or None.
        added_part: index of the part of the drive that is only added to h U; None if there is none.
    """

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor | None

    added_part: ClassVar[int | None] = 0

    @abstractmethod
    def step_given_product(
        self, xp: ArrayModule, states: States, product: Tensor, drive: Drive, patch: Patch | None = None
    ) -> Step:
        """The step, given the product h_{t-1} U; `patch` replaces its quantities, each before another one reads it."""

    def kept(self, xp: ArrayModule, product: Tensor, step: Step) -> Tensor:
        """The part (batch, width) of a step that `pull_back` reads: here the product h_{t-1} U."""
        return product

    @abstractmethod
    def pull_back(self, xp: ArrayModule, states: States, drive: Drive, kept: Tensor) -> Callable[[Tensor], PulledBack]:
        """The map from P (batch, r, s), or a single row (batch, s), to P times the derivatives of the step.

        Args:
            states: before the step. kept: `self.kept` of the step.
        """

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        drive = xp.matmul(inputs, self.kernel)
        return (drive if self.bias is None else drive + self.bias,)

    def step(self, xp: ArrayModule, states: States, drive: Drive, patch: Patch | None = None) -> Step:
        product = self.product(xp, states)
        if patch is None:
            return self.step_given_product(xp, states, product, drive)
        return self.step_given_product(xp, states, product, drive, patch)

    def product(self, xp: ArrayModule, states: States) -> Tensor:
        """The product h_{t-1} U (..., width)."""
        return xp.matmul(states[0], self.recurrent_kernel)

    @property
    def multiplies_once(self) -> bool:
        """Whether h_{t-1} U is the only product of a step with a matrix."""
        return True

    @property
    def step_weights(self) -> tuple[str, ...]:
        """Names of the weights that a step reads besides its drive, U first."""
        return ("recurrent_kernel",)

    def step_weight_gradients(
        self, xp: ArrayModule, before: States, after: States, product_gradient: Tensor
    ) -> tuple[Tensor, ...]:
        """The gradients of `step_weights`, summed over R steps.

        Args:
            before, after: the states before and after the steps, each (R, n).
            product_gradient: the gradient (R, width) of the product h_{t-1} U.
        """
        return (xp.matmul(xp.transpose(before[0]), product_gradient),)

    def into_input(self, xp: ArrayModule, drive: Drive, pulled: tuple[Tensor, ...]) -> Tensor:
        """P times the derivative by the input, from those by the parts of the drive."""
        return times(xp, pulled[0], xp.transpose(self.kernel))

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        product = self.product(xp, states)
        kept = self.kept(xp, product, self.step_given_product(xp, states, product, drive))
        pull = self.pull_back(xp, states, drive, kept)
        units = self.recurrent_kernel.shape[0]

        def before(left: Tensor) -> Tensor:
            pulled = pull(left)
            through = times(xp, pulled.product, xp.transpose(self.recurrent_kernel))
            first = pulled.states[..., :units] + through
            return first if len(states) == 1 else xp.concatenate([first, pulled.states[..., units:]], axis=-1)

        return LinearStep(before, lambda left: self.into_input(xp, drive, pull(left).drive))


@functools.singledispatch
def between(gate: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """The mean g a + (1 - g) b, all (..., n); types other than arrays register their own function."""
    return second + gate * (first - second)


def scaled(product: Tensor, diagonal: Tensor) -> Tensor:
    """P diag(d): P (batch, r, n) or (batch, n), d (batch, n)."""
    return product * (diagonal if product.ndim == diagonal.ndim else diagonal[..., None, :])


def times(xp: ArrayModule, product: Tensor, matrix: Tensor) -> Tensor:
    """P M as one product of matrices: P (batch, r, m) or (batch, m), M (m, n)."""
    if product.ndim == 2:
        return xp.matmul(product, matrix)
    return xp.reshape(
        xp.matmul(xp.reshape(product, (-1, product.shape[-1])), matrix), (*product.shape[:-1], matrix.shape[-1])
    )
