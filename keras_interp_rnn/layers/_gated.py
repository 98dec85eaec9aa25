"""What MinimalRNN and CFN share: the state is mixed inside the gates alone, everything else runs before the loop."""

from __future__ import annotations

import numbers
from typing import Any

import keras
from keras import constraints, initializers, ops, random, regularizers

from keras_interp_rnn import _recurrence
from keras_interp_rnn.layers._whole_sequence import WholeSequenceRNN, independent, positive_int

Tensor = Any


class GatedCell(keras.layers.Layer):
    """One step with gates = sigmoid(state @ recurrent_kernel + drive); a subclass gives `recurrence` and `project`."""

    recurrence: _recurrence.Gates
    number_of_gates: int

    def __init__(
        self,
        units: int,
        kernel_initializer: Any,
        recurrent_initializer: Any,
        bias_initializer: Any,
        kernel_regularizer: Any,
        recurrent_regularizer: Any,
        bias_regularizer: Any,
        kernel_constraint: Any,
        recurrent_constraint: Any,
        bias_constraint: Any,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = positive_int("units", units)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.dropout = _rate("dropout", dropout)
        self.recurrent_dropout = _rate("recurrent_dropout", recurrent_dropout)
        self.seed = seed
        self.seed_generator = random.SeedGenerator(seed=seed)
        self.state_size = self.units
        self.output_size = self.units

    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """What the inputs (rows, ...) give to the step: latent (rows, n), drive (rows, gates * n)."""
        raise NotImplementedError

    def add_recurrent_kernel(self) -> None:
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.units, self.number_of_gates * self.units),
            initializer=each_block(self.recurrent_initializer, self.number_of_gates),
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        given = states[0] if isinstance(states, (list, tuple)) else states
        state = ops.cast(given, self.variable_dtype)
        latent, drive = self.project(self.thinned(inputs, training))
        held = state
        thinning = self.recurrent_thinning(ops.shape(state)[0], training)
        if thinning is not None:
            held = held * ops.cast(thinning, held.dtype)
        mixed = ops.matmul(ops.cast(held, self.compute_dtype), self.recurrent_kernel)
        gates = ops.sigmoid(ops.cast(mixed, state.dtype) + ops.cast(drive, state.dtype))
        new = self.recurrence.step(state, gates, ops.cast(latent, state.dtype))
        # The state leaves in the dtype it came in: Keras's loops allow no other.
        new_state = ops.cast(new, given.dtype)
        return ops.cast(new, self.compute_dtype), [new_state] if isinstance(states, (list, tuple)) else new_state

    def thinned(self, inputs: Tensor, training: bool, over_time: bool = False) -> Tensor:
        """Inputs after dropout; for sequences (batch, time, ...) one draw for all steps."""
        if not training or self.dropout == 0:
            return inputs
        if not keras.backend.is_float_dtype(keras.backend.standardize_dtype(inputs.dtype)):
            raise ValueError(
                f"dropout={self.dropout} zeroes features of real-valued inputs. Received: inputs of dtype "
                f"{inputs.dtype}. Put the dropout into the encoder, after its Embedding."
            )
        shape = [ops.shape(inputs)[0], *inputs.shape[1:]]
        if over_time:
            shape[1] = 1
        ones = ops.ones(shape, dtype=inputs.dtype)
        return inputs * random.dropout(ones, self.dropout, seed=self.seed_generator)

    def recurrent_thinning(self, batch: Any, training: bool) -> Tensor | None:
        """(batch, n), by which the state is multiplied where it enters the gates; None without recurrent dropout."""
        if not training or self.recurrent_dropout == 0:
            return None
        ones = ops.ones((batch, self.units), dtype=self.variable_dtype)
        return random.dropout(ones, self.recurrent_dropout, seed=self.seed_generator)

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """[(batch_size, n)], zeros."""
        return [ops.zeros((batch_size, self.units), dtype=self.variable_dtype)]

    def compute_output_shape(self, input_shape: Any, states_shape: Any = None) -> Any:
        shape = (input_shape[0], self.units)
        return shape, [shape]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": initializers.serialize(self.recurrent_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": constraints.serialize(self.recurrent_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "seed": self.seed,
        }


class GatedRNN(WholeSequenceRNN):
    """A `GatedCell` over whole sequences: projections first, in products over all steps, then a loop of one product."""

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        super().build(sequences_shape, initial_state_shape)
        self._axes = len(sequences_shape)

    def checked(self, sequences: Tensor) -> Tensor:
        sequences = sequences if hasattr(sequences, "shape") else ops.convert_to_tensor(sequences)
        self.check_rank(sequences.shape)
        return sequences

    def check_rank(self, shape: Any) -> None:
        """Raises ValueError on what has no time axis, or other axes than the layer was built for."""
        if len(shape) < 2 or (self.built and len(shape) != self._axes):
            raise ValueError(
                f"{type(self).__name__} reads sequences (batch, time, features). Received: "
                f"shape={tuple(shape)}. Add the missing axes."
            )

    @property
    def units(self) -> int:
        return self.cell.units

    def inner_loop(
        self, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        inputs = self.cell.thinned(sequences, training, over_time=True)
        # Time first, as the loop wants it, and joined to the batch: whatever projects one step projects them all.
        inputs = ops.swapaxes(inputs, 0, 1)
        time, batch, *features = ops.shape(inputs)
        rows = ops.reshape(inputs, (-1, *features))
        latent, drive = (ops.reshape(x, (time, batch, x.shape[-1])) for x in self.cell.project(rows))
        states = _recurrence.gated_states(
            self.cell.recurrence,
            ops.copy(self.cell.recurrent_kernel),  # copy: a tensor, as TensorFlow's custom gradients take no variables
            initial_state[0],
            drive,
            latent,
            None if mask is None else ops.transpose(mask),
            thinning=self.cell.recurrent_thinning(batch, training),
            unroll=self.unroll,
        )
        last = states[-1]
        if mask is None and not self.return_sequences:
            return last, states, [last]
        outputs = _recurrence.outputs_under_mask(ops.swapaxes(states, 0, 1), mask, self.zero_output_for_mask)
        return outputs[:, -1], outputs, [last]


def each_block(initializer: Any, blocks: int) -> Any:
    """An initializer of (n, blocks * m) that draws each (n, m) by itself.

    An orthogonal matrix of all gates side by side has no orthogonal gate in it.
    """

    def draw(shape: tuple[int, int], dtype: Any = None) -> Tensor:
        size = shape[1] // blocks
        draws = [independent(initializer, k)((shape[0], size), dtype=dtype) for k in range(blocks)]
        return ops.concatenate(draws, axis=1)

    return draw


def _rate(name: str, value: float) -> float:
    if not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise ValueError(f"{name} is a share of units, at least 0 and below 1. Received: {name}={value!r}.")
    return float(value)
