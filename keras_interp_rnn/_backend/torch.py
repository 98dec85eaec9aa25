"""torch: operations run as they come, with all values at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
import torch

from keras_interp_rnn._backend.base import StaticBackend


@final
class Torch(StaticBackend):
    """Keras on torch."""

    name = "torch"

    def accelerator(self) -> str:
        return torch.cuda.get_device_name() if torch.cuda.is_available() else ""

    def reduced_products(self) -> tuple[str, str] | None:
        if (precision := torch.get_float32_matmul_precision()) != "highest":
            return f"torch with the matmul precision {precision!r}", "torch.set_float32_matmul_precision('highest')"
        return None

    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        return [function]

    def static_values(self, x: Any) -> np.ndarray | None:
        tracing = torch.compiler.is_compiling() or torch.jit.is_tracing()
        return x.detach().numpy() if x.device.type == "cpu" and not tracing else None

    def layout(self, x: Any) -> str:
        return "dense"

    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        tensor = torch.tensor(x, requires_grad=True)
        [gradient] = torch.autograd.grad(function(tensor), [tensor], materialize_grads=True)
        return gradient.numpy()
