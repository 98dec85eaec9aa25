r"""What gated linear attention and DeltaNet share: a state that is a matrix for each head, affine in the state before.

With keys k_t, values v_t, queries q_t, a decay alpha_t of each key's dimension and the strength beta_t of writing, all
functions of the input alone, and for each head a state S (d_k, d_v),

    S' = diag(alpha_t) S_{t-1}
    S_t = S' + k_t^T v_t                        written beside what is there (`erases` False)
    S_t = S' + beta_t k_t^T (v_t - k_t S')      written in its place (`erases` True)
    o_t = q_t S_t

States are stored as rows (batch, H d_k d_v). The output is o_t of all heads, normalized and gated where the cell does
so, times the output kernel,

    y_t = (gate_t * norm(o_t)) W_o,             norm(o) = o / sqrt(mean(o^2) + eps) * w, head by head.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations._cell import CellEquations, LinearStep, States, Step

EPSILON = 1e-5
"""Of the norm, beside the mean square."""


@dataclass(frozen=True)
class MatrixStateEquations(CellEquations):
    """A drive is (q, k, v, alpha), each (..., H * width), alpha also (..., H); then beta (..., H), and the gate.

    Beta is there where a step erases, the gate where there is `gate_kernel`.

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
    def drive(self, xp: Any, inputs: Tensor) -> tuple[Tensor, ...]:
        """(q, k, v, alpha, beta, gate), the last two where there are such."""

    @abstractmethod
    def feature_drives(self, xp: Any, inputs: Tensor) -> dict[int, Tensor]:
        """As those of `DiagonalEquations`: the parts of v, given queries, keys and gates."""

    def gate(self, drive: tuple[Tensor, ...]) -> Tensor | None:
        """By which the outputs of the heads are multiplied, (..., H d_v), or None."""
        return None if self.gate_kernel is None else drive[-1]

    def heads(self, xp: Any, x: Tensor) -> Tensor:
        """(..., H * width) -> (..., H, width)."""
        return xp.reshape(x, (*xp.shape(x)[:-1], self.num_heads, x.shape[-1] // self.num_heads))

    def step(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Step:
        query, key, value, decay = drive[:4]
        before = self.matrices(xp, states[0], key, value)
        after = self.next_matrices(xp, before, *self.entries(xp, drive))
        flat = xp.reshape(after, (*xp.shape(after)[:-3], states[0].shape[-1]))
        return Step((flat,), {"q": query, "k": key, "v": value, "alpha": decay})

    def entries(self, xp: Any, drive: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """K (..., H, d_k), beta k (..., H, d_k), v (..., H, d_v) and alpha (..., H, d_k or 1)."""
        key, value, decay = (self.heads(xp, x) for x in drive[1:4])
        return key, key * drive[4][..., None] if self.erases else key, value, decay

    def matrices(self, xp: Any, state: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """(..., H d_k d_v) -> (..., H, d_k, d_v)."""
        sizes = (self.num_heads, key.shape[-1] // self.num_heads, value.shape[-1] // self.num_heads)
        return xp.reshape(state, (*xp.shape(state)[:-1], *sizes))

    @classmethod
    def next_matrices(
        cls, xp: Any, before: Tensor, key: Tensor, written: Tensor, value: Tensor, decay: Tensor
    ) -> Tensor:
        """S_t (..., d_k, d_v) from S_{t-1}, k, beta k, v and alpha."""
        kept, new = cls.kept_and_new(xp, before, key, value, decay)
        return kept + written[..., None] * new[..., None, :]

    @classmethod
    def kept_and_new(cls, xp: Any, before: Tensor, key: Tensor, value: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
        """S' (..., d_k, d_v), and by what a step changes what its key reads (..., d_v)."""
        kept = decay[..., None] * before
        return kept, value - xp.matmul(key[..., None, :], kept)[..., 0, :] if cls.erases else value

    def output(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Tensor:
        return self.read_out(xp, self.read(xp, states, drive), self.gate(drive))

    def read(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> Tensor:
        """O (..., H d_v), what the queries read."""
        query, key, value = drive[:3]
        matrices = self.matrices(xp, states[0], key, value)
        read = xp.matmul(self.heads(xp, query)[..., None, :], matrices)[..., 0, :]
        return xp.reshape(read, (*xp.shape(read)[:-2], value.shape[-1]))

    def read_out(self, xp: Any, read: Tensor, gate: Tensor | None) -> Tensor:
        """Y from o (..., H d_v)."""
        if self.scale is not None:
            heads = self.heads(xp, read)
            size = xp.sqrt(xp.mean(heads * heads, axis=-1, keepdims=True) + EPSILON)
            read = xp.reshape(heads / size * self.scale, xp.shape(read))
        return xp.matmul(read if gate is None else read * gate, self.output_kernel)

    @property
    def has_derivative(self) -> bool:
        """Whether `linearization` holds: the derivative by the input is not written out."""
        return False

    def linearization(self, xp: Any, states: States, drive: tuple[Tensor, ...]) -> LinearStep:
        """The step by the state before; by the input it is not written out."""
        key, written, value, decay = self.entries(xp, drive)

        def before(product: Tensor) -> Tensor:
            pulled = xp.reshape(product, (*product.shape[:-1], self.num_heads, key.shape[-1], value.shape[-1]))
            if self.erases:
                by_value = xp.matmul(written[:, None, :, None, :], pulled)
                pulled = pulled - key[:, None, :, :, None] * by_value
            return xp.reshape(decay[:, None, :, :, None] * pulled, product.shape)

        def into_input(product: Tensor) -> Tensor:
            raise NotImplementedError("The derivative of a matrix state by the input is not written out.")

        return LinearStep(before, into_input)


def silu(xp: Any, x: Tensor) -> Tensor:
    """X sigmoid(x), also called swish."""
    return x * xp.sigmoid(x)
