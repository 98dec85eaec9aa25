"""What the paper reads off a trained input-switched affine network, by literal loops (Foerster et al., ICML 2017).

The paper's convention as in isan.py: states are columns, W (K, n, n), b (K, n), W_ro (outputs, n), b_ro (outputs,).
`kappa` (T + 1, T, outputs) is what `isan.contributions` gives: kappa_s^t at [s, t - 1], s = 0 the initial state.
`wanted` (T,) are the symbols that came next, x_2, ..., x_{T+1}.

`recent` is the split of figure 4c and section 3.6, `by_word` the sums of section 3.4, `mean_norm_by_age`,
`bits_by_position` and `bits_with_history` are figures 4a, 4b and 4c. `parts` are the projections of section 3.5,
`lengths` and `cosines` what figures 6 and 7 show of them, `explained_variance` is figure 1. `stretch` is section 4.4
of version 1, `next_symbols` and `counted` are figure 8.
"""

import numpy as np


def recent(kappa, window: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For t = 1, ..., T the kappa_s^t of the last symbols (at most `window`), the oldest first, and the others' sum."""
    steps = []
    for t in range(1, kappa.shape[1] + 1):
        inside, outside = [], np.zeros(kappa.shape[2])
        for s in range(t + 1):
            if s >= 1 and t - s < window:
                inside.append(kappa[s, t - 1])
            else:
                outside = outside + kappa[s, t - 1]
        steps.append((np.array(inside), outside))
    return steps


def words(symbols, separator: int) -> list[list[int]]:
    """The sources of each word, a word beginning with its separator; the initial state is a word of its own."""
    found = [[0]]
    for s, symbol in enumerate(symbols, start=1):
        if s == 1 or symbol == separator:
            found.append([])
        found[-1].append(s)
    return found


def by_word(kappa, symbols, separator: int) -> np.ndarray:
    """kappa_word^t, the sum over the word's sources, at [word, t - 1]."""
    sources = words(symbols, separator)
    sums = np.zeros((len(sources), *kappa.shape[1:]))
    for word, members in enumerate(sources):
        for s in members:
            sums[word] += kappa[s]
    return sums


def bits(logits, wanted: int) -> float:
    """-log2 of eq. 2 at one symbol."""
    total = sum(np.exp(logit) for logit in logits)
    return float(-np.log2(np.exp(logits[wanted]) / total))


def length(vector) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(sum(entry**2 for entry in vector)))


def median(values) -> float:
    """The middle one, or the mean of both in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mean_norm_by_age(kappa, oldest: int) -> list[float]:
    """Figure 4a: the mean of |kappa_s^t| over all pairs of one age t - s = 0, ..., oldest, s a symbol."""
    means = []
    for age in range(oldest + 1):
        norms = [length(kappa[t - age, t - 1]) for t in range(1, kappa.shape[1] + 1) if t - age >= 1]
        means.append(sum(norms) / len(norms))
    return means


def bits_with_history(kappa, b_ro, wanted, oldest: int) -> tuple[list[float], float]:
    """Figure 4c: mean cross-entropy with the last m = 0, ..., oldest + 1 symbols' kappa alone, and with every kappa.

    Over the targets that have oldest + 1 symbols.
    """
    targets = range(oldest + 1, kappa.shape[1] + 1)
    history = []
    for m in range(oldest + 2):
        total = 0.0
        for t in targets:
            logits = np.array(b_ro, np.float64)
            for s in range(t - m + 1, t + 1):
                logits = logits + kappa[s, t - 1]
            total += bits(logits, wanted[t - 1])
        history.append(total / len(targets))
    whole = sum(bits(b_ro + kappa[:, t - 1].sum(axis=0), wanted[t - 1]) for t in targets) / len(targets)
    return history, whole


def bits_by_position(kappa, b_ro, symbols, wanted, separator: int, oldest: int) -> dict[int, tuple]:
    """Figure 4b: position of the predicted symbol in its word -> how many, and three median cross-entropies.

    With every kappa, with none but the last separator's, with every one but that; positions up to oldest + 1.
    """
    found: dict[int, list] = {}
    for t in range(1, kappa.shape[1] + 1):
        separators = [s for s in range(1, t + 1) if symbols[s - 1] == separator]
        if not separators or t - separators[-1] > oldest:
            continue
        of_separator = kappa[separators[-1], t - 1]
        everything = b_ro + kappa[:, t - 1].sum(axis=0)
        three = (everything, b_ro + of_separator, everything - of_separator)
        found.setdefault(t - separators[-1] + 1, []).append([bits(logits, wanted[t - 1]) for logits in three])
    return {
        position: (len(rows), *(median(column) for column in zip(*rows, strict=True)))
        for position, rows in sorted(found.items())
    }


def parts(W_ro, vectors) -> tuple[np.ndarray, np.ndarray]:
    """Each vector's part in the span of the rows of W_ro, by least squares, and what is left of it."""
    W_ro, vectors = np.asarray(W_ro, np.float64), np.asarray(vectors, np.float64)
    parallel = np.zeros(vectors.shape)
    for i, vector in enumerate(vectors):
        weights, *_ = np.linalg.lstsq(W_ro.T, vector, rcond=1e-10)
        parallel[i] = W_ro.T @ weights
    return parallel, vectors - parallel


