"""JAX: functions are compiled for known sizes, without checks at run time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, final

import jax
import keras
import numpy as np
from jax import export
from jax.experimental.sparse import JAXSparse

from keras_interp_rnn._backend.base import StaticBackend, Step, Tensors


@final
class Jax(StaticBackend):
    """Keras on JAX."""

    title = "JAX"
    steps_at_once: ClassVar[int] = 4

    def draws_in_loops(self) -> bool:
        return False

    def accelerator(self) -> str:
        device = jax.devices()[0]
        return "" if device.platform == "cpu" else device.device_kind

    def reduced_products(self) -> tuple[str, str] | None:
        precision, device = jax.config.jax_default_matmul_precision, jax.default_backend()
        if precision in ("highest", "float32") or (precision is None and device == "cpu"):
            return None
        return (
            f"JAX on {device} with the matmul precision {precision!r}",
            "jax.config.update('jax_default_matmul_precision', 'highest')",
        )

    def scan(
        self, step: Step, start: object, sequences: Tensors, widths: tuple[int, ...], reverse: bool = False
    ) -> tuple[Any, Tensors]:
        """Unrolls several steps on an accelerator, which would wait for the launches of single ones."""
        unroll = self.steps_at_once if self.accelerator() else 1
        state, outputs = keras.ops.scan(step, start, sequences, reverse=reverse, unroll=unroll)
        return state, outputs

    def why_not_grouped(self, batch: object, vocabulary_size: int) -> str | None:
        if accelerator := self.accelerator():
            return f"the device is {accelerator}, and conditions at every step would stall it"
        if self.spreads_batches():
            return f"the batch may be spread over {jax.device_count()} devices, and sorting would collect it"
        if not isinstance(batch, int):  # a traced one of no known size, in an export
            return "the number of sequences is not known"
        if batch < 2 * vocabulary_size:
            return f"{batch} sequences are fewer than two for each of {vocabulary_size} symbols"
        return None

    def compiles_by_xla(self) -> bool:
        return True

    def spreads_batches(self) -> bool:
        return bool(jax.device_count() > 1)

    def is_chief(self, model: keras.Model) -> bool:
        return bool(jax.process_index() == 0)

    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        return [function, jax.jit(function)]

    def static_values(self, x: Any) -> np.ndarray | None:
        if isinstance(x, jax.core.Tracer) or any(device.platform != "cpu" for device in x.devices()):
            return None
        return np.asarray(x)

    def layout(self, x: object) -> str:
        return "sparse" if isinstance(x, JAXSparse) else "dense"

    def is_traced_size(self, x: object) -> bool:
        return bool(export.is_symbolic_dim(x))

    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        return np.asarray(jax.grad(function)(jax.numpy.asarray(x)))

    def double_precision(self) -> contextlib.AbstractContextManager[Any]:
        context: contextlib.AbstractContextManager[Any] = jax.enable_x64(True)
        return context

    def values_and_gradients(self, function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        def total(*tensors: object) -> Any:
            values = function(*tensors)
            return values.sum(), values

        compiled = jax.jit(jax.grad(total, has_aux=True))

        def both(*arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gradients, values = compiled(*arrays)
            return np.array(values), np.array(gradients)

        return both

    def maps_loops(self) -> bool:
        return True
