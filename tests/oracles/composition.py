"""Words of an input-switched affine network by brute force, from the equations, with the paper's columns.

W is (K, n, n), b (K, n), states are columns: h_t = W_{x_t} h_{t-1} + b_{x_t}, logits W_ro h + b_ro.
"""

import numpy as np


def composed(W, b, word) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and offset of a word: what it does to the columns of the identity, and to zero."""
    n = b.shape[1]
    offset = np.zeros(n)
    for x in word:
        offset = W[x] @ offset + b[x]
    matrix = np.zeros((n, n))
    for j in range(n):
        column = np.zeros(n)
        column[j] = 1.0
        for x in word:
            column = W[x] @ column + b[x]
        matrix[:, j] = column - offset
    return matrix, offset


def bits(W, b, h0, W_ro, b_ro, text) -> np.ndarray:
    """-log2 p of every symbol but the first, given those before it."""
    h, result = np.asarray(h0, np.float64), []
    for x, following in zip(text[:-1], text[1:], strict=True):
        h = W[x] @ h + b[x]
        logits = W_ro @ h + b_ro
        largest = max(logits)
        total = sum(np.exp(value - largest) for value in logits)
        result.append((np.log(total) + largest - logits[following]) / np.log(2))
    return np.array(result)


def segmentations(words, text):
    """All ways to write a text as words of a set, each a list of tuples."""
    text = tuple(text)
    if not text:
        yield []
    for length in range(1, len(text) + 1):
        if text[:length] in words:
            for rest in segmentations(words, text[length:]):
                yield [text[:length], *rest]


def greedy(words, text) -> list[tuple]:
    """The longest word at each place."""
    text, result = tuple(text), []
    while text:
        longest = max(length for length in range(1, len(text) + 1) if text[:length] in words)
        result.append(text[:longest])
        text = text[longest:]
    return result


def iterated(W, b, symbol, steps: int) -> np.ndarray:
    """Where a symbol leads that is read again and again, from zero."""
    h = np.zeros(b.shape[1])
    for _ in range(steps):
        h = W[symbol] @ h + b[symbol]
    return h
