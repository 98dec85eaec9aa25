"""Counts of a text compared with an ISAN's predictions: agreement with unigrams and bigrams, and naive Bayes.

Foerster et al., ICML 2017, sections 3.1 and 3.6; back-off n-grams are `analysis.BackoffModel`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax

from keras_interp_rnn import analysis

Array = NDArray[np.float64]


class NgramAgreement(NamedTuple):
    """Predictions of the network after no symbol and after one, next to counts of a text.

    Attributes:
        unigram: (K,), softmax(c).
        counted_unigram: (K,), frequencies in the text.
        bigram: (K, K), row x is softmax(b_x R + c).
        counted_bigram: (K, K), frequencies of the symbols after x; NaN for a symbol that the text does not contain.
        unigram_correlation: of the first two (figure 8a).
        bigram_correlations: (K,), of each row with its counted one.
        unigram_baseline: (K,), of the counted unigrams with each counted row (figure 8c).
    """

    unigram: Array
    counted_unigram: Array
    bigram: Array
    counted_bigram: Array
    unigram_correlation: float
    bigram_correlations: Array
    unigram_baseline: Array


def ngram_agreement(model: Any, symbols: ArrayLike, *, origin: ArrayLike | None = None) -> NgramAgreement:
    """How near the network's predictions after no symbol and after one are to the statistics of a text.

    Args:
        model, origin: as `analysis.contributions`; the outputs are the next symbol's logits.
        symbols: int (T,), T > 1.
    """
    text, size = np.asarray(symbols).astype(np.int64), model.output_shape[-1]
    splits = [analysis.contributions(model, [symbol], origin=origin) for symbol in range(size)]
    counts = np.bincount(text, minlength=size) / len(text)
    pairs = np.bincount(text[:-1] * size + text[1:], minlength=size**2).reshape(size, size).astype(float)
    with np.errstate(invalid="ignore"):
        counted = pairs / pairs.sum(axis=1, keepdims=True)
    unigram = softmax(splits[0].bias)
    bigram = softmax([split.values[1, 0] + split.bias for split in splits], axis=-1)
    return NgramAgreement(
        unigram,
        counts,
        bigram,
        counted,
        _correlation(unigram, counts),
        np.array([_correlation(p, q) for p, q in zip(bigram, counted, strict=True)]),
        np.array([_correlation(counts, q) for q in counted]),
    )


def _correlation(p: Array, q: Array) -> float:
    """Pearson's; NaN if one of them has a NaN or does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(p, q)[0, 1])


class NaiveBayes:
    r"""Predicts the next symbol c from the last m, as if they were independent given c (Foerster 2017, section 3.1).

    p(c | x_1, ..., x_m) is proportional to p(c) times the product over the age a of p_a(x_a | c), where p_a(x | c) is
    the frequency of x among the symbols a + 1 places before a c; one is added to every count.

    Args:
        symbols: int (time,), the training text, in [0, vocabulary_size).
        history: m >= 0, number of symbols before c; 0 for unigrams.
        vocabulary_size: K.

    Attributes:
        prior: (K,), log p(c). likelihood: (m, K, K), log p_a(x | c) at [a, x, c].
    """

    def __init__(self, symbols: ArrayLike, history: int, *, vocabulary_size: int) -> None:
        text, size = np.asarray(symbols).astype(np.int64), vocabulary_size
        counts = np.bincount(text, minlength=size) + 1.0
        self.prior = np.log(counts / counts.sum())
        self.likelihood = np.empty((history, size, size))
        for age in range(history):
            pairs = np.bincount(text[: -age - 1] * size + text[age + 1 :], minlength=size**2).reshape(size, size) + 1.0
            self.likelihood[age] = np.log(pairs / pairs.sum(axis=0))

    def bits(self, symbols: ArrayLike) -> float:
        """Mean -log2 p of each symbol given those before it; the first ones have shorter histories. Bits per symbol."""
        text = np.asarray(symbols).astype(np.int64)
        logits = np.tile(self.prior, (len(text), 1))
        for age, table in enumerate(self.likelihood):
            logits[age + 1 :] += table[text[: -age - 1]]
        return float(np.mean(-log_softmax(logits, axis=1)[np.arange(len(text)), text] / np.log(2)))
