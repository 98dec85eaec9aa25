"""The automaton of a network that labels words, learned by queries.

A hypothesis is refined by words that it labels wrongly (`_tree`). These are looked for among all words that were asked,
all short words, words that lead to one cluster of the network's states (`_clusters`), and random words. A part of the
budget is kept for random words that are drawn afresh, for the fidelity of the result. No search proves that an
automaton is the network's: `certify` does, for state-regularized networks.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from keras_interp_rnn._alphabet import shown_symbols
from keras_interp_rnn._checks import integer
from keras_interp_rnn._io import say
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._results import Table, View, counted, nth, shown_word
from keras_interp_rnn.automata.inference import interval
from keras_interp_rnn.automata.machines import (
    MooreMachine,
    Word,
    automaton_of,
    checked_words,
    ordered,
    short_words,
)
from keras_interp_rnn.automata.networks import Agreement, OfNetwork, drawn_words, mutated
from keras_interp_rnn.automata.queries._asking import INTERRUPTED, Asked, Budget, Network, Stopped, open_network
from keras_interp_rnn.automata.queries._clusters import Clusters
from keras_interp_rnn.automata.queries._tree import Tree

SHORT = 1000  # short words that are asked first, a quarter of the budget at most
FINISHED = "as no word that was tried refutes it"
ROUNDS, ROUND = 4, 256  # rounds of random words that a hypothesis withstands, and words of each


@dataclass(frozen=True, eq=False, repr=False)
class Learned(OfNetwork):
    """An automaton learned from a network by queries.

    Attributes:
        dfa: the minimal automaton; a `MooreMachine` if the labels are not False and True.
        fresh: agreement on random words drawn after the automaton was found; its interval estimates the fidelity.
        difference: the shortest of the words asked about to which the network and the automaton give different labels;
            None if they agree on all of them.
        counterexamples: the words that refuted an automaton, in the order in which they were found.
        num_words: number of words that the network read.
        max_length: maximum length of the random words.
        seconds: duration of the call.
        finished: whether the search ended because no word that it tried refutes the automaton.
        reason: why the search ended; and, where all words had one label, that no other was ever seen.
        network: the network, as a reader of words.

    Example: see `learn`.
    """

    title: ClassVar[str] = "Automaton learned by queries"

    dfa: MooreMachine
    fresh: Agreement
    difference: Word | None
    counterexamples: tuple[Word, ...]
    num_words: int
    max_length: int
    seconds: float
    finished: bool
    reason: str
    network: Network

    def table(self) -> Table:
        """States, words, whether a difference is known, the fidelity on fresh words; a row for each transition."""
        early = f", {'' if self.finished else 'NOT to the end, '}{self.reason}"
        counterexamples = counted(len(self.counterexamples), "counterexample")
        asked = f"learned from {counted(self.num_words, 'word')} in {self.seconds:.1f} s{early}, {counterexamples}"
        known = "no difference found" if self.difference is None else f"differs on {shown_word(self.difference)!r}"
        fresh = f"{self.fresh.agreeing:,} of {counted(self.fresh.words, 'fresh word')}"
        interval = f" ({self.fresh.low:.2%} to {self.fresh.high:.2%})" if self.fresh.words else ""
        return Table(
            f"{counted(len(self.dfa), 'state')} {asked}",
            self.dfa.table().columns,
            (f"{known}; agrees on {fresh} up to length {self.max_length}{interval}; no proof",),
            folded=True,
        )

    def drawing(self) -> str:
        """The automaton."""
        return self.dfa.to_svg()

    def page_view(self) -> View | None:
        """The automaton, with what is known of it."""
        return self.dfa.page_view(verdict=str(self).splitlines())


def learn(
    network: object,
    alphabet: GivenAlphabet | None = None,
    *,
    words: Iterable[Iterable[Hashable]] = (),
    max_length: int = 40,
    max_words: int = 50_000,
    time_budget: float = 60.0,
    seed: int = 0,
) -> Learned:
    r"""Learns the automaton of any network that accepts words or labels them, from its answers alone.

    A tree of suffixes distinguishes the states, and every counterexample, a word that the automaton labels wrongly,
    adds a suffix. The search for counterexamples tries all short words, words from clusters of the network's states,
    and random words. If the network's language is regular, the search finds its automaton, provided that it finds a
    counterexample to each automaton before it. Otherwise the automaton grows until a budget ends, and describes the
    network on the words tried.

    Args:
        network: a Keras model of any layers that reads ids (batch, time) and has an output for each label, or one
            output that is above 0 (after a sigmoid, above 1/2) for accepted words; or a function that takes a list of
            words and returns a label for each: bools, ints or other hashable values. The words are strings if the
            alphabet is a string, otherwise tuples.
        alphabet: for a function the symbols. For a model a `datasets.Alphabet`, which also has the tokens around words,
            or a mapping from symbols to ids; by default the one that it carries. A model without a start token reads
            the empty word as one step of padding.
        words: words that you know, such as some that the network accepts: they are asked first, and random words are
            changes of them too. Where few words are accepted, a search without one may find none.
        max_length: maximum length of the random words. Fidelity on longer words is not measured.
        max_words: maximum number of words that the network reads.
        time_budget: seconds after which the search ends. A batch of words that is being read is not interrupted.
        seed: of the random words.

    Returns:
        The automaton, its agreement with the network on fresh words, and the shortest known difference. If a budget
        ends, or on Ctrl-C, it is the last complete automaton, with the reason.

    Raises:
        ValueError: if the network is neither a model nor a function, or the alphabet does not fit; if a known word has
            another symbol, or is longer than the network reads; if a function does not return a label for each word; if
            the network gives two different answers to a word, or a model does not answer by numbers.

    Example:

    >>> from keras_interp_rnn import automata
    >>> learned = automata.learn(lambda words: [word.count("b") % 3 == 0 for word in words], "ab")
    >>> len(learned.dfa), learned.dfa.accepts("abbab"), learned.difference
    (3, True, None)
    >>> learned.fresh.agreeing, learned.counterexamples
    (1000, (('b', 'b', 'b'),))

    Cost: n states over K symbols take O(K n log n) words, and n searches for a counterexample of some hundred words
        each.
    Reference: Kearns and Vazirani, 1994, and Rivest and Schapire, 1993, for the tree; clusters in the manner of Weiss,
        Goldberg and Yahav, ICML 2018, arXiv:1711.09576.
    """
    opened = open_network(network, alphabet)
    known = _known_words(words, opened)
    budget = Budget.of(max_words, time_budget, max_length, opened)
    rng = random.Random(integer("seed", seed, 0))
    asked = Asked(opened.classify, opened, seed)
    asked.limit(*budget.of_search)
    search = _Search(asked, rng, max_length, known)
    try:
        early = search.run()
        asked.limit(*budget.whole)
        agreement = search.agreement(0 if early == INTERRUPTED else budget.num_fresh)
    finally:
        say("")
    return Learned(
        search.automaton,
        agreement,
        search.known_difference(),
        tuple(dict.fromkeys(search.counterexamples)),
        asked.num_words,
        max_length,
        budget.seconds,
        not early,
        (early or FINISHED) + asked.one_label(),
        opened,
    )


def _known_words(words: Iterable[Iterable[Hashable]], network: Network) -> list[Word]:
    """The words, each once; raises ValueError for one that the network does not read."""
    found = [tuple(word) for word in checked_words(words)]
    longest = network.max_length
    for i, word in enumerate(found):
        strays = [f"the symbol {symbol!r}" for symbol in word if symbol not in network.alphabet]
        if longest is not None and len(word) > longest:
            strays.append(f"{len(word)} symbols, of which it reads {longest}")
        if strays:
            raise ValueError(
                "Known words must be words that the network reads, over its alphabet "
                f"{shown_symbols(network.alphabet)}. Received: {nth('word', i)} with {strays[0]}. Leave it out."
            )
    return list(dict.fromkeys(found))


class _Search:
    """The search for an automaton that no word refutes.

    Attributes:
        table, outputs: of the last automaton whose transitions are all known. counterexamples: the words that refuted
            one.
    """

    def __init__(self, asked: Asked, rng: random.Random, max_length: int, known: list[Word]) -> None:
        self.asked, self.rng, self.max_length, self.known = asked, rng, max_length, known
        self.alphabet = asked.network.alphabet
        self.counterexamples: list[Word] = []
        self.outputs: list[Hashable] = asked([()])
        self.table = [[0] * len(self.alphabet)]

    def run(self) -> str:
        """Searches; returns why it ended early, or ""."""
        try:
            self.tree = Tree(self.asked, self.alphabet)
            self._close()
            self.asked(self.known)
            number = min(SHORT, self.asked.max_words // 4)
            self.asked(short_words(self.alphabet, number, max_length=self.asked.network.max_length))
            while (word := self._difference()) is not None:
                self.counterexamples.append(word)
                self.tree.refine(word)
                self._close()
        except Stopped as stopped:
            return str(stopped)
        except KeyboardInterrupt:
            return INTERRUPTED
        return ""

    @property
    def automaton(self) -> MooreMachine:
        """The minimal automaton: a DFA if the labels are False and True, or those of a function 0 and 1."""
        are_truths = all(label in (False, True) for label in self.outputs)
        labels = self.asked.network.labels or ((False, True) if are_truths else ordered(self.outputs))
        return automaton_of(self.table, self.outputs, labels, alphabet=self.alphabet).minimize()

    def known_difference(self) -> Word | None:
        """The shortest word that was asked and that the automaton labels otherwise."""
        return self.asked.differing(self.table, self.outputs)

    def agreement(self, number: int) -> Agreement:
        """Agreement on random words; on fewer, or on none, if the budget ends."""
        automaton = self.automaton
        words = drawn_words(automaton, number, self.rng, self.max_length)
        self.rng.shuffle(words)
        with contextlib.suppress(Stopped, KeyboardInterrupt):
            self.asked(words)
        # Of words to which a budget did not reach, those that happen to be known would be no random sample.
        read = list(itertools.takewhile(self.asked.known.__contains__, words))
        differing = [word for word in read if automaton.output(word) != self.asked.known[word]]
        low, high = interval(len(read) - len(differing), len(read))
        return Agreement(len(read), len(read) - len(differing), low, high, min(differing, key=len, default=None))

    def _close(self) -> None:
        self.tree.close()
        self.table, self.outputs = [list(row) for row in self.tree.table], list(self.tree.outputs)

    def _difference(self) -> Word | None:
        """A word that the automaton labels wrongly; None if the search finds none."""
        word = self.known_difference()
        if word is None and self._clusters is not None:
            word = self._clusters.difference(self.tree, self.asked)
        for _ in range(ROUNDS if word is None else 0):
            self.asked(self._random_words())
            word = self.known_difference()
            if word is not None:
                break
        return word

    @cached_property
    def _clusters(self) -> Clusters | None:
        """Clusters of the network's states, if it has some."""
        states: Any = self.asked.network.states
        return None if states([self.alphabet[:1]]) is None else Clusters(states, self.alphabet)

    def _random_words(self) -> list[Word]:
        """Random words; walks from states, with a suffix that tells states apart; and changed counterexamples."""
        rng, tree = self.rng, self.tree
        words = drawn_words(self.automaton, ROUND // 2, rng, self.max_length)
        for _ in range(ROUND // 4):
            first, second = rng.randrange(len(tree.access)), rng.randrange(len(tree.access))
            walk = rng.choices(self.alphabet, k=rng.randint(1, 6))
            if rng.random() < 0.5:  # one that repeats itself, as networks that count show their limits there
                walk = walk[:3] * rng.randint(1, self.max_length // len(walk[:3]) or 1)
            end = tree.between(first, second) if first != second else ()
            words.append((*rng.choice(tree.access), *walk, *end))
            words.append(mutated(rng.choice([*self.counterexamples, *self.known] or tree.access), self.alphabet, rng))
        return [word[: self.asked.network.max_length] for word in words]
