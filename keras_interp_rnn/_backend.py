"""The only place that names a backend. Each quirk stands here with its symptom, its version and its guarding test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np


def name() -> str:
    """`"tensorflow"`, `"jax"` or `"torch"`."""
    return keras.backend.backend()


def accelerator() -> str:
    """The first that the backend computes on; "" where that is a CPU."""
    if name() == "jax":
        import jax

        device = jax.devices()[0]
        return "" if device.platform == "cpu" else device.device_kind
    if name() == "torch":
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    import tensorflow as tf

    found = tf.config.list_physical_devices("GPU")
    return tf.config.experimental.get_device_details(found[0]).get("device_name", "GPU") if found else ""


def known_values(x: Any) -> np.ndarray | None:
    """The values of `x` where they are known now; None for symbolic, traced and accelerator-resident tensors.

    A copy from an accelerator would stall its queue, so values there count as unknown.
    """
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, keras.KerasTensor):
        return None
    if name() == "tensorflow":
        return x.numpy() if hasattr(x, "numpy") and "CPU" in x.device else None
    if name() == "jax":
        import jax

        if isinstance(x, jax.core.Tracer) or any(device.platform != "cpu" for device in x.devices()):
            return None
        return np.asarray(x)
    return x.detach().numpy() if x.device.type == "cpu" and not _torch_is_tracing() else None


def _torch_is_tracing() -> bool:
    import torch

    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def layout(x: Any) -> str:
    """`"dense"`, `"sparse"` or `"ragged"`, of a tensor of the backend or of Keras."""
    if isinstance(x, keras.KerasTensor):
        # Neither flag is documented; Keras 3.12 knows no ragged ones.
        return "sparse" if getattr(x, "sparse", False) else "ragged" if getattr(x, "ragged", False) else "dense"
    if name() == "tensorflow":
        import tensorflow as tf

        return "sparse" if isinstance(x, tf.SparseTensor) else "ragged" if isinstance(x, tf.RaggedTensor) else "dense"
    if name() == "jax":
        from jax.experimental.sparse import JAXSparse

        return "sparse" if isinstance(x, JAXSparse) else "dense"
    return "dense"


def of_one_batch(sequences: Any, mask: Any, states: list[Any]) -> tuple[Any, Any, list[Any]]:
    """All of them with the same static batch size, and in a TensorFlow graph on a CPU a check at run time.

    TensorFlow's loops demand that shapes stay what they were, and (None, n) with (1, n) makes (None, n); without the
    check it broadcasts a state of one sequence to all (TensorFlow 2.21; tests/layers/test_whole_sequence_errors.py).

    Args:
        sequences: (batch, time, ...). mask: (batch, time) or None. states: each (batch, n).
    """
    parts = [sequences, *states] if mask is None else [sequences, *states, mask]
    sizes = [part.shape[0] for part in parts]
    if name() != "tensorflow" or None not in sizes:
        return sequences, mask, states
    import tensorflow as tf

    if tensorflow_obstacle() is None:
        found = tf.stack([tf.shape(part)[0] for part in parts[: 1 + len(states)]])
        sentence = "initial_state must hold one state for each sequence. Received batches of sequences and of states:"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(found == found[0]), [sentence, found])]):
            parts[0] = tf.identity(sequences)
    known = next((size for size in sizes if size is not None), None)
    parts = [tf.ensure_shape(part, [known, *part.shape[1:]]) for part in parts]
    return parts[0], None if mask is None else parts[-1], parts[1 : 1 + len(states)]


def gradient(function: Any, x: np.ndarray) -> np.ndarray:
    """Of the scalar `function(tensor)` at x, by the backend's reverse mode."""
    if name() == "tensorflow":
        import tensorflow as tf

        tensor = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            value = function(tensor)
        return tape.gradient(value, tensor, unconnected_gradients="zero").numpy()
    if name() == "jax":
        import jax

        return np.asarray(jax.grad(function)(jax.numpy.asarray(x)))
    import torch

    tensor = torch.tensor(x, requires_grad=True)
    [found] = torch.autograd.grad(function(tensor), [tensor], materialize_grads=True)
    return found.numpy()


def tensorflow_obstacle() -> str | None:
    """Why a TensorFlow graph traced now may not hold operations whose sizes depend on the data; None if it may.

    TensorFlow has no public question "is this being compiled by XLA?". While it traces a function with
    `jit_compile=True` it enters a control-flow context that says so on the graph outside, and this walks there
    (TensorFlow 2.21; without it XLA stops with "must be a compile-time constant";
    tests/layers/test_isan_paths.py::test_xla_takes_the_static_path).
    """
    import tensorflow as tf

    if tf.config.list_logical_devices("GPU"):
        return "a GPU is visible, and many small products would starve it"
    graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    while graph is not None:
        context = graph._get_control_flow_context()
        while context is not None:
            if context.IsXLAContext():
                return "the graph is compiled by XLA, which needs sizes that do not depend on the data"
            context = context.outer_context
        graph = getattr(graph, "outer_graph", None)
    return None


def summed(gradient: Any) -> Any:
    """A gradient in which no row occurs twice: `IndexedSlices` with repeated rows become some with their sums."""
    if name() != "tensorflow":
        return gradient
    import tensorflow as tf

    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    if tensorflow_obstacle():
        return tf.convert_to_tensor(gradient)
    rows, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def update_rows(gradient: Any, variables: Sequence[Any], updated: Callable[..., Sequence[Any]]) -> None:
    """Assigns `updated(gradient, *variables)` to the variables, in the rows whose gradient is not zero.

    On TensorFlow, but for XLA and GPUs, only those rows are read and written.

    Args:
        gradient: as `summed` gives it. variables: all of its shape, of two axes or more: Keras's, or the backend's own,
            as an optimizer on TensorFlow is given them. updated: from rows to rows.
    """
    if name() == "tensorflow":
        import tensorflow as tf

        if not tensorflow_obstacle():
            if isinstance(gradient, tf.IndexedSlices):
                rows, found = gradient.indices, gradient.values
            else:
                there = tf.reduce_any(tf.not_equal(gradient, 0), axis=list(range(1, len(gradient.shape))))
                rows = tf.where(there)[:, 0]
                found = tf.gather(gradient, rows)
            held = [variable.value if isinstance(variable, keras.Variable) else variable for variable in variables]
            parts = [tf.gather(variable, rows) for variable in held]
            for variable, values in zip(held, updated(found, *parts), strict=True):
                variable.scatter_update(tf.IndexedSlices(values, rows))
            return
    there = keras.ops.any(keras.ops.not_equal(gradient, 0), axis=tuple(range(1, len(gradient.shape))), keepdims=True)
    now = [keras.ops.convert_to_tensor(variable) for variable in variables]
    for variable, old, new in zip(variables, now, updated(gradient, *now), strict=True):
        variable.assign(keras.ops.where(there, new, old))


def guard_range(ids: Any, size: int) -> Any:
    """`ids`, and in a TensorFlow graph on a CPU a check at run time that they lie in [0, size).

    Without it Keras reads id -1 as the last symbol, and TensorFlow's own message names an operation, not the layer.
    XLA and accelerators have no such checks.
    """
    if name() != "tensorflow" or isinstance(ids, keras.KerasTensor) or tensorflow_obstacle() is not None:
        return ids
    import tensorflow as tf

    low, high = tf.reduce_min(ids), tf.reduce_max(ids)
    sentence = f"ids must lie in [0, {size}). Received the lowest and the highest id:"
    with tf.control_dependencies([tf.debugging.Assert((low >= 0) & (high < size), [sentence, low, high])]):
        return tf.identity(ids)
