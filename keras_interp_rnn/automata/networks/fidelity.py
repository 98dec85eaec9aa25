"""How far an automaton and the network that it was read from agree: on short, random and searched words."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from keras_interp_rnn._checks import integer, invalid
from keras_interp_rnn._io import Count, say
from keras_interp_rnn._results import Sentence, Table, shown_word
from keras_interp_rnn.automata.inference import interval
from keras_interp_rnn.automata.machines import MooreMachine, Word, checked_words, random_word, short_words
from keras_interp_rnn.automata.networks._reader import CHUNK


@dataclass(frozen=True, repr=False)
class Agreement(Sentence):
    """The number of words that a network and an automaton classify alike.

    Attributes:
        words: number of words compared.
        agreeing: number of words that both accept or both reject, or give the same label.
        low, high: the exact 95 % interval (Clopper and Pearson) of the fraction for drawn words; if all words up to a
            length were compared, both are the fraction itself.
        disagreement: the shortest word on which they differ; None if they agree.
        up_to: the length up to which all words were compared; None if words were drawn or passed.

    Example: see `extract`.
    """

    words: int
    agreeing: int
    low: float
    high: float
    disagreement: Word | None
    up_to: int | None = None

    @property
    def share(self) -> float:
        """Fraction of the words on which both agree; NaN without words."""
        return self.agreeing / self.words if self.words else math.nan

    def table(self) -> Table:
        """On how many words both agree, and a word on which they do not."""
        if self.up_to is None:
            text = f"{self.agreeing:,} of {self.words:,} words ({self.low:.4%} to {self.high:.4%})"
        else:
            text = f"{self.agreeing:,} of all {self.words:,} words up to length {self.up_to}"
        return Table(text if self.disagreement is None else f"{text}, not on {shown_word(self.disagreement)!r}")


@dataclass(frozen=True, repr=False)
class Fidelity(Sentence):
    """Agreement of an automaton with its network on three kinds of words.

    Attributes:
        short: all words up to a length.
        long: random words.
        searched: words that take the network along transitions not seen before.

    Example: see `extract`.
    """

    short: Agreement
    long: Agreement
    searched: Agreement

    @property
    def perfect(self) -> bool:
        """Whether the automaton and the network agree on every word."""
        return all(part.agreeing == part.words for part in (self.short, self.long, self.searched))

    def table(self) -> Table:
        """A sentence for each of the three kinds of words."""
        kinds = {"short words": self.short, "random long words": self.long, "searched words": self.searched}
        first, *others = (f"{name}: {agreement}" for name, agreement in kinds.items())
        return Table(first, notes=tuple(others))


class Reading(Protocol):
    """A network that reads words: a `WordReader`, or a function.

    Example: see `learn`.
    """

    @property
    def alphabet(self) -> tuple[Hashable, ...]: ...

    @property
    def max_length(self) -> int | None:
        """Number of symbols of the longest word that it reads; None if there is no limit."""

    def classify(self, words: Sequence[Word]) -> Any:
        """The labels of words, as an array."""

    def signs(self, words: Sequence[Word]) -> list[set[Any]]:
        """For each word, a set of marks of where it takes the network; a new mark is a sign of a new transition."""


class OfNetwork(Sentence):
    """A result with the automaton of a network: `fidelity` and `agreement` compare the two."""

    dfa: MooreMachine
    network: Reading

    @property
    def machine(self) -> MooreMachine:
        """`dfa`, under a name that suits a Moore machine too."""
        return self.dfa

    def fidelity(
        self,
        num_short: int = 2000,
        num_random: int = 200,
        *,
        max_length: int = 1000,
        num_searched: int = 2000,
        seed: int = 0,
    ) -> Fidelity:
        """How often the automaton and the network agree; shows its progress in a terminal.

        Args:
            num_short: maximum number of short words. All words are tried up to the largest length that it allows.
            num_random: number of random words. The automaton accepts half of them, if it accepts any; for a Moore
                machine half are drawn label by label.
            max_length: maximum length of the random words.
            num_searched: number of words tried in a search for words that take the network along new transitions.
            seed: of the random words and of the search.

        Returns:
            The agreement on each of the three kinds of words.

        Raises:
            ValueError: if a number of words is below 0, or `max_length` below 1 or above what the model reads.

        Example: see `extract`.
        """
        counts = {"num_short": num_short, "num_random": num_random, "num_searched": num_searched, "seed": seed}
        for name, value in counts.items():
            integer(name, value, 0)
        integer("max_length", max_length)
        limit = self.network.max_length
        if limit is not None and max_length > limit:
            remedy = f"Pass max_length={limit} or less, or give the model Input((None,))."
            raise invalid("max_length", f"at most {limit}, the longest that the model reads", max_length, remedy)
        rng = random.Random(int(seed))
        alphabet = self.network.alphabet
        short_ones = short_words(alphabet, num_short, max_length=limit)
        drawn = drawn_words(self.dfa, num_random, rng, max_length)
        try:
            short = self._agreement(short_ones, "short words")
            short = replace(short, low=short.share, high=short.share, up_to=len(short_ones[-1]))
            long = self._agreement(drawn, "random long words")
            searched = self._agreement(self._search(num_searched, rng, limit), "searched words")
            return Fidelity(short, long, searched)
        finally:
            say("")

    def agreement(self, words: Sequence[Word]) -> Agreement:
        """How often the network and the automaton agree on some words.

        Raises:
            ValueError: if `words` is not a list of words, or the model cannot read one of them.

        Example: see `extract`.
        """
        return self._agreement(checked_words(words))

    def _agreement(self, words: Sequence[Any], progress: str = "") -> Agreement:
        """As `agreement`, with progress if the words are named."""
        differing: list[Word] = []
        count = Count(f"fidelity: {progress},", len(words))
        for first, last in _slices([len(word) for word in words]):
            if progress:
                count.say(first)
            batch = words[first:last]
            labels = self.network.classify(batch).tolist()
            differing += [word for word, label in zip(batch, labels, strict=True) if self.dfa.output(word) != label]
        agreeing = len(words) - len(differing)
        low, high = interval(agreeing, len(words))
        return Agreement(len(words), agreeing, low, high, min(differing, key=len, default=None))

    def _search(self, num_words: int, rng: random.Random, max_length: int | None) -> list[Word]:
        """Words made by changing words that took the network somewhere new.

        `max_length` is the length of the longest word that the model reads.
        """
        alphabet = self.network.alphabet
        corpus: list[Word] = [(), *((symbol,) for symbol in alphabet)]
        known: set[Any] = set()
        tried: list[Word] = []
        count = Count("fidelity: searching words,", num_words)
        while len(tried) < num_words:
            count.say(len(tried))
            batch = min(256, num_words - len(tried))
            words = [mutated(rng.choice(corpus), alphabet, rng)[:max_length] for _ in range(batch)]
            tried += words
            for word, signs in zip(words, self.network.signs(words), strict=True):
                if not signs <= known:
                    known |= signs
                    corpus.append(word)
        return tried


def _slices(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The bounds of runs of words with at most `CHUNK` symbols together, or of one word."""
    first = symbols = 0
    for last, length in enumerate(lengths):
        if symbols + length > CHUNK and last > first:
            yield first, last
            first, symbols = last, 0
        symbols += length
    if len(lengths) > first:
        yield first, len(lengths)


