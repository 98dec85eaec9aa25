"""Chaos-free networks: `CFNCell` and `CFN`.

Reference: Laurent and von Brecht, "A recurrent neural network without chaos", ICLR 2017, arXiv:1612.06212; eq. 2 of
Chen, 2017, arXiv:1711.06788.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import ops

from keras_interp_rnn import equations
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._gated import GatedCell, GatedRNN


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class CFNCell(GatedCell):
    r"""One step of a chaos-free network, $h_t = u_t \odot \tanh(h_{t-1}) + i_t \odot \tanh(x_t W_x + b_x)$.

    Here $u_t = \sigma(h_{t-1} U_u + x_t V_u + b_u)$ and $i_t = \sigma(h_{t-1} U_i + x_t V_i + b_i)$ are the gates.
    States are rows.

    Args:
        units: int > 0, state size $n$.
        unit_update_bias: whether $b_u$ starts 1 higher and $b_i$ 1 lower, as in Laurent and von Brecht.
        kernel_initializer: for each of $V_u$, $V_i$, $W_x$.
        recurrent_initializer: for each of $U_u$, $U_i$.
        bias_initializer: for the biases.

    Weights: kernel $[V_u, V_i, W_x]$ (features, 3 n); recurrent_kernel $[U_u, U_i]$ (n, 2 n); bias (3 n,).
    Reference: Laurent and von Brecht, ICLR 2017, arXiv:1612.06212; Chen, 2017, arXiv:1711.06788, eq. 2.

    Example:

    >>> from keras_interp_rnn import layers
    >>> layer = keras.layers.StackedRNNCells([layers.CFNCell(16), layers.CFNCell(8)])
    >>> tuple(keras.layers.RNN(layer)(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    weight_initializers = {"kernel": "glorot_uniform", "recurrent": "orthogonal", "bias": "zeros"}

    def __init__(
        self,
        units: int,
        unit_update_bias: bool = True,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, seed, **kwargs)
        self.unit_update_bias = unit_update_bias

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        n = self.units
        self.kernel = self.weight("kernel", "kernel", (shape[1], 3 * n), blocks=3)
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (n, 2 * n), blocks=2)
        self.bias = self.weight("bias", "bias", (3 * n,), initializer=self._first_bias)

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.CFN:
        return equations.CFN(read(self.kernel), read(self.recurrent_kernel), read(self.bias))

    def _first_bias(self, shape: tuple[int], dtype: object = None) -> Tensor:
        bias = self.bias_initializer(shape, dtype=dtype)
        if not self.unit_update_bias:
            return bias
        signs = ops.repeat(ops.convert_to_tensor([1, -1, 0], dtype=dtype), self.units)
        return bias + signs


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class CFN(GatedRNN):
    r"""Chaos-free network: a gated network whose units mix inside the gates only.

    $$u_t = \sigma(h_{t-1} U_u + x_t V_u + b_u), \qquad i_t = \sigma(h_{t-1} U_i + x_t V_i + b_i), \qquad
      h_t = u_t \odot \tanh(h_{t-1}) + i_t \odot \tanh(x_t W_x + b_x).$$

    Without input the state relaxes to zero. All terms that do not depend on the state are computed for the whole
    sequence before the loop.

    Cost: O(T n^2) time, O(T n) memory per sequence; 2 n^2 + 3 n features + 3 n weights.
    Example:

    >>> tuple(CFN(64)(np.ones((8, 20, 5))).shape)
    (8, 64)
    """

    cell_class = CFNCell
    cell_name = "cfn_cell"
