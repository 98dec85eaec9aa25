"""Distributions of unknown symbols: independent draws, or a Markov chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import as_array, as_symbols, listed
from keras_interp_rnn._checks import non_negative
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Background(Result):
    """A distribution over words of any length, for `shapley_values`.

    Args:
        initial: (K,), probabilities of the first symbol, and of every symbol if symbols are independent.
        transitions: (K, K); row a has the probabilities of the symbol after a. None for independent symbols.

    Raises:
        ValueError: if an argument does not hold probabilities.

    Example:

    >>> Background([0.5, 0.25, 0.25]).is_markov
    False
    >>> Background.estimated([[0, 1, 1, 2], [0, 2]], num_symbols=3, markov=True).transitions.round(2)
    array([[0.2 , 0.4 , 0.4 ],
           [0.2 , 0.4 , 0.4 ],
           [0.33, 0.33, 0.33]])
    """

    initial: Array
    transitions: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", _probabilities("initial", self.initial, 1))
        if self.transitions is not None:
            object.__setattr__(self, "transitions", _probabilities("transitions", self.transitions, 2))
            if self.transitions.shape != (len(self.initial),) * 2:
                rule = f"must have {len(self.initial)} rows and columns, as many as initial has symbols"
                raise ValueError(f"`transitions` {rule}. Received: {self.transitions.shape}.")

    @property
    def is_markov(self) -> bool:
        """Whether a symbol depends on the one before."""
        return self.transitions is not None

    @property
    def num_symbols(self) -> int:
        return len(self.initial)

    @classmethod
    def uniform(cls, num_symbols: int) -> Background:
        """Independent symbols, each with the same probability."""
        return cls(np.full(num_symbols, 1 / num_symbols))

    @classmethod
    def estimated(
        cls, sequences: Iterable[ArrayLike], *, num_symbols: int, markov: bool = False, pseudo_count: float = 1.0
    ) -> Background:
        """The relative frequencies in some sequences.

        Args:
            sequences: of ids in [0, num_symbols); one text is [text].
            num_symbols: K.
            markov: whether a symbol depends on the one before. The first symbol is then distributed as in the
                sequences.
            pseudo_count: added to every count.

        Raises:
            ValueError: if a symbol is outside the vocabulary; if `pseudo_count` is below 0, or 0 and a symbol never
                occurs.
        """
        pseudo_count = non_negative("pseudo_count", pseudo_count)
        words = [as_symbols(sequence, num_symbols) for sequence in listed("Sequences", sequences)]
        if not markov:
            every = np.concatenate([*words, np.zeros(0, np.int64)])
            return cls(_shares(np.bincount(every, minlength=num_symbols), pseudo_count))
        first = np.bincount([word[0] for word in words if len(word)], minlength=num_symbols)
        pairs = np.zeros((num_symbols, num_symbols))
        for word in words:
            np.add.at(pairs, (word[:-1], word[1:]), 1)
        return cls(_shares(first, pseudo_count), np.array([_shares(row, pseudo_count) for row in pairs]))


def background_over(num_symbols: int, given: Background | ArrayLike | None) -> Background:
    """A background over so many symbols: the given one, or independent symbols of given or of equal probabilities.

    Raises:
        ValueError: if it is over another number of symbols.
    """
    if given is None:
        return Background.uniform(num_symbols)
    background: Background = given if isinstance(given, Background) else Background(np.asarray(given))
    if background.num_symbols != num_symbols:
        raise ValueError(
            f"`background` must be over the symbols of the network, {num_symbols}. Received: one over "
            f"{background.num_symbols}."
        )
    return background


def _shares(counts: ArrayLike, pseudo_count: float) -> Array:
    added = np.asarray(counts, np.float64) + pseudo_count
    if not added.sum() > 0:
        raise ValueError(
            "Some symbol must occur, after each symbol if markov=True, or pseudo_count must be above 0. Received: no "
            f"symbol, or no symbol after one, and pseudo_count={pseudo_count}."
        )
    return np.asarray(added / added.sum(), np.float64)


def _probabilities(name: str, values: ArrayLike, rank: int) -> Array:
    array = as_array(name, values).astype(np.float64)
    if array.ndim != rank or not array.size or not (array >= 0).all() or not np.allclose(array.sum(axis=-1), 1):
        raise ValueError(
            f"`{name}` must be probabilities, at least 0 and with the sum 1, in {rank} dimension(s). Received: shape "
            f"{array.shape}, sums {np.unique(array.sum(axis=-1))[:5] if array.ndim else array}. Divide by the sums."
        )
    return np.asarray(array / array.sum(axis=-1, keepdims=True))
