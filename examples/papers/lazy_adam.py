"""An optimizer for weights of which each batch reads few rows: one matrix for each of many symbols, or embeddings.

Registered with Keras under `examples.papers`, the package name of what only the papers' experiments use:
`import keras_interp_rnn` does not register it, so a model that has it needs this module imported before it is loaded.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable(package="examples.papers")
class LazyAdam(keras.optimizers.Optimizer):
    r"""Adam that moves the rows with a gradient alone, on TensorFlow without XLA (`jit_compile=False`).

    A row is an entry along the first axis: the matrix of a symbol in a kernel (K, n, n), or the embedding of a word.
    Where its whole gradient is zero, as the symbol is not in the batch, the row and its moments stay as they are:

    $m \leftarrow m + (1 - \beta_1)(g - m)$, $v \leftarrow v + (1 - \beta_2)(g^2 - v)$,
    $w \leftarrow w - \eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m}{\sqrt{v} + \epsilon}$, for rows with a
    gradient; for all of a weight of one axis, as in `keras.optimizers.Adam`, whose update this is where every row has
    one. So a rare symbol does not keep moving along an old gradient, and the update costs as much as the rows that a
    batch touches.

    Gradients that come as `IndexedSlices` are summed row by row first; Keras's own optimizers (3.15) square and clip
    the parts of a repeated row one by one.

    Args:
        learning_rate, beta_1, beta_2, epsilon: as `keras.optimizers.Adam`.
        name, kwargs: as `keras.optimizers.Optimizer`: `global_clipnorm`, ...

    Reference: Kingma and Ba, "Adam", 2015, algorithm 1 in the form of its section 2; TensorFlow Addons' LazyAdam for
    the rule on rows.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str = "lazy_adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name=name, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables: list[keras.Variable]) -> None:
        if self.built:
            return
        super().build(variables)
        self._moments = [
            tuple(self.add_variable_from_reference(reference_variable=variable, name=name) for name in ("m", "v"))
            for variable in variables
        ]

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        return super().apply([_summed(gradient) for gradient in grads], trainable_variables)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        moments = self._moments[self._get_variable_index(variable)]
        m, v, w = held = [one.value if isinstance(one, keras.Variable) else one for one in (*moments, variable)]
        rows = _rows(gradient) if len(variable.shape) > 1 else None
        if rows is not None:
            gradient, m, v, w = rows.values, *(tf.gather(one, rows.indices) for one in held)
        step = ops.cast(self.iterations + 1, variable.dtype)
        rate = ops.cast(learning_rate, variable.dtype) * ops.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        m = m + (1 - self.beta_1) * (gradient - m)
        v = v + (1 - self.beta_2) * (ops.square(gradient) - v)
        for one, new in zip(held, (m, v, w - rate * m / (ops.sqrt(v) + self.epsilon)), strict=True):
            if rows is None:
                one.assign(new)
            else:
                one.scatter_update(tf.IndexedSlices(new, rows.indices))

    def get_config(self) -> dict[str, Any]:
        own = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        return {**super().get_config(), **own}


def _summed(gradient: Any) -> Any:
    """A gradient in which no row occurs twice."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def _rows(gradient: Any) -> tf.IndexedSlices:
    """The rows of a gradient that are not zero."""
    if isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows = tf.where(tf.reduce_any(tf.not_equal(gradient, 0), axis=list(range(1, len(gradient.shape)))))[:, 0]
    return tf.IndexedSlices(tf.gather(gradient, rows), rows)
