"""How well an automaton describes labelled words, and how much the words tell of it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from keras_interp_rnn._results import Sentence
from keras_interp_rnn.automata.inference._sample import Sample
from keras_interp_rnn.automata.machines import Automaton, Transitions, Word, unsupported


@dataclass(frozen=True, repr=False, kw_only=True)
class Evidence(Sentence):
    """The evidence of labelled words for an automaton.

    Attributes:
        automaton_accuracy: balanced accuracy over all different words, including those held out: the mean over the
            labels of the fraction of their words to which the automaton gives the label.
        num_states, num_transitions: of the minimal automaton.
        num_words, num_labels: the number of different words, and of labels: of all words, copies included.
        num_held_out: the number of different words held out.
        held_out_accuracy: the fraction of them that are predicted; NaN without any.
        contradicted: the words of which the automaton contradicts a label.
        num_contradicted: the number of labels that it contradicts.
        unsupported: its transitions, as (state, symbol), that no word takes. What the automaton does there follows from
            its being small, not from the words. The states are those of the minimal automaton.
        accepted: of two labels the one of words that are accepted.
    """

    automaton_accuracy: float
    num_states: int
    num_transitions: int = 0
    num_words: int = 0
    num_labels: int = 0
    num_held_out: int = 0
    held_out_accuracy: float = math.nan
    contradicted: tuple[Word, ...] = ()
    num_contradicted: int = 0
    unsupported: Transitions = ()
    accepted: Hashable = True

    @property
    def held_out_interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of `held_out_accuracy`; (0, 1) without words held out."""
        right = round(self.num_held_out * self.held_out_accuracy) if self.num_held_out else 0
        return interval(right, self.num_held_out)

    @property
    def label_noise(self) -> float:
        """The fraction of the labels that the automaton contradicts; NaN if their number is not known.

        If the automaton is the right one, these are the wrong labels.
        """
        return self.num_contradicted / self.num_labels if self.num_labels else math.nan

    @property
    def label_noise_interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the probability of a wrong label, if the automaton is the right one.

        It takes one label to be wrong independently of the others (Clopper and Pearson).
        """
        return interval(self.num_contradicted, self.num_labels)


def evidence_of(sample: Sample, automaton: Automaton, num_right: int | None = None) -> dict[str, Any]:
    """The fields of `Evidence` for a minimal automaton.

    Args:
        num_right: words held out that were predicted without them; by default those that this automaton is right on.
    """
    labels, held_out = sample.labels_by(automaton), sample.held_out
    contradicted = sample.num_contradicted(labels)
    right = int((labels == sample.labels)[held_out].sum()) if num_right is None else num_right
    return {
        "automaton_accuracy": sample.balanced_accuracy(labels),
        "num_states": len(automaton),
        "num_transitions": len(automaton) * len(automaton.alphabet),
        "num_words": len(sample.words),
        "num_labels": int(sample.counts.sum()),
        "num_held_out": int(held_out.sum()),
        "held_out_accuracy": float(right / held_out.sum()) if held_out.any() else math.nan,
        "contradicted": tuple(sample.words[row] for row in np.flatnonzero(contradicted)),
        "num_contradicted": int(contradicted.sum()),
        "unsupported": unsupported(automaton, sample.words),
        "accepted": sample.accepted,
    }


def interval(agreeing: int, words: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for a fraction."""
    outside = (1 - level) / 2
    low = betaincinv(agreeing, words - agreeing + 1, outside) if agreeing else 0.0
    high = betaincinv(agreeing + 1, words - agreeing, 1 - outside) if agreeing < words else 1.0
    return float(low), float(high)
