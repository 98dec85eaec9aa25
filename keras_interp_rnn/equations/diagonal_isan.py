r"""Input-switched affine networks with diagonal or block-diagonal matrices.

Eq. 1 of Foerster et al., 2017 (`equations.isan`), h_t = h_{t-1} W_{x_t} + b_{x_t}, with W_x = diag(W_x^1, W_x^2, ...)
of blocks (m, m), so that units of different blocks do not mix.
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step


@dataclass(frozen=True)
class DiagonalISAN(CellEquations):
    """The equations of a diagonal ISAN, for symbols, int (...), or distributions over them (..., K).

    Attributes:
        kernel: (K, n / m, m, m). bias: (K, n).
    """

    kernel: Tensor
    bias: Tensor

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        """The blocks (..., n m) and the addend (..., n), averaged over a distribution."""
        flat = xp.reshape(self.kernel, (self.kernel.shape[0], -1))
        if "int" in str(inputs.dtype):
            return xp.take(flat, inputs, axis=0), xp.take(self.bias, inputs, axis=0)
        return xp.matmul(inputs, flat), xp.matmul(inputs, self.bias)

    def blocks(self, xp: ArrayModule, flat: Tensor) -> Tensor:
        """The flat drive as blocks: (..., n m) -> (..., n / m, m, m)."""
        return xp.reshape(flat, (*xp.shape(flat)[:-1], *self.kernel.shape[1:]))

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        [state], (flat, addend) = states, drive
        size = self.kernel.shape[-1]
        if size == 1:
            return Step((state * flat + addend,), {})
        parts = xp.reshape(state, (*xp.shape(state)[:-1], -1, 1, size))
        moved = xp.matmul(parts, self.blocks(xp, flat))
        return Step((xp.reshape(moved, xp.shape(state)) + addend,), {})

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
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

    def kernels(self, xp: ArrayModule) -> Tensor:
        """W (K, n, n), with zeros outside of the blocks."""
        count, blocks, size, _ = self.kernel.shape
        whole = xp.zeros((count, blocks, size, blocks, size))
        for i in range(blocks):
            whole[:, i, :, i, :] = self.kernel[:, i]
        return whole.reshape(count, blocks * size, blocks * size)
