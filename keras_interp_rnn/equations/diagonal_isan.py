r"""Input-switched affine networks whose matrices are diagonal, or of small blocks on the diagonal.

Eq. 1 of Foerster et al., 2017 (`equations.isan`), h_t = h_{t-1} W_{x_t} + b_{x_t}, with W_x = diag(W_x^1, W_x^2, ...)
of blocks (m, m): units of different blocks do not mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import CellEquations, LinearStep, States, Step


@dataclass(frozen=True)
class DiagonalISAN(CellEquations):
    """Inputs are symbols, int (...), or distributions over them (..., K), of which the expected map is applied.

    Attributes:
        kernel: (K, n / m, m, m). bias: (K, n).
    """

    kernel: Tensor
    bias: Tensor

    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        """The blocks (..., n), or (..., n m) where they have several numbers a unit, and the addend (..., n)."""
        flat = xp.reshape(self.kernel, (self.kernel.shape[0], -1))
        if "int" in str(inputs.dtype):
            return xp.take(flat, inputs, axis=0), xp.take(self.bias, inputs, axis=0)
        return xp.matmul(inputs, flat), xp.matmul(inputs, self.bias)

    def blocks(self, xp: Any, flat: Tensor) -> Tensor:
        """(..., n m) -> (..., n / m, m, m)."""
        return xp.reshape(flat, (*xp.shape(flat)[:-1], *self.kernel.shape[1:]))

    def step(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Step:
        [state], (flat, addend) = states, drive
        size = self.kernel.shape[-1]
        if size == 1:
            return Step((state * flat + addend,), {})
        parts = xp.reshape(state, (*xp.shape(state)[:-1], -1, 1, size))
        moved = xp.matmul(parts, self.blocks(xp, flat))
        return Step((xp.reshape(moved, xp.shape(state)) + addend,), {})

    def linearization(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> LinearStep:
        size = self.kernel.shape[-1]
        blocks = self.blocks(xp, drive[0])

        def before(product: Tensor) -> Tensor:
            parts = xp.reshape(product, (*product.shape[:-1], -1, 1, size))
            return xp.reshape(xp.matmul(parts, xp.swapaxes(blocks, -1, -2)[:, None]), product.shape)

        def into_distribution(product: Tensor) -> Tensor:
            parts = xp.reshape(states[0], (states[0].shape[0], 1, -1, 1, size))
            images = xp.reshape(xp.matmul(parts, self.kernel), (states[0].shape[0], -1, self.bias.shape[1])) + self.bias
            return xp.matmul(product, xp.swapaxes(images, -1, -2))

        return LinearStep(before, into_distribution)

    def kernels(self, xp: Any) -> Tensor:
        """W (K, n, n), with zeros beside the blocks."""
        count, blocks, size, _ = self.kernel.shape
        whole = xp.zeros((count, blocks, size, blocks, size))
        for i in range(blocks):
            whole[:, i, :, i, :] = self.kernel[:, i]
        return whole.reshape(count, blocks * size, blocks * size)
