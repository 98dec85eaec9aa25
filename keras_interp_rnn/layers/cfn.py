"""Chaos-free networks: `CFNCell` and `CFN`.

Reference: Laurent and von Brecht, "A recurrent neural network without chaos", ICLR 2017, arXiv:1612.06212; eq. 2 of
Chen, 2017, arXiv:1711.06788.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import equations
from keras_interp_rnn.layers._gated import GatedCell, GatedRNN

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class CFNCell(GatedCell):
    r"""One step of a chaos-free network, $h_t = u_t \odot \tanh(h_{t-1}) + i_t \odot \tanh(x_t W_x + b_x)$.

    With gates $u_t = \sigma(h_{t-1} U_u + x_t V_u + b_u)$ and $i_t = \sigma(h_{t-1} U_i + x_t V_i + b_i)$. States are
    rows.

    Args:
        units: int > 0, state size $n$.
        kernel_initializer: for each of $V_u$, $V_i$, $W_x$.
        recurrent_initializer: for each of $U_u$, $U_i$.
        bias_initializer: for the biases.
        unit_update_bias: whether 1 is added to $b_u$ and -1 to $b_i$ at the start, as Laurent and von Brecht do.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: as in Keras.
        kernel_constraint, recurrent_constraint, bias_constraint: as in Keras.
        dropout: share of input features set to zero in training. `CFN` draws once a sequence, as Keras's own
            layers; a bare cell in `keras.layers.RNN` at every step, and on JAX once for all: use the layer there.
        recurrent_dropout: share of the state's features set to zero where it enters the gates; drawn likewise.
        seed: of both dropouts.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: (batch, features).
        states: [(batch, n)].

    Returns: (output, [state]), both (batch, n) and equal.
    Weights: kernel $[V_u, V_i, W_x]$ (features, 3 n); recurrent_kernel $[U_u, U_i]$ (n, 2 n); bias (3 n,).
    Precision: products have the compute dtype, the state keeps the variable dtype.
    Raises: ValueError, if units is not a positive integer or a dropout rate outside [0, 1).
    Reference: Chen, 2017, arXiv:1711.06788, eq. 2.
    """

    weight_initializers = {"kernel": "glorot_uniform", "recurrent": "orthogonal", "bias": "zeros"}

    def __init__(
        self,
        units: int,
        unit_update_bias: bool = True,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, seed, **kwargs)
        self.unit_update_bias = unit_update_bias

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                "CFN reads steps (batch, features) of a known number of features. Received: a step of shape "
                f"{tuple(input_shape)}. Flatten the features, or embed ids first."
            )
        n = self.units
        self.kernel = self.weight("kernel", "kernel", (input_shape[1], 3 * n), blocks=3)
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (n, 2 * n), blocks=2)
        self.bias = self.weight("bias", "bias", (3 * n,), initializer=self._first_bias)
        self.built = True

    def equations(self, read: Callable[[Any], Any]) -> equations.CFN:
        return equations.CFN(read(self.kernel), read(self.recurrent_kernel), read(self.bias))

    def encode(self, inputs: Tensor) -> Tensor:
        if inputs.shape[-1] != self.kernel.shape[0]:
            raise ValueError(
                f"This CFN was built for {self.kernel.shape[0]} features a step. Received: {inputs.shape[-1]}. Pass "
                "inputs of that size, or build another layer."
            )
        return super().encode(inputs)

    def _first_bias(self, shape: tuple[int], dtype: Any = None) -> Tensor:
        bias = self.bias_initializer(shape, dtype=dtype)
        if not self.unit_update_bias:
            return bias
        signs = ops.repeat(ops.convert_to_tensor([1, -1, 0], dtype=dtype), self.units)
        return bias + signs


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class CFN(GatedRNN):
    r"""Chaos-free network: gated, and with no mixing between the dimensions of the state outside the gates.

    $$u_t = \sigma(h_{t-1} U_u + x_t V_u + b_u), \qquad i_t = \sigma(h_{t-1} U_i + x_t V_i + b_i), \qquad
      h_t = u_t \odot \tanh(h_{t-1}) + i_t \odot \tanh(x_t W_x + b_x).$$

    Without input the state relaxes to zero, along no strange path. What does not depend on the state runs on the whole
    sequence before the loop.

    Args:
        units: int > 0, state size $n$.
        kernel_initializer, recurrent_initializer, ..., dropout, recurrent_dropout, seed: as `CFNCell`.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask, **kwargs: as
            `keras.layers.RNN`.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: (batch, n); default zeros.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last state.
    Weights: kernel $[V_u, V_i, W_x]$ (features, 3 n); recurrent_kernel $[U_u, U_i]$ (n, 2 n); bias (3 n,).
    Precision: products have the compute dtype, states keep the variable dtype, outputs have the compute dtype.
    Cost: O(T n^2) time, O(T n) memory a sequence; 2 n^2 + 3 n features + 3 n weights.
    Raises: ValueError, if a size is not a positive integer, if a dropout rate is outside [0, 1), if the sequences are
        not (batch, time, features), if the mask is not (batch, time).
    Example:

    >>> tuple(CFN(64)(np.ones((8, 20, 5))).shape)
    (8, 64)

    Reference: Laurent and von Brecht, ICLR 2017, arXiv:1612.06212; Chen, 2017, arXiv:1711.06788, eq. 2.
    """

    cell_class = CFNCell
    cell_name = "cfn_cell"
