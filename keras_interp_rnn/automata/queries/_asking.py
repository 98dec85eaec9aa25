"""Networks that answer queries: words are read in batches, within a budget of words and of seconds.

A Keras model is compiled once. A function is called with a list of new words. Some words of every batch are asked a
second time: a network that then answers otherwise is no function of the word, and no automaton describes it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_interp_rnn._alphabet import Alphabet, distinct_symbols
from keras_interp_rnn._checks import integer, invalid, positive
from keras_interp_rnn._io import say
from keras_interp_rnn._types import AnyArray, Ints
from keras_interp_rnn.automata.machines import Word
from keras_interp_rnn.automata.networks import WordReader, open_reader

FIRST_BATCH, MAX_BATCH = 32, 4096  # words; each batch is at most twice as large as the one before
REPEATED = 1 / 16  # words of a batch that were asked before, per new word
FRESH = 1000  # random words for the fidelity of the result, a fifth of the budget at most
RESERVED = 0.1  # of the time, for these
INTERRUPTED, TIME_IS_OVER = "as it was interrupted", "as the time is over"


class Stopped(Exception):
    """A budget is spent: the reason for a report."""


class Function:
    """A function of words as a network: a list of words -> a label, or a number, for each."""

    max_length = None
    labels = None

    def __init__(self, function: Callable[[Any], Any], alphabet: object) -> None:
        if alphabet is None:
            raise ValueError(
                f"A function of words must come with its alphabet. Received: {function!r} alone. Pass alphabet= with "
                "the symbols."
            )
        ordinary = alphabet.ordinary if isinstance(alphabet, Alphabet) else alphabet
        self.function, self.alphabet = function, distinct_symbols(ordinary)
        self.is_text = alphabet.is_characters if isinstance(alphabet, Alphabet) else isinstance(alphabet, str)

    def answers(self, words: Sequence[Word]) -> list[Any]:
        """The value of each word, as plain values of Python."""
        read: list[Any] = ["".join(map(str, word)) if self.is_text else tuple(word) for word in words]
        found = self.function(read)
        if hasattr(found, "numpy") or hasattr(found, "dtype"):
            array = keras.ops.convert_to_numpy(found)
            if array.ndim != 1:
                raise self._invalid(f"an array of shape {array.shape}", len(words))
            found = array.tolist()
        if isinstance(found, str) or not isinstance(found, Sequence) or len(found) != len(words):
            kind = type(found).__name__
            raise self._invalid(f"{len(found)} in a {kind}" if hasattr(found, "__len__") else kind, len(words))
        return [value.item() if isinstance(value, np.generic) else value for value in found]

    def classify(self, words: Sequence[Word]) -> AnyArray:
        """The labels of words."""
        labels: AnyArray = np.empty(len(words), object)
        for row, (word, label) in enumerate(zip(words, self.answers(words), strict=True)):
            if label is None or isinstance(label, float | complex) or not isinstance(label, Hashable):
                raise ValueError(
                    "A label must be a bool, an int, a string or another hashable value. Received: "
                    f"{label!r} for the word {word!r}. Return value > threshold for numbers."
                )
            labels[row] = label
        return labels

    def signs(self, words: Sequence[Word]) -> list[set[Any]]:
        """Nothing is known of where words take a function."""
        return [set() for _ in words]

    def states(self, words: Sequence[Word]) -> None:
        """A function has no states that are known."""

    def _invalid(self, received: str, number: int) -> ValueError:
        return ValueError(
            f"A function of words must return a row of {number} answers, one for each word. Received: {received}. "
            "Return a list, or an array of one axis."
        )


Network = WordReader | Function


def open_network(network: object, alphabet: object) -> Network:
    """A Keras model or a function as a network that is asked.

    Raises:
        ValueError: if it is neither, or the alphabet does not fit.
    """
    if isinstance(network, keras.Model):
        reader = open_reader(network, alphabet, compiled=True)
        shapes = [tuple(tensor.shape) for tensor in (*network.inputs, *network.outputs)]
        if [len(shape) for shape in shapes] != [2, 2]:
            raise ValueError(
                "A network must read ids (batch, time) and have one output (batch, outputs) for the whole word. "
                f"Received: {network.name} with inputs and outputs {shapes}. Pass a function of words that calls it."
            )
        return reader
    if not callable(network):
        raise invalid("network", "a keras.Model, or a function of a list of words", network)
    return Function(network, alphabet)


class Budget(NamedTuple):
    """The words and the time that a search may use.

    Attributes:
        max_words: that the network reads. num_fresh: those of them that are kept for random words after the search.
        started: by `time.monotonic`. time_budget: in seconds.
    """

    max_words: int
    num_fresh: int
    started: float
    time_budget: float

    @classmethod
    def of(cls, max_words: int, time_budget: float, max_length: int, network: Network) -> Budget:
        """The budget of these arguments, which begins now.

        Raises:
            ValueError: if one is not positive, or the network cannot read words of that length.
        """
        integer("max_length", max_length)
        longest = network.max_length
        if longest is not None and max_length > longest:
            remedy = f"Pass max_length={longest} or less, or give the model Input((None,))."
            raise invalid("max_length", f"at most {longest}, the longest that the network reads", max_length, remedy)
        number = integer("max_words", max_words)
        return cls(number, min(FRESH, number // 5), time.monotonic(), positive("time_budget", time_budget))

    @property
    def of_search(self) -> tuple[int, float]:
        """The words and the moment to end, by `time.monotonic`, of the search."""
        return self.max_words - self.num_fresh, self.started + (1 - RESERVED) * self.time_budget

    @property
    def whole(self) -> tuple[int, float]:
        """The words and the moment to end of the whole."""
        return self.max_words, self.started + self.time_budget

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.started


class Asked:
    """The answers of a network to the words that it was asked.

    Attributes:
        known: word -> its answer. num_words: number of words read, those asked again included.
    """

    def __init__(self, answers: Callable[[Sequence[Word]], AnyArray], network: Network, seed: int) -> None:
        self.answers, self.network = answers, network
        self.known: dict[Word, Any] = {}
        self.order: list[Word] = []  # the known words as they were asked
        self.rows = Rows(network.alphabet)
        self.num_words, self.batch, self.seconds_a_word = 0, FIRST_BATCH, 0.0
        self.rng = random.Random(seed)
        self.max_words, self.until = 1, time.monotonic()

    def limit(self, max_words: int, until: float) -> None:
        """Sets the budget: the words that are read in all, and the moment, by `time.monotonic`, to end."""
        self.max_words, self.until = max_words, until

    def one_label(self) -> str:
        """Says so if all words that were asked have one label; "" otherwise."""
        labels = {*self.known.values()}
        if len(labels) > 1:
            return ""
        return f"; each of the {len(self.known):,} words has the label {next(iter(labels))!r}, and no other was seen"

    def __call__(self, words: Sequence[Word]) -> list[Any]:
        """The answers to words.

        Raises:
            Stopped: if a budget is spent. What was read until then is known.
            ValueError: if the network answers a word in two ways.
        """
        if self.known and time.monotonic() > self.until:  # also where all words are known: a search may compute long
            raise Stopped(TIME_IS_OVER)
        new = [word for word in dict.fromkeys(words) if word not in self.known]
        longest = self.network.max_length
        if longest is not None and any(len(word) > longest for word in new):
            raise Stopped(f"as words of more than {longest} symbols would have to be read")
        while new:
            number = self._next_batch(len(new))
            self._read(new[:number])
            new = new[number:]
        return [self.known[word] for word in words]

    def _next_batch(self, remaining: int) -> int:
        left, words = self.until - time.monotonic(), self.max_words - self.num_words
        if words <= 0:
            raise Stopped("as the budget of words is spent")
        if left <= 0 and self.known:
            raise Stopped(TIME_IS_OVER)
        fitting = int(left / self.seconds_a_word) if self.seconds_a_word and left > 0 else self.batch
        number = max(1, min(remaining, words, self.batch, fitting))
        if number == self.batch:
            self.batch = min(2 * self.batch, MAX_BATCH)
        return number

    def _read(self, words: list[Word]) -> None:
        say(f"asking a network: {self.num_words:,} words")
        started = time.monotonic()
        left = self.max_words - self.num_words - len(words)
        number = min(left, int(len(words) * REPEATED + self.rng.random()))
        again = self.rng.choices(self.order, k=number) if self.order else []
        found = self.answers([*words, *again]).tolist()
        for word, answer in zip(again, found[len(words) :], strict=True):
            if answer != self.known[word]:
                raise ValueError(
                    f"A network must answer a word in the same way each time. Received: {self.known[word]!r} and then "
                    f"{answer!r} for the word {word!r}. Switch off its noise, and any effect of the other words of a "
                    "batch."
                )
        self.known.update(zip(words, found, strict=False))
        self.order += words
        self.rows.add(words)
        self.num_words += len(found)
        self.seconds_a_word = (time.monotonic() - started) / len(found)

    def differing(self, table: Sequence[Sequence[int]], outputs: Sequence[Hashable]) -> Word | None:
        """The shortest known word that an automaton, from state 0, labels otherwise; None if there is none."""
        states = self.rows.ends(np.array(table, np.int64))
        index = {label: i for i, label in enumerate(dict.fromkeys(outputs))}
        by_automaton = np.array([index[label] for label in outputs])[states]
        by_network = np.array([index.get(self.known[word], -1) for word in self.order])
        differing = np.flatnonzero(by_automaton != by_network)
        return min((self.order[row] for row in differing), key=len, default=None)


class Rows:
    """Words as rows of columns of a table, so that an automaton reads all of them at once."""

    def __init__(self, alphabet: Sequence[Hashable]) -> None:
        self.column = {symbol: i for i, symbol in enumerate(alphabet)}
        self.matrix: Ints = np.zeros((0, 0), np.int64)
        self.new: list[Word] = []

    def add(self, words: Sequence[Word]) -> None:
        """Adds words after those before."""
        self.new += words

    def ends(self, table: Ints) -> Ints:
        """The state after each word, from state 0; table: (states, symbols)."""
        self._encode()
        stays = np.column_stack([table, np.arange(len(table))])
        states = np.zeros(len(self.matrix), np.int64)
        for column in self.matrix.T:
            states = stays[states, column]
        return states

    def _encode(self) -> None:
        """Gives new words rows, which end with the number of symbols."""
        if self.new:
            longest, blank = max(self.matrix.shape[1], *map(len, self.new)), len(self.column)
            rows = np.full((len(self.new), longest), blank)
            for row, word in zip(rows, self.new, strict=True):
                row[: len(word)] = [self.column[symbol] for symbol in word]
            before = np.pad(self.matrix, ((0, 0), (0, longest - self.matrix.shape[1])), constant_values=blank)
            self.matrix, self.new = np.concatenate([before, rows]), []
