"""The loss of a regression, which tells that outputs are no logits."""

from __future__ import annotations

import keras
from keras import losses as L
from keras import tree

OF_NUMBERS = (
    *(L.MeanSquaredError, L.MeanAbsoluteError, L.MeanAbsolutePercentageError, L.MeanSquaredLogarithmicError),
    *(L.Huber, L.LogCosh, L.CosineSimilarity),
)
FUNCTIONS_OF_NUMBERS = (
    *(L.mean_squared_error, L.mean_absolute_error, L.mean_absolute_percentage_error, L.mean_squared_logarithmic_error),
    *(L.huber, L.log_cosh, L.cosine_similarity),
)


def is_regression(network: object) -> bool:
    """Whether a model was compiled with a loss of numbers, which are no logits."""
    given = tree.flatten(network.loss) if isinstance(network, keras.Model) and network.compiled else []
    if len(given) != 1:
        return False
    loss = keras.losses.get(given[0])
    return isinstance(loss, OF_NUMBERS) or loss in FUNCTIONS_OF_NUMBERS
