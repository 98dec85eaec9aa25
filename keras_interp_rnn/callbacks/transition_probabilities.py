"""How a state-regularized network moves among its centroids, through training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import integer
from keras_interp_rnn._network import GivenNames, apply_head, carried_states, centroids_of, decision_threshold
from keras_interp_rnn._results import visible
from keras_interp_rnn.analysis import trace
from keras_interp_rnn.analysis.state_regularized.tokens import ranked
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import InputProbe, copied
from tensorboard_plugins.interp_rnn import schema

CELL = 14
"""Side of a probability in the image, in pixels."""

TOP = 5
"""Prototypes of a centroid."""

CONTEXT = 8
"""Tokens of a text that ends with a move."""

MOVES = 1000
"""Number of transitions, the most frequent ones, that get example texts."""

MANY = 64
"""Up to this number of ids, transitions are counted symbol by symbol; above it, all together."""

PAPER, INK = np.array([255, 255, 255]), np.array([8, 48, 107])


class Found(NamedTuple):
    """What there is at one time: of the fixed sequences, and of the validation set."""

    alpha: NDArray[np.float32]  # (sequences, time, k)
    entropy: float  # mean over the steps, nats
    shares: NDArray[np.float64]  # (k,) of the steps, those that arrived there
    counts: NDArray[np.float32]  # (symbols or 1, k, k)
    texts: dict[str, Any] | None  # as the plugin's schema says
    outputs: NDArray[np.float32] | None  # (k + sequences, classes)


class TransitionProbabilities(InputProbe):
    r"""Logs the transition probabilities $\alpha$ of a state-regularized layer during `fit`.

    For the fixed sequences

    - `interp_rnn/transitions/sequence_i`, an image: a row for each centroid, a column for each token, the darker the
      more probable; for the first `num_images` of them;
    - `interp_rnn/transition_probabilities`, all of $\alpha$ for the plugin;

    and over the validation set, or the fixed sequences where none is given,

    - `interp_rnn/alpha_entropy`, the mean entropy of $\alpha$ in nats: 0 for a hard automaton, $\ln k$ for none;
    - `interp_rnn/centroids_used`, to how many centroids at least one step moves; `interp_rnn/centroids_effective`,
      $e^{H}$ of the shares of steps that arrive at each;
    - `interp_rnn/transition_counts` and `interp_rnn/transition_texts`, for the plugin: how often each symbol moved the
      network from centroid to centroid, by what texts, and the tokens that each centroid stands for;
    - `interp_rnn/outputs`, for the plugin: what the model's head makes of each centroid, where it reads states alone.

    Steps are the optimizer's, so they continue when a saved model is trained further.

    Args:
        log_dir: its events go to the folder `transitions` in it, a run of its own beside those of
            `keras.callbacks.TensorBoard(log_dir)`.
        inputs: the fixed sequences, (sequences, time, ...), as the model reads them; or texts, where the ids have
            names. A handful is plenty.
        validation: the same, a few hundred.
        tokens: names of the ids in `inputs`; as `analysis.trace`.
        layer: name of the state-regularized layer, where the model has several recurrent ones. Or the layer itself,
            for a subclassed model; inputs are then what the layer reads.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.
        num_images: how many sequences get an image.

    Raises:
        ValueError: if there are no sequences, or a frequency is no positive number; when training begins, if there is
            no such layer or a sequence reads no step.

    If weights become non-finite, warns once and skips logging; training continues.

    Example:

        model.fit(x, y, callbacks=[TransitionProbabilities("logs", x[:4], validation=x[:500], tokens=words)])
    """

    folder = "transitions"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: Any,
        *,
        validation: Any = None,
        tokens: GivenNames | None = None,
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
        num_images: int = 4,
    ) -> None:
        super().__init__(log_dir, inputs, layer, update_freq)
        self.validation = None if validation is None else copied(validation)
        self.tokens = tokens
        self.num_images = integer("num_images", num_images, 0)

    def measure(self) -> Found:
        layer, fixed = self._traced(self.inputs)
        everything = fixed if self.validation is None else self._traced(self.validation)[1]
        alpha, centroid = everything["alpha"], everything["centroid"]
        read = centroid >= 0
        probabilities = np.clip(alpha[read], 1e-30, 1)
        k = alpha.shape[-1]
        shares = np.bincount(centroid[read], minlength=k) / max(read.sum(), 1)
        ids = _ids(self.read(self.inputs if self.validation is None else self.validation))
        if layer.go_backwards:  # moves are in the order in which the tokens are read
            alpha, centroid, ids = alpha[:, ::-1], centroid[:, ::-1], None if ids is None else ids[:, ::-1]
        return Found(
            fixed["alpha"].astype(np.float32),
            float(-(probabilities * np.log(probabilities)).sum(axis=-1).mean()),
            shares,
            transition_counts(centroid, k, ids),
            None if ids is None else transition_texts(alpha, centroid, ids, self._name),
            self._outputs(),
        )

    def write(self, found: Found, step: int) -> None:
        names = self._names()
        for i, alpha in enumerate(found.alpha[: self.num_images]):
            there = ~np.isnan(alpha[:, 0])
            text = " ".join(name for name, is_there in zip(names[i], there, strict=True) if is_there) if names else ""
            description = f"Rows: centroids, 0 on top. Columns: the tokens read. {text}"
            _summaries.image(f"interp_rnn/transitions/sequence_{i}", picture(alpha[there]), step, description)
        described = schema.metadata("transition_probabilities", tokens=names)
        _summaries.tensor("interp_rnn/transition_probabilities", found.alpha, step, described)
        symbols = [self._name(i) for i in range(len(found.counts))] if len(found.counts) > 1 else []
        described = schema.metadata("transition_counts", symbols=symbols)
        _summaries.tensor("interp_rnn/transition_counts", found.counts, step, described)
        if found.texts is not None:
            described = schema.metadata("transition_texts")
            _summaries.tensor("interp_rnn/transition_texts", json.dumps(found.texts), step, described)
        if found.outputs is not None:
            described = schema.metadata("outputs", middle=decision_threshold(self.model))
            _summaries.tensor("interp_rnn/outputs", found.outputs, step, described)
        arrived = found.shares[found.shares > 0]
        _summaries.scalar("interp_rnn/alpha_entropy", found.entropy, step)
        _summaries.scalar("interp_rnn/centroids_used", len(arrived), step)
        _summaries.scalar("interp_rnn/centroids_effective", np.exp(-(arrived * np.log(arrived)).sum()), step)

    def _traced(self, inputs: Any) -> tuple[keras.layers.RNN, dict[str, NDArray[Any]]]:
        """The watched layer, and its trace in the order of the tokens."""
        layer, reads, mask = self.layer_and_reads(inputs)
        found = dict(trace(layer, reads, mask=mask))
        if "alpha" not in found:
            raise ValueError(
                f"TransitionProbabilities reads a state-regularized layer. Received: {layer.name}. Name another one, "
                "or use layers.SRLSTM or its like."
            )
        return layer, {name: x[:, ::-1] for name, x in found.items()} if layer.go_backwards else found

    def _outputs(self) -> NDArray[np.float32] | None:
        """What the model's head makes of the centroids, and the model of the fixed sequences; None if not known."""
        if isinstance(self.layer, keras.layers.Layer):
            return None
        layer, _, _ = self.layer_and_reads(self.inputs)
        try:
            of_centroids = apply_head(self.resolved()[0], layer, centroids_of(layer))
        except ValueError:
            return None
        with carried_states.from_the_start(self.model):
            of_sequences = keras.tree.flatten(self.resolved()[0](self.read(self.inputs), training=False))
        if len(of_sequences) != 1:
            return None
        found = np.asarray(keras.ops.convert_to_numpy(of_sequences[0]), np.float32)
        found = found[:, -1] if found.ndim == 3 else found
        return np.concatenate([of_centroids.astype(np.float32), found]) if found.ndim == 2 else None

    def _names(self) -> list[list[str]]:
        ids = _ids(self.read(self.inputs))
        return [] if ids is None else [[self._name(token) for token in row] for row in ids.tolist()]

    def _name(self, token: int) -> str:
        _, names = self.resolved()
        name = str(token) if names is None or token >= len(names) else str(names[token])
        return name and visible(name)  # an empty name, of padding, stays out of texts


