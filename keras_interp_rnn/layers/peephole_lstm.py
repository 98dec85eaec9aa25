"""The LSTM whose gates see its memory: `PeepholeLSTMCell` and `PeepholeLSTM`.

Reference: Gers and Schmidhuber, "Recurrent Nets that Time and Count", 2000; here in the form of Wang, Lawrence and
Niepert, "State-Regularized Recurrent Neural Networks", 2022, eqs. 23 to 25.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import constraints, initializers, ops, regularizers

from keras_interp_rnn.equations import state_regularized as equations
from keras_interp_rnn.layers._stepped import SteppedRNN, check_three_axes, three_axes
from keras_interp_rnn.layers._whole_sequence import positive_int

Tensor = Any


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
        **kwargs: as `keras.layers.LSTMCell`.

    Call arguments:
        inputs: (batch, features), one step.
        states: [h, c], both (batch, n).

    Returns: h (batch, n), [h, c].
    Weights: kernel (features, 4n), recurrent_kernel (n, 4n), bias (4n,), in Keras's order i, f, c, o; peephole (3, n),
        in the order i, f, o.
    Raises: ValueError, if units is not a positive integer.
    Reference: Wang, Lawrence and Niepert, 2022, eqs. 23 to 25.
    """

    def __init__(
        self,
        units: int,
        peephole_initializer: Any = "glorot_uniform",
        peephole_regularizer: Any = None,
        peephole_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        # autocast would round the memory at every step.
        super().__init__(positive_int("units", units), **{**kwargs, "autocast": False})
        self.dropout_mask_count = None  # one dropout mask for all gates, whatever the implementation
        self.peephole_initializer = initializers.get(peephole_initializer)
        self.peephole_regularizer = regularizers.get(peephole_regularizer)
        self.peephole_constraint = constraints.get(peephole_constraint)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.peephole = self.add_weight(
            name="peephole",
            shape=(3, self.units),
            initializer=self.peephole_initializer,
            regularizer=self.peephole_regularizer,
            constraint=self.peephole_constraint,
        )
        super().build(input_shape)

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, list[Tensor]]:
        state, memory, _ = self.step(inputs, states, training)
        return state, [state, memory]

    def step(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """h_t, c_t and the gates (i_t, f_t, o_t), all (batch, n)."""
        state, memory = states
        drives = ops.matmul(_thinned(inputs, self.get_dropout_mask, training and self.dropout), self.kernel)
        held = _thinned(state, self.get_recurrent_dropout_mask, training and self.recurrent_dropout)
        drives = drives + ops.matmul(held, self.recurrent_kernel)
        if self.use_bias:
            drives = drives + self.bias
        return equations.peephole_lstm_step(
            self.activation, self.recurrent_activation, tuple(ops.split(drives, 4, axis=-1)), self.peephole, memory
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "peephole_initializer": initializers.serialize(self.peephole_initializer),
            "peephole_regularizer": regularizers.serialize(self.peephole_regularizer),
            "peephole_constraint": constraints.serialize(self.peephole_constraint),
        }


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class PeepholeLSTM(SteppedRNN):
    r"""LSTM with peephole connections, which Keras has not.

    Args:
        units: int > 0, size of state and memory.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: as `keras.layers.RNN`.
        **kwargs: as `PeepholeLSTMCell`; and name, dtype, trainable of the layer.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: [h, c], both (batch, n); default zeros.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by h and c.
    Weights: kernel, recurrent_kernel, bias, peephole, as in `PeepholeLSTMCell`.
    Raises: ValueError, as `PeepholeLSTMCell`; if the mask has another shape.
    Reference: Wang, Lawrence and Niepert, 2022, eqs. 23 to 25.

    Example:

    >>> layer = PeepholeLSTM(8, return_sequences=True)
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    def __init__(
        self,
        units: int,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        of_layer = {name: kwargs.pop(name) for name in ("name", "activity_regularizer") if name in kwargs}
        shared = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        super().__init__(
            PeepholeLSTMCell(units, name="peephole_lstm_cell", **kwargs),
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            **of_layer,
            **shared,
        )

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        check_three_axes(self, sequences_shape)
        super().build(sequences_shape, initial_state_shape)

    def checked(self, sequences: Tensor) -> Tensor:
        return three_axes(self, sequences)


def _thinned(x: Tensor, mask: Any, rate: float) -> Tensor:
    return x * mask(x) if rate else x
