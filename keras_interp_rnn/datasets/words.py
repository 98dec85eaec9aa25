"""Texts as words: tokens, and word vectors from counts. `Alphabet.from_texts` is the vocabulary of texts."""

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import SPECIAL
from keras_interp_rnn._checks import integer
from keras_interp_rnn._tokens import tokenize

__all__ = ["tokenize", "vectors"]


def vectors(
    ids: NDArray[np.integer],
    vocabulary_size: int,
    *,
    num_features: int,
    window: int = 5,
    num_contexts: int = 2000,
    seed: int = 0,
) -> NDArray[np.float32]:
    r"""Word vectors counted from texts: singular vectors of their positive pointwise mutual information.

    $M_{wc} = \max(0, \log\frac{n_{wc}}{n_w p_c})$ with $p_c \propto n_c^{0.75}$, where $n_{wc}$ counts how often c
    occurs within `window` words of w, and a neighbour at distance d has the weight 1 - (d - 1)/window. The vectors
    are the rows of $U S^{1/2}$ in $M \approx U S V^T$, scaled to a mean square of 1.

    Args:
        ids: int (num_texts, time), as `encode_batch` of `Alphabet.from_texts` returns them.
        vocabulary_size: int > 0, number of ids.
        num_features: int > 0, length of a vector.
        window: int > 0, number of words on either side that are neighbours.
        num_contexts: int > 0; only smaller ids, those of the most frequent words, count as neighbours.
        seed: of the initial vector of the iteration for singular vectors.

    Returns:
        float32 (vocabulary_size, num_features); the special ids, and words that do not occur, are 0.

    Raises:
        ValueError: if there are more features than neighbours, or the window has no word.

    Example:

    >>> vectors(np.array([[2, 4, 5, 3], [2, 4, 6, 3], [2, 5, 6, 3]]), 8, num_features=2).shape
    (8, 2)

    Reference: Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word
    Embeddings", 2015, sections 2 and 3.
    """
    integer("window", window)
    num_contexts, special = min(num_contexts, vocabulary_size), len(SPECIAL)
    if not 0 < num_features <= num_contexts - special:
        raise ValueError(
            f"`num_features` must lie in [1, {num_contexts - special}], the number of words that count as neighbours. "
            f"Received: num_features={num_features}. Choose another."
        )
    from scipy import sparse  # takes a tenth of a second
    from scipy.sparse.linalg import svds

    counts = sparse.csr_array((vocabulary_size, num_contexts))
    for distance in range(1, min(window, ids.shape[1] - 1) + 1):
        before, after = ids[:, :-distance].ravel(), ids[:, distance:].ravel()
        words = (before >= special) & (after >= special)
        for word, context in ((before[words], after[words]), (after[words], before[words])):
            near = context < num_contexts
            ones = np.full(int(near.sum()), 1 - (distance - 1) / window)
            counts = counts + sparse.csr_array((ones, (word[near], context[near])), (vocabulary_size, num_contexts))
    if not counts.nnz:
        return np.zeros((vocabulary_size, num_features), np.float32)
    of_word, of_context = counts.sum(axis=1), counts.sum(axis=0) ** 0.75
    pairs = counts.tocoo()
    information = np.log(pairs.data / (of_word[pairs.row] * (of_context / of_context.sum())[pairs.col]))
    positive = information > 0
    matrix = sparse.csr_array(
        (information[positive], (pairs.row[positive], pairs.col[positive])), (vocabulary_size, num_contexts)
    )
    if not matrix.nnz:
        return np.zeros((vocabulary_size, num_features), np.float32)
    start = np.random.default_rng(seed).uniform(0.5, 1.5, num_contexts)
    left, values, _ = svds(matrix, k=num_features, v0=start)
    vectors = (left * np.sqrt(values))[:, ::-1]  # in descending order
    # A singular vector has no sign of its own: its largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(num_features)])
    vectors[of_word == 0] = 0
    scaled: NDArray[np.float32] = (vectors / np.sqrt(np.mean(vectors[of_word > 0] ** 2))).astype(np.float32)
    return scaled
