r"""What the weights of an input-switched affine network say about its symbols, and its states about their space.

Foerster et al., ICML 2017, sections 3.1, 3.5 and 3.6; version 1 of the paper, section 4.4, for the singular values.
The readout R (n, outputs) splits the space of states into the span of its columns, the readout subspace, and the
orthogonal complement, the computational subspace, which no prediction reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.analysis._logits import softmax
from keras_interp_rnn.analysis._weights import affine_readout, isan_weights, opened
from keras_interp_rnn.analysis.bases import readout_basis

Array = NDArray[np.float64]

ROUNDING = 1e-12
"""Beside something, a part of it that is no larger is taken for rounding."""


@short_repr
class Parts(NamedTuple):
    """Something of the biases as they are, and of their parts in the two subspaces."""

    whole: Array
    readout: Array
    computational: Array


@short_repr
class TransitionSpectra(NamedTuple):
    r"""Singular values of the matrices of all symbols, with $W_x = U \Sigma V^\top$ in row convention.

    Attributes:
        values: (K, n), the largest first.
        read: (K, n), the direction of the state that is stretched most, the first left singular vector here (the
            paper's first right one, for it writes column vectors).
        written: (K, n), the direction it becomes.
        alignment: (K, outputs), |cosine| between `read` and what each output reads, a column of R.
        radius: (K,), largest |eigenvalue|.
    """

    values: Array
    read: Array
    written: Array
    alignment: Array
    radius: Array


@short_repr
class NgramAgreement(NamedTuple):
    """Predictions of the network after no symbol and after one, beside those counted in a text.

    Attributes:
        unigram: (K,), softmax(c). counted_unigram: (K,).
        bigram: (K, K), row x is softmax(b_x R + c). counted_bigram: (K, K); NaN for a symbol that the text has not.
        unigram_correlation: of the first two (figure 8a).
        bigram_correlations: (K,), of each row with its counted one; unigram_baseline: (K,), of the counted unigrams
            with it (figure 8c).
    """

    unigram: Array
    counted_unigram: Array
    bigram: Array
    counted_bigram: Array
    unigram_correlation: float
    bigram_correlations: Array
    unigram_baseline: Array


def bias_parts(layer: Any, readout: Any = None) -> Parts:
    """The biases b_x (K, n), and their parts in the readout and in the computational subspace, which add up to them.

    A part that is rounding beside the whole is 0.

    Args:
        layer, readout: as `contributions`.

    Raises:
        ValueError: as `contributions`.

    Reference: Foerster et al., ICML 2017, section 3.5.
    """
    bias, basis = isan_weights(layer).bias, readout_basis(layer, readout, rank_tolerance=ROUNDING)
    directions = basis.to.matrix[:, : basis.readout]
    seen = bias @ directions @ directions.T
    lengths = np.linalg.norm(bias, axis=1, keepdims=True)
    parts = (
        np.where(np.linalg.norm(part, axis=1, keepdims=True) > ROUNDING * lengths, part, 0.0)
        for part in (seen, bias - seen)
    )
    return Parts(bias, *parts)


def bias_norms(layer: Any, readout: Any = None) -> Parts:
    """Lengths (K,) of the biases and of their two parts (figure 6). Arguments and errors as `bias_parts`."""
    return Parts(*(np.linalg.norm(part, axis=1) for part in bias_parts(layer, readout)))


def bias_cosines(layer: Any, readout: Any = None) -> Parts:
    """Cosines (K, K) between the biases, and between their parts (figure 7); 0 where one of them is 0.

    Arguments and errors as `bias_parts`.
    """
    found = []
    for part in bias_parts(layer, readout):
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        units = part / np.where(lengths > 0, lengths, 1.0)
        found.append(units @ units.T)
    return Parts(*found)


def state_spectrum(states: ArrayLike) -> Array:
    """Share of the variance of states that each principal direction explains, the largest first (figure 1).

    Args:
        states: (..., n), at least two of them.

    Returns:
        (n,), which sums to 1.

    Raises:
        ValueError: if there are fewer than two states, or they do not vary.
    """
    rows = np.asarray(states, np.float64).reshape(-1, np.shape(states)[-1])
    if len(rows) < 2:
        raise ValueError(f"A spectrum needs at least two states. Received: shape {np.shape(states)}.")
    variances = np.linalg.eigvalsh(np.cov(rows.T).reshape(rows.shape[1], -1))[::-1].clip(min=0)
    if not variances.sum() > (ROUNDING * np.abs(rows).max()) ** 2:
        raise ValueError(f"States must vary. Received: {len(rows)} times the same.")
    return variances / variances.sum()


def transition_spectra(layer: Any, readout: Any = None) -> TransitionSpectra:
    """Singular values of every symbol's matrix, and whether what it stretches most is what an output reads.

    Args:
        layer, readout: as `contributions`.

    Raises:
        ValueError: as `contributions`.

    Reference: Foerster et al., 2016, version 1, section 4.4.
    """
    kernel, head = isan_weights(layer).kernel, affine_readout(layer, readout)
    left, values, right = np.linalg.svd(kernel)
    read, written = left[:, :, 0], right[:, 0, :]
    columns = head.matrix / np.maximum(np.linalg.norm(head.matrix, axis=0), 1e-300)
    return TransitionSpectra(
        values, read, written, np.abs(read @ columns), np.abs(np.linalg.eigvals(kernel)).max(axis=1)
    )


def ngram_agreement(layer: Any, symbols: ArrayLike, readout: Any = None) -> NgramAgreement:
    """How near the network's predictions after no symbol and after one are to what a text has.

    Args:
        layer, readout: as `contributions`; the outputs are the next symbol's logits.
        symbols: int (T,), T > 1.

    Raises:
        ValueError: as `contributions`, and if the outputs are not one for each symbol or the text has less than two
            symbols.

    Reference: Foerster et al., ICML 2017, section 3.6 and figure 8.
    """
    (_, bias, _), head, text = opened(layer, symbols, readout)
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
    unigram, bigram = softmax(head.offset), softmax(bias @ head.matrix + head.offset)
    return NgramAgreement(
        unigram,
        counts,
        bigram,
        counted,
        correlation(unigram, counts),
        np.array([correlation(p, q) for p, q in zip(bigram, counted, strict=True)]),
        np.array([correlation(counts, q) for q in counted]),
    )


def correlation(p: Array, q: Array) -> float:
    """Pearson's; NaN where one of them is not known or does not vary."""
    known = not (np.isnan(p).any() or np.isnan(q).any())
    varied = known and all(np.ptp(x) > ROUNDING * np.abs(x).max() for x in (p, q))
    return float(np.corrcoef(p, q)[0, 1]) if varied else float("nan")