def transition_texts(
    alpha: NDArray[np.floating[Any]],
    centroid: NDArray[np.integer[Any]],
    ids: NDArray[np.integer[Any]],
    name: Callable[[int], str],
) -> dict[str, Any]:
    """What tokens the centroids stand for, and by what texts the network moves among them; as the schema says.

    Args:
        alpha: (batch, time, k). centroid: (batch, time), -1 where there is none. ids: (batch, time). name: of an id.
    """
    read = centroid >= 0
    sure = np.nan_to_num(alpha).max(axis=-1)
    prototypes = []
    for i in range(alpha.shape[-1]):
        there = read & (centroid == i)
        ranking = ranked(ids[there], sure[there], by="highest", min_count=1)
        prototypes.append([[name(t), round(p, 4)] for t, p, _ in ranking[:TOP]])
    before, after = _before(centroid), centroid[:, 1:]
    rows, times = np.nonzero((before >= 0) & (after >= 0))
    symbol = ids[:, 1:] if _by_symbol(ids) else np.zeros_like(after)
    keys = np.stack([values[rows, times] for values in (symbol, before, after)], axis=1)
    distinct, first, count = np.unique(keys, axis=0, return_index=True, return_counts=True)
    moves = []
    for at in np.argsort(-count, kind="stable")[:MOVES]:
        row, time = rows[first[at]], times[first[at]] + 1
        inside = [name(t) for t in ids[row, max(0, time - CONTEXT + 1) : time + 1].tolist()]
        moves.append([*map(int, distinct[at]), " ".join(token for token in inside if token)])
    return {"prototypes": prototypes, "moves": moves}


