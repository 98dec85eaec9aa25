"""Gradients by the backend's own automatic differentiation: tf.GradientTape, jax.grad, torch.autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

Tensor = Any


def gradients(function: Callable[..., Tensor], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of the scalar `function(*tensors)` with respect to each of the arrays; the dtype is that of the arrays."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tensors = [tf.constant(array) for array in arrays]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        found = tape.gradient(value, tensors, unconnected_gradients="zero")
        return [tf.convert_to_tensor(gradient).numpy() for gradient in found]
    if keras.backend.backend() == "jax":
        import jax

        tensors = [jax.numpy.asarray(array) for array in arrays]
        return [np.asarray(gradient) for gradient in jax.grad(function, argnums=range(len(tensors)))(*tensors)]
    import torch

    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    found = torch.autograd.grad(function(*tensors), tensors, materialize_grads=True)
    return [gradient.numpy() for gradient in found]


def variable_gradients(function: Callable[[], Tensor], variables: Sequence[keras.Variable]) -> list[np.ndarray]:
    """Of the scalar `function()` with respect to Keras variables it reads."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = function()
        found = tape.gradient(value, [variable.value for variable in variables], unconnected_gradients="zero")
        return [tf.convert_to_tensor(gradient).numpy() for gradient in found]

    if keras.backend.backend() == "jax":
        import jax

        def pure(values: list[Tensor]) -> Tensor:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return function()

        return [np.asarray(gradient) for gradient in jax.grad(pure)([variable.value for variable in variables])]
    import torch

    found = torch.autograd.grad(function(), [variable.value for variable in variables], materialize_grads=True)
    return [gradient.numpy() for gradient in found]


def gradients_of_gradients(function: Callable[..., Tensor], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of the sum of all squares in the gradients of the scalar `function(*tensors)`, with respect to the arrays."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        def squares(*tensors: Tensor) -> Tensor:
            with tf.GradientTape() as tape:
                tape.watch(tensors)
                value = function(*tensors)
            return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(g) ** 2) for g in tape.gradient(value, tensors)])

    elif keras.backend.backend() == "jax":
        import jax

        def squares(*tensors: Tensor) -> Tensor:
            found = jax.grad(function, argnums=range(len(tensors)))(*tensors)
            return sum(jax.numpy.sum(gradient**2) for gradient in found)

    else:
        import torch

        def squares(*tensors: Tensor) -> Tensor:
            found = torch.autograd.grad(function(*tensors), tensors, create_graph=True)
            return sum((gradient**2).sum() for gradient in found)

    return gradients(squares, arrays)
