"""How well an automaton describes labelled words, and how much evidence the words are for it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from keras_interp_rnn._results import WORD, Sentence, Table, counted, separator, visible
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words, is_shorter
from keras_interp_rnn.automata.inference._questions import questions, words_taking
from keras_interp_rnn.automata.inference._sample import Sample
from keras_interp_rnn.automata.machines import MIN_WORDS, MooreMachine, Transitions, Word, transitions_in_words

SECONDS_FOR_QUESTIONS = 1.0
MIN_HELD_OUT = 10
"""Minimum number of held-out words for an interval of the fraction that is right."""
QUESTIONS = 2
"""Number of words that the text asks to be labelled."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Evidence(Sentence):
    """The evidence of labelled words for an automaton.

    Attributes:
        automaton_accuracy: balanced accuracy over all different words, including those held out: the mean over the
            labels of the fraction of their words to which the automaton gives the label.
        num_states, num_transitions: of the minimal automaton.
        num_words, num_labels: number of different words, and of labels, with those of copies.
        num_held_out: number of different words held out.
        held_out_accuracy: the fraction of the held-out words that are predicted; NaN if no word was held out.
        contradicted: the words with a label that the automaton contradicts.
        num_contradicted: number of labels that the automaton contradicts.
        unsupported: the transitions of the minimal automaton, as (state, symbol) pairs, that no word takes: the words
            are no evidence for them, and they lead where they keep the automaton small.
        rare: the transitions that one or two different words take, which are little evidence for them.
        questions: words to label next, at most 100. Each has another label by a competing automaton, which contradicts
            no more of your labels: an answer may refute either. Competitors differ in one transition; where labels are
            contradicted, also in a state that is split where words of such labels pass. First come the questions of
            those that contradict fewest labels; then words along transitions that your words take; among these, the
            words that distinguish it from most others, then the shorter ones. The search takes a second of computing
            and begins with the transitions that the fewest words take.
        accepted, rejected: the labels of accepted and of rejected words, if there are two labels.
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
    rare: Transitions = ()
    questions: tuple[Word, ...] = ()
    accepted: Hashable = True
    rejected: Hashable = False

    @property
    def held_out_interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of `held_out_accuracy`; (0, 1) if no word was held out."""
        right = round(self.num_held_out * self.held_out_accuracy) if self.num_held_out else 0
        return interval(right, self.num_held_out)

    @property
    def label_noise(self) -> float:
        """The fraction of the labels that the automaton contradicts; NaN if their number is not known."""
        return self.num_contradicted / self.num_labels if self.num_labels else math.nan

    @property
    def label_noise_interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of the probability that a label is wrong.

        It assumes that the automaton is the right one and that labels are wrong independently of each other.
        """
        return interval(self.num_contradicted, self.num_labels)

    def table(self) -> Table:
        """The accuracy of the automaton, and what the words say about it."""
        return Table("; ".join(self._parts(f"automaton{self._words()}")))

    def _words(self) -> str:
        if not self.num_words:
            return ""
        copies = f" ({self.num_labels:,} in all)" if self.num_labels > self.num_words else ""
        return f" from {counted(self.num_words, 'different word')}{copies}"

    def _parts(self, head: str, more: str = "", machine: MooreMachine | None = None) -> list[str]:
        """The evidence of words for an automaton, in parts of a sentence."""
        accepting = "" if self.accepted == 1 else f" that accepts {self.accepted!r}"  # True is 1 too
        parts = [
            f"{head}: automaton of {counted(self.num_states, 'state')}{accepting}, balanced accuracy "
            f"{self.automaton_accuracy:.2%}{more}"
        ]
        if self.num_words:
            parts.append(self._held_out())
        if self.num_contradicted:
            low, high = self.label_noise_interval
            parts.append(
                f"contradicts {self.num_contradicted:,} of {counted(self.num_labels, 'label')} "
                f"({self.label_noise:.2%}; {low:.2%} to {high:.2%})"
            )
        if self.num_transitions:
            taken = self.num_transitions - len(self.unsupported)
            parts.append(f"{taken:,} of {counted(self.num_transitions, 'transition')} taken by your words")
        if self.rare:
            parts.append(f"only one or two words take {transitions_in_words(self.rare, machine)}")
        if self.questions:
            parts.append(f"to be labelled next: {', '.join(map(_quoted, self.questions[:QUESTIONS]))}")
        return parts

    def _held_out(self) -> str:
        """The number of held-out words and of right answers, with an interval if there are enough."""
        if not self.num_held_out:
            return "held out no word"
        right = round(self.num_held_out * self.held_out_accuracy)
        text = f"held out {counted(self.num_held_out, 'word')}, right on {right:,}"
        if self.num_held_out < MIN_HELD_OUT:
            return text
        low, high = self.held_out_interval
        return f"{text} ({low:.1%} to {high:.1%})"


def _quoted(word: Word) -> str:
    """A word in quotes, cut if it is long; its symbols apart unless all are single characters."""
    text = separator(word).join(visible(str(symbol)) for symbol in word)
    return repr(text if len(text) <= WORD else f"…{text[1 - WORD :]}")


def evidence_of(
    sample: Sample,
    automaton: MooreMachine,
    num_right: int | None = None,
    words: Words | None = None,
    asking: Deadline | None = None,
) -> dict[str, Any]:
    """The fields of `Evidence` for a minimal automaton.

    Args:
        num_right: number of words held out that an automaton of the others predicts; by default this automaton's.
        words: those of the sample as ids, if they are known. asking: when to stop looking for questions; by default
            after a second of computing.
    """
    labels, held_out = sample.labels_by(automaton), sample.held_out
    contradicted = sample.num_contradicted(labels)
    words, table = sample.as_ids() if words is None else words, np.array(automaton.transitions)
    taking = words_taking(words, table)
    numbers = {(state, i): len(taking.get((state, i), ())) for state, i in np.ndindex(*table.shape)}
    outputs = sample.of(automaton.outputs).astype(np.int64)
    asked = []
    if (outputs >= 0).all():  # no label that no word has
        asked = questions(words, table, outputs, taking, asking or NEVER.within(SECONDS_FOR_QUESTIONS))
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
        "unsupported": tuple((state, sample.alphabet[i]) for (state, i), n in numbers.items() if n == 0),
        "rare": tuple((state, sample.alphabet[i]) for (state, i), n in numbers.items() if 0 < n < MIN_WORDS),
        "questions": tuple(tuple(sample.alphabet[i] for i in word) for word in asked),
        "accepted": sample.accepted,
        "rejected": sample.rejected,
    }


def carried(sample: Sample, automaton: MooreMachine) -> bool:
    """Whether a minimal automaton, with the labels that it contradicts, is a shorter description than the labels alone.

    Otherwise the words are too few for it: an automaton of that size fits them whatever their labels.
    """
    table = np.array(automaton.transitions)
    return is_shorter(sample.as_ids().tree, Machine(table, np.zeros(len(table), np.int64)))


def interval(agreeing: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for a fraction."""
    outside = (1 - level) / 2
    low = betaincinv(agreeing, total - agreeing + 1, outside) if agreeing else 0.0
    high = betaincinv(agreeing + 1, total - agreeing, 1 - outside) if agreeing < total else 1.0
    return float(low), float(high)
