"""Logs how a state-regularized network moves among its centroids."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network import GivenAlphabet, apply_head, carried_states, centroids_of, decision_threshold
from keras_interp_rnn._results import visible
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis import trace
from keras_interp_rnn.analysis.state_regularized.explanation import transition_probabilities
from keras_interp_rnn.analysis.state_regularized.tokens import ranked
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import InputProbe, copied, write_tag

TOP = 5
"""Number of prototypes of a centroid."""

CONTEXT = 8
"""Number of tokens of a text that ends with a move."""

MOVES = 1000
"""Maximum number of transitions with example texts, the most frequent ones."""

MANY = 64
"""Maximum number of ids for which transitions are counted by symbol; with more, all symbols together."""


class Measured(NamedTuple):
    """The logged values: `alpha` and `outputs` of the fixed sequences, the others of the validation set."""

    alpha: NDArray[np.float32]  # (sequences, time, k)
    entropy: float  # mean over the steps, nats
    shares: NDArray[np.float64]  # (k,), fractions of the steps that arrive at each centroid
    counts: NDArray[np.float32]  # (symbols or 1, k, k)
    texts: dict[str, Any] | None  # in the form of the plugin's schema
    outputs: NDArray[np.float32] | None  # (k + sequences, classes)


class TransitionProbabilities(InputProbe):
    r"""Logs the transition probabilities $\alpha$ of a state-regularized layer during `fit`.

    Of the fixed sequences it logs

    - `interp_rnn/transition_probabilities`, all of $\alpha$, for the plugin;

    and over the validation set, or the fixed sequences if there is none,

    - `interp_rnn/alpha_entropy`, the mean entropy of $\alpha$ in nats: 0 for a hard automaton, at most $\ln k$;
    - `interp_rnn/centroids_used`, the number of centroids to which at least one step moves;
      `interp_rnn/centroids_effective`, $e^{H}$ of the fractions of steps that arrive at each;
    - `interp_rnn/transition_counts` and `interp_rnn/transition_texts`, for the plugin: how often each symbol moved the
      network from centroid to centroid, with example texts, and the prototypes of each centroid;
    - `interp_rnn/outputs`, for the plugin: the outputs of the model's head at each centroid, if it reads states alone.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `transitions` in it, a run of its own.
        inputs: the fixed sequences, (sequences, time, ...), as the model reads them; or texts, if the ids have
            names. A few suffice.
        validation: a few hundred further sequences.
        tokens: names of the ids in `inputs`; as `analysis.trace`.
        layer: name of the state-regularized layer, if the model has several recurrent ones. Or the layer itself, for a
            subclassed model; inputs are then those of the layer.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there are no sequences, or a number is not positive; when training begins, if there is no such
            layer or all steps of a sequence are masked.

    Example:

        model.fit(x, y, callbacks=[TransitionProbabilities("logs", x[:4], validation=x[:500], tokens=words)])
    """

    folder = "transitions"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: object,
        *,
        validation: object = None,
        tokens: GivenAlphabet | None = None,
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, inputs, layer, update_freq)
        self.validation = None if validation is None else copied(validation)
        self.tokens = tokens

    def measure(self) -> Measured:
        layer, fixed = self._traced(self.inputs)
        traced = fixed if self.validation is None else self._traced(self.validation)[1]
        alpha, centroid = traced["alpha"], traced["centroid"]
        read = centroid >= 0
        probabilities = np.clip(alpha[read], 1e-30, 1)
        k = alpha.shape[-1]
        shares = np.bincount(centroid[read], minlength=k) / max(read.sum(), 1)
        ids = _ids(self.read(self.inputs if self.validation is None else self.validation))
        if layer.go_backwards:  # moves are in the order in which the tokens are read
            alpha, centroid, ids = alpha[:, ::-1], centroid[:, ::-1], None if ids is None else ids[:, ::-1]
        return Measured(
            fixed["alpha"].astype(np.float32),
            float(-(probabilities * np.log(probabilities)).sum(axis=-1).mean()),
            shares,
            transition_counts(centroid, k, ids),
            None if ids is None else transition_texts(alpha, centroid, ids, self._name),
            self._outputs(),
        )

    def write(self, found: Measured, step: int) -> None:
        names = self._names()
        symbols = [self._name(i) for i in range(len(found.counts))] if len(found.counts) > 1 else []
        write_tag("transition_probabilities", transition_probabilities(found.alpha, names), step)
        write_tag("transition_counts", (found.counts, {"kind": "transition_counts", "symbols": symbols}), step)
        if found.texts is not None:
            write_tag("transition_texts", (json.dumps(found.texts), {"kind": "transition_texts"}), step)
        if found.outputs is not None:
            middle = decision_threshold(self.model)
            write_tag("outputs", (found.outputs, {"kind": "outputs", "middle": middle}), step)
        arrived = found.shares[found.shares > 0]
        scalars = {
            "alpha_entropy": found.entropy,
            "centroids_used": len(arrived),
            "centroids_effective": np.exp(-(arrived * np.log(arrived)).sum()),
        }
        _summaries.scalars(scalars, step)

    def _traced(self, inputs: object) -> tuple[keras.layers.RNN, dict[str, AnyArray]]:
        """The layer, and its trace in the order of the tokens."""
        layer, reads, mask = self.layer_and_reads(inputs)
        found = dict(trace(layer, reads, mask=mask))
        if "alpha" not in found:
            raise ValueError(
                f"`layer` must be a state-regularized layer. Received: {layer.name}. Name another layer, or use one "
                "such as layers.SRLSTM."
            )
        return layer, {name: x[:, ::-1] for name, x in found.items()} if layer.go_backwards else found

    def _outputs(self) -> NDArray[np.float32] | None:
        """Outputs of the head at the centroids, and of the model for the fixed sequences; None if they are unknown."""
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
    """The prototypes of centroids, and texts that move the network among them, in the form of the plugin's schema.

    Args:
        alpha: (batch, time, k).
        centroid: (batch, time), -1 at masked steps.
        ids: (batch, time).
        name: the name of an id.
    """
    read = centroid >= 0
    confidence = np.nan_to_num(alpha).max(axis=-1)
    prototypes = []
    for i in range(alpha.shape[-1]):
        arrived = read & (centroid == i)
        ranking = ranked(ids[arrived], confidence[arrived], by="highest", min_count=1)
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
        centroid: (batch, time), -1 at masked steps. The first step of a sequence moves from no centroid.
        ids: (batch, time), or None to count all symbols together, as with more than `MANY`.
    """
    before, after = _before(centroid), centroid[:, 1:]
    counted = (before >= 0) & (after >= 0)
    symbols = int(ids.max(initial=0)) + 1 if ids is not None and _by_symbol(ids) else 1
    symbol = np.zeros_like(after) if ids is None or symbols == 1 else ids[:, 1:]
    counts = np.zeros((symbols, num_centroids, num_centroids), np.float32)
    np.add.at(counts, (symbol[counted], before[counted], after[counted]), 1)
    return counts


def _before(centroid: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The centroid before each step but the first, (batch, time - 1); a masked step keeps it."""
    places = np.where(centroid >= 0, np.arange(centroid.shape[1]), 0)
    last = np.maximum.accumulate(places, axis=1)
    return np.take_along_axis(centroid, last, axis=1)[:, :-1]


def _by_symbol(ids: NDArray[np.integer[Any]]) -> bool:
    return int(ids.max(initial=0)) < MANY


def _ids(inputs: Any) -> NDArray[np.integer[Any]] | None:
    """The inputs of a model, if they are token ids (batch, time); otherwise None."""
    are_ids = isinstance(inputs, np.ndarray) and inputs.ndim == 2 and np.issubdtype(inputs.dtype, np.integer)
    return inputs if are_ids else None
