"""LSTM whose gates read its memory: `PeepholeLSTMCell` and `PeepholeLSTM`.

Reference: Gers and Schmidhuber, "Recurrent Nets that Time and Count", 2000; here in the form of Wang, Lawrence and
Niepert, "State-Regularized Recurrent Neural Networks", 2022, eqs. 23 to 25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import equations
from keras_interp_rnn._cells import activation_of
from keras_interp_rnn._checks import fraction, integer
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._dense import DenseRNN
from keras_interp_rnn.layers._docstrings import document
from keras_interp_rnn.layers._inputs import check_features
from keras_interp_rnn.layers._rnn import MakesItsCell
from keras_interp_rnn.layers._signatures import parameters, signature
from keras_interp_rnn.layers._weights import KINDS, config_of_weight_arguments, set_weight_arguments, weight_arguments

PEEPHOLE = weight_arguments({"peephole": "glorot_uniform"})


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class PeepholeLSTMCell(keras.layers.LSTMCell):
    r"""One step of an LSTM with peephole connections $p_i, p_f, p_o$.

    $$i_t = \sigma(x_t W_i + h_{t-1} R_i + p_i \odot c_{t-1} + b_i), \qquad
      f_t = \sigma(x_t W_f + h_{t-1} R_f + p_f \odot c_{t-1} + b_f),$$
    $$c_t = f_t \odot c_{t-1} + i_t \odot \tanh(x_t W_c + h_{t-1} R_c + b_c),$$
    $$o_t = \sigma(x_t W_o + h_{t-1} R_o + p_o \odot c_t + b_o), \qquad h_t = o_t \odot \tanh(c_t).$$

    Args:
        units: int > 0, size $n$ of state and memory.
        peephole_initializer, peephole_regularizer, peephole_constraint: for $p$, one (3, n) tensor.
        **kwargs: as `keras.layers.LSTMCell`: name, dtype, trainable.

    Call arguments:
        inputs: (batch, features), one step.
        states: [h, c], both (batch, n).

    Returns: h (batch, n), [h, c].
    Weights: kernel (features, 4n), recurrent_kernel (n, 4n), bias (4n,), in Keras's order i, f, c, o; peephole (3, n),
        in the order i, f, o.
    Raises:
        ValueError: if a size is not a positive integer, or if the inputs have another shape.
    Reference: Wang, Lawrence and Niepert, 2022, eqs. 23 to 25.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.PeepholeLSTMCell(8)
    >>> output, [state, memory] = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> tuple(memory.shape)
    (2, 8)
    """

    __signature__ = signature({**parameters(keras.layers.LSTMCell), **PEEPHOLE}, positional=1)

    def __init__(self, units: int, **kwargs: object) -> None:
        arguments = {name: kwargs.pop(name, parameter.default) for name, parameter in PEEPHOLE.items()}
        kwargs |= {name: fraction(name, kwargs[name]) for name in ("dropout", "recurrent_dropout") if name in kwargs}
        # autocast would round the memory at every step.
        super().__init__(integer("units", units), **{**kwargs, "autocast": False})
        self.dropout_mask_count = None  # one dropout mask for all gates, whatever the implementation
        set_weight_arguments(self, arguments)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        check_features(self, tuple(input_shape), 0, type(self).__name__)
        arguments = {kind: getattr(self, f"peephole_{kind}") for kind in KINDS}
        self.peephole = self.add_weight(name="peephole", shape=(3, self.units), **arguments)
        super().build(input_shape)

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, list[Tensor]]:
        check_features(self, tuple(inputs.shape), 0, type(self).__name__)
        state, memory = states
        [drive] = self.equations(ops.convert_to_tensor).drive(
            ops, _dropped(inputs, self.get_dropout_mask, training and self.dropout)
        )
        entering = _dropped(state, self.get_recurrent_dropout_mask, training and self.recurrent_dropout)
        product = ops.matmul(entering, self.recurrent_kernel)
        memory, product, drive = (ops.cast(x, self.variable_dtype) for x in (memory, product, drive))
        precise = self.equations(lambda weight: ops.cast(weight, self.variable_dtype))
        new = precise.step_given_product(ops, (state, memory), product, (drive,)).states
        # The states keep the dtype they came in: Keras's loops allow no other.
        after = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
        return after[0], after

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.PeepholeLSTM:
        return equations.PeepholeLSTM(
            read(self.kernel),
            read(self.recurrent_kernel),
            read(self.bias) if self.use_bias else None,
            activation_of(self, "activation", keras.activations.tanh),
            activation_of(self, "recurrent_activation", keras.activations.sigmoid),
            read(self.peephole),
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **config_of_weight_arguments(self, PEEPHOLE)}


document(PeepholeLSTMCell)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class PeepholeLSTM(MakesItsCell, DenseRNN):
    """LSTM with peephole connections, which Keras does not provide.

    Cost: O(T n (n + features)) time, step by step.
    Example:

    >>> layer = PeepholeLSTM(8, return_sequences=True)
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    cell_class = PeepholeLSTMCell
    cell_name = "peephole_lstm_cell"


def _dropped(x: Tensor, mask: Any, rate: float) -> Tensor:
    return x * mask(x) if rate else x
