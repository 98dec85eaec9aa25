"""A back-off n-gram model by brute force: a dict of successor counts for every history in the training text.

N(uc) counts symbol c right after history u, N(u.) = sum_c N(uc), d is the discount, K the vocabulary size,
N the length of the text, and u' is u without its first symbol. Symbols are integers 0..K-1.
  no history:   p(c) = (N(c) + 1) / (N + K)
  N(u.) = 0:    p(c|u) = p(c|u')
  N(uc) > 0:    p(c|u) = (N(uc) - d) / N(u.)
  N(uc) = 0:    p(c|u) = left_over * p(c|u') / sum of p(.|u') over the symbols unseen after u
with left_over = d * |{c: N(uc) > 0}| / N(u.). If every symbol was seen after u, the left-over mass goes to
all in proportion to p(.|u'): p(c|u) = (N(uc) - d) / N(u.) + left_over * p(c|u').
"""

from collections import Counter, defaultdict

import numpy as np


class BackoffOracle:
    """An n-gram model of the given order: it looks back at most `order - 1` symbols."""

    def __init__(self, symbols, order: int, vocabulary_size: int, discount: float = 0.5):
        self.order = order
        self.vocabulary_size = vocabulary_size
        self.discount = discount
        self.successors: dict[tuple, Counter] = defaultdict(Counter)
        text = [int(symbol) for symbol in symbols]
        for position, symbol in enumerate(text):
            for length in range(min(order - 1, position) + 1):
                self.successors[tuple(text[position - length : position])][symbol] += 1

    def probability(self, history: tuple, symbol: int) -> float:
        """p(symbol | the last order - 1 symbols of history, or fewer if it is shorter)."""
        history = tuple(int(past) for past in history)
        start = max(0, len(history) - (self.order - 1))
        return self._distribution(history[start:])[int(symbol)]

    def bits(self, test_symbols) -> float:
        """Mean -log2 p over the test positions; the first ones have only a short history."""
        text = tuple(int(symbol) for symbol in test_symbols)
        return float(np.mean([-np.log2(self.probability(text[:i], text[i])) for i in range(len(text))]))

    def _distribution(self, u: tuple) -> list[float]:
        """p(c|u) for every c, where u is at most order - 1 symbols long."""
        counts = self.successors.get(u, Counter())
        total = sum(counts.values())
        vocabulary = range(self.vocabulary_size)
        if u == ():
            return [(counts[c] + 1) / (total + self.vocabulary_size) for c in vocabulary]
        shorter = self._distribution(u[1:])
        if total == 0:
            return shorter
        seen = [c for c in vocabulary if counts[c] > 0]
        unseen = [c for c in vocabulary if counts[c] == 0]
        left_over = self.discount * len(seen) / total
        if not unseen:
            return [(counts[c] - self.discount) / total + left_over * shorter[c] for c in vocabulary]
        alpha = left_over / sum(shorter[c] for c in unseen)
        return [(counts[c] - self.discount) / total if counts[c] else alpha * shorter[c] for c in vocabulary]
