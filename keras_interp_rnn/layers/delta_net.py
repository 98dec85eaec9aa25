"""DeltaNet and its gated form: `DeltaNetCell` and `DeltaNet`.

Reference: Yang, Wang, Zhang, Shen and Kim, "Parallelizing Linear Transformers with the Delta Rule over Sequence
Length", NeurIPS 2024, arXiv:2406.06484; Yang, Kautz and Hatamizadeh, "Gated Delta Networks", 2024, arXiv:2412.06464.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import keras
from keras import initializers, ops

from keras_interp_rnn import equations
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._linear import MatrixStateCell, MatrixStateRNN

RATES = (1e-3, 16.0)
SHORTEST, LONGEST = 1e-3, 0.1
"""Ranges in which Mamba-2 draws the rates exp(A), uniformly, and softplus of the bias, log-uniformly."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class DeltaNetCell(MatrixStateCell):
    r"""One step of a DeltaNet, $S_t = S_{t-1} + \beta_t k_t^\top (v_t - k_t S_{t-1})$ in each head.

    The query $q_t$ and the key $k_t$ are $\mathrm{silu}(x_t W_q)$ and $\mathrm{silu}(x_t W_k)$, each divided by the
    square root of its squared length plus 1e-6, so that they have length one unless they are short;
    $v_t = \mathrm{silu}(x_t W_v)$, $\beta_t = \sigma(x_t W_\beta)$ and $o_t = q_t S_t$. The output is
    $\mathrm{norm}(o_t) W_o$, where the norm divides each head's $o_t$ by the square root of its mean square plus 1e-5
    and multiplies it by $w$. In the gated form $S_{t-1}$ is first scaled by
    $\alpha_t = \exp(-e^A \mathrm{softplus}(x_t W_a + b_a))$, and $\mathrm{norm}(o_t)$ by $\mathrm{silu}(x_t W_g)$.

    Args:
        units: int > 0, size $n$ of the output.
        key_dim: int > 0, $d_k$, of each head; None for n / H.
        value_dim: int > 0, $d_v$, of each head; None for n / H.
        gated: whether to use the gated form.
        kernel_initializer: for each of $W_q$, $W_k$, $W_v$, $W_\beta$.
        decay_initializer: for $W_a$.
        rate_initializer: for A; None for logarithms of uniform numbers up to 16.
        bias_initializer: for $b_a$; None for values whose softplus lies between 0.001 and 0.1.
        gate_initializer: for $W_g$.
        output_initializer: for $W_o$.
        scale_initializer: for w.

    Weights: kernel $[W_q, W_k, W_v, W_\beta]$ (features, 2 H d_k + H d_v + H); scale w (d_v,); output_kernel $W_o$
        (H d_v, n). In the gated form also decay_kernel $W_a$ (features, H), rate A (H,), decay_bias $b_a$ (H,) and
        gate_kernel $W_g$ (features, H d_v). Without the norm there is no scale.
    Reference: Yang et al., 2024, arXiv:2406.06484, section 2.2; gated form, arXiv:2412.06464, eq. 10 and section 3.4.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.DeltaNetCell(8, num_heads=2)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape), tuple(state.shape)
    ((2, 8), (2, 32))
    """

    weight_initializers = {
        **dict.fromkeys(("kernel", "decay", "gate", "output"), "glorot_uniform"),
        **{"scale": "ones", "rate": None, "bias": None},
    }

    rate_initializer: keras.initializers.Initializer
    bias_initializer: keras.initializers.Initializer

    def __init__(
        self,
        units: int,
        num_heads: int = 4,
        key_dim: int | None = None,
        value_dim: int | None = None,
        gated: bool = False,
        normalize: bool = True,
        **kwargs: object,
    ) -> None:
        super().__init__(units, **kwargs)
        self.set_sizes(num_heads, key_dim, value_dim)
        self.gated, self.normalize = bool(gated), bool(normalize)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        features, heads = shape[1], self.num_heads
        keys, values = heads * self.key_dim, heads * self.value_dim
        self.kernel = self.side_by_side("kernel", "kernel", features, (keys, keys, values, heads))
        self.decay_kernel = self.rate = self.decay_bias = self.gate_kernel = None
        if self.gated:
            self.decay_kernel = self.weight("decay", "decay_kernel", (features, heads))
            self.rate = self.weight("rate", "rate", (heads,), initializer=self.rate_initializer or _rate)
            self.decay_bias = self.weight("bias", "decay_bias", (heads,), initializer=self.bias_initializer or _bias)
            self.gate_kernel = self.weight("gate", "gate_kernel", (features, values))
        self.add_readout(values)

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.DeltaNet:
        optional = (self.decay_kernel, self.rate, self.decay_bias)
        weights = (read(self.kernel), *(None if x is None else read(x) for x in optional))
        return equations.DeltaNet(*self.read_readout(read), *weights)


def _rate(shape: tuple[int, ...], dtype: object = None) -> Tensor:
    return ops.log(initializers.RandomUniform(*RATES)(shape, dtype=dtype))


def _bias(shape: tuple[int, ...], dtype: object = None) -> Tensor:
    """Log-uniform numbers under the inverse of softplus."""
    drawn = ops.exp(initializers.RandomUniform(math.log(SHORTEST), math.log(LONGEST))(shape, dtype=dtype))
    return drawn + ops.log(-ops.expm1(-drawn))


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class DeltaNet(MatrixStateRNN):
    r"""DeltaNet: each head's matrix is a memory from keys to values, in which a new value replaces the old one.

    $$S_t = S' + \beta_t k_t^\top (v_t - k_t S'), \qquad S' = \alpha_t S_{t-1}, \qquad o_t = q_t S_t,$$

    where the query $q_t$, key $k_t$, value $v_t$ and strength $\beta_t$ depend on the input alone; $\alpha_t = 1$
    unless gated.

    Example:

    >>> layer = DeltaNet(64, num_heads=2, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = DeltaNetCell
    cell_name = "delta_net_cell"
