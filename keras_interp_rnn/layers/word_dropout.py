"""Word dropout: `WordDropout`.

Reference: Bowman, Vilnis, Vinyals, Dai, Jozefowicz and Bengio, "Generating Sentences from a Continuous Space", CoNLL
2016, arXiv:1511.06349, section 3.1.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops, random

from keras_interp_rnn._checks import fraction
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._inputs import as_tensor, ids_or_none


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class WordDropout(keras.layers.Layer):
    """Replaces a random fraction of the ids with the id of the unknown word, in training only.

    This keeps the network from depending on single words, and trains the embedding of the unknown word. Padding is
    never replaced.

    Args:
        rate: float in [0, 1), the probability that an id is replaced.
        unknown_id: int, the id that replaces it.
        padding_id: int, the id that is never replaced; None if there is no padding.
        seed: int, of the draws; None for a random one.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        ids: int, of any shape.
        training: whether to replace ids.

    Returns: ids of the same shape and dtype; int32 if Keras passed the ids as floats.
    Raises: ValueError, if the rate is outside [0, 1), or the inputs are not integers.
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
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.rate = fraction("rate", rate)
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
        settings = {"rate": self.rate, "unknown_id": self.unknown_id, "padding_id": self.padding_id, "seed": self.seed}
        return {**super().get_config(), **settings}

    @staticmethod
    def _checked(ids: object) -> Tensor:
        tensor = as_tensor(ids)
        integers = ids_or_none(tensor)
        if integers is None:
            raise ValueError(
                "Inputs of WordDropout must be integer ids. Received: "
                f"dtype={keras.backend.standardize_dtype(tensor.dtype)}. Put it before the Embedding, after an Input "
                "of an integer dtype."
            )
        return integers
