"""The interface of a backend. A class is abstract, or the final one of a backend."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from keras_interp_rnn._types import Tensor

Step = Callable[[Any, Any], tuple[Any, Any]]
Tensors = tuple[Any, ...]


class Backend(abc.ABC):
    """A backend of Keras. Tensors are the backend's own, never symbolic tensors of Keras.

    Attributes:
        title: its name in a sentence.
    """

    title: ClassVar[str]

    @abc.abstractmethod
    def accelerator(self) -> str:
        """The first accelerator that the backend computes on; "" if it computes on a CPU."""

    @abc.abstractmethod
    def reduced_products(self) -> tuple[str, str] | None:
        """The setting that multiplies float32 in a lower precision, and the call that ends it; None without one."""

    def draws_in_loops(self) -> bool:
        """Whether a layer may draw random numbers within a loop over steps."""
        return True

    def generator_state(self) -> np.ndarray | None:
        """The state of the generator of all layers without a seed; None if each layer has a generator."""
        return None

    def set_generator_state(self, state: np.ndarray) -> None:
        """Restores the result of `generator_state`, which must not be None."""
        raise NotImplementedError

    def copies(self, variable: keras.Variable) -> list[Any]:
        """A variable's copies on the devices of this process, each with `assign`; itself if there is only one."""
        return [variable]

    def is_chief(self, model: keras.Model) -> bool:
        """Whether this process writes the logs of a training that several processes share."""
        return True

    @abc.abstractmethod
    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        """A function of tensors as the layers of a model may be run: plainly, and compiled."""

    def compiled_for_all_sizes(
        self, function: Callable[..., Tensor], inputs: Sequence[keras.KerasTensor]
    ) -> Callable[..., Tensor] | None:
        """A function of tensors, compiled once for all sizes that `inputs` leave open; None where each size is."""
        return None

    @abc.abstractmethod
    def static_values(self, x: object) -> np.ndarray | None:
        """The values of a tensor in CPU memory; None if the tensor is traced or on another device."""

    @abc.abstractmethod
    def layout(self, x: object) -> str:
        """`"dense"`, `"sparse"` or `"ragged"`."""

    @abc.abstractmethod
    def is_traced_size(self, x: object) -> bool:
        """Whether x is the length of an axis that is known only when a traced function runs."""

    @abc.abstractmethod
    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        """The gradient of the scalar `function(tensor)` at x, by reverse mode; zeros if it does not depend on x."""

    def double_precision(self) -> contextlib.AbstractContextManager[Any]:
        """Within it, tensors and variables may be float64."""
        return contextlib.nullcontext()

    @abc.abstractmethod
    def values_and_gradients(self, function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """A function of tensors with the gradient of its sum, compiled once for each shape.

        Args:
            function: from tensors, weights (rows, n) first, to values (rows,), each of its row alone.

        Returns:
            A function of arrays: values (rows,) and gradients (rows, n) by the weights.
        """

    def maps_loops(self) -> bool:
        """Whether `keras.ops.vectorized_map` maps a recurrence that is compiled and differentiated."""
        return False

    @abc.abstractmethod
    def lists_rows(self) -> bool:
        """Whether the gradient of a lookup lists the rows that were read, one by one."""

    @abc.abstractmethod
    def scan(
        self, step: Step, start: object, sequences: Tensors, widths: tuple[int, ...], reverse: bool = False
    ) -> tuple[Any, Tensors]:
        """The last state and the stacked outputs of all steps, as `jax.lax.scan`.

        Args:
            step: `step(state, entries)` returns the next state and its outputs.
            start: (batch, n), or a list of such.
            sequences: each (time, ...).
            widths: last axes of the outputs, each (batch, width) of the (first) state's dtype.
            reverse: whether the last step comes first.
        """

    def custom_gradient(self, function: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
        """A function of tensors with a custom gradient, which can be differentiated again.

        Args:
            function: from tensors to one tensor and its adjoint. The adjoint is called with the gradient of that
                tensor, and returns the gradients of the tensors.
        """
        differentiable: Callable[..., Any] = keras.ops.custom_gradient(function)
        return differentiable

    def differentiates_again(self) -> bool:
        """Whether a function of `custom_gradient` now runs once more, so that its gradient can be differentiated.

        The backend then records its operations and those of its adjoint: none may overwrite a tensor.
        """
        return False

    @abc.abstractmethod
    def why_not_grouped(self, batch: object, vocabulary_size: int) -> str | None:
        """Why a batch should not be sorted by symbol at every step, so that equal symbols share a product.

        Args:
            batch: the number of sequences, if it is known now.
            vocabulary_size: the number of symbols.

        Returns:
            None if the batch may be sorted. `choose_path` knows reasons that depend on the size of the layer alone.
        """

    def compiles_by_xla(self) -> bool:
        """Whether XLA compiles the function that is traced now."""
        return False

    def spreads_batches(self) -> bool:
        """Whether the sequences of a batch may be on several devices within one call of a layer."""
        return False

    @abc.abstractmethod
    def of_one_batch(self, sequences: object, mask: object, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        """Sequences (batch, time, ...), mask (batch, time) or None and states (batch, n) of one static batch size."""

    @abc.abstractmethod
    def assert_ids_in_range(self, ids: object, size: int) -> Any:
        """`ids`, checked at run time to lie in [0, size) if possible."""


class StaticBackend(Backend):
    """A backend that knows all sizes when it traces, and whose gradients are dense: JAX and torch."""

    def lists_rows(self) -> bool:
        return False

    def scan(
        self, step: Step, start: object, sequences: Tensors, widths: tuple[int, ...], reverse: bool = False
    ) -> tuple[Any, Tensors]:
        state, outputs = keras.ops.scan(step, start, sequences, reverse=reverse)
        return state, outputs

    def of_one_batch(self, sequences: object, mask: object, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        return sequences, mask, states

    def assert_ids_in_range(self, ids: object, size: int) -> Any:
        return ids
