"""A symbol after which a network begins again from the same state.

Registered with Keras as `examples.papers>ResetAt`, the package name of what only the papers' experiments use:
`import keras_interp_rnn` does not register it, so a model that has it needs this module imported before it is loaded.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="examples.papers")
class ResetAt(keras.constraints.Constraint):
    """Keeps the matrix of one symbol at 0: after it the state is the symbol's bias, whatever was read before.

    Args:
        symbol: its id.
    """

    def __init__(self, symbol: int) -> None:
        self.symbol = symbol

    def __call__(self, kernel: Any) -> Any:
        kept = ops.arange(kernel.shape[0]) != self.symbol
        return kernel * ops.cast(kept, kernel.dtype)[:, None, None]

    def get_config(self) -> dict[str, Any]:
        return {"symbol": self.symbol}
