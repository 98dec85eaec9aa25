"""An automaton from labelled words, by one of two searches; no network is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_interp_rnn._checks import fraction, integer, positive
from keras_interp_rnn._results import Table, View, numbered, separator, texts, visible
from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, Ledger, Limits, TimeUp
from keras_interp_rnn.automata.inference._evidence import Evidence, evidence_of
from keras_interp_rnn.automata.inference._labelling import label_names, view_of_questions
from keras_interp_rnn.automata.inference._prefix_tree import bits_of_order
from keras_interp_rnn.automata.inference._sample import Sample, sample_of
from keras_interp_rnn.automata.inference._searches import NotFound, fewest_bits, first_found
from keras_interp_rnn.automata.machines import DFA, MooreMachine, counts_of_transitions

RESERVED, MAX_RESERVED = 0.1, 5.0  # fraction of the time budget for the evidence, and its maximum in seconds
RESERVED_WORK = 0.1  # fraction of the work for the questions

MAX_STATES = 60
"""Maximum number of states of an automaton that is drawn."""
LEGEND = "Edges have the number of times that your words take them; no word takes those in parentheses."
CUT_OFF = {
    "time": "time ended a search before it was complete: a better automaton may exist, and another run may find one",
    "work": "max_work ended a search before it was complete: a better automaton may exist",
}
"""The sentence of an inference of which a search was cut off."""


@dataclass(frozen=True, eq=False, repr=False)
class Inference(Evidence):
    """An automaton found from labelled words.

    Attributes:
        dfa: the minimal automaton; a `MooreMachine` if there are three labels or more.
        method: the search that found it: "merging" or "patterns".
        support: (states, symbols), how often the different words take each transition of `dfa`.
        cut_off: "time" or "work" if that ended a search before it was complete: a better automaton may then exist, and
            with "time" another run may find another one. "" if every search ended by itself.

    `held_out_accuracy` is the accuracy, on the words held out, of an automaton that was found without them.

    Example: see `infer`.
    """

    title: ClassVar[str] = "Automaton from words"

    dfa: MooreMachine
    method: str
    support: Ints
    cut_off: str = ""

    @property
    def machine(self) -> MooreMachine:
        """`dfa`, under a name that suits a Moore machine too."""
        return self.dfa

    def table(self) -> Table:
        """How it was found, from how many words, its accuracy, the evidence of the words; the words to label next.

        A terminal shows the edges. An edge has the number of times that words take it, and symbols with which no word
        takes it are in parentheses.
        """
        edges = self.dfa.table(unsupported=self.unsupported, support=self.support).outline
        names, labels, between = label_names(self._labels()), self.dfa.labels, separator(self.dfa.alphabet)
        answers = [names[labels.index(self.dfa.output(word))] for word in self.questions]
        words = [between.join(visible(str(symbol)) for symbol in word) or "the empty word" for word in self.questions]
        columns = numbered("", len(words)), texts("this automaton", answers), texts("word to label next", words)
        drawn = (self.drawing,) if len(self.dfa) <= MAX_STATES else ()
        return Table(self._said(), columns, outline=tuple(edges), drawings=drawn, legend=LEGEND)

    def _said(self) -> str:
        """How it was found, and the evidence of the words."""
        head = "; ".join(self._parts(f"found by {self.method}{self._words()}", machine=self.dfa))
        return f"{head}; {CUT_OFF[self.cut_off]}" if self.cut_off else head

    def drawing(self) -> str:
        """The automaton with how often words take its edges; transitions that no word takes are dashed."""
        return self.dfa.to_svg(unsupported=self.unsupported, support=self.support)

    def page_view(self) -> View | None:
        """The automaton and its questions, to be labelled; None if no language has literals for their symbols."""
        lead = f"Not to the end: {CUT_OFF[self.cut_off]}." if self.cut_off else ""
        return view_of_questions(self.dfa, self._labels(), self.questions, lead)

    def _labels(self) -> tuple[Hashable, ...]:
        """The labels of the words, in the order of `dfa.labels`."""
        return (self.rejected, self.accepted) if isinstance(self.dfa, DFA) else self.dfa.labels

    def __repr__(self) -> str:
        return self._said()


def infer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[object],
    *,
    alphabet: Iterable[Hashable] | None = None,
    label_noise: float | None = 0.0,
    time_budget: float | None = 120.0,
    max_work: int | None = None,
    seed: int = 0,
) -> Inference:
    r"""Finds an automaton that gives words their labels.

    There are two searches. Merging joins the states of the words' prefixes; it needs words that share endings, as
    short words do. The search for patterns builds a decision tree of the factors, subsequences and counts in a word, on
    all symbols or on a tier of them; long words suffice. Merging comes last if the words share few prefixes, as long
    random words do. If no label is wrong, many words are read in growing parts, and an automaton of a part is returned
    if it contradicts no word.

    The automaton must be a shorter description than the labels alone. It must also predict 95 % of the words that were
    held out, or as many as chance explains if no search finds a better one. Answers to `questions` are hard to predict.
    An automaton that contradicts no word and takes at most a third of the bits of the labels therefore need not reach
    95 %; `held_out_accuracy` reports its accuracy. If the order of the labels is random, such an automaton exists with
    a probability below 2^(1 - 2 B / 3), for labels of B bits: at most 1 in 2,048 with two symbols or more.

    Copies of a word are merged first, because they are no further evidence, so the words held out differ from all
    others. A tenth is held out, from all lengths, and from every label with enough words.

    Args:
        words: sequences of symbols. Short words are the most informative: all words up to some length are a good
            choice.
        labels: one for each word. Two different labels tell whether the word is in a language: bools; numbers, the
            larger of which means that it is; or strings such as "accept" and "reject", "yes" and "no", "positive" and
            "negative". `accepted` of the result is the label that means membership. Three or more labels may be
            anything hashable. Words of the language alone do not determine it, because the language of all words
            contains them too (Gold, 1967).
        alphabet: the symbols; by default those of the words, in ascending order.
        label_noise: fraction of the labels that may be wrong, below 1/2; None if it is not known. Unless it is 0, a
            word has the label of most of its copies (in a tie the smaller one), and the automaton may contradict
            labels: `contradicted` of the result lists their words, and `label_noise` is their fraction. An automaton is
            rejected if that fraction exceeds `label_noise` by more than chance allows.
        time_budget: seconds within which the whole call ends, exceeded by at most a tenth if the machine is not
            overloaded; None for no limit. Each search also has its own limit, at most a minute of computing. If time
            ends a search, `cut_off` of the result is "time".
        max_work: number of candidates that the searches may score (merges of states, changes of a table, splits,
            patterns, trees of rules), exceeded by one batch at most; None for no limit. With a limit, shares of the
            work take the place of shares of the time, and the same words and seed give the same result on every
            machine, unless `time_budget` ends it.
        seed: of the choice of the words held out, and of the searches.

    Returns:
        The automaton, with the evidence for it.

    Raises:
        ValueError: if the numbers of words and labels differ; if a word has a symbol outside the alphabet; if there are
            not two different words of each of two labels; if a word has several labels and `label_noise` is 0; if a
            label is missing (None or NaN); if it is unclear which of two labels means membership; if no automaton is
            found, which is certain if the labels have too few bits.

    Example:

    >>> import itertools
    >>> from keras_interp_rnn import automata
    >>> words = ["".join(word) for length in range(8) for word in itertools.product("01", repeat=length)]
    >>> found = automata.infer(words, ["000" not in word for word in words])
    >>> found.dfa == automata.tomita(4), found.method, found.num_held_out, found.held_out_accuracy
    (True, 'merging', 25, 1.0)

    Cost: merging a few thousand words, all up to some length, takes about a second; with wrong labels a few seconds.
        Patterns of 10,000 words take 5 to 20 seconds, at most a minute, and twice as long if words are held out.
    Reference: merging follows Lang, Pearlmutter and Price, ICGI 1998, with a likelihood instead of their score, because
        labels may be wrong, and with a search for the shortest description. Trees over patterns are this package's.
        On words of a language alone: Gold, "Language identification in the limit", Information and Control, 1967.
    """
    begin = time.monotonic()
    noise = None if label_noise is None else fraction("label_noise", label_noise, below=0.5)
    seconds = math.inf if time_budget is None else positive("time_budget", time_budget)
    work = math.inf if max_work is None else integer("max_work", max_work)
    end = begin + seconds - min(RESERVED * seconds, MAX_RESERVED)
    until = Deadline(end, work=(1 - RESERVED_WORK) * work, ledger=Ledger())
    try:
        sample = sample_of(words, labels, alphabet, seed, consistent=noise == 0, until=until)
        _check_bits(sample)
        read = sample.as_ids(until)
    except TimeUp:
        raise ValueError(
            f"`time_budget` must suffice to read the words. Received: time_budget={seconds:g}. Pass a larger one, or "
            "fewer or shorter words."
        ) from None
    found = first_found(sample, Limits(noise, until, seed), read)
    if isinstance(found, NotFound):
        limits = (f"time_budget={seconds:g}", f"max_work={max_work}")
        raise ValueError(_none_found(sample, found, noise, limits, time.monotonic() - begin))
    read.until = NEVER  # which was that of the searches
    support = np.array(counts_of_transitions(found.automaton, sample.words))
    asking = None if max_work is None else Deadline(work=RESERVED_WORK * work, ledger=Ledger())
    evidence = evidence_of(sample, found.automaton, found.held_out_right, read, asking)
    return Inference(found.automaton, found.method, support, found.cut_off, **evidence)


def _check_bits(sample: Sample) -> None:
    """Raises ValueError if the labels have too few bits for any automaton."""
    numbers = np.bincount(sample.labels.astype(np.int64))
    alone, needed = bits_of_order(numbers), fewest_bits(len(sample.alphabet))
    if alone <= needed:
        raise ValueError(
            f"No automaton was found: labels must have more than {needed:.1f} bits, those of the smallest automaton. "
            f"Received: {len(sample.words):,} different words, whose labels have {alone:.1f} bits. Pass more words, "
            "above all of the rarer label."
        )


def _none_found(sample: Sample, found: NotFound, noise: float | None, limits: tuple[str, str], taken: float) -> str:
    """The sentences of the error where no search has a result.

    Args:
        found: what remains of the searches. noise: the argument of `infer`. limits: time and work, as it received them.
        taken: seconds.
    """
    states, symbols = found.num_states, len(sample.alphabet)
    end = f"The searches ended after {taken:.0f} s; a larger time_budget would change nothing."
    if found.cut_off:
        end = f"A search was cut off by {limits[found.cut_off == 'work']}."
    fits = "no word, but is too large for so few words, or predicts too few of those held out."
    wrong = f"{found.num_contradicted:,} words." if found.num_contradicted else fits
    best = f" The best automaton, of {states:,} state{'s' * (states > 1)}, contradicts {wrong}"
    remedies = ["Pass more words, short ones above all"]
    if noise is not None:
        remedies.append("label_noise if labels may be wrong" if noise == 0 else "label_noise=None if more are wrong")
    if found.cut_off:
        remedies.append("a larger max_work" if found.cut_off == "work" else "a larger time_budget")
    return (
        f"No automaton was found that describes the labels of {len(sample.words):,} different words over {symbols:,} "
        f"symbol{'s' * (symbols != 1)} and predicts words held out. {end}{best * (states > 0)} "
        f"{', or '.join(remedies)}; or train a network by train_recognizer."
    )
