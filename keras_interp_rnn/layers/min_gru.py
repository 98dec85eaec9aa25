"""minGRU and minLSTM: `MinGRUCell`, `MinGRU`, `MinLSTMCell` and `MinLSTM`.

Reference: Feng, Tung, Ahmed, Bengio and Hajimirsadeghi, "Were RNNs All We Needed?", 2024, arXiv:2410.01201.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import keras

from keras_interp_rnn import equations
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._linear import DiagonalRNN, LinearCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinGRUCell(LinearCell):
    r"""One step of a minGRU, $h_t = (1 - z_t) \odot h_{t-1} + z_t \odot c_t$.

    Here $z_t = \sigma(x_t W_z + b_z)$ and $c_t = g(x_t W_h + b_h)$. States are rows.

    Args:
        units: int > 0, state size $n$.
        positive: True for $g(a) = a + 1/2$ if $a \ge 0$ and $\sigma(a)$ otherwise, as in the paper's log-space form;
            False for $g(a) = a$. The first state is 0 in both, where the paper's log-space form has $g(0) = 1/2$: pass
            an `initial_state` of 1/2 to begin there.
        kernel_initializer: for each of the matrices.
        bias_initializer: for the biases.

    Weights: kernel $[W_z, W_h]$ (features, 2 n); bias (2 n,).
    Reference: Feng et al., 2024, arXiv:2410.01201, section 3.1.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.MinGRUCell(4)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)
    """

    weight_initializers = {"kernel": "glorot_uniform", "bias": "zeros"}
    num_parts: ClassVar[int] = equations.MinGRU.num_parts

    def __init__(self, units: int, positive: bool = False, **kwargs: object) -> None:
        super().__init__(units, **kwargs)
        self.positive = bool(positive)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        parts = self.num_parts
        self.kernel = self.weight("kernel", "kernel", (shape[1], parts * self.units), blocks=parts)
        self.bias = self.weight("bias", "bias", (parts * self.units,))

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.MinGRU:
        return equations.MinGRU(read(self.kernel), read(self.bias), self.positive)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinGRU(DiagonalRNN):
    r"""minGRU: a GRU whose gate and candidate read the input alone, so that all steps are computed at once.

    $$z_t = \sigma(x_t W_z + b_z), \qquad c_t = g(x_t W_h + b_h), \qquad
      h_t = (1 - z_t) \odot h_{t-1} + z_t \odot c_t.$$

    Given the inputs, a state is a weighted mean of the candidates so far and the initial state.

    Cost: O(T n features) time, O(T n) memory per sequence; 2 n (features + 1) weights.
    Example:

    >>> layer = MinGRU(64, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = MinGRUCell
    cell_name = "min_gru_cell"


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinLSTMCell(MinGRUCell):
    r"""One step of a minLSTM, $h_t = (f_t \odot h_{t-1} + i_t \odot c_t) / (f_t + i_t)$.

    Here $f_t = \sigma(x_t W_f + b_f)$, $i_t = \sigma(x_t W_i + b_i)$ and $c_t = g(x_t W_h + b_h)$. States are rows.

    Weights: kernel $[W_f, W_i, W_h]$ (features, 3 n); bias (3 n,).
    Reference: Feng et al., 2024, arXiv:2410.01201, section 3.2.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.MinLSTMCell(4)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)
    """

    num_parts = equations.MinLSTM.num_parts

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.MinLSTM:
        return equations.MinLSTM(read(self.kernel), read(self.bias), self.positive)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinLSTM(DiagonalRNN):
    r"""minLSTM: an LSTM whose gates and candidate read the input alone, and whose gates sum to one.

    $$f_t = \sigma(x_t W_f + b_f), \qquad i_t = \sigma(x_t W_i + b_i), \qquad c_t = g(x_t W_h + b_h), \qquad
      h_t = \frac{f_t}{f_t + i_t} \odot h_{t-1} + \frac{i_t}{f_t + i_t} \odot c_t.$$

    Cost: O(T n features) time, O(T n) memory per sequence; 3 n (features + 1) weights.
    Example:

    >>> layer = MinLSTM(64, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = MinLSTMCell
    cell_name = "min_lstm_cell"
