r"""The tokens that move a state-regularized network to each of its centroids.

Wang, Lawrence and Niepert, 2022, section 4.5, algorithm 2. A step counts for the most probable centroid, with the
probability $\max_i \alpha_i$.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn._network import GivenAlphabet, predicted_classes, resolve_alphabet, token_name
from keras_interp_rnn._outputs import GivenOutputs, class_names
from keras_interp_rnn._results import Column, Result, Table, class_name, counted, texts, told_apart, visible
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis.state_regularized.centroids import centroid_outputs, moves
from keras_interp_rnn.analysis.state_regularized.tokens import check_ids, ranked


@dataclass(frozen=True, eq=False, repr=False)
class Prototypes(Result):
    """The tokens, the share of the steps and the class of each of k centroids.

    Attributes:
        tokens: for each centroid ((token, probability, number of moves), ...), the tokens that moved the network to it
            with the highest probability, best first.
        share: (k,), the fraction of steps that arrived at the centroid.
        outputs: (k, classes), the output of the model's head for the centroid.
        classes: (k,), the class of that output. class_names: of all classes; () if they have no names.

    Example: see `prototypes`.
    """

    tokens: tuple[tuple[tuple[str, float, int], ...], ...]
    share: NDArray[np.float64]
    outputs: NDArray[np.float64]
    classes: NDArray[np.int64]
    class_names: tuple[str, ...] = ()

    def table(self) -> Table:
        """Table 6 of the paper: a row for each centroid in use; ties go to the more frequent token."""
        order = [i for i in np.argsort(-self.share, kind="stable").tolist() if self.share[i] > 0]
        classes = [class_name(self.class_names, self.classes[i]).removeprefix("class ") for i in order]
        words = [" ".join(f"{visible(token)} ({p})" for token, p in told_apart(self.tokens[i])) for i in order]
        most = f"; centroid {order[0]} takes {self.share[order[0]]:.0%} of the steps" if order else ""
        return Table(
            f"{len(order)} of {counted(len(self.share), 'centroid')} in use{most}",
            (
                Column("centroid", order, form="d"),
                texts("class", classes),
                Column("share", [float(self.share[i]) for i in order], form=".1%"),
                texts("tokens (transition probability)", words),
            ),
            bars="share",
            scale=1.0,
        )


def prototypes(
    network: object,
    inputs: ArrayLike,
    *,
    tokens: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    num_tokens: int = 10,
    by: str = "highest",
    min_count: int = 1,
) -> Prototypes:
    r"""The tokens that move a network to each of its centroids with the highest probability (algorithm 2).

    Args:
        network: a model of a state-regularized layer and a head; of several such layers the last is read.
        inputs: int (batch, time), token ids, as the model reads them; or texts, strings or lists of tokens, if the
            tokens have names.
        tokens: names of the ids; by default the alphabet that the model carries, or the ids.
        outputs: names of the classes: `datasets.Outputs` or a list; by default those that a model carries.
        num_tokens: maximum number of tokens per centroid.
        by: "highest" ranks a token by its highest probability, as in the paper; "mean" by the mean over its steps.
        min_count: minimum number of moves to a centroid by a token.

    Returns:
        `Prototypes`; `print` gives the paper's table 6.

    Raises:
        ValueError: if the model has no state-regularized layer; if inputs are not ids; if no step is regularized.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential(
        ...     [keras.layers.Embedding(5, 3), layers.SRGRU(4, num_centroids=2), keras.layers.Dense(1)]
        ... )
        >>> analysis.prototypes(model, np.array([[1, 2, 3], [4, 3, 1]]), tokens="?abcd").share.shape
        (2,)

    Reference: Wang, Lawrence and Niepert, 2022, algorithm 2, table 6, and footnote 5 (the class of a centroid).
    """
    num_tokens, min_count = integer("num_tokens", num_tokens), integer("min_count", min_count)
    choice("by", by, ("highest", "mean"))
    network, names = resolve_alphabet(network, tokens)
    ids = check_ids(inputs, names)
    of_centroids = None
    arrivals: list[AnyArray] = []
    for rows, alpha, _, layer in moves(network, ids):
        of_centroids = centroid_outputs(network, layer) if of_centroids is None else of_centroids
        regularized = ~np.isnan(alpha[..., 0])
        best = np.where(regularized, alpha.argmax(axis=-1), -1)
        columns = (best[regularized], rows[regularized], alpha.max(axis=-1)[regularized])
        arrivals.append(np.stack(columns).astype(np.float64))
    centroid, token, probability = np.concatenate(arrivals, axis=1)
    assert of_centroids is not None
    if not len(centroid):
        raise ValueError("Some step must be regularized. Received: texts without such a step. Pass longer texts.")
    k = len(of_centroids)
    share = np.bincount(centroid.astype(np.int64), minlength=k) / len(centroid)
    best_tokens = tuple(
        tuple((token_name(names, t), p, n) for t, p, n in ranking[:num_tokens])
        for ranking in (
            ranked(token[centroid == i], probability[centroid == i], by=by, min_count=min_count) for i in range(k)
        )
    )
    classes = predicted_classes(network, of_centroids)
    return Prototypes(best_tokens, share, of_centroids, classes, class_names(network, outputs, of_centroids.shape[-1]))