def transition_counts(
    centroid: NDArray[np.integer[Any]], num_centroids: int, ids: NDArray[np.integer[Any]] | None
) -> NDArray[np.float32]:
    """How often each symbol moved the network from one centroid to another: (symbols or 1, k, k).

    Args:
        centroid: (batch, time), -1 where there is none. The first step of a sequence comes from no centroid.
        ids: (batch, time), or None: all symbols together, as with more than `MANY`.
    """
    before, after = _before(centroid), centroid[:, 1:]
    counted = (before >= 0) & (after >= 0)
    symbols = int(ids.max(initial=0)) + 1 if ids is not None and _by_symbol(ids) else 1
    symbol = np.zeros_like(after) if ids is None or symbols == 1 else ids[:, 1:]
    counts = np.zeros((symbols, num_centroids, num_centroids), np.float32)
    np.add.at(counts, (symbol[counted], before[counted], after[counted]), 1)
    return counts


def _before(centroid: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """(batch, time - 1): of each step but the first the centroid before it, which stays where steps are not read."""
    places = np.where(centroid >= 0, np.arange(centroid.shape[1]), 0)
    last = np.maximum.accumulate(places, axis=1)
    return np.take_along_axis(centroid, last, axis=1)[:, :-1]


def picture(alpha: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Probabilities (time, k) as an image (k * CELL, time * CELL, 3), white for 0 and dark blue for 1."""
    shade = np.kron(alpha.T, np.ones((CELL, CELL)))[..., None]
    return np.round(PAPER + shade * (INK - PAPER)).astype(np.uint8)


def _by_symbol(ids: NDArray[np.integer[Any]]) -> bool:
    return int(ids.max(initial=0)) < MANY


def _ids(inputs: Any) -> NDArray[np.integer[Any]] | None:
    """The token ids (batch, time) of a model's inputs, if that is what they are."""
    found = isinstance(inputs, np.ndarray) and inputs.ndim == 2 and np.issubdtype(inputs.dtype, np.integer)
    return inputs if found else None
