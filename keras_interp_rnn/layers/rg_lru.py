"""The real-gated linear recurrent unit of Griffin: `RGLRUCell` and `RGLRU`.

Reference: De, Smith, Fernando, Botev et al., "Griffin: Mixing Gated Linear Recurrences with Local Attention for
Efficient Language Models", 2024, arXiv:2402.19427, section 2.4.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import initializers, ops

from keras_interp_rnn import equations
from keras_interp_rnn._checks import is_number
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations.rg_lru import C
from keras_interp_rnn.layers._linear import DiagonalRNN, LinearCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class RGLRUCell(LinearCell):
    r"""One step of an RG-LRU, $h_t = a_t \odot h_{t-1} + \sqrt{1 - a_t^2} \odot (i_t \odot u_t)$.

    Here $r_t = \sigma(u_t W_a + b_a)$, $i_t = \sigma(u_t W_x + b_x)$ and $a_t = \sigma(\Lambda)^{8 r_t}$. States are
    rows. It reads $u_t = x_t$ if the inputs have $n$ features, and $u_t = x_t P$ otherwise.

    Args:
        units: int > 0, state size $n$.
        min_decay, max_decay: bounds of $\sigma(\Lambda)^8$, the decay at $r_t = 1$, drawn uniformly.
        kernel_initializer: for each of $W_a$, $W_x$.
        input_initializer: for P.
        bias_initializer: for the biases.
        decay_initializer: for $\Lambda$; None for the uniform decays between these bounds.

    Weights: kernel $[W_a, W_x]$ (n, 2 n); bias (2 n,); decay $\Lambda$ (n,); input_kernel P (features, n), unless the
        inputs have n features.
    Reference: De et al., 2024, arXiv:2402.19427, section 2.4, eqs. 1 to 4.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.RGLRUCell(4)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)
    """

    weight_initializers = {"kernel": "lecun_normal", "input": "lecun_normal", "bias": "zeros", "decay": None}

    decay_initializer: keras.initializers.Initializer

    def __init__(self, units: int, min_decay: float = 0.9, max_decay: float = 0.999, **kwargs: object) -> None:
        super().__init__(units, **kwargs)
        if not all(map(is_number, (min_decay, max_decay))) or not 0 < min_decay < max_decay < 1:
            raise ValueError(
                "`min_decay` and `max_decay` must be numbers with 0 < min_decay < max_decay < 1. Received: "
                f"min_decay={min_decay!r}, max_decay={max_decay!r}."
            )
        self.min_decay, self.max_decay = min_decay, max_decay

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        n, features = self.units, shape[1]
        self.kernel = self.weight("kernel", "kernel", (n, 2 * n), blocks=2)
        self.bias = self.weight("bias", "bias", (2 * n,))
        self.decay = self.weight("decay", "decay", (n,), initializer=self.decay_initializer or self._decay)
        self.input_kernel = self.weight("input", "input_kernel", (features, n)) if features != n else None

    def _decay(self, shape: tuple[int, ...], dtype: object = None) -> Tensor:
        drawn = initializers.RandomUniform(self.min_decay, self.max_decay)(shape, dtype=dtype)
        log_decay = ops.log(drawn) / C
        return log_decay - ops.log(-ops.expm1(log_decay))

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.RGLRU:
        input_kernel = None if self.input_kernel is None else read(self.input_kernel)
        return equations.RGLRU(read(self.kernel), read(self.bias), read(self.decay), input_kernel)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class RGLRU(DiagonalRNN):
    r"""Real-gated linear recurrent unit: each unit decays at its own rate, scaled by a gate of the input.

    $$r_t = \sigma(u_t W_a + b_a), \qquad i_t = \sigma(u_t W_x + b_x), \qquad a_t = \sigma(\Lambda)^{8 r_t},$$
    $$h_t = a_t \odot h_{t-1} + \sqrt{1 - a_t^2} \odot (i_t \odot u_t),$$

    where $u_t = x_t$ if the inputs have $n$ features; otherwise $u_t = x_t P$, the linear map before the unit in
    Griffin's block.

    Cost: O(T n (n + features)) time, O(T n) memory per sequence; 2 n^2 + 3 n weights, plus features n for P.
    Example:

    >>> layer = RGLRU(64, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = RGLRUCell
    cell_name = "rg_lru_cell"
