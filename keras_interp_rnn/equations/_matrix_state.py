r"""Matrix-valued linear recurrences (gated linear attention, DeltaNet): one matrix per head, affine in the last one.

With keys k_t, values v_t, queries q_t, decays alpha_t per key dimension and writing strengths beta_t, all functions of
the input alone, each head has a state S (d_k, d_v),

    S' = diag(alpha_t) S_{t-1}
    S_t = S' + k_t^T v_t                        adds the new value (`erases` False)
    S_t = S' + beta_t k_t^T (v_t - k_t S')      replaces the old value (`erases` True)
    o_t = q_t S_t

States are stored as rows (batch, H d_k d_v). The output is o_t of all heads, optionally normalized and gated,
times the output kernel,

    y_t = (gate_t * norm(o_t)) W_o,             norm(o) = o / sqrt(mean(o^2) + eps) * w, head by head.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step

EPSILON = 1e-5
"""Added to the mean square in the norm."""


@dataclass(frozen=True)
class MatrixStateEquations(CellEquations):
    """A cell with the drive (q, k, v, alpha), each (..., H * width) or, for alpha, (..., H); then beta and the gate.

    Beta (..., H) exists if a step erases, the gate if there is a `gate_kernel`.

    Attributes:
        num_heads: H. output_kernel: W_o (H d_v, n). scale: w (d_v,), or None for outputs that are not normalized.
        gate_kernel: (features, H d_v), or None for outputs without a gate.
    """

    num_heads: int
    output_kernel: Tensor
    scale: Tensor | None
    gate_kernel: Tensor | None

    erases: ClassVar[bool]

    @abstractmethod
    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        """The drive (q, k, v, alpha, beta, gate), of which the last two are optional."""

    @abstractmethod
    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor]:
        """As in `DiagonalEquations`: contributions of the features to v, given queries, keys and gates."""

    def gate(self, drive: Drive) -> Tensor | None:
        """The gate of the outputs of the heads, (..., H d_v), or None."""
        return None if self.gate_kernel is None else drive[-1]

    def heads(self, xp: ArrayModule, x: Tensor) -> Tensor:
        """Splits the heads: (..., H * width) -> (..., H, width)."""
        return xp.reshape(x, (*xp.shape(x)[:-1], self.num_heads, x.shape[-1] // self.num_heads))

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        query, key, value, decay = drive[:4]
        before = self.matrices(xp, states[0], key, value)
        after = self.next_matrices(xp, before, *self.entries(xp, drive))
        flat = xp.reshape(after, (*xp.shape(after)[:-3], states[0].shape[-1]))
        return Step((flat,), {"q": query, "k": key, "v": value, "alpha": decay})

    def entries(self, xp: ArrayModule, drive: Drive) -> tuple[Tensor, ...]:
        """Keys (..., H, d_k), beta k (..., H, d_k), v (..., H, d_v) and alpha (..., H, d_k or 1)."""
        key, value, decay = (self.heads(xp, x) for x in drive[1:4])
        return key, key * drive[4][..., None] if self.erases else key, value, decay

    def matrices(self, xp: ArrayModule, state: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The state as matrices: (..., H d_k d_v) -> (..., H, d_k, d_v)."""
        sizes = (self.num_heads, key.shape[-1] // self.num_heads, value.shape[-1] // self.num_heads)
        return xp.reshape(state, (*xp.shape(state)[:-1], *sizes))

    @classmethod
    def next_matrices(
        cls, xp: ArrayModule, before: Tensor, key: Tensor, written: Tensor, value: Tensor, decay: Tensor
    ) -> Tensor:
        """The next state S_t (..., d_k, d_v) from S_{t-1}, k, beta k, v and alpha."""
        decayed, new = cls.decayed_and_new(xp, before, key, value, decay)
        return decayed + written[..., None] * new[..., None, :]

    @classmethod
    def decayed_and_new(
        cls, xp: ArrayModule, before: Tensor, key: Tensor, value: Tensor, decay: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The decayed state S' (..., d_k, d_v), and the change of the value at the key (..., d_v)."""
        decayed = decay[..., None] * before
        return decayed, value - xp.matmul(key[..., None, :], decayed)[..., 0, :] if cls.erases else value

    def output(self, xp: ArrayModule, states: States, drive: Drive) -> Tensor:
        return self.read_out(xp, self.read(xp, states, drive), self.gate(drive))

    def read(self, xp: ArrayModule, states: States, drive: Drive) -> Tensor:
        """The values o (..., H d_v) at the queries."""
        query, key, value = drive[:3]
        matrices = self.matrices(xp, states[0], key, value)
        read = xp.matmul(self.heads(xp, query)[..., None, :], matrices)[..., 0, :]
        return xp.reshape(read, (*xp.shape(read)[:-2], value.shape[-1]))

    def read_out(self, xp: ArrayModule, read: Tensor, gate: Tensor | None) -> Tensor:
        """The output y from o (..., H d_v)."""
        if self.scale is not None:
            heads = self.heads(xp, read)
            # The mean of keras.ops goes through float32 on JAX and torch (Keras 3.15), whatever it is given.
            mean_square = xp.sum(heads * heads, axis=-1, keepdims=True) / heads.shape[-1]
            size = xp.sqrt(mean_square + EPSILON)
            read = xp.reshape(heads / size * self.scale, xp.shape(read))
        return xp.matmul(read if gate is None else read * gate, self.output_kernel)

    @property
    def has_derivative(self) -> bool:
        """Whether `linearization` is complete; the derivative by the input is not implemented."""
        return False

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        """The derivative by the last state; that by the input is not implemented."""
        key, written, value, decay = self.entries(xp, drive)

        def before(product: Tensor) -> Tensor:
            pulled = xp.reshape(product, (*product.shape[:-1], self.num_heads, key.shape[-1], value.shape[-1]))
            if self.erases:
                by_value = xp.matmul(written[:, None, :, None, :], pulled)
                pulled = pulled - key[:, None, :, :, None] * by_value
            return xp.reshape(decay[:, None, :, :, None] * pulled, product.shape)

        def into_input(product: Tensor) -> Tensor:
            raise NotImplementedError("The derivative of a matrix state by the input is not implemented.")

        return LinearStep(before, into_input)


def silu(xp: ArrayModule, x: Tensor) -> Tensor:
    """The function x sigmoid(x), also called swish."""
    return x * xp.sigmoid(x)
