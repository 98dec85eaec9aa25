"""MinimalRNN: `MinimalRNNCell` and `MinimalRNN`.

Reference: Chen, "MinimalRNN: Toward More Interpretable and Trainable Recurrent Neural Networks", 2017,
arXiv:1711.06788, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_interp_rnn import equations
from keras_interp_rnn.layers._gated import GatedCell, GatedRNN
from keras_interp_rnn.layers._rnn import of_cell

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinimalRNNCell(GatedCell):
    r"""One step of a MinimalRNN, $h_t = u_t \odot h_{t-1} + (1 - u_t) \odot z_t$.

    With $z_t = \Phi(x_t)$ and $u_t = \sigma(h_{t-1} U_h + z_t U_z + b_u)$. States are rows.

    Args:
        units: int > 0, state size $n$.
        encoder: $\Phi$, any Keras layer that takes (batch, ...) to (batch, n); default `Dense(units, "tanh")`. A layer
            that reads a whole sequence has no place here.
        kernel_initializer: for $U_z$.
        recurrent_initializer: for $U_h$.
        bias_initializer: for $b_u$; ones, so that the state is kept at first.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: as in Keras.
        kernel_constraint, recurrent_constraint, bias_constraint: as in Keras.
        dropout: share of input features set to zero in training. `MinimalRNN` draws once a sequence, as Keras's own
            layers; a bare cell in `keras.layers.RNN` at every step, and on JAX once for all: use the layer there.
        recurrent_dropout: share of the state's features set to zero where it enters the gate; drawn likewise.
        seed: of both dropouts.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: (batch, ...), one step, whatever the encoder reads.
        states: [(batch, n)].

    Returns: (output, [state]), both (batch, n) and equal.
    Weights: kernel $U_z$ (n, n); recurrent_kernel $U_h$ (n, n); bias $b_u$ (n,); the encoder's own.
    Precision: the product with $U_h$ has the compute dtype, the state keeps the variable dtype.
    Raises: ValueError, if units is not a positive integer, if a dropout rate is outside [0, 1), if the encoder does
        not put out (batch, n).
    Reference: Chen, 2017, arXiv:1711.06788, eq. 3.
    """

    weight_initializers = {"kernel": "glorot_uniform", "recurrent": "orthogonal", "bias": "ones"}

    def __init__(
        self,
        units: int,
        encoder: keras.layers.Layer | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, seed, **kwargs)
        if isinstance(encoder, dict):  # a configuration
            encoder = keras.saving.deserialize_keras_object(encoder)
        if encoder is not None and not isinstance(encoder, keras.layers.Layer):
            raise ValueError(
                f"encoder must be a Keras layer from (batch, ...) to (batch, {self.units}). Received: {encoder!r}. "
                "Wrap a function in keras.layers.Lambda."
            )
        self.given_encoder = encoder is not None
        self.encoder = encoder or keras.layers.Dense(
            self.units, activation="tanh", dtype=self.dtype_policy, name="encoder"
        )

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if len(input_shape) < 2 and not self.given_encoder:
            raise ValueError(
                "MinimalRNN reads sequences (batch, time, features). Received: steps of shape "
                f"{tuple(input_shape)}. Ids need an Embedding before it, or as its encoder."
            )
        if not self.encoder.built:
            self.encoder.build(input_shape)
        encoded = tuple(self.encoder.compute_output_shape(input_shape))
        if len(encoded) != 2 or encoded[1] != self.units:
            raise ValueError(
                f"The encoder must put out (batch, units) = (batch, {self.units}) for one step. Received: an encoder "
                f"that makes {encoded} of a step of shape {tuple(input_shape)}. Give it {self.units} outputs."
            )
        n = self.units
        self.kernel = self.weight("kernel", "kernel", (n, n))
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (n, n))
        self.bias = self.weight("bias", "bias", (n,))
        self.built = True

    def equations(self, read: Callable[[Any], Any]) -> equations.MinimalRNN:
        return equations.MinimalRNN(read(self.kernel), read(self.recurrent_kernel), read(self.bias))

    def encode(self, inputs: Tensor) -> Tensor:
        return super().encode(self.encoder(inputs))

    def get_config(self) -> dict[str, Any]:
        # A quantized encoder has other weights, which only its own configuration tells.
        own = self.given_encoder or self.encoder.dtype_policy.quantization_mode
        encoder = keras.saving.serialize_keras_object(self.encoder) if own else None
        return {**super().get_config(), "encoder": encoder}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinimalRNN(GatedRNN):
    r"""MinimalRNN: a state that moves inside the latent space of its inputs, by one gate.

    The encoder $\Phi$ takes every input to a latent $z_t$ of the state's own size, and each dimension of the state
    moves between where it was and the latent, mixing with no other:

    $$z_t = \Phi(x_t), \qquad u_t = \sigma(h_{t-1} U_h + z_t U_z + b_u), \qquad
      h_t = u_t \odot h_{t-1} + (1 - u_t) \odot z_t.$$

    $\Phi$ and $z_t U_z + b_u$ run on the whole sequence before the loop, in which $h_{t-1} U_h$ alone remains. The
    Jacobian $\partial h_t / \partial x_{t-k}$ has a closed form; `analysis.input_output_jacobian` computes it.

    Args:
        units: int > 0, state size $n$.
        encoder: $\Phi$, any Keras layer that takes one step (batch, ...) to (batch, n): default `Dense(units, "tanh")`;
            `Embedding(items, units)` for ids, a `Sequential` for more. It is called once, with time joined to the
            batch, and saved with the layer.
        kernel_initializer, recurrent_initializer, ..., dropout, recurrent_dropout, seed: as `MinimalRNNCell`.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask, **kwargs: as
            `keras.layers.RNN`.

    Call arguments:
        sequences: (batch, time, ...), each step whatever the encoder reads.
        initial_state: (batch, n); default zeros.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last state.
    Weights: kernel $U_z$ (n, n); recurrent_kernel $U_h$ (n, n); bias $b_u$ (n,); the encoder's own.
    Precision: products have the compute dtype, states keep the variable dtype, outputs have the compute dtype.
    Cost: O(T n^2) time, O(T n) memory a sequence; 2 n^2 + n weights and the encoder's.
    Raises: ValueError, if a size is not a positive integer, if a dropout rate is outside [0, 1), if the encoder does
        not put out n features a step, if the mask is not (batch, time).
    Example:

    >>> layer = MinimalRNN(64, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)

    Reference: Chen, 2017, arXiv:1711.06788, section 2.
    """

    cell_class = MinimalRNNCell
    cell_name = "minimal_rnn_cell"
    encoder = of_cell("encoder")
