"""Words inside and outside a formal language, with their labels and their ids for networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._checks import integer
from keras_interp_rnn._results import short_repr

__all__ = ["LabelledWords"]


@short_repr
@dataclass(frozen=True, eq=False)
class LabelledWords:
    """Words over an alphabet with labels: True for words in the language.

    Attributes:
        words: strings of one-character symbols.
        labels: bool (num_words,), True for words in the language.
        alphabet: all symbols of the words.

    Example:

    >>> data = LabelledWords(("01", "1", ""), np.array([True, False, True]), "01")
    >>> len(data), data.positives
    (3, 2)
    """

    words: tuple[str, ...]
    labels: NDArray[np.bool_]
    alphabet: str

    def __len__(self) -> int:
        return len(self.words)

    @property
    def positives(self) -> int:
        """Number of words in the language."""
        return int(self.labels.sum())

    def up_to(self, max_length: int) -> LabelledWords:
        """Selects the words of at most `max_length` symbols.

        Args:
            max_length: int >= 0.

        Returns:
            These words and their labels, in the same order.

        Raises:
            ValueError: if `max_length` is not an integer >= 0.

        Example:

        >>> LabelledWords(("01", "1", ""), np.array([True, False, True]), "01").up_to(1).words
        ('1', '')
        """
        integer("max_length", max_length, 0)
        short = np.array([len(word) <= max_length for word in self.words], bool)
        words = tuple(word for word, taken in zip(self.words, short, strict=True) if taken)
        return LabelledWords(words, self.labels[short], self.alphabet)

    def ids(self, start: bool = False, end: bool = False, *, length: int | None = None) -> NDArray[np.int32]:
        """Encodes the words as rows of ids, as `automata.train_recognizer` does.

        Padding is 0, the start token 1, symbol i of the alphabet i + 2, and the end token has the id after the last
        symbol's.

        Args:
            start: whether a start token precedes every word.
            end: whether an end token follows every word.
            length: int > 0, ids per row; None for the length of the longest word with its tokens.

        Returns:
            int32 (num_words, length), padded at the end.

        Raises:
            ValueError: if a word with its tokens is longer than `length`, or has a symbol outside the alphabet.

        Example:

        >>> LabelledWords(("01", "1"), np.array([True, False]), "01").ids(end=True)
        array([[2, 3, 4],
               [3, 4, 0]], dtype=int32)
        """
        alphabet = Alphabet.with_tokens(self.alphabet, start=start, end=end)
        return alphabet.encode_batch(self.words, length)