def lengths(vectors) -> np.ndarray:
    """The norm of each."""
    return np.array([length(vector) for vector in vectors])


def cosines(vectors) -> np.ndarray:
    """Of the angles between all pairs."""
    found = np.zeros((len(vectors), len(vectors)))
    for i, one in enumerate(vectors):
        for j, other in enumerate(vectors):
            found[i, j] = sum(x * y for x, y in zip(one, other, strict=True)) / (length(one) * length(other))
    return found


def explained_variance(states) -> np.ndarray:
    """Figure 1: the principal components' shares of the variance, from the singular values of the centred states."""
    states = np.asarray(states, np.float64)
    squares = np.linalg.svd(states - states.mean(axis=0), compute_uv=False) ** 2
    shares = np.zeros(states.shape[1])
    shares[: len(squares)] = (squares / squares.sum())[: len(shares)]
    return shares


def stretch(W, W_ro) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values (K, n), first right singular vectors (K, n), their |cosines| with the rows of W_ro (K, outputs).

    From the eigenvectors of W_x^T W_x: its right singular vectors, with the squares of the singular values.
    """
    values, vectors = np.zeros(W.shape[:2]), np.zeros(W.shape[:2])
    alignment = np.zeros((len(W), len(W_ro)))
    for x, matrix in enumerate(W):
        squares, directions = np.linalg.eigh(matrix.T @ matrix)
        values[x] = np.sqrt(np.maximum(squares[::-1], 0))
        vectors[x] = directions[:, -1]
        for output, row in enumerate(W_ro):
            alignment[x, output] = abs(row @ vectors[x]) / (length(row) * length(vectors[x]))
    return values, vectors, alignment


def softmax(logits) -> np.ndarray:
    """Eq. 2."""
    exponentials = [np.exp(logit) for logit in logits]
    return np.array(exponentials) / sum(exponentials)


def next_symbols(W_ro, b_ro, b) -> tuple[np.ndarray, np.ndarray]:
    """Figure 8: softmax(b_ro), and softmax(W_ro b_x + b_ro) for each symbol x."""
    return softmax(b_ro), np.array([softmax(W_ro @ bias + b_ro) for bias in b])


def counted(symbols, vocabulary_size: int) -> tuple[np.ndarray, np.ndarray]:
    """P(x) and P(x_{t+1} | x_t) of a text; NaN after a symbol after which nothing comes."""
    unigram, bigram = np.zeros(vocabulary_size), np.zeros((vocabulary_size, vocabulary_size))
    for symbol in symbols:
        unigram[symbol] += 1 / len(symbols)
    for x in range(vocabulary_size):
        following = [symbols[t + 1] for t in range(len(symbols) - 1) if symbols[t] == x]
        for y in range(vocabulary_size):
            bigram[x, y] = following.count(y) / len(following) if following else np.nan
    return unigram, bigram


def correlation(p, q) -> float:
    """Pearson's."""
    p, q = np.asarray(p) - np.mean(p), np.asarray(q) - np.mean(q)
    return float((p * q).sum() / (length(p) * length(q)))
