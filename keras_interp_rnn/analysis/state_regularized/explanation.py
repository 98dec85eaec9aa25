r"""Explanations: the tokens of a text that moved a state-regularized network to its prediction.

Wang, Lawrence and Niepert, 2022, section 4.5, algorithm 3: the probability with which each token moved the network to
the centroids of the predicted class.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import check_range, listed
from keras_interp_rnn._checks import integer, invalid
from keras_interp_rnn._io import in_terminal
from keras_interp_rnn._network import (
    GivenAlphabet,
    carried_states,
    check_one_output,
    predict_on_batch,
    predicted_classes,
    resolve_alphabet,
    token_name,
)
from keras_interp_rnn._outputs import GivenOutputs, class_names
from keras_interp_rnn._results import (
    FOR,
    Result,
    Table,
    Tag,
    View,
    class_name,
    numbered,
    numbers,
    pane,
    quoted,
    rgb,
    texts,
    visible,
)
from keras_interp_rnn.analysis.state_regularized.centroids import centroid_outputs, moves
from keras_interp_rnn.analysis.state_regularized.tokens import check_text


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """The tokens of a text, with the probability that each moved the network to its prediction.

    Attributes:
        tokens: the T tokens that are read.
        alpha: (T, k), the transition probabilities; NaN at a step without the stochastic component.
        centroids: the centroids of the predicted class.
        output: (classes,), the model's output.
        prediction: its class. class_names: of all classes; () if they have no names.
        centroid_classes: (k,), the class that the head gives each centroid, by name; () if that is not known.

    Example: see `explain`.
    """

    tokens: tuple[str, ...]
    alpha: NDArray[np.float64]
    centroids: tuple[int, ...]
    output: NDArray[np.float64]
    prediction: int
    class_names: tuple[str, ...] = ()
    centroid_classes: tuple[str, ...] = ()

    @property
    def weights(self) -> NDArray[np.float64]:
        """(T,), each token's probability of moving to `centroids`; 0 if alpha is NaN."""
        return np.asarray(np.nan_to_num(self.alpha[:, list(self.centroids)].sum(axis=1)))

    def shown(self, colors: bool | None = None) -> str:
        """The text for a terminal: the redder the background, the higher the probability.

        Args:
            colors: True for ANSI colours; False for the probability after each token with at least 0.5. By default
                colours if the standard output is a terminal and the variable NO_COLOR is not set.
        """
        return "; ".join([self._marked(colors), *self._unread()])

    def _marked(self, colors: bool | None) -> str:
        if colors is None:
            colors = in_terminal() and not os.environ.get("NO_COLOR")
        tokens = list(zip(map(visible, self.tokens), self.weights.tolist(), strict=True))
        if colors:
            text = " ".join(_shaded(token, weight) for token, weight in tokens)
        else:
            text = " ".join(f"{token} ({weight:.2f})" if weight >= 0.5 else token for token, weight in tokens)
        return f"{class_name(self.class_names, self.prediction)}: {text}"

    def _unread(self) -> tuple[str, ...]:
        """A sentence about tokens without the stochastic component, if there are any."""
        unread = [visible(self.tokens[i]) for i in np.flatnonzero(np.isnan(self.alpha).any(axis=1))]
        return (f"read without centroids: {', '.join(unread)}",) if unread else ()

    def table(self) -> Table:
        """A row for each token, with its probability of moving to the centroids of the predicted class."""
        heading = f"probability of centroid {', '.join(map(str, self.centroids))}"
        return Table(
            self._says(),
            (
                numbered("position", len(self.tokens)),
                texts("token", [*map(visible, self.tokens)]),
                numbers(heading, self.weights, ".3f"),
            ),
            bars=heading,
            notes=self._unread(),
            scale=1.0,
            outline=(self._marked(None),),
        )

    def _says(self) -> str:
        """The prediction, and since which token the network is more likely than not at the centroids of this class."""
        name, centroids = class_name(self.class_names, self.prediction), " or ".join(map(str, self.centroids))
        where = f"centroid {centroids}, which is of this class"
        regularized = np.flatnonzero(~np.isnan(self.alpha).any(axis=1))
        away = np.flatnonzero(self.weights[regularized] < 0.5)
        since = int(away[-1]) + 1 if len(away) else 0
        if since >= len(regularized):
            return f"{quoted(name)}, although the last token with a centroid does not move it to {where}"
        token = int(regularized[since])
        at = (
            f"{quoted(visible(self.tokens[token]))}, token {token + 1} of {len(self.tokens)}," if since else "the start"
        )
        return f"{quoted(name)}: from {at} on it is more likely than not at {where}"

    def page_view(self) -> View | None:
        """The text, its path through the centroids, and its moves among them as a graph; None without a move."""
        tokens = [visible(token) for token in self.tokens]
        counts, description = transition_counts(self.alpha, tokens)
        if not counts.any():
            return None
        named = {"classes": [*self.centroid_classes]} if self.centroid_classes else {}
        description |= {**named, "verdict": f"{self._says()}."}
        alpha, more = transition_probabilities(self.alpha[None], [tokens])
        tags = {"": (counts, description), more["kind"]: (alpha, more)}
        return pane("states", tags, centroid=self.centroids[0])


