"""The automaton that a state-regularized network is, through training."""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import automata
from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._checks import is_integer
from keras_interp_rnn._network import check_finite
from keras_interp_rnn.automata.machines import Automaton as AnyAutomaton
from keras_interp_rnn.automata.machines import accepted_words, checked_words, encoding_of, short_words
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe
from keras_interp_rnn.views import tags
from tensorboard_plugins.interp_rnn import schema


class Comparison(NamedTuple):
    """The automaton beside the reference; `counterexample` is a shortest word on which they differ, or None."""

    counterexample: tuple[Hashable, ...] | None
    distance: float

    @property
    def equivalent(self) -> bool:
        return self.counterexample is None


class Found(NamedTuple):
    """What there is at one time; agreement and visits (states,) are shares."""

    extraction: Extraction
    minimal: AnyAutomaton
    agreement: float
    comparison: Comparison | None
    visits: NDArray[np.float64]


class Automaton(Probe):
    """Logs the automaton extracted from a state-regularized network during `fit`: a Moore machine where it has labels.

    - `interp_rnn/automaton`, the automaton of the centroids, for the plugin;
    - `interp_rnn/automaton_states`, of the minimal automaton, and `interp_rnn/automaton_centroids`, those reached;
    - `interp_rnn/automaton_agreement`, the fraction of words on which network and automaton agree: of short words and,
      with a reference, of words of both its labels;
    - `interp_rnn/automaton_confidence`, the least confidence of a transition; `interp_rnn/automaton_entropy`, the mean
      entropy of the transitions in nats, 0 for a hard automaton;
    - with a reference, `interp_rnn/automaton_equivalent`, 1 if the automaton accepts the same language and 0 if not,
      and `interp_rnn/automaton_distance`, the fraction of the reference's words that it judges otherwise: the mean of
      the fractions over words that the reference accepts and over those it rejects, so 1/2 for one that rejects all;
      of a Moore machine the mean over its labels.

    Which `method` reads a network depends on what its cell remembers:

    | layer | `method` | `data` |
    |---|---|---|
    | `SRSimpleRNN`, `SRGRU`, models of `automata.train_recognizer` | "exact" | none |
    | `SRLSTM`, `SRPeepholeLSTM`, whose cells have a memory besides | "counts" or "mean_probability" | words |

    A model of `automata.train_recognizer` carries its alphabet, and so does one with `Alphabet.layer()`; for any other
    give `alphabet`. Give `start` and `end` if its words have such tokens.

    Steps are the optimizer's, so they continue when a saved model is trained further. While the network's
    strength is below 1 its centroids are not its states, and nothing is written.

    Args:
        log_dir: its events go to the folder `automaton` in it, a run of its own.
        reference: the expected automaton, over the same symbols; of a network with labels, a `MooreMachine`.
        data, method, alphabet, start, end: as `automata.extract`.
        num_words: int > 0. Agreement is computed over at most this many short words, distance over at most this many
            words of the reference, as many of each label (accepted and rejected), the shortest first.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if a number is not positive, the reference no automaton, or the alphabet none; when training begins,
            if the network has labels and the reference none, or the other way round; and as `automata.extract`.

    If weights become non-finite, warns once and skips logging; training continues.

    Example:

        ids = {"0": 2, "1": 3}
        model.fit(x, y, callbacks=[Automaton("logs", automata.tomita(4), alphabet=ids, start=1)])  # an SRGRU
        model.fit(x, y, callbacks=[Automaton("logs", data=words, method="counts", alphabet=ids)])  # an SRLSTM
    """

    folder = "automaton"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        reference: automata.DFA | automata.MooreMachine | None = None,
        *,
        data: Iterable[Iterable[Hashable]] | None = None,
        method: str = "exact",
        alphabet: automata.WordEncoding | Mapping[Hashable, int] | None = None,
        start: int | None = None,
        end: int | None = None,
        num_words: int = 500,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, update_freq)
        if reference is not None and not isinstance(reference, automata.DFA | automata.MooreMachine):
            raise ValueError(
                f"The reference is an automata.DFA or MooreMachine. Received: reference={reference!r}. Pass one."
            )
        if not is_integer(num_words) or num_words < 1:
            raise ValueError(f"num_words must be an integer > 0. Received: num_words={num_words!r}.")
        self.reference = reference
        self.data = None if data is None else [tuple(word) for word in checked_words(data)]
        self.method, self.num_words = method, num_words
        self.words: dict[str, Any] = {"alphabet": alphabet, "start": start, "end": end}
        if alphabet is not None:
            encoding_of(alphabet, start, end)
        languages = [] if reference is None else _languages(reference)
        self._of_reference = [accepted_words(language, max(1, num_words // len(languages))) for language in languages]

    def measure(self) -> Found | None:
        cells = [part for part in keras_quirks.walk_layers(self.model) if hasattr(part, "set_strength")]
        if any(float(keras.ops.convert_to_numpy(cell.strength)) < 1 for cell in cells):
            return None
        check_finite(self.model)
        found = automata.extract(self.model, self.data, method=self.method, **self.words)
        if self.reference is not None and type(self.reference) is not type(found.dfa):
            raise ValueError(
                "A network that accepts words is compared with a DFA, one with an output for each label with a "
                f"MooreMachine. Received: {self.model.name}, which is a {type(found.dfa).__name__}, and as reference a "
                f"{type(self.reference).__name__}. Pass one of its kind."
            )
        words = short_words(found.dfa.alphabet, self.num_words)
        judged = list(dict.fromkeys(itertools.chain(words, *self._of_reference)))
        agreement = found.agreement(judged).share
        return Found(found, found.dfa.minimize(), agreement, self._compared(found.dfa), _visits(found.dfa, words))

    def _compared(self, dfa: AnyAutomaton) -> Comparison | None:
        reference = self.reference
        if reference is None:
            return None
        shares = [
            np.mean([dfa.output(word) != reference.output(word) for word in words])
            for words in self._of_reference
            if words
        ]
        return Comparison(dfa.difference(reference), float(np.mean(shares)))

    def write(self, found: Found, step: int) -> None:
        extraction, compared = found.extraction, found.comparison
        confidence = extraction.confidence
        entropy = _mean(extraction.entropy)
        text, description = tags.automaton(
            extraction.dfa,
            extraction.centroids,
            confidence,
            unsupported=extraction.unsupported,
            sizes=extraction.network.num_centroids,
            reference=self.reference,
            minimal=len(found.minimal),
            agreement=found.agreement,
            distance=compared and compared.distance,
            equivalent=compared and compared.equivalent,
            counterexample=compared and _names(compared.counterexample),
            entropy=entropy,
            visits=[round(float(x), 6) for x in found.visits],
        )
        described = schema.metadata("automaton", **description)
        _summaries.tensor("interp_rnn/automaton", text, step, described)
        scalars = {
            "states": len(found.minimal),
            "centroids": len(extraction.dfa),
            "agreement": found.agreement,
            "confidence": 0.0 if np.isnan(confidence).all() else float(np.nanmin(confidence)),
        }
        if compared is not None:
            scalars.update(distance=compared.distance, equivalent=float(compared.equivalent))
        if entropy is not None:
            scalars["entropy"] = entropy
        for name, value in scalars.items():
            _summaries.scalar(f"interp_rnn/automaton_{name}", value, step)


def _languages(reference: AnyAutomaton) -> list[automata.DFA]:
    """The automaton of the words of each label."""
    machine = automata.MooreMachine.from_dfa(reference) if isinstance(reference, automata.DFA) else reference
    assert isinstance(machine, automata.MooreMachine)
    return [machine.accepting(label) for label in machine.labels]


def _visits(dfa: AnyAutomaton, words: Sequence[tuple[Hashable, ...]]) -> NDArray[np.float64]:
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
    return counts / max(counts.sum(), 1)


def _mean(values: NDArray[np.floating[Any]]) -> float | None:
    """Of those that are known; None where none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _names(word: Sequence[Hashable] | None) -> list[str] | None:
    return None if word is None else [str(symbol) for symbol in word]
