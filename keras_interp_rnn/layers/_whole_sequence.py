"""What the layers of this package share: `keras.layers.RNN` run over whole sequences at once."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend

Tensor = Any


class WholeSequenceRNN(keras.layers.RNN):
    """`keras.layers.RNN` for a layer that overrides `inner_loop`, with four differences.

    - States keep the variable dtype under mixed precision: rounding them would add up along the sequence.
    - With `stateful=True` a text begins with the cell's own initial state, also after `reset_state()`, and as it is
      then: it may be trained.
    - The states can be set, for a run that goes on where another one stopped.
    - Masks are passed on to the next layer, whatever the version of Keras: `keras.layers.RNN` stops that in 3.16.

    A subclass says in `checked` what it reads.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.supports_masking = True

    def checked(self, sequences: Tensor) -> Tensor:
        """The sequences as `inner_loop` takes them; raises on wrong ones."""
        return sequences

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        if self.stateful and self.states is None and sequences_shape[0] is not None:
            # As in every Keras RNN these are no weights, neither counted nor saved: set past Keras's tracking. Without
            # autocast, which would round the state at every batch under mixed precision.
            starts = [ops.cast(x, self.variable_dtype) for x in self.get_initial_state(sequences_shape[0])]
            states = [keras.Variable(start, trainable=False, autocast=False, name="rnn_state") for start in starts]
            fresh = keras.Variable(1, dtype="int32", trainable=False, name="fresh")
            object.__setattr__(self, "states", states)
            object.__setattr__(self, "_fresh", fresh)
        super().build(sequences_shape, initial_state_shape)

    def call(
        self, sequences: Tensor, initial_state: Any = None, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        sequences = self.checked(dense(sequences))
        if mask is not None:
            mask = checked_mask(mask, sequences)
        if sequences.shape[1] == 0:
            raise ValueError(
                f"A sequence has at least one step. Received: sequences of shape {tuple(sequences.shape)}. Leave empty "
                "ones out."
            )
        if self.unroll and sequences.shape[1] is None:
            raise ValueError(
                "unroll=True needs a known number of steps. Received: sequences of shape "
                f"{tuple(sequences.shape)}. Give the model's Input its time, or pass unroll=False."
            )
        if self.stateful and sequences.shape[0] is not None and sequences.shape[0] != self.states[0].shape[0]:
            raise ValueError(
                f"stateful=True carries one state per sequence, of {self.states[0].shape[0]}. Received: a batch of "
                f"{sequences.shape[0]}. Keep the batch size, and drop a smaller last batch."
            )
        unrelated = initial_state is not None or self.stateful  # states whose batch is not that of the sequences
        if initial_state is None:
            initial_state = self.get_initial_state(ops.shape(sequences)[0])
            if self.stateful:
                fresh = self._fresh.value > 0
                initial_state = [
                    ops.where(fresh, ops.cast(start, state.dtype), state.value)
                    for start, state in zip(initial_state, self.states, strict=True)
                ]
        initial_state = self.checked_states(initial_state, sequences.shape[0])
        initial_state = [ops.cast(state, self.variable_dtype) for state in initial_state]
        if unrelated:
            sequences, mask, initial_state = _backend.of_one_batch(sequences, mask, initial_state)
        last_output, outputs, states = self.inner_loop(sequences, initial_state, mask, training)
        if self.stateful:
            for variable, state in zip(self.states, states, strict=True):
                variable.assign(state)
            self._fresh.assign(ops.zeros_like(self._fresh.value))
        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
        return (output, *(ops.cast(s, self.compute_dtype) for s in states)) if self.return_state else output

    def compute_output_spec(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        # Keras infers shapes without calling the layer, so a model of wrong inputs would pass unnoticed until it runs.
        self.checked(dense(sequences))
        if mask is not None:
            checked_mask(mask, sequences)
        if initial_state is not None:
            self.checked_states(initial_state, sequences.shape[0])
        return super().compute_output_spec(sequences, initial_state=initial_state, mask=mask, training=training)

    def checked_states(self, initial_state: Any, batch: int | None) -> list[Tensor]:
        """The states as a list; raises ValueError on other shapes. batch: that of the sequences, None if not known."""
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        sizes = keras.tree.flatten(self.state_size)
        shapes = [tuple(state.shape) if hasattr(state, "shape") else np.shape(state) for state in states]
        fits = [len(shape) for shape in shapes] == [2] * len(sizes) and all(
            shape[1] == size and (shape[0] == batch or None in (shape[0], batch))
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            raise ValueError(
                f"initial_state must be one array (batch, size) for each state, of sizes {sizes}"
                f"{'' if batch is None else f', for a batch of {batch}'}. Received: {shapes}. Give each sequence a "
                "state of its own."
            )
        return states

    def reset_state(self) -> None:
        """The next batch begins with the initial state, as it is then."""
        if self.states is not None:
            for variable, start in zip(self.states, self.get_initial_state(self.states[0].shape[0]), strict=True):
                variable.assign(ops.convert_to_tensor(start))
            self._fresh.assign(ops.ones_like(self._fresh.value))

    @property
    def at_start(self) -> bool:
        """Whether the next batch of a `stateful=True` layer begins with the initial state."""
        return bool(ops.convert_to_numpy(self._fresh.value))

    def set_states(self, states: list[Any]) -> None:
        """The next batch begins with these states, each (batch, n), of a `stateful=True` layer."""
        for variable, state in zip(self.states, states, strict=True):
            variable.assign(state)
        self._fresh.assign(ops.zeros_like(self._fresh.value))

    def get_config(self) -> dict[str, Any]:
        """The layer's own flags and its cell's arguments, in one."""
        config = super().get_config()
        del config["cell"]
        cell = self.cell.get_config()
        for name in ("name", "trainable", "dtype"):
            del cell[name]
        return {**config, **cell}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> WholeSequenceRNN:
        return cls(**config)


def positive_int(name: str, value: Any) -> int:
    """`value`, an int > 0; raises ValueError on anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) <= 0:
        raise ValueError(f"{name} must be a positive integer. Received: {name}={value!r}.")
    return int(value)


def independent(initializer: Any, k: int) -> Any:
    """The k-th of several independent draws: the initializer itself, then ones of other seeds.

    Keras's random initializers draw the same numbers at every call (their seed is an integer even if none was given).
    """
    seed = getattr(initializer, "seed", None)
    if k == 0 or not isinstance(seed, int):
        return initializer
    return type(initializer).from_config({**initializer.get_config(), "seed": derived_seed(seed, k)})


def derived_seed(seed: int, k: int) -> int:
    """The k-th seed that belongs to this one; not seed + k, which something else may have."""
    [own] = np.random.SeedSequence([abs(seed), k]).generate_state(1) >> 1  # 31 bits: torch takes no more
    return int(own)


def dense(sequences: Tensor) -> Tensor:
    """The sequences; raises ValueError on sparse and ragged ones."""
    layout = _backend.layout(sequences)
    if layout != "dense":
        raise ValueError(
            f"Sequences are dense tensors. Received: a {layout} tensor. Use its to_dense() or to_tensor(), with a mask "
            "where sequences are padded."
        )
    return sequences


def checked_mask(mask: Tensor, sequences: Tensor) -> Tensor:
    """The mask as bool (batch, time); raises ValueError on another shape."""
    mask = mask if hasattr(mask, "shape") else ops.convert_to_tensor(mask)
    expected, received = tuple(sequences.shape[:2]), tuple(mask.shape)
    fits = len(received) == 2 and all(r == e or None in (r, e) for r, e in zip(received, expected, strict=True))
    if not fits:
        raise ValueError(
            f"mask must have the shape (batch, time) = {expected} of the sequences, True where a step is to be "
            f"read. Received: mask.shape={received}. Give one bool per step."
        )
    return ops.cast(mask, "bool")
