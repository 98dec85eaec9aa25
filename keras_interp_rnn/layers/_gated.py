"""Gated cells whose units mix inside the gates only (MinimalRNN, CFN): all other products run before the loop."""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import ops, random

from keras_interp_rnn._checks import fraction
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._cell import Cell
from keras_interp_rnn.layers._dense import DenseRNN
from keras_interp_rnn.layers._rnn import Extras, MakesItsCell, SequenceRNN


class GatedCell(Cell):
    """One step with gates = sigmoid(state @ recurrent_kernel + drive); a subclass defines `equations`.

    Args:
        dropout: fraction of the input features that are set to zero in training. The layer draws them once per
            sequence, like Keras's own layers. A bare cell in `keras.layers.RNN` draws at every step, and on JAX
            only once: use the layer.
        recurrent_dropout: fraction of the state's features that are set to zero in training, in the gates only; drawn
            in the same way.
        seed: for both dropouts.

    Precision: products have the compute dtype, states keep the variable dtype, outputs have the compute dtype.
    Raises:
        ValueError: if a dropout rate is outside [0, 1).
    """

    def __init__(
        self,
        units: int,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(units, **kwargs)
        self.dropout = fraction("dropout", dropout)
        self.recurrent_dropout = fraction("recurrent_dropout", recurrent_dropout)
        self.seed = seed
        self.seed_generator = random.SeedGenerator(seed=seed)

    def encode(self, inputs: Tensor) -> Tensor:
        """The inputs (rows, ...) as the equations read them, in the compute dtype."""
        return ops.cast(inputs, self.compute_dtype)

    def drive(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The drive of inputs (rows, ...): the latent (rows, n), and the terms inside the gates (rows, G n)."""
        latent, gate_inputs = self.rounded_equations().drive(ops, self.encode(inputs))
        return latent, gate_inputs

    def next_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> list[Tensor]:
        inputs = self.apply_input_dropout(inputs, training)
        return [self.step(inputs, states[0], self.recurrent_dropout_mask(ops.shape(states[0])[0], training))]

    def step(self, inputs: Tensor, state: Tensor, dropout_mask: Tensor | None) -> Tensor:
        """One step with a given dropout mask; the product h U has the compute dtype."""
        known = self.rounded_equations()
        drive = tuple(ops.cast(x, state.dtype) for x in self.drive(inputs))
        dropped = state if dropout_mask is None else state * ops.cast(dropout_mask, state.dtype)
        product = ops.cast(ops.matmul(ops.cast(dropped, self.compute_dtype), known.recurrent_kernel), state.dtype)
        return known.step_given_product(ops, (state,), product, drive).states[0]

    def apply_input_dropout(self, inputs: Tensor, training: bool, over_time: bool = False) -> Tensor:
        """The inputs after dropout; with `over_time`, sequences (batch, time, ...) with one draw for all steps."""
        if not training or self.dropout == 0:
            return inputs
        if not keras.backend.is_float_dtype(keras.backend.standardize_dtype(inputs.dtype)):
            raise ValueError(
                f"Inputs must be real-valued for dropout={self.dropout}. Received: inputs of dtype {inputs.dtype}. Put "
                "the dropout into the encoder, after its Embedding."
            )
        shape = [ops.shape(inputs)[0], *inputs.shape[1:]]
        if over_time:
            shape[1] = 1
        ones = ops.ones(shape, dtype=inputs.dtype)
        return inputs * random.dropout(ones, self.dropout, seed=self.seed_generator)

    def recurrent_dropout_mask(self, batch: object, training: bool) -> Tensor | None:
        """Factors (batch, n) of the state where it enters the gates; None without recurrent dropout."""
        if not training or self.recurrent_dropout == 0:
            return None
        ones = ops.ones((batch, self.units), dtype=self.variable_dtype)
        return random.dropout(ones, self.recurrent_dropout, seed=self.seed_generator)


class GatedRNN(MakesItsCell, DenseRNN):
    """A `GatedCell` over whole sequences, also with dropout and in mixed precision."""

    def obstacle(self) -> str | None:
        return SequenceRNN.obstacle(self)

    def _run(
        self, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        sequences = self.cell.apply_input_dropout(sequences, training, over_time=True)
        return super()._run(sequences, states, mask, training)

    def per_step(self, sequences: Tensor, mask: Tensor | None, training: bool) -> Extras:
        """Dropout of the state, one draw for all steps."""
        steps, batch_size = ops.shape(sequences)[:2]
        dropout_mask = self.cell.recurrent_dropout_mask(batch_size, training)
        return {} if dropout_mask is None else {"dropout_mask": ops.repeat(dropout_mask[None], steps, axis=0)}

    def stepper(self, training: bool) -> Callable[[Tensor, list[Tensor], Extras], tuple[Tensor, list[Tensor]]]:
        def step(inputs: Tensor, states: list[Tensor], extras: Extras) -> tuple[Tensor, list[Tensor]]:
            new = self.cell.step(inputs, states[0], extras.get("dropout_mask"))
            return new, [new]

        return step
