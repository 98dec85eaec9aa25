"""Base classes of cells: weights and their arguments, dtypes, configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import keras
from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._cells import reads_features
from keras_interp_rnn._checks import integer
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import CellEquations
from keras_interp_rnn.layers._docstrings import document
from keras_interp_rnn.layers._inputs import (
    as_tensor,
    check_features,
    check_steps,
    check_symbols,
    holds_integers,
    symbols_or_distribution,
)
from keras_interp_rnn.layers._signatures import parameters, signature
from keras_interp_rnn.layers._weights import (
    blockwise,
    config_of_weight_arguments,
    reseeded,
    set_weight_arguments,
    weight_arguments,
)


class Cell(keras.layers.Layer):
    """A cell whose states are vectors, h first.

    A subclass names its weights, makes them in `make_weights` with `weight`, and defines `equations`. It keeps each
    argument of its constructor under the argument's name. States and inputs are not rounded to the compute dtype.

    Args:
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: (batch, features), one step.
        states: [(batch, n)].

    Attributes:
        weight_initializers: weight -> its default initializer. The constructor takes an initializer, a regularizer
            and a constraint for each weight.

    Returns: (output, [state]), both (batch, n) and equal.
    Raises:
        ValueError: if a size is not a positive integer, or if the inputs have another shape.
    """

    weight_initializers: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._arguments = parameters(cls.__init__)
        cls._of_weights = weight_arguments(cls.weight_initializers)
        cls.__signature__ = signature({**cls._arguments, **cls._of_weights})
        document(cls)

    def __init__(self, units: int, **kwargs: object) -> None:
        arguments = {name: kwargs.pop(name, parameter.default) for name, parameter in self._of_weights.items()}
        super().__init__(**{**kwargs, "autocast": False})
        self.units = integer("units", units)
        set_weight_arguments(self, arguments)
        self.state_size = self.units
        self.output_size = self.units

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> CellEquations | None:
        """The equations, with `read(weight)` for each weight."""
        raise NotImplementedError(f"{type(self).__name__} must define equations(read).")

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        """Makes the weights, for steps of a shape (batch, ...) that `check_shape` accepted."""
        raise NotImplementedError(f"{type(self).__name__} must define make_weights(shape).")

    def build(self, input_shape: Any) -> None:
        self.check_shape(tuple(input_shape))
        self.make_weights(tuple(input_shape))
        self.built = True

    def check_shape(self, shape: tuple[int | None, ...], num_time_axes: int = 0, name: str | None = None) -> None:
        """Raises ValueError unless the cell reads inputs of this shape: by default steps (batch, features).

        Args:
            num_time_axes: 1 for sequences (batch, time, ...). name: of the layer, for the error; by default the cell's.
        """
        check_features(self, shape, num_time_axes, name or type(self).__name__)

    def checked(self, inputs: Any, num_time_axes: int = 0, name: str | None = None) -> Tensor:
        """The inputs as a tensor; ValueError if their shape is wrong."""
        inputs = as_tensor(inputs)
        self.check_shape(tuple(inputs.shape), num_time_axes, name)
        return inputs

    def encode(self, inputs: Tensor) -> Tensor:
        """The inputs of a step (batch, ...) as the equations read them."""
        return ops.cast(inputs, self.variable_dtype)

    def precise_equations(self) -> Any:
        """The equations with weights in the variable dtype."""
        return self.equations(lambda weight: ops.cast(weight, self.variable_dtype))

    def rounded_equations(self) -> Any:
        """The equations with weights in the compute dtype."""
        return self.equations(lambda weight: ops.cast(weight, self.compute_dtype))

    def next_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> list[Tensor]:
        """The states after one step, computed in the variable dtype."""
        known = self.precise_equations()
        return list(known.step(ops, tuple(states), known.drive(ops, self.encode(inputs))).states)

    def output_and_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> tuple[Tensor, list[Tensor]]:
        """The output of a step, by default h, and the states after it."""
        new = self.next_states(inputs, states, training)
        return new[0], new

    def weight(
        self, part: str, name: str, shape: tuple[object, ...], draw: int = 0, blocks: int = 1, **kwargs: object
    ) -> Any:
        """A new weight.

        Args:
            part: name of the arguments, "kernel" for `kernel_initializer`. draw: number of an independent draw.
            blocks: number of matrices side by side, each drawn by itself.
        """
        initializer = reseeded(getattr(self, f"{part}_initializer"), draw)
        arguments = {
            "initializer": initializer if blocks == 1 else blockwise(initializer, blocks),
            "regularizer": getattr(self, f"{part}_regularizer"),
            "constraint": getattr(self, f"{part}_constraint"),
        }
        return self.add_weight(name=name, shape=shape, **{**arguments, **kwargs})

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        several = isinstance(states, (list, tuple))
        before = list(states) if several else [states]
        precise = [ops.cast(x, self.variable_dtype) for x in before]
        output, after = self.output_and_states(self.checked(inputs), precise, training)
        # The states keep the dtype they came in: Keras's loops allow no other.
        new_states = [ops.cast(x, old.dtype) for x, old in zip(after, before, strict=True)]
        return ops.cast(output, self.compute_dtype), new_states if several else new_states[0]

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """Zeros, (batch_size, n) for each state."""
        sizes = keras.tree.flatten(self.state_size)
        return [ops.zeros((checked_size(batch_size), size), dtype=self.variable_dtype) for size in sizes]

    def compute_output_shape(self, input_shape: Any, states_shape: object = None) -> Any:
        sizes = keras.tree.flatten(self.state_size)
        return (input_shape[0], self.units), [(input_shape[0], size) for size in sizes]

    def get_config(self) -> dict[str, Any]:
        arguments = {name: getattr(self, name) for name in self._arguments if hasattr(self, name)}
        return {**super().get_config(), **arguments, **config_of_weight_arguments(self, self._of_weights)}


class AffineCell(Cell):
    """A cell without nonlinearity, with a trained initial state; products keep the variable dtype.

    In half precision rounding errors would compound over the whole sequence.

    Args:
        learn_initial_state: whether $h_0$ is trained; if False it stays as initialized. With `stateful=True` a
            sequence starts from $h_0$ before the first batch and after every `reset_state()`.
        initial_state_initializer: for $h_0$.

    Precision: weights, states and products keep the variable dtype under mixed precision; outputs have the compute
        dtype.
    Raises:
        ValueError: if the inputs have another shape or dtype.
        ValueError: if an id whose value is known (eager execution on a CPU) is outside [0, K), or a fraction. In a
            compiled TensorFlow function on a CPU such an id raises InvalidArgumentError; under XLA, on JAX and on
            accelerators the result is undefined, as for any lookup there.
    """

    is_affine = True
    learn_initial_state: bool
    vocabulary_size: Any

    def weight(self, part: str, name: str, shape: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        return super().weight(part, name, shape, *args, autocast=False, **kwargs)

    def check_shape(self, shape: tuple[int | None, ...], num_time_axes: int = 0, name: str | None = None) -> None:
        name = name or type(self).__name__
        if self.vocabulary_size is None:
            check_features(self, shape, num_time_axes, name, "If these are ids, pass vocabulary_size")
        else:
            check_symbols(shape, self.vocabulary_size, num_time_axes, name)

    def checked(self, inputs: object, num_time_axes: int = 0, name: str | None = None) -> Tensor:
        """The inputs, ids as int32 with a last axis of 1; ValueError if shape, dtype or ids are wrong."""
        if self.vocabulary_size is None:
            return super().checked(inputs, num_time_axes, name)
        return symbols_or_distribution(inputs, self.vocabulary_size, num_time_axes, name or type(self).__name__)

    def encode(self, inputs: Tensor) -> Tensor:
        """Checked inputs as the equations read them: ids (...) without the last axis of 1, or floats."""
        symbols = self.vocabulary_size is not None and holds_integers(inputs)
        return inputs[..., 0] if symbols else super().encode(inputs)

    def switch(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """The drive of encoded inputs, in the variable dtype."""
        known: Any = self.equations(ops.convert_to_tensor)
        return tuple(known.drive(ops, inputs))

    def next_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> list[Tensor]:
        known: Any = self.equations(ops.convert_to_tensor)
        return list(known.step(ops, tuple(states), self.switch(self.encode(inputs))).states)

    def add_initial_state(self) -> None:
        """Adds the weight h_0 (n,)."""
        self.initial_state = self.weight(
            "initial_state", "initial_state", (self.units,), trainable=self.learn_initial_state
        )

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """[(batch_size, n)], $h_0$ for every sequence."""
        if not self.built and self.vocabulary_size is not None:
            self.build((None, 1))
        if not self.built:
            raise ValueError(
                "The cell must be built before its initial state, a weight, can be read. Received: a cell that is not "
                "built. Call cell.build((None, features)) first."
            )
        # A sum, not a broadcast: torch refuses to assign to a tensor whose rows share memory.
        return [ops.zeros((checked_size(batch_size), self.units), dtype=self.variable_dtype) + self.initial_state]


def checked_size(batch_size: object) -> Any:
    """A number of sequences, which may be symbolic in a traced function."""
    return batch_size if _backend.is_traced_size(batch_size) else integer("batch_size", batch_size, 0)


def check_inputs(cell: object, shape: tuple[int | None, ...], num_time_axes: int, name: str) -> None:
    """Raises ValueError unless the cell reads inputs of this shape.

    Cells of this package check it themselves, and Keras's read features. Steps of any other cell must have the shape
    that it was built for.

    Args:
        num_time_axes: 1 for sequences (batch, time, ...), 0 for one step. name: of the layer, for the error.
    """
    if isinstance(cell, Cell):
        cell.check_shape(shape, num_time_axes, name)
    elif reads_features(cell):
        check_features(cell, shape, num_time_axes, name)
    else:
        check_steps(cell, shape, num_time_axes, name)