def drawn_words(automaton: MooreMachine, num_words: int, rng: random.Random, max_length: int) -> list[Word]:
    """Random words, the first half drawn label by label, as most languages reject most random words."""
    alphabet = automaton.alphabet
    drawn = [tuple(rng.choices(alphabet, k=rng.randint(1, max_length))) for _ in range(num_words)]
    labels = [label for label in automaton.labels if label is not False] or automaton.labels
    chosen = [random_word(automaton, labels[i % len(labels)], rng, max_length) for i in range(num_words // 2)]
    drawn[: len(chosen)] = [word if word is not None else drawn[i] for i, word in enumerate(chosen)]
    return drawn


def mutated(word: Word, alphabet: tuple[Hashable, ...], rng: random.Random) -> Word:
    """The word with one to three changes: a symbol inserted, deleted or replaced, or a stretch repeated."""
    letters = list(word)
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(0, len(letters))
        kind = rng.randrange(4)
        if kind == 0 or not letters:
            letters.insert(place, rng.choice(alphabet))
        elif kind == 1:
            del letters[place - 1]
        elif kind == 2:
            letters[place - 1] = rng.choice(alphabet)
        else:
            stretch = letters[max(0, place - rng.randint(1, 8)) : place]
            letters[place:place] = stretch * rng.randint(1, 6)
    return tuple(letters[:300])
