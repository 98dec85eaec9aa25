"""Word dropout: `WordDropout`.

Reference: Bowman, Vilnis, Vinyals, Dai, Jozefowicz and Bengio, "Generating Sentences from a Continuous Space", CoNLL
2016, arXiv:1511.06349, section 3.1.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops, random

from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._validation import as_tensor, ids_or_none
from keras_interp_rnn.layers._validation import rate as checked_rate


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class WordDropout(keras.layers.Layer):
    """Replaces a random fraction of the ids by the id of the unknown word, in training alone.

    The network then learns to do without any single word, and what it does with words that it has never read. Padding
    is never replaced.

    Args:
        rate: float in [0, 1), the probability that an id is replaced.
        unknown_id: int, the id that replaces it.
        padding_id: int, the id that stays; None for none.
        seed: int, of the draws; None for a random one.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        ids: int, of any shape.
        training: whether to replace ids.

    Returns: ids of the same shape and dtype; int32, where Keras has made floats of the ids.
    Raises: ValueError, if the rate is outside [0, 1), or the inputs are no ids.
    Example:

    >>> ids = np.array([[7, 8, 9, 0]])
    >>> keras.ops.convert_to_numpy(WordDropout(0.5)(ids)).tolist()
    [[7, 8, 9, 0]]
    >>> keras.ops.convert_to_numpy(WordDropout(1 - 1e-9)(ids, training=True)).tolist()
    [[1, 1, 1, 0]]

    Reference: Bowman et al., 2016, arXiv:1511.06349, section 3.1.
    """

    def __init__(
        self,
        rate: float,
        unknown_id: int = 1,
        padding_id: int | None = 0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.rate = checked_rate("rate", rate)
        self.unknown_id, self.padding_id, self.seed = unknown_id, padding_id, seed
        self.seed_generator = random.SeedGenerator(seed)

    def call(self, ids: Tensor, training: bool = False) -> Tensor:
        ids = self._checked(ids)
        if not training or not self.rate:
            return ids
        replaced = random.uniform(ops.shape(ids), seed=self.seed_generator) < self.rate
        if self.padding_id is not None:
            replaced = ops.logical_and(replaced, ops.not_equal(ids, self.padding_id))
        return ops.where(replaced, ops.full_like(ids, self.unknown_id), ids)

    def compute_output_spec(self, ids: Any, training: bool = False) -> keras.KerasTensor:
        return keras.KerasTensor(ids.shape, dtype=self._checked(ids).dtype)

    def get_config(self) -> dict[str, Any]:
        own = {"rate": self.rate, "unknown_id": self.unknown_id, "padding_id": self.padding_id, "seed": self.seed}
        return {**super().get_config(), **own}

    @staticmethod
    def _checked(ids: Any) -> Tensor:
        given = as_tensor(ids)
        ids = ids_or_none(given)
        if ids is None:
            raise ValueError(
                f"WordDropout reads integer ids. Received: dtype={keras.backend.standardize_dtype(given.dtype)}. "
                "Put it before the Embedding, after an Input of an integer dtype."
            )
        return ids
