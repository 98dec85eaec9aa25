"""NumPy as an array namespace, extended by functions of `keras.ops`."""

from __future__ import annotations

from typing import Any

import numpy as np


class _NumPy:
    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def sigmoid(x: Any) -> Any:
        """1 / (1 + exp(-x)); by tanh, which costs four times as much on many processors, of complex numbers."""
        if np.iscomplexobj(x):
            return 0.5 + 0.5 * np.tanh(0.5 * x)
        with np.errstate(over="ignore"):  # 1 / inf is 0
            return 1 / (1 + np.exp(-x))

    @staticmethod
    def softplus(x: Any) -> Any:
        """log(1 + exp(x)), without overflow."""
        return np.logaddexp(0, x)

    @staticmethod
    def softmax(x: Any, axis: int = -1) -> Any:
        weights = np.exp(x - x.max(axis=axis, keepdims=True))
        return weights / weights.sum(axis=axis, keepdims=True)

    @staticmethod
    def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = np.float64) -> Any:
        return np.eye(num_classes, dtype=dtype)[x]

    @staticmethod
    def stop_gradient(x: object) -> Any:
        return x

    @staticmethod
    def cast(x: Any, dtype: Any) -> Any:
        return np.asarray(x, dtype)


NUMPY = _NumPy()
