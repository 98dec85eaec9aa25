"""TensorFlow: graphs traced without known sizes, gradients of single rows, checks at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import keras
import numpy as np
import tensorflow as tf

from keras_interp_rnn._backend.base import Backend, Step, Tensors
from keras_interp_rnn._types import Tensor

ONE_EACH = "initial_state must hold one state for each sequence. Received batches of sequences and of states:"


@final
class TensorFlow(Backend):
    """Keras on TensorFlow."""

    title = "TensorFlow"

    def accelerator(self) -> str:
        devices = tf.config.list_physical_devices("GPU")
        return tf.config.experimental.get_device_details(devices[0]).get("device_name", "GPU") if devices else ""

    def reduced_products(self) -> tuple[str, str] | None:
        if tf.config.experimental.tensor_float_32_execution_enabled() and tf.config.list_physical_devices("GPU"):
            return (
                "TensorFlow on a GPU with TensorFloat-32",
                "tf.config.experimental.enable_tensor_float_32_execution(False)",
            )
        for name, is_on in tf.config.optimizer.get_experimental_options().items():
            if name.startswith("auto_mixed_precision") and is_on:
                return f"TensorFlow with {name}", f"tf.config.optimizer.set_experimental_options({{{name!r}: False}})"
        return None

    def copies(self, variable: keras.Variable) -> list[Any]:
        """One for each replica of a `tf.distribute` strategy; replicas carry different states."""
        value = variable.value
        return list(value.values) if isinstance(value, tf.distribute.DistributedValues) else [variable]

    def is_chief(self, model: keras.Model) -> bool:
        return bool(model.distribute_strategy.extended.should_save_summary)

    def ways_to_run(self, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        return [function, tf.function(function, jit_compile=True)]

    def compiled_for_all_sizes(
        self, function: Callable[..., Tensor], inputs: Sequence[keras.KerasTensor]
    ) -> Callable[..., Tensor] | None:
        if any(x.sparse or x.ragged for x in inputs):
            return None
        signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
        compiled: Callable[..., Tensor] = tf.function(function, input_signature=signature, autograph=False)
        return compiled

    def static_values(self, x: Any) -> np.ndarray | None:
        return x.numpy() if hasattr(x, "numpy") and "CPU" in x.device else None

    def layout(self, x: object) -> str:
        return "sparse" if isinstance(x, tf.SparseTensor) else "ragged" if isinstance(x, tf.RaggedTensor) else "dense"

    def is_traced_size(self, x: Any) -> bool:
        return bool(tf.is_tensor(x) and x.dtype.is_integer and x.shape.rank == 0)

    def gradient(self, function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
        tensor = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            value = function(tensor)
        gradient: np.ndarray = tape.gradient(value, tensor, unconnected_gradients="zero").numpy()
        return gradient

    def values_and_gradients(self, function: Callable[..., Any]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Compiles by XLA, which fuses the small operations of a step."""

        def traced(weights: object, *data: object) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                values = function(weights, *data)
            return values, tape.gradient(values, weights, unconnected_gradients="zero")

        compiled = tf.function(traced, jit_compile=True, autograph=False)

        def both(*arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values, gradients = compiled(*map(tf.convert_to_tensor, arrays))
            return values.numpy(), gradients.numpy()

        return both

    def lists_rows(self) -> bool:
        return True

    def scan(
        self, step: Step, start: Any, sequences: Tensors, widths: tuple[int, ...], reverse: bool = False
    ) -> tuple[Any, Tensors]:
        """In place of `keras.ops.scan`.

        On TensorFlow (Keras 3.15) that function outputs only tensors of the state's shape, and fails on several
        sequences of unknown length.
        """
        steps = sequences[0].shape[0] if sequences[0].shape[0] is not None else tf.shape(sequences[0])[0]
        first = tf.nest.flatten(start)[0]
        # Arrays, not slices: the gradient of a slice is as large as the whole sequence.
        entries = tuple(tf.TensorArray(x.dtype, size=steps).unstack(x) for x in sequences)
        arrays = tuple(
            tf.TensorArray(first.dtype, size=steps, element_shape=[first.shape[0], width]) for width in widths
        )

        def body(i: Any, state: Any, arrays: Any) -> Any:
            t = steps - 1 - i if reverse else i
            state, outputs = step(state, tuple(x.read(t) for x in entries))
            return i + 1, state, tuple(a.write(t, y) for a, y in zip(arrays, outputs, strict=True))

        # maximum_iterations: XLA differentiates no loop without it.
        _, state, arrays = tf.while_loop(lambda i, *_: i < steps, body, (0, start, arrays), maximum_iterations=steps)
        return state, tuple(a.stack() for a in arrays)

    def why_not_grouped(self, batch: object, vocabulary_size: int) -> str | None:
        return self.why_no_dynamic_shapes()

    def why_no_dynamic_shapes(self) -> str | None:
        """Why a graph traced now may not hold operations whose sizes depend on the data; None if it may."""
        if tf.config.list_logical_devices("GPU"):
            return "a GPU is visible, and many small products would starve it"
        if self.compiles_by_xla():
            return "the graph is compiled by XLA, which needs sizes that do not depend on the data"
        return None

    def compiles_by_xla(self) -> bool:
        """Whether the graph that is traced now will be compiled by XLA.

        TensorFlow has no public function for this. While it traces a function with `jit_compile=True`, a control-flow
        context of the outer graph is marked (TensorFlow 2.21; without this check XLA stops with "must be a compile-time
        constant"; tests/layers/test_isan_paths.py::test_xla_takes_the_static_path).
        """
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        while graph is not None:
            context = graph._get_control_flow_context()
            while context is not None:
                if context.IsXLAContext():
                    return True
                context = context.outer_context
            graph = getattr(graph, "outer_graph", None)
        return False

    def of_one_batch(self, sequences: object, mask: object, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        """As `Backend.of_one_batch`, with a check at run time in a graph on a CPU.

        TensorFlow's loops require that shapes do not change, and (None, n) with (1, n) makes (None, n). Without the
        check one state is broadcast to all sequences (TensorFlow 2.21; tests/layers/test_whole_sequence_errors.py).
        """
        parts = [sequences, *states] if mask is None else [sequences, *states, mask]
        sizes = [part.shape[0] for part in parts]
        if None not in sizes:
            return sequences, mask, states
        if self.why_no_dynamic_shapes() is None:
            batches = tf.stack([tf.shape(part)[0] for part in parts[: 1 + len(states)]])
            equal = tf.reduce_all(batches == batches[0])
            with tf.control_dependencies([tf.debugging.Assert(equal, [ONE_EACH, batches])]):
                parts[0] = tf.identity(sequences)
        known = next((size for size in sizes if size is not None), None)
        parts = [tf.ensure_shape(part, [known, *part.shape[1:]]) for part in parts]
        return parts[0], None if mask is None else parts[-1], parts[1 : 1 + len(states)]

    def assert_ids_in_range(self, ids: object, size: int) -> Any:
        """Checks ids at run time in a graph on a CPU.

        Without the check Keras reads id -1 as the last symbol, and TensorFlow's message names an operation, not the
        layer. XLA and accelerators have no such checks.
        """
        if self.why_no_dynamic_shapes() is not None:
            return ids
        low, high = tf.reduce_min(ids), tf.reduce_max(ids)
        sentence = f"ids must lie in [0, {size}). Received the lowest and the highest id:"
        with tf.control_dependencies([tf.debugging.Assert((low >= 0) & (high < size), [sentence, low, high])]):
            return tf.identity(ids)
