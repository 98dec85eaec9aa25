"""How near the first predictions of an input-switched affine network are to the statistics of a text.

Foerster et al., ICML 2017, section 3.6: softmax(c) beside unigrams, softmax(b_x R + c) beside bigrams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from keras_interp_rnn._network import open_isan
from keras_interp_rnn._results import Unpackable
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.statistics import correlation


@dataclass(frozen=True, eq=False, repr=False)
class NgramAgreement(Unpackable):
    """Predictions of the network after no symbol and after one, beside those counted in a text.

    Attributes:
        unigram: (K,), softmax(c).
        counted_unigram: (K,), frequencies in the text.
        bigram: (K, K), row x is softmax(b_x R + c).
        counted_bigram: (K, K), frequencies of the symbols after x; NaN for a symbol that the text does not contain.
        unigram_correlation: of the first two (figure 8a).
        bigram_correlations: (K,), of each row with its counted one.
        unigram_baseline: (K,), of the counted unigrams with each counted row (figure 8c).

    Example: see `ngram_agreement`.
    """

    unigram: Array
    counted_unigram: Array
    bigram: Array
    counted_bigram: Array
    unigram_correlation: float
    bigram_correlations: Array
    unigram_baseline: Array


def ngram_agreement(
    network: Any, symbols: ArrayLike, *, readout: Any = None, origin: ArrayLike | str | None = None
) -> NgramAgreement:
    """How near the network's predictions after no symbol and after one are to the statistics of a text.

    Args:
        network, readout, origin: as `contributions`; the outputs are the next symbol's logits.
        symbols: int (T,), T > 1.

    Returns:
        `NgramAgreement`.

    Raises:
        ValueError: as `contributions`, and if there is not one output for each symbol or the text has fewer than two
            symbols.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 3), keras.layers.Dense(3)])
        >>> analysis.ngram_agreement(model, [0, 1, 0, 2]).counted_unigram
        array([0.5 , 0.25, 0.25])

    Reference: Foerster et al., ICML 2017, section 3.6 and figure 8.
    """
    (_, bias, _), head, text = open_isan(network, symbols, readout, origin)
    size = len(bias)
    if head.matrix.shape[1] != size or len(text) < 2:
        raise ValueError(
            f"The outputs are the logits of the next symbol, {size} of them, and a text has two symbols at least. "
            f"Received: a head of {head.matrix.shape[1]}, a text of {len(text)}."
        )
    counts = np.bincount(text, minlength=size) / len(text)
    pairs = np.bincount(text[:-1] * size + text[1:], minlength=size**2).reshape(size, size).astype(float)
    with np.errstate(invalid="ignore"):
        counted = pairs / pairs.sum(axis=1, keepdims=True)
    unigram, bigram = softmax(head.offset), softmax(bias @ head.matrix + head.offset, axis=-1)
    return NgramAgreement(
        unigram,
        counts,
        bigram,
        counted,
        correlation(unigram, counts),
        np.array([correlation(p, q) for p, q in zip(bigram, counted, strict=True)]),
        np.array([correlation(counts, q) for q in counted]),
    )
