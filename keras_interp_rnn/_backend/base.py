"""What a backend has to offer. A class is abstract, or the final one of a backend."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

import keras
import numpy as np


class Backend(abc.ABC):
    """A backend of Keras. Tensors are the backend's own, never symbolic tensors of Keras.

    Attributes:
        title: how a sentence names it.
        draws_in_loops: whether a layer may draw random numbers within a loop over steps.
        maps_loops: whether `keras.ops.vectorized_map` maps a recurrence that is compiled and differentiated.
    """

    title: ClassVar[str]
    draws_in_loops: ClassVar[bool] = True
    maps_loops: ClassVar[bool] = False

    @abc.abstractmethod
    def accelerator(self) -> str:
        """The first accelerator that it computes on; "" if it computes on a CPU."""

    @abc.abstractmethod
    def reduced_products(self) -> tuple[str, str] | None:
        """What multiplies float32 numbers in a lower precision, and the call that ends it; None if nothing does."""

    def generator_state(self) -> np.ndarray | None:
        """The state of a generator that layers without a seed draw from; None where each has one of its own."""
        return None

    def set_generator_state(self, state: np.ndarray) -> None:
        """Puts back what `generator_state` returned; not called where that is None."""
        raise NotImplementedError

    def copies(self, variable: keras.Variable) -> list[Any]:
        """A variable's copies on the devices of this process, each with `assign`; itself where there is one."""
        return [variable]

    def is_chief(self, model: keras.Model) -> bool:
        """Whether this process writes the logs of a training that several processes share."""
        return True

    @abc.abstractmethod
    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        """A function of tensors as the layers of a model may be run: plainly, and compiled."""

    @abc.abstractmethod
    def static_values(self, x: Any) -> np.ndarray | None:
        """The values of a tensor in CPU memory; None if the tensor is traced or lies elsewhere."""

    @abc.abstractmethod
    def layout(self, x: Any) -> str:
        """`"dense"`, `"sparse"` or `"ragged"`."""

    @abc.abstractmethod
    def is_traced_size(self, x: Any) -> bool:
        """Whether x stands for the length of an axis that is known only when a traced function runs."""

    @abc.abstractmethod
    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        """The gradient of the scalar `function(tensor)` at x; zeros if it does not depend on x."""

    def double_precision(self) -> contextlib.AbstractContextManager[Any]:
        """Within it, tensors and variables may be float64."""
        return contextlib.nullcontext()

    @abc.abstractmethod
    def values_and_gradients(self, function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Values (rows,) of a function of tensors, and the gradient of their sum by the first one, (rows, n)."""

    @property
    @abc.abstractmethod
    def lists_rows(self) -> bool:
        """Whether the gradient of a lookup lists the rows that were read, one by one."""

    @abc.abstractmethod
    def scan(
        self, step: Callable[[Any, Any], Any], start: Any, sequences: Any, widths: tuple[int, ...], reverse: bool
    ) -> Any:
        """As `jax.lax.scan`, over several sequences, with outputs of other widths than the state's."""

    @abc.abstractmethod
    def custom_gradient(self, function: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
        """A function of tensors with a gradient of its own."""

    def differentiates_again(self) -> bool:
        """Whether such a function now runs once more, so that its gradient can be differentiated."""
        return False

    @abc.abstractmethod
    def why_not_grouped(self, batch: Any, vocabulary_size: int) -> str | None:
        """Why a batch of sequences should not be sorted by symbol at every step; None if it may be."""

    def compiles_by_xla(self) -> bool:
        """Whether XLA compiles what is traced now."""
        return False

    def spreads_batches(self) -> bool:
        """Whether the sequences of a batch may lie on several devices, within one call of a layer."""
        return False

    @abc.abstractmethod
    def of_one_batch(self, sequences: Any, mask: Any, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        """Sequences (batch, time, ...), mask (batch, time) or None, states (batch, n), of one static batch size."""

    @abc.abstractmethod
    def assert_ids_in_range(self, ids: Any, size: int) -> Any:
        """`ids`, checked at run time, where possible, to lie in [0, size)."""


class StaticBackend(Backend):
    """A backend that knows all sizes when it traces, and whose gradients are dense: JAX and torch."""

    lists_rows = False

    def scan(
        self, step: Callable[[Any, Any], Any], start: Any, sequences: Any, widths: tuple[int, ...], reverse: bool
    ) -> Any:
        return keras.ops.scan(step, start, sequences, reverse=reverse)

    def of_one_batch(self, sequences: Any, mask: Any, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        return sequences, mask, states

    def assert_ids_in_range(self, ids: Any, size: int) -> Any:
        return ids
