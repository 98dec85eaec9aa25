r"""Next-item recommenders: a network reads what a user met, and its state is compared with every item.

One table of embeddings serves at both ends (`Catalogue`). A softmax over all items would cost as much as the catalogue
is long, so training compares the state with the target and a sample of other items (`Recommender`), as in Chen, 2017,
arXiv:1711.06788, section 3.

The backend is TensorFlow. Registered with Keras under `examples.papers`, the package name of what only the papers'
experiments use: `import keras_interp_rnn` does not register it.

Reference: Jean, Cho, Memisevic and Bengio, "On Using Very Large Target Vocabulary for Neural Machine Translation", ACL
2015, arXiv:1412.2007, for the sampled softmax.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from numpy.typing import NDArray

Tensor = Any


@keras.saving.register_keras_serializable(package="examples.papers")
class Catalogue(keras.layers.Layer):
    r"""Embeddings of all items: what the network reads, and what its state is compared with.

    The score of item i in the state h is $h \cdot e_i + b_i$.

    Args:
        items: int > 0, number of items. Ids run from 1, the most frequent item first, as negatives are drawn
            log-uniformly; 0 is padding.
        size: int > 0, length of an embedding, and of a state.
        negatives: int > 0, number of distinct ids drawn for a batch and shared by all its targets; fewer where the
            draws give no more.
        seed: int, of the draws, which depend on it and the step alone.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        ids: int (batch, time).

    Returns: embeddings (batch, time, size), with a mask that leaves out padding.
    Weights: embeddings (items + 1, size); bias (items + 1,).
    """

    def __init__(self, items: int, size: int, negatives: int = 512, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.items, self.size, self.negatives, self.seed = items, size, negatives, seed

    def build(self, input_shape: Any = None) -> None:
        normal = keras.initializers.RandomNormal(stddev=self.size**-0.5)
        self.embeddings = self.add_weight(name="embeddings", shape=(self.items + 1, self.size), initializer=normal)
        self.bias = self.add_weight(name="bias", shape=(self.items + 1,), initializer="zeros")
        self.built = True

    def call(self, ids: Tensor) -> Tensor:
        return ops.take(self.embeddings, ids, axis=0)

    def compute_mask(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        return ops.not_equal(ids, 0)

    def loss(self, states: Tensor, targets: Tensor, step: Any) -> Tensor:
        """The mean sampled softmax cross-entropy of the targets that are not padding, in nats.

        Args:
            states: (..., size). targets: int (...), the item that comes next. step: int, of the training.
        """
        places = tf.where(targets > 0)
        labels = tf.cast(tf.gather_nd(targets, places), tf.int64)[:, None]
        drawn, draws = self.drawn(step)
        expected = (self._expected(labels, draws), self._expected(drawn, draws))
        losses = tf.nn.sampled_softmax_loss(
            weights=self.embeddings.value,
            biases=self.bias.value,
            labels=labels,
            inputs=tf.cast(tf.gather_nd(states, places), self.variable_dtype),
            num_sampled=tf.size(drawn),
            num_classes=self.items + 1,
            sampled_values=(drawn, *(tf.cast(counts, self.variable_dtype) for counts in expected)),
        )
        return tf.reduce_mean(losses)

    def drawn(self, step: Any) -> tuple[Tensor, Tensor]:
        """The negatives of a step, distinct int64 ids, and the number of draws that gave them.

        An id i is drawn with P(i) = log((i + 2) / (i + 1)) / log(items + 2), as by `tf.random`'s log-uniform sampler,
        until there are `negatives` distinct ones, at most 4 * `negatives` times.
        """
        size = min(self.negatives, self.items)
        seed = tf.stack([self.seed, tf.cast(step, tf.int32)])
        uniform = tf.random.stateless_uniform([4 * size], seed, dtype=tf.float64)
        all_draws = tf.cast(tf.exp(uniform * tf.math.log(tf.cast(self.items + 2, tf.float64))), tf.int64) - 1
        # The largest uniform number may give items + 1, by rounding.
        distinct, which = tf.unique(tf.minimum(all_draws, self.items))
        last = tf.cast(tf.equal(which, size - 1), tf.int32)
        return distinct[:size], tf.where(tf.reduce_max(last) > 0, tf.argmax(last) + 1, 4 * size)

    def _expected(self, ids: Tensor, draws: Tensor) -> Tensor:
        """Probability that an id occurs in `draws` draws, 1 - (1 - P)^draws, float64."""
        chance = tf.math.log1p(1 / (1 + tf.cast(ids, tf.float64))) / tf.math.log(tf.cast(self.items + 2, tf.float64))
        return -tf.math.expm1(tf.cast(draws, tf.float64) * tf.math.log1p(-chance))

    def ranks(self, states: NDArray[np.float32], targets: NDArray[np.int32], chunk: int = 100_000) -> NDArray[np.int64]:
        """The rank of each target among all items, from 1.

        Ties, and scores that are NaN, count against the target.

        Args:
            states: (rows, size). targets: int (rows,). chunk: number of items scored at a time.
        """
        of_targets = tf.reduce_sum(states * tf.gather(self.embeddings.value, targets), 1) + tf.gather(
            self.bias.value, targets
        )
        ahead = np.zeros(len(targets), np.int64)
        for first in range(1, self.items + 1, chunk):
            ids = np.arange(first, min(first + chunk, self.items + 1))
            scores = tf.matmul(states, self.embeddings.value[first : ids[-1] + 1], transpose_b=True)
            below = (scores + self.bias.value[first : ids[-1] + 1]).numpy() < of_targets.numpy()[:, None]
            ahead += (~below & (ids != targets[:, None])).sum(axis=1)
        return ahead + 1

    def get_config(self) -> dict[str, Any]:
        own = {"items": self.items, "size": self.size, "negatives": self.negatives, "seed": self.seed}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package="examples.papers")
class Recommender(keras.Model):
    """A functional model from histories to states (batch, time, size), trained by the loss of its `Catalogue`.

    Args:
        inputs, outputs: as `keras.Model`; one layer is a `Catalogue` named "catalogue". `compile(optimizer)` takes no
            loss, and `fit` no weights of samples.
    """

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, *unused: Any, **more: Any) -> Any:
        """The catalogue's sampled loss of the targets y, at the optimizer's step, and the losses that layers added."""
        return self.get_layer("catalogue").loss(y_pred, y, self.optimizer.iterations) + sum(self.losses)

    @functools.cached_property
    def read(self) -> Any:
        """The model as one traced function, which all evaluations share, as tracing takes time."""
        return tf.function(self, reduce_retracing=True)
