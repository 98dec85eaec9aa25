"""Whether outputs are logits or quantities: the loss of a regression, or units, tell."""

from __future__ import annotations

import keras
from keras import losses as L
from keras import tree

from keras_interp_rnn._outputs import GivenOutputs, have_units

OF_NUMBERS = (
    *(L.MeanSquaredError, L.MeanAbsoluteError, L.MeanAbsolutePercentageError, L.MeanSquaredLogarithmicError),
    *(L.Huber, L.LogCosh, L.CosineSimilarity),
)
FUNCTIONS_OF_NUMBERS = (
    *(L.mean_squared_error, L.mean_absolute_error, L.mean_absolute_percentage_error, L.mean_squared_logarithmic_error),
    *(L.huber, L.log_cosh, L.cosine_similarity),
)


def are_quantities(network: object, outputs: GivenOutputs | None) -> bool:
    """Whether the outputs are numbers with units, or those of a regression, and so no logits."""
    return is_regression(network) or have_units(network, outputs)


def is_regression(network: object) -> bool:
    """Whether a model was compiled with a loss of numbers, which are no logits."""
    given = tree.flatten(network.loss) if isinstance(network, keras.Model) and network.compiled else []
    if len(given) != 1:
        return False
    loss = keras.losses.get(given[0])
    return isinstance(loss, OF_NUMBERS) or loss in FUNCTIONS_OF_NUMBERS
