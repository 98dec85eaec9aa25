r"""Which tokens of a text moved a state-regularized network to its prediction.

Wang, Lawrence and Niepert, 2022, section 4.5, algorithm 3: the probability with which each token moved the network to
the centroids that stand for the predicted class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._network import (
    GivenNames,
    carried_states,
    check_one_output,
    check_range,
    listed,
    predict_on_batch,
    predicted_classes,
    resolve_names,
    token_name,
)
from keras_interp_rnn._results import Result, as_text
from keras_interp_rnn.analysis.state_regularized.centroids import centroid_outputs, moves
from keras_interp_rnn.analysis.state_regularized.tokens import as_index, check_text


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Which tokens of a text moved the network towards its prediction.

    Attributes:
        tokens: T of them, those that are read.
        alpha: (T, k), the transition probabilities; NaN where the stochastic component is left out.
        centroids: those that stand for the predicted class.
        output: (classes,), the model's output.
        prediction: its class.

    Example: see `explain`.
    """

    tokens: tuple[str, ...]
    alpha: NDArray[np.float64]
    centroids: tuple[int, ...]
    output: NDArray[np.float64]
    prediction: int

    @property
    def weights(self) -> NDArray[np.float64]:
        """(T,), each token's probability of moving to `centroids`; 0 where alpha is NaN."""
        return np.nan_to_num(self.alpha[:, list(self.centroids)].sum(axis=1))

    def shown(self, colors: bool | None = None) -> str:
        """The text for a terminal: the redder the background, the higher the probability.

        Args:
            colors: True for ANSI colours; False for the probability behind each token that has at least 0.5. By default
                colours where the standard output is a terminal and the variable NO_COLOR is not set.
        """
        return as_text(self, colors=colors)


def explain(
    network: Any,
    sequence: ArrayLike | str,
    *,
    tokens: GivenNames | None = None,
    centroids: Sequence[int] | None = None,
) -> Explanation:
    r"""The probability with which each token of a text moved the network to the predicted class (algorithm 3).

    Args:
        network: a model of a state-regularized layer, of several the last one, and a head.
        sequence: int (time,), token ids, as the model reads them; or a string or a list of tokens, where they have
            names.
        tokens: names of the ids; by default those that the model carries, or the ids themselves.
        centroids: those whose probabilities are summed. By default one: of the centroids to which the model's head
            gives the predicted class (or of all, if there are none), the most probable one after the step read last.

    Returns:
        `Explanation`; `print` shades the text, and so does a notebook.

    Raises:
        ValueError: as `prototypes`.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential(
        ...     [keras.layers.Embedding(5, 3), layers.SRGRU(4, num_centroids=2), keras.layers.Dense(1)]
        ... )
        >>> analysis.explain(model, [1, 2, 3], tokens="?abc").tokens
        ('a', 'b', 'c')

    Reference: Wang, Lawrence and Niepert, 2022, algorithm 3 and table 9.
    """
    network, names = resolve_names(network, tokens)
    ids = check_text(sequence, names)[None]
    check_one_output(network)
    [(_, alpha, read, layer)] = moves(network, ids)
    with carried_states.from_the_start(network):
        output = np.asarray(predict_on_batch(network, ids, 1), np.float64)[0]
    output = output[-1] if output.ndim == 2 else output
    check_range("The outputs of the network", [output])
    prediction = int(predicted_classes(network, output[None])[0])
    if centroids is None:
        of_class = predicted_classes(network, centroid_outputs(network, layer)) == prediction
        moved = np.flatnonzero(~np.isnan(alpha[0, :, 0]))
        if not moved.size:
            raise ValueError(
                "A default centroid is that of the last regularized step. Received: a text without one. Name centroids."
            )
        last = alpha[0, moved[0 if layer.go_backwards else -1]]
        centroids = [int(np.where(of_class, last, -1).argmax() if of_class.any() else last.argmax())]
    k = alpha.shape[-1]
    chosen = listed("Centroids", centroids)
    if not chosen or any(as_index(i) is None or not 0 <= i < k for i in chosen):
        raise ValueError(
            f"Centroids are numbers in [0, {k - 1}], at least one. Received: centroids={centroids!r}. Leave them out "
            "for the last one of the predicted class."
        )
    read_ones = tuple(token_name(names, t) for t in ids[0][read[0]])
    return Explanation(read_ones, alpha[0][read[0]].astype(np.float64), tuple(map(int, centroids)), output, prediction)
