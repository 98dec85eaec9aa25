"""The automaton that a state-regularized network is, through training."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_interp_rnn import automata
from keras_interp_rnn.analysis._reading import check_finite
from keras_interp_rnn.automata.extraction import Extraction, short_words
from keras_interp_rnn.callbacks._probes import Probe
from tensorboard_plugins.interp_rnn import schema


class Found(NamedTuple):
    """What there is at one time; agreement, distance and visits (states,) are shares, over short words."""

    extraction: Extraction
    minimal: automata.DFA
    agreement: float
    distance: float | None
    visits: NDArray[np.float64]


class Automaton(Probe):
    """Logs the automaton extracted from a state-regularized network during `fit`.

    - `interp_rnn/automaton`, the automaton of the centroids, for the plugin;
    - `interp_rnn/automaton_states`, of the minimal automaton, and `interp_rnn/automaton_centroids`, those reached;
    - `interp_rnn/automaton_agreement`, the share of short words that network and automaton judge alike;
    - `interp_rnn/automaton_confidence`, the least confidence of a transition; `interp_rnn/automaton_entropy`, the mean
      entropy of the transitions in nats, 0 for a hard automaton;
    - `interp_rnn/automaton_distance`, with a reference: the share of short words that the automaton judges otherwise.

    Steps are the optimizer's, so they go on where they were when a saved model is trained further. While the network's
    strength is below 1 its centroids are not its states, and nothing is written.

    Args:
        log_dir: its events go to the folder `automaton` in it, a run of its own.
        reference: the automaton that is hoped for.
        data, method, alphabet, start, end: as `automata.extract`.
        words: agreement and distance are taken over at most so many, the shortest.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if a frequency is no positive number; when training begins, as `automata.extract`.

    Weights that are not finite any more are warned of once, and nothing is written; training goes on.

    Example:

        model.fit(x, y, callbacks=[Automaton("logs", automata.tomita(4), alphabet={"0": 2, "1": 3}, start=1)])
    """

    folder = "automaton"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        reference: automata.DFA | None = None,
        data: Iterable[Iterable[Hashable]] | None = None,
        method: str = "exact",
        alphabet: Mapping[Hashable, int] | None = None,
        start: int | None = None,
        end: int | None = None,
        words: int = 500,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, update_freq)
        self.reference = reference
        self.data = None if data is None else [tuple(word) for word in data]
        self.method, self.alphabet, self.start, self.end = method, alphabet, start, end
        self.words = words

    def measure(self) -> Found | None:
        cells = [part for part in self.model._flatten_layers() if hasattr(part, "set_strength")]
        if any(float(keras.ops.convert_to_numpy(cell.strength)) < 1 for cell in cells):
            return None
        check_finite(self.model)
        found = automata.extract(self.model, self.data, self.method, self.alphabet, self.start, self.end)
        words = short_words(found.dfa.alphabet, self.words)
        distance = None
        if self.reference is not None:
            distance = float(np.mean([found.dfa.accepts(word) != self.reference.accepts(word) for word in words]))
        return Found(found, found.dfa.minimize(), found.agreement(words).share, distance, _visits(found.dfa, words))

    def write(self, found: Found, step: int) -> None:
        extraction = found.extraction
        confidence = extraction.confidence
        entropy = _mean(extraction.entropy)
        described = schema.metadata(
            "automaton",
            symbols=[str(symbol) for symbol in extraction.dfa.alphabet],
            reference=None if self.reference is None else _table(self.reference),
        )
        text = json.dumps(
            {
                **_table(extraction.dfa),
                "centroids": list(extraction.centroids),
                "minimal": len(found.minimal),
                "agreement": found.agreement,
                "distance": found.distance,
                "entropy": entropy,
                "visits": [round(float(x), 6) for x in found.visits],
                "confidence": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in confidence],
            }
        )
        tf.summary.write("interp_rnn/automaton", tf.constant(text), step=step, metadata=described)
        scalars = {
            "states": len(found.minimal),
            "centroids": len(extraction.dfa),
            "agreement": found.agreement,
            "confidence": 0.0 if np.isnan(confidence).all() else float(np.nanmin(confidence)),
        }
        optional = {"distance": found.distance, "entropy": entropy}
        scalars.update({name: value for name, value in optional.items() if value is not None})
        for name, value in scalars.items():
            tf.summary.scalar(f"interp_rnn/automaton_{name}", value, step=step)


def _visits(dfa: automata.DFA, words: Sequence[tuple[Hashable, ...]]) -> NDArray[np.float64]:
    """Share of all steps of the words that arrive at each state; 0 everywhere without steps."""
    counts = np.zeros(len(dfa))
    column = {symbol: i for i, symbol in enumerate(dfa.alphabet)}
    for word in words:
        state = dfa.start
        for symbol in word:
            state = dfa.transitions[state][column[symbol]]
            if state < 0:
                break
            counts[state] += 1
    return counts / max(counts.sum(), 1)


def _mean(values: NDArray[np.floating[Any]]) -> float | None:
    """Of those that are known; None where none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _table(dfa: automata.DFA) -> dict[str, Any]:
    return {
        "transitions": [list(row) for row in dfa.transitions],
        "accepting": sorted(dfa.accepting),
        "start": dfa.start,
    }
