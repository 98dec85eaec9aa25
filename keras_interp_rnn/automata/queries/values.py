"""The weighted automaton of a network that gives words numbers, learned by queries.

The table H(p, s) = f(ps) over prefixes p and suffixes s, and H_x(p, s) = f(pxs), are asked and factored
(`analysis.weighted.hankel.factored`), for several ranks. The rank that predicts random words best is taken. A word that
is predicted badly adds its prefixes and suffixes to the table, until the error is small or a budget ends.

References: Balle, Carreras, Luque and Quattoni, "Spectral learning of weighted automata", Machine Learning, 2014;
Beimel, Bergadano, Bshouty, Kushilevitz and Varricchio, "Learning functions represented as multiplicity automata",
Journal of the ACM, 2000, for words that are predicted badly.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_interp_rnn._checks import integer, non_negative
from keras_interp_rnn._io import say
from keras_interp_rnn._results import Sentence
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted import hankel
from keras_interp_rnn.automata.machines import Word, WordEncoding, short_words
from keras_interp_rnn.automata.networks import WordReader
from keras_interp_rnn.automata.queries._asking import (
    INTERRUPTED,
    Asked,
    Budget,
    Network,
    Rows,
    Stopped,
    open_network,
)
from keras_interp_rnn.automata.weighted import WeightedAutomaton

BASIS = 15  # prefixes, and suffixes, of the first table, at most
MAX_BASIS = 400  # of every table


@dataclass(frozen=True, eq=False, repr=False)
class LearnedValues(Sentence):
    """A weighted automaton learned from a network by queries.

    Attributes:
        automaton: the automaton.
        error: root mean square difference of the values on `num_fresh` random words drawn after the automaton was
            found.
        spread: standard deviation of the network's values of these words.
        largest: largest difference of the values on all words asked about. worst: that word, the shortest of several.
        singular_values: of the table, relative to the largest; those after the rank are small if the network has an
            automaton of that rank.
        num_fresh, num_words: number of fresh words, and of words that the network read.
        max_length: maximum length of the random words.
        seconds: duration of the call.
        reason: why the search ended before the error was below the tolerance; "" if it was.

    Example: see `learn_values`.
    """

    automaton: WeightedAutomaton
    error: float
    spread: float
    largest: float
    worst: Word
    singular_values: Array
    num_fresh: int
    num_words: int
    max_length: int
    seconds: float
    reason: str


def learn_values(
    network: Any,
    alphabet: WordEncoding | Mapping[Hashable, int] | Sequence[Hashable] | None = None,
    *,
    tolerance: float = 1e-4,
    max_length: int = 20,
    max_words: int = 50_000,
    time_budget: float = 60.0,
    seed: int = 0,
) -> LearnedValues:
    r"""Learns a weighted automaton from the numbers that a network gives to words, by spectral learning.

    The rank of the table of values over prefixes and suffixes is the number of states of the smallest automaton. The
    table grows by the words with the largest errors.

    Args:
        network: a Keras model that reads ids and has one output, or a function that takes a list of words and returns a
            number for each, as in `learn`.
        alphabet: as in `learn`.
        tolerance: error, relative to the spread of values, at which the search ends.
        max_length: maximum length of the random words on which errors are measured.
        max_words: maximum number of words that the network reads.
        time_budget: seconds after which the search ends.
        seed: of the random words.

    Returns:
        The automaton with the smallest error, and its error on fresh words.

    Raises:
        ValueError: as `learn`; if a value is not a finite number; if the values of all short words are 0.

    Exactness: nothing is proved. If the network's function is that of a weighted automaton, and the table has its rank,
        the result is equivalent to it up to rounding. For a network that is affine in its state,
        `WeightedAutomaton.from_network` computes the automaton from the weights.
    Example:

    >>> learned = learn_values(lambda words: [0.5 ** word.count("a") for word in words], "ab")
    >>> len(learned.automaton), round(learned.automaton.value("abba"), 9), learned.reason
    (1, 0.25, '')

    Reference: Balle, Carreras, Luque and Quattoni, Machine Learning, 2014.
    """
    non_negative("tolerance", tolerance)
    opened = open_network(network, alphabet)
    budget = Budget.of(max_words, time_budget, max_length, opened)
    rng = random.Random(integer("seed", seed, 0))
    asked = Asked(_values_of(opened), opened, seed)
    asked.limit(*budget.of_search)
    search = _Search(asked, tolerance, _random_words(opened.alphabet, budget.num_fresh, rng, max_length))
    try:
        reason = search.run()
        asked.limit(*budget.whole)
        words = _random_words(opened.alphabet, 0 if reason == INTERRUPTED else budget.num_fresh, rng, max_length)
        with contextlib.suppress(Stopped, KeyboardInterrupt):
            asked(words)
    finally:
        say("")
    automaton = WeightedAutomaton(*search.arrays, opened.alphabet)
    differences = np.abs(asked.rows.values(*search.arrays) - np.array([asked.known[word] for word in asked.order]))
    rows = {word: row for row, word in enumerate(asked.order)}
    read = [rows[word] for word in itertools.takewhile(rows.__contains__, words)]  # as in `learn`
    values = np.array([asked.known[asked.order[row]] for row in read])
    largest = float(differences.max())
    return LearnedValues(
        automaton,
        error=float(np.sqrt(np.mean(differences[read] ** 2))) if read else math.nan,
        spread=float(values.std()) if read else math.nan,
        largest=largest,
        worst=min((asked.order[row] for row in np.flatnonzero(differences == largest)), key=len),
        singular_values=search.singular_values,
        num_fresh=len(read),
        num_words=asked.num_words,
        max_length=max_length,
        seconds=budget.seconds,
        reason=reason,
    )


class _Search:
    """The search for an automaton that predicts random words.

    Attributes:
        arrays: initial, transitions and final weights of the best automaton; at first that of a constant.
        singular_values: of its table, relative to the largest.
    """

    def __init__(self, asked: Asked, tolerance: float, checks: list[Word]) -> None:
        self.asked, self.tolerance, self.checks = asked, tolerance, checks
        self.alphabet = asked.network.alphabet
        [value] = asked([()])
        self.arrays = np.ones(1), np.ones((len(self.alphabet), 1, 1)), np.array([float(value)])
        self.singular_values, self.error = np.ones(1), math.inf

    def run(self) -> str:
        """Searches; returns why it ended early, or ""."""
        prefixes = short_words(self.alphabet, BASIS, max_length=self.asked.network.max_length)
        suffixes = list(prefixes)
        try:
            self.expected = np.array(self.asked(self.checks))
            while not self._fit(prefixes, suffixes):
                word = self._worst()
                before = len(prefixes) + len(suffixes)
                prefixes = list(dict.fromkeys([*prefixes, *(word[:i] for i in range(len(word) + 1))]))[:MAX_BASIS]
                suffixes = list(dict.fromkeys([*suffixes, *(word[i:] for i in range(len(word) + 1))]))[:MAX_BASIS]
                if len(prefixes) + len(suffixes) == before:
                    return f"as a table of {len(prefixes)} prefixes and {len(suffixes)} suffixes predicts no better"
        except Stopped as stopped:
            return str(stopped)
        except KeyboardInterrupt:
            return INTERRUPTED
        return ""

    def _fit(self, prefixes: list[Word], suffixes: list[Word]) -> bool:
        """Asks for the table and keeps its best automaton, if it is better; returns whether its error is small."""
        middles: list[Word] = [(), *((symbol,) for symbol in self.alphabet)]
        words = [(*p, *middle, *s) for middle in middles for p in prefixes for s in suffixes]
        tables = np.reshape(self.asked(words), (len(middles), len(prefixes), len(suffixes)))
        singular_values = np.linalg.svd(tables[0], compute_uv=False)
        if not singular_values[0]:
            raise ValueError(
                "Some short word must have a value other than 0. Received: 0 for all of them. Add a constant to the "
                "function, and subtract it from the automaton's values."
            )
        largest = int((singular_values > 1e-12 * singular_values[0]).sum())
        spread = float(self.expected.std()) or abs(float(self.expected[0])) or 1.0
        found = []
        for rank in sorted({round(largest ** (i / 24)) for i in range(25)}):
            arrays = hankel.factored(tables[0], tables[1:], rank)
            found.append((self._error(arrays), arrays))
        accepted = max(2 * min(error for error, _ in found), self.tolerance * spread)
        # The smallest rank whose error is about the least.
        error, arrays = next((error, arrays) for error, arrays in found if error <= accepted)
        if error < self.error:
            self.error, self.arrays, self.singular_values = error, arrays, singular_values / singular_values[0]
        return self.error <= self.tolerance * spread

    def _differences(self, arrays: tuple[Array, Array, Array]) -> Array:
        rows = Rows(self.alphabet)
        rows.add(self.checks)
        return np.asarray(np.abs(rows.values(*arrays) - self.expected))

    def _error(self, arrays: tuple[Array, Array, Array]) -> float:
        return float(np.sqrt(np.mean(self._differences(arrays) ** 2)))

    def _worst(self) -> Word:
        """The shortest word that is among those predicted worst."""
        differences = self._differences(self.arrays)
        rows = np.flatnonzero(differences >= differences.max() / 4)
        return min((self.checks[row] for row in rows), key=len)


def _values_of(network: Network) -> Callable[[Sequence[Word]], Array]:
    """The numbers that a network gives words; raises ValueError if they are not finite."""
    if isinstance(network, WordReader) and network.model.output_shape[-1] != 1:
        raise ValueError(
            f"A network of values must have one output. Received: {network.model.name} with "
            f"{network.model.output_shape[-1]}. Pass a function of words that returns one of them."
        )

    def values(words: Sequence[Word]) -> Array:
        found = network.values(words)
        if not np.isfinite(found).all():
            word = words[int(np.argmin(np.isfinite(found)))]
            raise ValueError(
                f"Values must be finite numbers. Received: {found[~np.isfinite(found)][0]} for the word {word!r}. "
                "Bound the values that the network returns."
            )
        return found

    return values


def _random_words(alphabet: Sequence[Hashable], number: int, rng: random.Random, max_length: int) -> list[Word]:
    return [tuple(rng.choices(alphabet, k=rng.randint(0, max_length))) for _ in range(number)]
