"""Back-off n-grams: a baseline for networks that predict symbols.

Absolute discounting with back-off (Ney, Essen, Kneser 1994). With N(uc) the count of symbol c after history u, N(u.)
its sum over c, and u' the history without its first symbol:

    p(c)     = (N(c) + 1) / (N + K)
    p(c | u) = (N(uc) - d) / N(u.)          if uc was seen
             = alpha(u) p(c | u')           if it was not; alpha(u) makes the sum 1
             = p(c | u')                    if u was not seen

If every symbol was seen after u, the mass that the discount took is spread over all in proportion to p(. | u').

Only n-grams that occur are counted, each coded as one number. A megabyte of text to order 6 takes seconds.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_symbols
from keras_interp_rnn._checks import integer, invalid, is_number

MAX_TABLE = 2**26
"""Entries of the largest table: K^order, 512 MiB in float64."""


class _Counts(NamedTuple):
    """Counts of the n-grams of one length that occur, each a context u and the next symbol c.

    Attributes:
        runs: (R,), codes of all uc, in ascending order. counts: (R,), N(uc).
        contexts: (C,), codes of all u. totals: (C,), N(u.). kinds: (C,), number of different symbols after u.
        first: (C,), index into `runs` of the first uc of each u.
    """

    runs: NDArray[np.int64]
    counts: NDArray[np.int64]
    contexts: NDArray[np.int64]
    totals: NDArray[np.int64]
    kinds: NDArray[np.int64]
    first: NDArray[np.int64]


class BackoffModel:
    """Back-off model of n-grams.

    Args:
        symbols: int (time,), the training text, in [0, vocabulary_size).
        order: 1 for unigrams, 2 for bigrams, ...
        vocabulary_size: K.
        discount: in (0, 1], subtracted from every count above 0.

    Raises:
        ValueError: if the order is below 1 or above 62, the discount outside (0, 1], a symbol outside the vocabulary,
            or K^order too large for 63 bits.

    Memory: 16 bytes for each different n-gram, n = 1, ..., order, and 40 for each context. Counting takes 16 more for
        each symbol of the text, half of them for sorting.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = analysis.BackoffModel([0, 1, 0, 1, 0, 2], 2, vocabulary_size=3)
        >>> round(model.bits([0, 1, 0, 1]), 3)
        0.896

    Reference: Ney, Essen and Kneser, "On structuring probabilistic dependences in stochastic language modelling", 1994.
    """

    def __init__(self, symbols: ArrayLike, order: int, *, vocabulary_size: int, discount: float = 0.5) -> None:
        # Python's integers, which do not overflow as NumPy's do.
        order = integer("order", order, remedy="Pass 1 for unigrams.")
        vocabulary_size = integer("vocabulary_size", vocabulary_size)
        if not is_number(discount) or not 0 < discount <= 1:
            raise invalid("discount", "a number in (0, 1]", discount, "Pass 0.5.")
        if order >= 63 or vocabulary_size**order >= 2**63:
            raise ValueError(
                "Each n-gram is counted as one number, so order must be below 63 and vocabulary_size ** order below "
                f"2 ** 63. Received: {vocabulary_size} ** {order}. Pass a lower order."
            )
        text = as_symbols(symbols, vocabulary_size)
        self.order, self.vocabulary_size, self.discount = order, vocabulary_size, discount
        unigrams = np.bincount(text, minlength=vocabulary_size)
        self._unigrams = (unigrams + 1) / (len(text) + vocabulary_size)
        self._counts = [_counted(_codes(text, m, vocabulary_size), m, vocabulary_size) for m in range(1, order + 1)]
        self._backed_off = [
            _alphas(self._counts[:m], len(text), vocabulary_size, discount) for m in range(2, order + 1)
        ]

    def bits(self, symbols: ArrayLike) -> float:
        """Bits per symbol: the mean of -log2 p of each symbol given its history (shorter for the first symbols).

        Raises:
            ValueError: if there is no symbol, or one is outside the vocabulary.
        """
        text = as_symbols(symbols, self.vocabulary_size)
        if not len(text):
            raise ValueError("A text must have at least one symbol. Received: an empty text. Pass a longer one.")
        total = 0.0
        for m in range(1, self.order + 1):
            codes = _codes(text, m, self.vocabulary_size)
            with np.errstate(divide="ignore"):  # a discount of 1 takes all mass of an n-gram that was seen once
                total -= np.log2(self._probabilities(codes[:1] if m < self.order else codes, m)).sum()
        return float(total / len(text))

    @functools.cached_property
    def probabilities(self) -> list[NDArray[np.float64]]:
        """An array (K,) * m for m = 1, ..., order; the last axis is the next symbol.

        Raises:
            ValueError: if K^order is too large for a table.
        """
        size = self.vocabulary_size
        if size**self.order > MAX_TABLE:
            raise ValueError(
                f"vocabulary_size ** order must be at most {MAX_TABLE}, the size of a table. Received: "
                f"{size} ** {self.order}. Use `bits`, or pass a lower order."
            )
        return [self._probabilities(np.arange(size**m), m).reshape((size,) * m) for m in range(1, self.order + 1)]

    def _probabilities(self, codes: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """p(c | u) of the n-grams uc of this length, given by their codes."""
        size = self.vocabulary_size
        probability = self._unigrams[codes % size]
        for m in range(2, length + 1):
            # p given m - 1 symbols, from p given one symbol less.
            counted, runs = self._counts[m - 1], codes % size**m
            if not len(counted.runs):  # the training text is shorter
                break
            context, known = _places(counted.contexts, runs // size)
            run, seen = _places(counted.runs, runs)
            total, kinds = counted.totals[context], counted.kinds[context]
            full = kinds == size
            share = np.where(full, self.discount * kinds / total, np.where(seen, 0.0, self._backed_off[m - 2][context]))
            discounted = np.where(seen, (counted.counts[run] - self.discount) / total, 0.0)
            probability = np.where(known, discounted + share * probability, probability)
        return probability


def _codes(symbols: NDArray[np.int64], length: int, vocabulary_size: int) -> NDArray[np.int64]:
    """Codes of all runs of `length` symbols: numbers in base K whose last digit is the last symbol."""
    codes = np.zeros(max(len(symbols) - length + 1, 0), dtype=np.int64)
    for i in range(length):
        codes *= vocabulary_size
        codes += symbols[i : i + len(codes)]
    return codes


def _counted(codes: NDArray[np.int64], length: int, vocabulary_size: int) -> _Counts:
    possible = vocabulary_size**length
    if possible <= 4 * len(codes):  # for a long text a table is faster than sorting
        table = np.bincount(codes, minlength=possible)
        runs = np.flatnonzero(table)
        counts = table[runs]
    else:
        runs, counts = np.unique(codes, return_counts=True)
    contexts, first = np.unique(runs // vocabulary_size, return_index=True)
    kinds = np.diff(np.append(first, len(runs)))
    totals = np.add.reduceat(counts, first) if len(first) else counts  # reduceat refuses an empty array
    return _Counts(runs, counts, contexts, totals, kinds, first)


def _alphas(counted: list[_Counts], steps: int, vocabulary_size: int, discount: float) -> NDArray[np.float64]:
    """alpha(u) of the longest contexts: the mass that the discount took, over the mass of p(. | u') at unseen symbols.

    The latter needs no sum over unseen symbols. All symbols seen after u were also seen after u', so with a sum over
    the symbols seen after u, in whole numbers and therefore exact,

        sum over unseen c of p(c | u') = (N(u'.) - sum N(u'c) - d (kinds(u') - kinds(u)) + rest) / N(u'.),

    where `rest` is all the mass that the discount took at u', d kinds(u'), if some symbol is unseen there; otherwise
    the part of it that p(. | u'') gives to the symbols unseen after u, and so on.
    """
    longest, size = counted[-1], vocabulary_size
    masses = np.zeros(len(longest.contexts))
    # Contexts whose mass is not complete, and the factor of the missing part.
    rows = np.flatnonzero(longest.kinds < size)
    factors = np.ones(len(rows))
    for m in range(len(counted) - 1, 0, -1):
        if not len(rows):
            break
        shorter = counted[m - 1]
        run, _ = _places(shorter.runs, longest.runs % size**m)
        of_seen = np.add.reduceat(shorter.counts[run], longest.first)[rows]
        kinds = longest.kinds[rows]
        if m == 1:
            masses[rows] += factors * (steps - of_seen + size - kinds) / (steps + size)
            break
        place, _ = _places(shorter.contexts, longest.contexts[rows] % size ** (m - 1))
        total, all_kinds = shorter.totals[place], shorter.kinds[place]
        masses[rows] += factors * (total - of_seen - discount * (all_kinds - kinds)) / total
        factors = factors * discount * all_kinds / total
        full = all_kinds == size
        masses[rows[~full]] += factors[~full]
        rows, factors = rows[full], factors[full]
    with np.errstate(divide="ignore"):  # a context after which every symbol was seen has no alpha
        return discount * longest.kinds / longest.totals / masses


def _places(ordered: NDArray[np.int64], numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The index of each number in a sorted table, arbitrary if it is not there, and whether it is."""
    at = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    return at, ordered[at] == numbers
