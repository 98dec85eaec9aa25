"""Gated linear attention: `GatedLinearAttentionCell` and `GatedLinearAttention`.

Reference: Yang, Wang, Shen, Panda and Kim, "Gated Linear Attention Transformers with Hardware-Efficient Training",
ICML 2024, arXiv:2312.06635. With one decay per head it is the recurrence of Mamba-2: Dao and Gu, "Transformers are
SSMs", ICML 2024, arXiv:2405.21060.
"""

from __future__ import annotations

from collections.abc import Callable

import keras

from keras_interp_rnn import equations
from keras_interp_rnn._checks import integer
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._linear import MatrixStateCell, MatrixStateRNN


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class GatedLinearAttentionCell(MatrixStateCell):
    r"""One step of gated linear attention, $S_t = \mathrm{diag}(\alpha_t) S_{t-1} + k_t^\top v_t$ in each head.

    Here $q_t = x_t W_q$, $k_t = x_t W_k$, $v_t = x_t W_v$, $\alpha_t = \sigma(x_t W_1 W_2 + b)^{1/16}$
    and $o_t = q_t S_t$. The output is $(\mathrm{silu}(x_t W_r + b_r) \odot \mathrm{norm}(o_t)) W_o$, where the norm
    divides each head's $o_t$ by the square root of its mean square plus 1e-5, and multiplies it by $w$.

    Args:
        units: int > 0, size $n$ of the output.
        key_dim: int > 0, $d_k$, of each head; None for n / (2 H).
        value_dim: int > 0, $d_v$, of each head; None for n / H.
        decay_rank: int > 0, of the matrix $W_1 W_2$; None for one decay per head, $\sigma(x_t W_2 + b)^{1/16}$, as in
            Mamba-2.
        output_gate: whether the output is gated.
        kernel_initializer: for each of $W_q$, $W_k$, $W_v$.
        decay_initializer: for each of $W_1$, $W_2$.
        gate_initializer: for $W_r$.
        output_initializer: for $W_o$.
        scale_initializer: for w.
        bias_initializer: for both biases.

    Weights: kernel $[W_q, W_k, W_v]$ (features, 2 H d_k + H d_v); low_rank_kernel $W_1$ (features, rank); decay_kernel
        $W_2$ (rank, H d_k), or (features, H); decay_bias b (H d_k,), or (H,); gate_kernel $W_r$ (features, H d_v);
        gate_bias (H d_v,); scale w (d_v,); output_kernel $W_o$ (H d_v, n). Weights that an option leaves out do not
        exist.
    Reference: Yang et al., ICML 2024, arXiv:2312.06635, section 4.4; the step is eq. 3.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.GatedLinearAttentionCell(8, num_heads=2)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape), tuple(state.shape)
    ((2, 8), (2, 16))
    """

    weight_initializers = {
        **dict.fromkeys(("kernel", "decay", "gate", "output"), "glorot_uniform"),
        **{"scale": "ones", "bias": "zeros"},
    }

    def __init__(
        self,
        units: int,
        num_heads: int = 4,
        key_dim: int | None = None,
        value_dim: int | None = None,
        decay_rank: int | None = 16,
        output_gate: bool = True,
        normalize: bool = True,
        **kwargs: object,
    ) -> None:
        super().__init__(units, **kwargs)
        self.set_sizes(num_heads, key_dim, value_dim, halves=2)
        self.decay_rank = None if decay_rank is None else integer("decay_rank", decay_rank)
        self.output_gate, self.normalize = bool(output_gate), bool(normalize)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        features, keys, values = shape[1], self.num_heads * self.key_dim, self.num_heads * self.value_dim
        self.kernel = self.side_by_side("kernel", "kernel", features, (keys, keys, values))
        ranked = self.decay_rank is not None
        decays = keys if ranked else self.num_heads
        low_rank = (features, self.decay_rank)
        self.low_rank_kernel = self.weight("decay", "low_rank_kernel", low_rank) if ranked else None
        self.decay_kernel = self.weight("decay", "decay_kernel", (self.decay_rank or features, decays), draw=1)
        self.decay_bias = self.weight("bias", "decay_bias", (decays,))
        gated = self.output_gate
        self.gate_kernel = self.weight("gate", "gate_kernel", (features, values)) if gated else None
        self.gate_bias = self.weight("bias", "gate_bias", (values,), draw=1) if gated else None
        self.add_readout(values)

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.GatedLinearAttention:
        weights = (self.kernel, self.decay_kernel, self.decay_bias)
        optional = (self.low_rank_kernel, self.gate_bias)
        return equations.GatedLinearAttention(
            *self.read_readout(read), *map(read, weights), *(None if x is None else read(x) for x in optional)
        )


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class GatedLinearAttention(MatrixStateRNN):
    r"""Gated linear attention: each head writes values under keys into a matrix that fades, and reads it by queries.

    $$S_t = \mathrm{diag}(\alpha_t) S_{t-1} + k_t^\top v_t, \qquad o_t = q_t S_t,$$

    where the query $q_t$, key $k_t$, value $v_t$ and decays $\alpha_t$ depend on the input alone. With
    `decay_rank=None` each head has one decay, and the recurrence is that of Mamba-2.

    Example:

    >>> layer = GatedLinearAttention(64, num_heads=2, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = GatedLinearAttentionCell
    cell_name = "gated_linear_attention_cell"
