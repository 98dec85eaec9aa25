"""torch: operations run eagerly, with known values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import keras
import numpy as np
import torch

from keras_interp_rnn._backend.base import StaticBackend


class _CustomGradient(torch.autograd.Function):
    """A function of tensors and its adjoint, as `Backend.custom_gradient` takes them."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., tuple[Any, Callable[..., Any]]], *tensors: Any) -> Any:
        output, ctx.adjoint = function(*tensors)
        ctx.function = function
        ctx.save_for_backward(*tensors)
        # An alias, as the output itself would refer to the adjoint, which refers to the output.
        return output.detach()

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> tuple[Any, ...]:
        adjoint = ctx.adjoint
        if torch.is_grad_enabled():
            # This gradient will be differentiated: the inputs of the adjoint must depend on the tensors.
            _, adjoint = ctx.function(*ctx.saved_tensors)
        return (None, *adjoint(upstream))


@final
class Torch(StaticBackend):
    """Keras on torch."""

    title = "torch"

    def accelerator(self) -> str:
        return torch.cuda.get_device_name() if torch.cuda.is_available() else ""

    def reduced_products(self) -> tuple[str, str] | None:
        if (precision := torch.get_float32_matmul_precision()) != "highest":
            return f"torch with the matmul precision {precision!r}", "torch.set_float32_matmul_precision('highest')"
        if torch.is_autocast_enabled("cuda" if torch.cuda.is_available() else "cpu"):
            return "torch under torch.autocast", "the network outside of it"
        return None

    def generator_state(self) -> np.ndarray | None:
        return np.asarray(torch.get_rng_state())

    def set_generator_state(self, state: np.ndarray) -> None:
        torch.set_rng_state(torch.from_numpy(state))

    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        return [function]

    def static_values(self, x: Any) -> np.ndarray | None:
        return x.detach().numpy() if x.device.type == "cpu" and not _traces() else None

    def custom_gradient(self, function: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
        """Replaces `keras.ops.custom_gradient`.

        On torch (Keras 3.15) the second derivative of that function treats values of the forward pass as constants, and
        is silently wrong (tests/test_recurrence.py, gradients that can be differentiated). A trace differentiates the
        operations themselves.
        """
        return lambda *tensors: function(*tensors)[0] if _traces() else _CustomGradient.apply(function, *tensors)

    def differentiates_again(self) -> bool:
        return bool(torch.is_grad_enabled())

    def why_not_grouped(self, batch: object, vocabulary_size: int) -> str | None:
        device = keras.ops.convert_to_tensor(0).device.type
        if device != "cpu":
            return f"the tensors are on {device}, and many small products would starve it"
        return "the graph is traced, and groups would stay as large as in this batch" if _traces() else None

    def layout(self, x: object) -> str:
        return "dense"

    def is_traced_size(self, x: Any) -> bool:
        is_scalar = isinstance(x, torch.Tensor) and x.ndim == 0  # a size in torch.jit.trace
        return isinstance(x, torch.SymInt) or (is_scalar and x.dtype in (torch.int32, torch.int64))

    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        tensor = torch.tensor(x, requires_grad=True)
        [gradient] = torch.autograd.grad(function(tensor), [tensor], materialize_grads=True)
        return np.asarray(gradient)

    def values_and_gradients(self, function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        def both(*arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            weights, *data = map(torch.as_tensor, arrays)
            weights = weights.clone().requires_grad_()
            values = function(weights, *data)
            [gradients] = torch.autograd.grad(values.sum(), [weights], materialize_grads=True)
            return values.detach().numpy(), gradients.numpy()

        return both


def _traces() -> bool:
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())
