"""MinimalRNN: `MinimalRNNCell` and `MinimalRNN`.

Reference: Chen, "MinimalRNN: Toward More Interpretable and Trainable Recurrent Neural Networks", 2017,
arXiv:1711.06788, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_interp_rnn import equations
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._gated import GatedCell, GatedRNN
from keras_interp_rnn.layers._inputs import check_features, check_steps


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinimalRNNCell(GatedCell):
    r"""One step of a MinimalRNN, $h_t = u_t \odot h_{t-1} + (1 - u_t) \odot z_t$.

    Here $z_t = \Phi(x_t)$ and $u_t = \sigma(h_{t-1} U_h + z_t U_z + b_u)$. States are rows.

    Args:
        units: int > 0, state size $n$.
        encoder: $\Phi$, any Keras layer that maps one step (batch, ...) to (batch, n), saved with this layer; by
            default `Dense(units, "tanh")`. For ids use `Embedding(items, units)`, or a `Sequential` that begins with
            `keras.Input((), dtype="int32")`: without it Keras converts the ids to floats, which half precision
            rounds. `MinimalRNN` calls the encoder once, with time joined to the batch, so it cannot be a layer that
            reads whole sequences.
        kernel_initializer: for $U_z$.
        recurrent_initializer: for $U_h$.
        bias_initializer: for $b_u$; by default ones, so that the gate mostly keeps the state at first.

    Call arguments:
        inputs: (batch, ...), one step, of any shape that the encoder reads.

    Weights: kernel $U_z$ (n, n); recurrent_kernel $U_h$ (n, n); bias $b_u$ (n,); the encoder's own.
    Raises:
        ValueError: if the encoder does not output n features per step, or is an Embedding with `mask_zero=True`.
    Reference: Chen, 2017, arXiv:1711.06788, section 2; the step is eq. 3.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.StateRegularizedCell(layers.MinimalRNNCell(8), num_centroids=3)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    weight_initializers = {"kernel": "glorot_uniform", "recurrent": "orthogonal", "bias": "ones"}

    def __init__(
        self,
        units: int,
        encoder: keras.layers.Layer | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, seed, **kwargs)
        if isinstance(encoder, dict):  # a configuration
            encoder = keras.saving.deserialize_keras_object(encoder)
        elif getattr(encoder, "mask_zero", False):
            raise ValueError(
                f"`encoder` must be a layer that computes no mask. Received: {encoder!r} with mask_zero=True. Put an "
                "Embedding that masks before the layer."
            )
        if encoder is not None and not isinstance(encoder, keras.layers.Layer):
            raise ValueError(
                f"`encoder` must be a Keras layer from (batch, ...) to (batch, {self.units}). Received: {encoder!r}. "
                "Wrap a function in keras.layers.Lambda."
            )
        self.given_encoder = encoder is not None
        self.encoder = encoder or keras.layers.Dense(
            self.units, activation="tanh", dtype=self.dtype_policy, name="encoder"
        )

    def check_shape(self, shape: tuple[int | None, ...], num_time_axes: int = 0, name: str | None = None) -> None:
        name = name or type(self).__name__
        if self.given_encoder:
            check_steps(self, shape, num_time_axes, name)
        else:
            check_features(self, shape, num_time_axes, name, "Ids need an Embedding before it, or as its encoder")

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        if not self.encoder.built:
            self.encoder.build(shape)
        encoded = tuple(self.encoder.compute_output_shape(shape))
        if len(encoded) != 2 or encoded[1] != self.units:
            raise ValueError(
                f"`encoder` must output (batch, units) = (batch, {self.units}) for one step. Received: {encoded} "
                f"for a step of shape {shape}. Give the encoder {self.units} outputs."
            )
        n = self.units
        self.kernel = self.weight("kernel", "kernel", (n, n))
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (n, n))
        self.bias = self.weight("bias", "bias", (n,))

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.MinimalRNN:
        return equations.MinimalRNN(read(self.kernel), read(self.recurrent_kernel), read(self.bias))

    def encode(self, inputs: Tensor) -> Tensor:
        return super().encode(self.encoder(inputs))

    def get_config(self) -> dict[str, Any]:
        # Only the encoder's own configuration tells which weights it has when quantized.
        saved = self.given_encoder or self.encoder.dtype_policy.quantization_mode
        encoder = keras.saving.serialize_keras_object(self.encoder) if saved else None
        return {**super().get_config(), "encoder": encoder}


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class MinimalRNN(GatedRNN):
    r"""MinimalRNN: one gate moves the state within the latent space of the inputs.

    The encoder $\Phi$ maps every input to a latent $z_t$ of the size of the state, and each unit of the state moves
    between its old value and the latent, independently of the others:

    $$z_t = \Phi(x_t), \qquad u_t = \sigma(h_{t-1} U_h + z_t U_z + b_u), \qquad
      h_t = u_t \odot h_{t-1} + (1 - u_t) \odot z_t.$$

    $\Phi$ and $z_t U_z + b_u$ run on the whole sequence before the loop, which computes $h_{t-1} U_h$ only. The
    Jacobian $\partial h_t / \partial x_{t-k}$ has a closed form; `analysis.input_output_jacobian` computes it.

    Call arguments:
        sequences: (batch, time, ...), steps of any shape that the encoder reads.

    Cost: O(T n^2) time, O(T n) memory per sequence; 2 n^2 + n weights, plus those of the encoder.
    Example:

    >>> layer = MinimalRNN(64, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = MinimalRNNCell
    cell_name = "minimal_rnn_cell"
