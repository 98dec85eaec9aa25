"""An automaton from labelled words, by one of three searches; no network is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._checks import choice, fraction, positive
from keras_interp_rnn.automata.inference._deadline import Deadline
from keras_interp_rnn.automata.inference._evidence import Evidence, evidence_of
from keras_interp_rnn.automata.inference._sample import sample_of
from keras_interp_rnn.automata.inference._searches import Limits, first_found
from keras_interp_rnn.automata.machines import Automaton

RESERVED, RESERVED_SECONDS = 0.1, 5.0
"""Fraction of the time budget, and at most so many seconds, for the evidence."""


@dataclass(frozen=True, eq=False, repr=False)
class Inference(Evidence):
    """An automaton found from labelled words.

    Attributes:
        dfa: the automaton, minimal; a `MooreMachine`, if there are three labels or more.
        method: "merging", "patterns" or "splitting": the search that found it.

    What is held out is predicted by the automaton that was found without these words.

    Example: see `infer`.
    """

    dfa: Automaton
    method: str

    @property
    def machine(self) -> Automaton:
        """`dfa`, by a name that fits a Moore machine too."""
        return self.dfa


def infer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[Any],
    *,
    alphabet: Iterable[Hashable] | None = None,
    label_noise: float | None = 0.0,
    sampling: str = "weak",
    time_budget: float | None = 120.0,
    seed: int = 0,
) -> Inference:
    r"""Finds an automaton that gives words their labels.

    States of the words' prefixes are merged, which needs words that share endings, as short ones do. Else rules are
    looked for that tell the labels: a decision tree that asks which factors, subsequences and counts a word has, on
    all symbols or on a tier of them; long words do for that. Else states are split, as long as that shortens the
    description of the automaton and the labels. Merging comes last where words share few prefixes, as long random
    words do. What is found must have a shorter description than the labels, and predict words that were held out.

    Copies of a word are merged first: they are no evidence of their own. The words held out thus differ from all
    others; they are a tenth, drawn from every label that has enough words, and from all lengths.

    Args:
        words: sequences of symbols. Short words teach most: all words up to some length are a good choice.
        labels: one for each word, of two labels: bools; numbers, the larger of which says that the word is in the
            language; or strings such as "accept" and "reject", "yes" and "no", "positive" and "negative". `accepted` of
            the result is the one that says it. Or one of three labels or more. Words of the language alone do not tell
            it: the language of all words has them too (Gold, 1967).
        alphabet: the symbols; by default those of the words, in ascending order.
        label_noise: fraction of the labels that may be wrong, below 1/2; None if it is not known. Unless it is 0 a word
            has the label of most of its copies, of equally many the smaller one, and the automaton may contradict
            labels: `contradicted` of the result lists their words and `label_noise` is their fraction. An automaton for
            which that fraction exceeds `label_noise`, by more than chance allows, is not taken.
        sampling: how the words came about. "weak": anyhow, and each was labelled. "strong": those of each label were
            drawn uniformly from all words of their length that have it; then the rules about patterns are those that
            give the labels to fewest other words, among the ones that contradict none.
        time_budget: seconds within which the call ends, to a tenth if the machine is not overloaded; None for no limit.
            Each search has a limit of its own besides, a minute of computing at most.
        seed: of what is held out, and of the searches.

    Returns:
        The automaton, with what the words say of it.

    Raises:
        ValueError: if words and labels do not pair up, if a word has a symbol that is not in the alphabet, if there
            are not two different words of each of two labels; if a word has several labels, and none may be wrong; if a
            label is missing (None or NaN); if two labels do not say which of them means that a word is in the language;
            if nothing is found.

    Example:

    >>> import itertools
    >>> from keras_interp_rnn import automata
    >>> words = ["".join(word) for length in range(8) for word in itertools.product("01", repeat=length)]
    >>> found = automata.infer(words, ["000" not in word for word in words])
    >>> found.dfa == automata.tomita(4), found.method, found.num_held_out, found.held_out_accuracy
    (True, 'merging', 25, 1.0)

    Cost: merging of all words up to some length, a few thousand, takes about a second; with wrong labels some seconds.
        Patterns of 10,000 words take 5 to 20 seconds, a minute at most, and splitting half a minute at most; both twice
        if words are held out.
    Reference: merging is not AALpy's, as it takes wrong labels too: Lang, Pearlmutter and Price, ICGI 1998, with a
        likelihood in place of their score and a search for the shortest description. Trees over patterns, and splitting
        by description length, are this package's. Strong and weak sampling: Tenenbaum and Griffiths, "Generalization,
        similarity, and Bayesian inference", Behavioral and Brain Sciences 24, 2001. On words of a language alone: Gold,
        "Language identification in the limit", Information and Control, 1967.
    """
    noise = None if label_noise is None else fraction("label_noise", label_noise, below=0.5)
    strong = choice("sampling", sampling, ("weak", "strong")) == "strong"
    end, within = math.inf, ""
    if time_budget is not None:
        seconds = positive("time_budget", time_budget)
        end = time.monotonic() + seconds - min(RESERVED * seconds, RESERVED_SECONDS)
        within = f", within {seconds:g} s"
    sample = sample_of(words, labels, alphabet, seed, consistent=noise == 0)
    found = first_found(sample, Limits(noise, Deadline(end), seed, strong))
    if found is None:
        raise ValueError(
            f"No automaton was found that describes the labels of {len(sample.words):,} different words and predicts "
            f"words held out{within}. Give more words, short ones above all, label_noise if labels may be wrong, or a "
            "larger time_budget; or train a network by train_recognizer."
        )
    return Inference(found.automaton, found.method, **evidence_of(sample, found.automaton, found.held_out_right))
