"""What the cells of this package share: arguments of weights, dtypes, the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import keras
from keras import ops

from keras_interp_rnn.equations import CellEquations
from keras_interp_rnn.layers._arguments import (
    config_of_weight_arguments,
    each_block,
    independent,
    parameters,
    set_weight_arguments,
    signature,
    weight_arguments,
)
from keras_interp_rnn.layers._validation import is_integer, positive_int

Tensor = Any


class Cell(keras.layers.Layer):
    """A cell of one state (batch, n).

    A subclass names its weights, builds them with `weight`, and gives `equations`. Whatever its constructor takes by
    name, it keeps under that name. States and inputs arrive as they are, not rounded to the compute dtype.

    Attributes:
        weight_initializers: the default initializer of each weight: it gets an argument for that, a regularizer and a
            constraint.
    """

    weight_initializers: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own = parameters(cls.__init__)
        cls._of_weights = weight_arguments(cls.weight_initializers)
        cls.__signature__ = signature({**cls._own, **cls._of_weights})

    def __init__(self, units: int, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name, parameter.default) for name, parameter in self._of_weights.items()}
        super().__init__(**{**kwargs, "autocast": False})
        self.units = positive_int("units", units)
        set_weight_arguments(self, given)
        self.state_size = self.units
        self.output_size = self.units

    def equations(self, read: Callable[[Any], Any]) -> CellEquations:
        """The equations, with `read(weight)` for each weight."""
        raise NotImplementedError(f"{type(self).__name__} says what it computes in equations(read).")

    def encode(self, inputs: Tensor) -> Tensor:
        """What the equations read of the inputs of a step, (batch, ...)."""
        return ops.cast(inputs, self.variable_dtype)

    def next_state(self, inputs: Tensor, state: Tensor, training: bool) -> Tensor:
        """The state (batch, n) after one step, in the variable dtype as the one before and all between."""
        known = self.equations(lambda weight: ops.cast(weight, self.variable_dtype))
        return known.step(ops, (state,), known.drive(ops, self.encode(inputs))).states[0]

    def weight(
        self, part: str, name: str, shape: tuple[Any, ...], draw: int = 0, blocks: int = 1, **kwargs: Any
    ) -> Any:
        """A new weight.

        Args:
            part: whose arguments it has. draw: which of several independent draws it is.
            blocks: how many matrices stand side by side in it, each drawn by itself.
        """
        initializer = independent(getattr(self, f"{part}_initializer"), draw)
        arguments = {
            "initializer": initializer if blocks == 1 else each_block(initializer, blocks),
            "regularizer": getattr(self, f"{part}_regularizer"),
            "constraint": getattr(self, f"{part}_constraint"),
        }
        return self.add_weight(name=name, shape=shape, **{**arguments, **kwargs})

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        given = states[0] if isinstance(states, (list, tuple)) else states
        new = self.next_state(inputs, ops.cast(given, self.variable_dtype), training)
        # The state leaves in the dtype it came in: Keras's loops allow no other.
        new_state = ops.cast(new, given.dtype)
        return ops.cast(new, self.compute_dtype), [new_state] if isinstance(states, (list, tuple)) else new_state

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """[(batch_size, n)], zeros."""
        return [ops.zeros((batch_size, self.units), dtype=self.variable_dtype)]

    def compute_output_shape(self, input_shape: Any, states_shape: Any = None) -> Any:
        shape = (input_shape[0], self.units)
        return shape, [shape]

    def get_config(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self._own if hasattr(self, name)}
        return {**super().get_config(), **own, **config_of_weight_arguments(self, self._of_weights)}


class AffineCell(Cell):
    """A cell without nonlinearity, which learns its initial state; products keep the variable dtype.

    Half precision has no digits to spare: the recurrence compounds rounding over the whole sequence.
    """

    is_affine = True
    learn_initial_state: bool
    vocabulary_size: Any

    def weight(self, part: str, name: str, shape: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        return super().weight(part, name, shape, *args, autocast=False, **kwargs)

    def encode(self, inputs: Tensor) -> Tensor:
        """What the equations read of checked inputs: ids (...) without their last axis of 1, or numbers."""
        symbols = self.vocabulary_size is not None and is_integer(inputs)
        return inputs[..., 0] if symbols else super().encode(inputs)

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
                "The initial state is a weight, and there are none before the number of features is known. Received: "
                "a cell not built. Call cell.build((None, features)) first."
            )
        # A sum, not a broadcast: torch refuses to assign to a tensor whose rows share memory.
        return [ops.zeros((batch_size, self.units), dtype=self.variable_dtype) + self.initial_state]


def reads_training(cell: Any) -> bool:
    """Whether a cell's call takes `training`."""
    return "training" in inspect.signature(cell.call).parameters
