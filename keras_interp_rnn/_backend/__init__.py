"""The seam between this package and the backend of Keras: operations that `keras.ops` lacks.

`base.Backend` documents what a backend must offer. `tensorflow`, `jax` and `torch` hold one class each; the class of
the current backend is imported on first use. No other file of the package compares names of backends.
`keras_quirks` holds what Keras does differently from its documentation.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import keras
import numpy as np

from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._backend.base import Backend

P = ParamSpec("P")
R = TypeVar("R")

CLASSES = {"tensorflow": "TensorFlow", "jax": "Jax", "torch": "Torch"}
"""The class in the file of each backend."""


def name() -> str:
    """`"tensorflow"`, `"jax"` or `"torch"`."""
    return str(keras.backend.backend())


@functools.cache
def current() -> Backend:
    """The backend that Keras runs on.

    Raises:
        RuntimeError: if it is not one of the three.
    """
    if name() not in CLASSES:
        raise RuntimeError(
            f"The backend of Keras must be tensorflow, jax or torch. Received: {name()!r}. Set KERAS_BACKEND in the "
            "environment to one of these, before Keras is imported."
        )
    backend: Backend = getattr(importlib.import_module(f"{__name__}.{name()}"), CLASSES[name()])()
    return backend


def _of_current(method: Callable[Concatenate[Backend, P], R]) -> Callable[P, R]:
    """A method of `Backend` as a function: it calls the method of the current backend."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = getattr(current(), method.__name__)(*args, **kwargs)
        return result

    return call


accelerator = _of_current(Backend.accelerator)
reduced_products = _of_current(Backend.reduced_products)
draws_in_loops = _of_current(Backend.draws_in_loops)
generator_state = _of_current(Backend.generator_state)
set_generator_state = _of_current(Backend.set_generator_state)
copies = _of_current(Backend.copies)
is_chief = _of_current(Backend.is_chief)
ways_to_run = _of_current(Backend.ways_to_run)
compiled_for_all_sizes = _of_current(Backend.compiled_for_all_sizes)
is_traced_size = _of_current(Backend.is_traced_size)
of_one_batch = _of_current(Backend.of_one_batch)
gradient = _of_current(Backend.gradient)
double_precision = _of_current(Backend.double_precision)
values_and_gradients = _of_current(Backend.values_and_gradients)
maps_loops = _of_current(Backend.maps_loops)
scan = _of_current(Backend.scan)
lists_rows = _of_current(Backend.lists_rows)
custom_gradient = _of_current(Backend.custom_gradient)
differentiates_again = _of_current(Backend.differentiates_again)
why_not_grouped = _of_current(Backend.why_not_grouped)
compiles_by_xla = _of_current(Backend.compiles_by_xla)
spreads_batches = _of_current(Backend.spreads_batches)


def title() -> str:
    """The name of the backend in a sentence: TensorFlow, JAX or torch."""
    return current().title


def static_values(x: object) -> np.ndarray | None:
    """The values of `x` if they are known now; None for symbolic, traced and accelerator-resident tensors.

    A copy from an accelerator would stall its queue, so values there count as unknown.
    """
    if isinstance(x, np.ndarray):
        return x
    return None if is_placeholder(x) else current().static_values(x)


def is_placeholder(x: object) -> bool:
    """Whether `x` carries a shape alone: its dtype in Keras is then float32, whatever will be read."""
    return isinstance(x, keras.KerasTensor) or keras_quirks.only_infers_shapes()


def layout(x: object) -> str:
    """`"dense"`, `"sparse"` or `"ragged"`, of a tensor of the backend or of Keras."""
    return keras_quirks.symbolic_layout(x) if isinstance(x, keras.KerasTensor) else current().layout(x)


def assert_ids_in_range(ids: object, size: int) -> Any:
    """`ids`, checked at run time to lie in [0, size) if the backend can."""
    return ids if isinstance(ids, keras.KerasTensor) else current().assert_ids_in_range(ids, size)
