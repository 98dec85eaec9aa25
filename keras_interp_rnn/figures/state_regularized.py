"""Figure 3 of "State-Regularized Recurrent Neural Networks" (Wang and others, 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._checks import annotated
from keras_interp_rnn.figures._figure import MAGNITUDE, Figure
from keras_interp_rnn.figures._names import plain


@annotated
def transition_map(alpha: ArrayLike, tokens: Sequence[str]) -> Figure:
    r"""Figure 3, for any number of tokens: one column per token, one row per centroid.

    Args:
        alpha: (time, k), transition probabilities of one sequence.
        tokens: names of the T tokens.

    Returns:
        `Figure`.

    Raises:
        ValueError: unless there is one token per step.

    Example:

        >>> from keras_interp_rnn import figures
        >>> figures.transition_map([[1.0, 0.0], [0.2, 0.8]], "ab").axes[0].get_ylabel()
        'centroid'
    """
    values = np.asarray(alpha, float)
    if values.ndim != 2 or len(values) != len(tokens):
        raise ValueError(
            f"`alpha` must have one row for each of {len(tokens)} tokens. Received: shape {values.shape}. Pass the "
            "tokens of the steps that it has."
        )
    steps, k = values.shape
    figure = Figure(figsize=(max(3.0, 0.32 * steps + 1.8), max(1.6, 0.26 * k + 1.1)), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(values.T, cmap=MAGNITUDE, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    names = [plain(token) for token in tokens]
    axis.set_xticks(range(steps), names, rotation=90 if max(map(len, names)) > 2 else 0)
    axis.set_yticks(range(0, k, max(1, k // 20)))
    axis.set_ylabel("centroid")
    figure.colorbar(image, ax=axis, label="probability", shrink=0.9)
    return figure
