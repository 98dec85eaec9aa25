"""Logs the automaton extracted from a state-regularized network."""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import automata
from keras_interp_rnn._arrays import check_finite
from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._checks import integer, invalid
from keras_interp_rnn._network import GivenAlphabet, alphabet_of
from keras_interp_rnn.automata.machines import accepted_words, checked_words, short_words
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe, write_tag


class Measured(NamedTuple):
    """An extracted automaton, and the values logged with it.

    Attributes:
        agreement: fraction of words on which network and automaton agree.
        visits: (states,), fraction of all steps of short words that arrive at each state.
        comparison: equivalent, counterexample and distance, with a reference.
    """

    extraction: Extraction
    agreement: float
    visits: NDArray[np.float64]
    comparison: dict[str, Any]


class Automaton(Probe):
    """Logs the automaton extracted from a state-regularized network during `fit`: a Moore machine if it has labels.

    - `interp_rnn/automaton`, the automaton of the centroids, for the plugin;
    - `interp_rnn/automaton_states`, the size of the minimal automaton; `interp_rnn/automaton_centroids`, the number of
      centroids that words reach;
    - `interp_rnn/automaton_agreement`, the fraction of words on which the network and the automaton agree: short words
      and, with a reference, words of each of its labels;
    - `interp_rnn/automaton_confidence`, the smallest confidence of a transition; `interp_rnn/automaton_entropy`, the
      mean entropy of the transitions in nats, 0 for a hard automaton;
    - with a reference, `interp_rnn/automaton_equivalent`, 1 if the automaton accepts the same language and 0 if not,
      and `interp_rnn/automaton_distance`, the fraction of the reference's words that it labels differently, averaged
      over the labels of the reference: 1/2 if it rejects all words and the reference does not.

    The `method` that reads a network depends on the states of its cell:

    | layer | `method` | `data` |
    |---|---|---|
    | `SRSimpleRNN`, `SRGRU`, models of `automata.train_recognizer` | "exact" | none |
    | `SRLSTM`, `SRPeepholeLSTM`, whose cells also have a memory | "counts" or "mean_probability" | words |

    A model of `automata.train_recognizer` carries its alphabet, and so does a model with `Alphabet.layer()`. For any
    other model pass `alphabet`, with the tokens around its words if there are any.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues. While the network's strength is below 1, its states are not
    centroids, and the callback writes nothing.

    Args:
        log_dir: the folder of the logs; this callback writes to `automaton` in it, a run of its own.
        reference: the expected automaton, over the same symbols; a `MooreMachine` if the network has labels.
        data, method, alphabet: as `automata.extract`.
        num_words: int > 0. Agreement is computed over at most this many short words, and distance over at most this
            many words of the reference, the shortest ones, with equal numbers for each label (accepted and rejected).
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if a number is not positive, or the reference or the alphabet is not valid. When training begins, if
            only one of the network and the reference has labels; and as `automata.extract`.

    Example:

        ids = {"0": 2, "1": 3}
        model.fit(x, y, callbacks=[Automaton("logs", automata.tomita(4), alphabet=alphabet)])  # an SRGRU
        model.fit(x, y, callbacks=[Automaton("logs", data=words, method="counts", alphabet=ids)])  # an SRLSTM
    """

    folder = "automaton"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        reference: automata.MooreMachine | None = None,
        *,
        data: Iterable[Iterable[Hashable]] | None = None,
        method: str = "exact",
        alphabet: GivenAlphabet | None = None,
        num_words: int = 500,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, update_freq)
        if reference is not None and not isinstance(reference, automata.MooreMachine):
            raise invalid("reference", "an automata.DFA or MooreMachine", reference, "Pass the expected automaton.")
        self.reference = reference
        self.data = None if data is None else [tuple(word) for word in checked_words(data)]
        self.method, self.num_words = method, integer("num_words", num_words)
        self.alphabet = None if alphabet is None else alphabet_of(alphabet)
        languages = [] if reference is None else _languages(reference)
        self._reference_words = [
            accepted_words(language, max(1, self.num_words // len(languages))) for language in languages
        ]

    def measure(self) -> Measured | None:
        cells = [part for part in keras_quirks.walk_layers(self.model) if hasattr(part, "set_strength")]
        if any(float(keras.ops.convert_to_numpy(cell.strength)) < 1 for cell in cells):
            return None
        check_finite(self.network)
        found = automata.extract(self.network, self.data, method=self.method, alphabet=self.alphabet)
        if self.reference is not None and type(self.reference) is not type(found.dfa):
            raise ValueError(
                "`reference` must be a DFA for a network that accepts words, or a MooreMachine for one with labels. "
                f"Received: a {type(self.reference).__name__}, and {self.model.name}, which is a "
                f"{type(found.dfa).__name__}. Pass an automaton of this class."
            )
        words = short_words(found.dfa.alphabet, self.num_words)
        agreement = found.agreement(list(dict.fromkeys(itertools.chain(words, *self._reference_words)))).share
        return Measured(found, agreement, _visits(found.dfa, words), self._compared(found.dfa))

    def _compared(self, dfa: automata.MooreMachine) -> dict[str, Any]:
        """Whether an automaton is the reference, a shortest word on which they differ, and their distance."""
        reference = self.reference
        if reference is None:
            return {}
        shares = [
            np.mean([dfa.output(word) != reference.output(word) for word in words])
            for words in self._reference_words
            if words
        ]
        word = dfa.difference(reference)
        return {
            "equivalent": word is None,
            "counterexample": None if word is None else [str(symbol) for symbol in word],
            "distance": float(np.mean(shares)),
        }

    def write(self, found: Measured, step: int) -> None:
        extraction, minimal = found.extraction, len(found.extraction.dfa.minimize())
        confidence = extraction.confidence[~np.isnan(extraction.confidence)]
        entropies = extraction.entropy[~np.isnan(extraction.entropy)]
        entropy = float(entropies.mean()) if entropies.size else None
        tag = extraction.dfa.tag(
            extraction.centroids,
            extraction.confidence,
            unsupported=extraction.unsupported,
            sizes=extraction.network.num_centroids,
            reference=self.reference,
            minimal=minimal,
            agreement=found.agreement,
            entropy=entropy,
            visits=[round(float(x), 6) for x in found.visits],
            **dict.fromkeys(("distance", "equivalent", "counterexample")) | found.comparison,
        )
        write_tag("automaton", tag, step)
        scalars = {
            "automaton_states": minimal,
            "automaton_centroids": len(extraction.dfa),
            "automaton_agreement": found.agreement,
            "automaton_confidence": float(confidence.min()) if confidence.size else 0.0,
            "automaton_distance": found.comparison.get("distance"),
            "automaton_equivalent": found.comparison.get("equivalent"),
            "automaton_entropy": entropy,
        }
        _summaries.scalars({name: float(value) for name, value in scalars.items() if value is not None}, step)


def _languages(reference: automata.MooreMachine) -> list[automata.DFA]:
    """An automaton for each label, which accepts the words that have it."""
    return [automata.DFA.from_moore(reference, label) for label in reference.labels]


def _visits(dfa: automata.MooreMachine, words: Sequence[tuple[Hashable, ...]]) -> NDArray[np.float64]:
    """Fraction of all steps of the words that arrive at each state; 0 everywhere without steps."""
    counts = np.zeros(len(dfa))
    column = {symbol: i for i, symbol in enumerate(dfa.alphabet)}
    for word in words:
        state = dfa.start
        for symbol in word:
            state = dfa.transitions[state][column[symbol]]
            if state < 0:
                break
            counts[state] += 1
    return counts / max(float(counts.sum()), 1)
