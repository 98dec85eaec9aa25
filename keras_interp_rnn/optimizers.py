"""Optimizers for weights of which each batch reads few rows: one matrix for each of many symbols, or embeddings."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_interp_rnn import _backend

__all__ = ["LazyAdam"]


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class LazyAdam(keras.optimizers.Optimizer):
    r"""Adam that leaves rows without a gradient, and their moments, as they are.

    A row is a slice of a weight of two or more axes along its first: the matrix of a symbol, the embedding of a word.
    Where its whole gradient is zero, as the symbol is not in the batch, the row and its moments stay as they are:

    $m \leftarrow m + (1 - \beta_1)(g - m)$, $v \leftarrow v + (1 - \beta_2)(g^2 - v)$,
    $w \leftarrow w - \eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m}{\sqrt{v} + \epsilon}$, for rows with a
    gradient; for all of a weight of one axis, as in `keras.optimizers.Adam`, whose update this is where every row has
    one. So a rare symbol does not keep moving along an old gradient, and on TensorFlow the update costs
    as much as the rows that a batch touches; on JAX and torch it costs as much as Adam's.

    Gradients that come as `IndexedSlices` are summed row by row first; Keras's own optimizers (3.15) square and clip
    the parts of a repeated row one by one.

    Args:
        learning_rate, beta_1, beta_2, epsilon: as `keras.optimizers.Adam`.
        name, kwargs: as `keras.optimizers.Optimizer`: `global_clipnorm`, `weight_decay`, ... A weight decay, and
            averages of weights, touch all rows.

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
        for which, beta in (("beta_1", beta_1), ("beta_2", beta_2)):
            if not 0 <= beta < 1:
                raise ValueError(f"{which} must lie in [0, 1). Received: {beta}.")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables: list[keras.Variable]) -> None:
        """Makes the moments."""
        if self.built:
            return
        super().build(variables)
        self._moments = [
            tuple(self.add_variable_from_reference(reference_variable=variable, name=name) for name in ("m", "v"))
            for variable in variables
        ]

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """As `keras.optimizers.Optimizer.apply`; repeated rows are summed before they are clipped."""
        return super().apply([_backend.sum_duplicate_rows(gradient) for gradient in grads], trainable_variables)

    def update_step(self, gradient: Any, variable: keras.Variable, learning_rate: Any) -> None:
        """Updates a weight and its moments."""
        m, v = self._moments[self._get_variable_index(variable)]
        dtype = variable.dtype
        step = ops.cast(self.iterations + 1, dtype)
        rate = ops.cast(learning_rate, dtype) * ops.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)

        def updated(gradient: Any, m: Any, v: Any, w: Any) -> tuple[Any, Any, Any]:
            m = m + (1 - self.beta_1) * (gradient - m)
            v = v + (1 - self.beta_2) * (ops.square(gradient) - v)
            return m, v, w - rate * m / (ops.sqrt(v) + self.epsilon)

        if len(variable.shape) > 1:
            _backend.update_rows(gradient, (m, v, variable), updated)
        else:
            for part, value in zip((m, v, variable), updated(gradient, m, v, variable), strict=True):
                self.assign(part, value)

    def get_config(self) -> dict[str, Any]:
        """What `from_config` takes."""
        own = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        return {**super().get_config(), **own}