def _shaded(token: str, weight: float) -> str:
    red, green, blue = (round(255 - 0.6 * weight * (255 - part)) for part in rgb(FOR))
    return f"\x1b[30;48;2;{red};{green};{blue}m{token}\x1b[0m"


def transition_probabilities(alpha: ArrayLike, tokens: Sequence[Sequence[str]]) -> Tag:
    """The transition probabilities (sequences, time, k) of a state-regularized network, for the plugin."""
    rows = [list(row) for row in tokens]
    return np.asarray(alpha, np.float32), {"kind": "transition_probabilities", "tokens": rows}


def transition_counts(alpha: NDArray[np.floating[Any]], tokens: Sequence[str]) -> Tag:
    """The moves of one text among its most probable centroids, for the plugin; alpha is (time, k)."""
    read = ~np.isnan(alpha[:, 0])
    centroids = alpha[read].argmax(axis=1)
    symbols = list(dict.fromkeys(tokens))
    counts = np.zeros((len(symbols), alpha.shape[1], alpha.shape[1]), np.float32)
    moved = [symbols.index(token) for token, there in zip(tokens, read, strict=True) if there]
    np.add.at(counts, (moved[1:], centroids[:-1], centroids[1:]), 1)
    return counts, {"kind": "transition_counts", "symbols": symbols}


def explain(
    network: object,
    sequence: ArrayLike | str,
    *,
    tokens: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    centroids: Sequence[int] | None = None,
) -> Explanation:
    r"""The probability with which each token of a text moved the network to the predicted class (algorithm 3).

    Args:
        network, tokens, outputs: as `prototypes`.
        sequence: int (time,), token ids, as the model reads them; or a string or a list of tokens, if they have names.
        centroids: the centroids whose probabilities are summed. By default the most probable centroid after the last
            step read, among those for which the model's head gives the predicted class, or among all if there are none.

    Returns:
        `Explanation`, which `print` and notebooks show as shaded text.

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
    network, names = resolve_alphabet(network, tokens)
    ids = check_text(sequence, names)[None]
    check_one_output(network)
    [(_, alpha, read, layer)] = moves(network, ids)
    with carried_states.from_the_start(network):
        output = np.asarray(predict_on_batch(network, ids, 1), np.float64)[0]
    output = output[-1] if output.ndim == 2 else output
    check_range("The outputs of the network", [output])
    prediction = int(predicted_classes(network, output[None])[0])
    named = class_names(network, outputs, len(output))
    called: tuple[str, ...] = ()
    if centroids is None:
        classes = predicted_classes(network, centroid_outputs(network, layer))
        of_class = classes == prediction
        called = tuple(visible(named[int(label)]) for label in classes) if named else ()
        moved = np.flatnonzero(~np.isnan(alpha[0, :, 0]))
        if not moved.size:
            raise ValueError(
                "The text must have a regularized step, for the default centroid. Received: a text without one. Pass "
                "centroids."
            )
        last = alpha[0, moved[0 if layer.go_backwards else -1]]
        centroids = [int(np.where(of_class, last, -1).argmax() if of_class.any() else last.argmax())]
    chosen = listed("Centroids", centroids)
    if not chosen:
        raise invalid("centroids", "a list of at least one centroid", chosen)
    remedy = "Leave centroids out for the last one of the predicted class."
    chosen = [integer("centroid", i, 0, remedy, below=alpha.shape[-1]) for i in chosen]
    names_read = tuple(token_name(names, token) for token in ids[0][read[0]])
    read_alpha = alpha[0][read[0]].astype(np.float64)
    return Explanation(names_read, read_alpha, tuple(chosen), output, prediction, named, called)
