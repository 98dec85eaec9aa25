"""Back-off n-gram models: the baseline that ISAN's additive logits are compared with (Foerster 2017, section 3.6).

Absolute discounting with back-off (Ney, Essen, Kneser 1994). With N(uc) the count of symbol c after history u,
N(u.) its sum over c, and u' the history without its oldest symbol:

    p(c)     = (N(c) + 1) / (N + K)
    p(c | u) = (N(uc) - d) / N(u.)          where uc was seen
             = alpha(u) p(c | u')           where it was not; alpha(u) makes the sum one
             = p(c | u')                    where u itself was not seen

If every symbol was seen after u, the mass taken by the discount is spread over all in proportion to p(. | u').
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.analysis._logits import bits

LARGEST_TABLE = 2**26
"""Entries of the largest table: K^order, 512 MiB in float64."""


class BackoffModel:
    """Back-off model of one order, as tables over all histories.

    Args:
        symbols: int (time,), the training text, in [0, vocabulary_size).
        order: 1 for unigrams, 2 for bigrams, ...
        vocabulary_size: K.
        discount: in (0, 1], taken from every count that is not zero.

    Attributes:
        probabilities: for m = 1, ..., order an array (K,) * m, the last axis the next symbol.

    Raises:
        ValueError: if the order is below 1, the discount outside (0, 1], or K^order too large for a table.
    """

    def __init__(self, symbols: NDArray[Any], order: int, vocabulary_size: int, discount: float = 0.5) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1. Received: order={order}. Pass 1 for unigrams.")
        if not 0 < discount <= 1:
            raise ValueError(f"discount must lie in (0, 1]. Received: discount={discount}. Pass 0.5.")
        if vocabulary_size**order > LARGEST_TABLE:
            raise ValueError(
                f"vocabulary_size ** order must be at most {LARGEST_TABLE}, the size of a table. Received: "
                f"{vocabulary_size} ** {order}. Pass a lower order."
            )
        self.order, self.vocabulary_size = order, vocabulary_size
        counts = np.bincount(symbols, minlength=vocabulary_size).astype(np.float64)
        self.probabilities: list[NDArray[np.float64]] = [(counts + 1) / (len(symbols) + vocabulary_size)]
        for m in range(2, order + 1):
            runs = np.bincount(_codes(symbols, m, vocabulary_size), minlength=vocabulary_size**m)
            shape = (vocabulary_size,) * m
            self.probabilities.append(_backed_off(runs.reshape(shape), self.probabilities[-1], discount))

    def bits(self, symbols: NDArray[Any]) -> float:
        """Mean -log2 p of each symbol given those before it; the first ones have shorter histories. Bits a symbol."""
        total = 0.0
        for m in range(1, self.order + 1):
            codes = _codes(symbols, m, self.vocabulary_size)
            if m < self.order:
                codes = codes[:1]
            total -= np.log2(self.probabilities[m - 1].reshape(-1)[codes]).sum()
        return float(total / len(symbols))


def _codes(symbols: NDArray[Any], length: int, vocabulary_size: int) -> NDArray[np.int64]:
    """Every run of `length` symbols as one number, the newest symbol its last digit."""
    codes = np.zeros(max(len(symbols) - length + 1, 0), dtype=np.int64)
    for i in range(length):
        codes = codes * vocabulary_size + symbols[i : i + len(codes)]
    return codes


def _backed_off(counts: NDArray[Any], shorter: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
    """p(c | u) from counts N(uc), shape (K, ..., K), and p(c | u'), which lacks the first axis."""
    totals = counts.sum(axis=-1, keepdims=True)
    seen = counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        discounted = np.where(seen, (counts - discount) / totals, 0.0)
        left_over = discount * seen.sum(axis=-1, keepdims=True) / totals
        share = np.where(seen.all(axis=-1, keepdims=True), True, ~seen) * shorter
        probabilities = discounted + left_over * share / share.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, probabilities, shorter)


class NaiveBayes:
    r"""The next symbol c from the last m, as if they were independent of each other given c (Foerster 2017, 3.1).

    p(c | x_1, ..., x_m) is proportional to p(c) times the product over the age a of p_a(x_a | c), where p_a(x | c) is
    the share of x among the symbols a + 1 places before a c; one is added to every count.

    Args:
        symbols: int (time,), the training text, in [0, vocabulary_size).
        history: m >= 0; 0 for unigrams.
        vocabulary_size: K.

    Attributes:
        prior: (K,), log p(c). likelihood: (m, K, K), log p_a(x | c) at [a, x, c].

    Raises:
        ValueError: if `history` is negative or not shorter than the text.
    """

    def __init__(self, symbols: NDArray[Any], history: int, vocabulary_size: int) -> None:
        if not 0 <= history < len(symbols):
            raise ValueError(
                f"history must lie in [0, {len(symbols) - 1}], within the text. Received: history={history}."
            )
        text, size = np.asarray(symbols, np.int64), vocabulary_size
        counts = np.bincount(text, minlength=size) + 1.0
        self.prior = np.log(counts / counts.sum())
        self.likelihood = np.empty((history, size, size))
        for age in range(history):
            pairs = np.bincount(text[: -age - 1] * size + text[age + 1 :], minlength=size**2).reshape(size, size) + 1.0
            self.likelihood[age] = np.log(pairs / pairs.sum(axis=0))

    def bits(self, symbols: NDArray[Any]) -> float:
        """Mean -log2 p of each symbol given those before it; the first ones have shorter histories. Bits a symbol."""
        text = np.asarray(symbols, np.int64)
        logits = np.tile(self.prior, (len(text), 1))
        for age, table in enumerate(self.likelihood):
            logits[age + 1 :] += table[text[: -age - 1]]
        return float(np.mean(bits(logits, text)))
