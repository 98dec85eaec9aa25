"""The seam between this package and the backend of Keras: what no operation of `keras.ops` does.

`base.Backend` says what a backend has to offer. `tensorflow`, `jax` and `torch` hold one class each; the one for the
current backend is imported on first use. No other file of the package compares names of backends.
`keras_quirks` holds what Keras does differently from its documentation.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._backend.base import Backend

CLASSES = {"tensorflow": "TensorFlow", "jax": "Jax", "torch": "Torch"}
"""The class in the file of each backend."""


def name() -> str:
    """`"tensorflow"`, `"jax"` or `"torch"`."""
    return keras.backend.backend()


@functools.cache
def current() -> Backend:
    """The backend that Keras runs on.

    Raises:
        RuntimeError: if it is none of the three.
    """
    if name() not in CLASSES:
        raise RuntimeError(
            f"keras_interp_rnn runs on TensorFlow, JAX and torch. Received: the backend {name()!r}. Set KERAS_BACKEND "
            "in the environment to tensorflow, jax or torch, before Keras is imported."
        )
    return getattr(importlib.import_module(f"{__name__}.{name()}"), CLASSES[name()])()


def accelerator() -> str:
    """The first accelerator that the backend computes on; "" if it computes on a CPU."""
    return current().accelerator()


def reduced_products() -> tuple[str, str] | None:
    """What multiplies float32 numbers in a lower precision, and the call that ends it; None if nothing does."""
    return current().reduced_products()


def draws_in_loops() -> bool:
    """Whether a layer may draw random numbers within a loop over steps."""
    return current().draws_in_loops


def generator_state() -> np.ndarray | None:
    """The state of a generator that layers without a seed draw from; None where each has one of its own."""
    return current().generator_state()


def set_generator_state(state: np.ndarray) -> None:
    """Puts back what `generator_state` returned, where that is not None."""
    current().set_generator_state(state)


def copies(variable: keras.Variable) -> list[Any]:
    """A variable's copies on the devices of this process, each with `assign`; itself where there is one."""
    return current().copies(variable)


def is_chief(model: keras.Model) -> bool:
    """Whether this process writes the logs of a training that several processes share."""
    return current().is_chief(model)


def ways_to_run(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function of tensors as the layers of a model may be run: plainly, and compiled."""
    return current().ways_to_run(function)


def static_values(x: Any) -> np.ndarray | None:
    """The values of `x` where they are known now; None for symbolic, traced and accelerator-resident tensors.

    A copy from an accelerator would stall its queue, so values there count as unknown.
    """
    if isinstance(x, np.ndarray):
        return x
    return None if is_placeholder(x) else current().static_values(x)


def is_placeholder(x: Any) -> bool:
    """Whether `x` is there for its shape alone: Keras's dtype of it is then float32, whatever will be read."""
    return isinstance(x, keras.KerasTensor) or keras_quirks.only_infers_shapes()


def layout(x: Any) -> str:
    """`"dense"`, `"sparse"` or `"ragged"`, of a tensor of the backend or of Keras."""
    return keras_quirks.symbolic_layout(x) if isinstance(x, keras.KerasTensor) else current().layout(x)


def is_traced_size(x: Any) -> bool:
    """Whether x stands for the length of an axis that is known only when a traced function runs."""
    return current().is_traced_size(x)


def of_one_batch(sequences: Any, mask: Any, states: list[Any]) -> tuple[Any, Any, list[Any]]:
    """All of them with the same static batch size; see `Backend.of_one_batch`.

    Args:
        sequences: (batch, time, ...). mask: (batch, time) or None. states: each (batch, n).
    """
    return current().of_one_batch(sequences, mask, states)


def gradient(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """The gradient of the scalar `function(tensor)` at x, by the backend's reverse mode; zeros if independent of x."""
    return current().gradient(function, x)


def double_precision() -> contextlib.AbstractContextManager[Any]:
    """Within it, tensors and variables may be float64."""
    return current().double_precision()


def values_and_gradients(function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """`function(weights, *data)`, and the gradient of its sum by the weights: compiled once for each shape.

    Args:
        function: from tensors, weights (rows, n) first, to values (rows,), each of its own row alone.

    Returns:
        A function of arrays: values (rows,) and gradients (rows, n).
    """
    return current().values_and_gradients(function)


def maps_loops() -> bool:
    """Whether `keras.ops.vectorized_map` maps a recurrence that is compiled and differentiated."""
    return current().maps_loops


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    start: Any,
    sequences: tuple[Any, ...],
    widths: tuple[int, ...],
    reverse: bool = False,
) -> tuple[Any, tuple[Any, ...]]:
    """As `jax.lax.scan`: the last state, and the outputs of all steps, stacked.

    Args:
        step: `step(state, entries)` returns the next state and its outputs.
        start: (batch, n), or a list of such. sequences: each (time, ...).
        widths: last axes of the outputs, each (batch, width) of the (first) state's dtype.
    """
    return current().scan(step, start, sequences, widths, reverse)


def lists_rows() -> bool:
    """Whether the gradient of a lookup lists the rows that were read, one by one."""
    return current().lists_rows


def custom_gradient(function: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
    """A function of tensors with a gradient of its own, which can be differentiated again.

    Args:
        function: from tensors to one tensor and its adjoint. The adjoint is called with the gradient of that tensor, as
            its last argument or as `upstream=`, and returns those of the tensors.
    """
    return current().custom_gradient(function)


def differentiates_again() -> bool:
    """Whether a function of `custom_gradient` now runs once more, so that its gradient can be differentiated.

    The backend follows its operations then, and those of its adjoint: none may overwrite a tensor.
    """
    return current().differentiates_again()


def title() -> str:
    """How a sentence names the backend: TensorFlow, JAX or torch."""
    return current().title


def why_not_grouped(batch: Any, vocabulary_size: int) -> str | None:
    """Why a batch should not be sorted by symbol at every step, for all sequences that read one to share a product.

    Args:
        batch: their number, where it is known now.

    Returns:
        None if it may be; where the reason is the size of the layer alone, `choose_path` knows.
    """
    return current().why_not_grouped(batch, vocabulary_size)


def compiles_by_xla() -> bool:
    """Whether XLA compiles what is traced now."""
    return current().compiles_by_xla()


def spreads_batches() -> bool:
    """Whether the sequences of a batch may lie on several devices, within one call of a layer."""
    return current().spreads_batches()


def assert_ids_in_range(ids: Any, size: int) -> Any:
    """`ids`, checked at run time, where the backend can, to lie in [0, size)."""
    return ids if isinstance(ids, keras.KerasTensor) else current().assert_ids_in_range(ids, size)
