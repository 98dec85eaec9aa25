"""Selects the words of a table: those that save most steps on a text for the bytes that they take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.analysis.isan.composition.segmentation import (
    IMPOSSIBLE,
    Array,
    Trie,
    Word,
    best_words,
    build,
    matches,
    single_symbols,
    walk,
)


def _candidates(text: NDArray[np.int64], vocabulary_size: int, max_length: int, number: int) -> list[Word]:
    """The n-grams, n = 2, ..., max_length, that would save most steps if each were alone: count times (n - 1).

    Only extensions of a frequent n-gram qualify, so each length starts from the `number` most frequent n-grams of the
    length before.
    """
    grams, current = single_symbols(vocabulary_size), text
    saved: list[tuple[int, Word]] = []
    for n in range(2, max_length + 1):
        follows = text[n - 1 :]
        current = np.where(current[: len(follows)] < 0, -1, current[: len(follows)] * vocabulary_size + follows)
        codes, places, counts = np.unique(current, return_inverse=True, return_counts=True)
        counts[codes < 0] = 0
        frequent = np.flatnonzero(counts > 1)
        frequent = np.sort(frequent[np.argsort(-counts[frequent], kind="stable")[:number]])
        if not len(frequent):
            break
        rank = np.full(len(codes), -1)
        rank[frequent] = np.arange(len(frequent))
        split = (divmod(code, vocabulary_size) for code in codes[frequent].tolist())
        grams = [(*grams[prefix], symbol) for prefix, symbol in split]
        saved += zip((counts[frequent] * (n - 1)).tolist(), grams, strict=True)
        current = rank[places]
    saved.sort(reverse=True)
    return [word for _, word in saved[:number]]


def choose_words(
    text: NDArray[np.int64], vocabulary_size: int, max_length: int, max_bytes: int, size: Any
) -> list[Word]:
    """Words that save most steps on the text for their bytes: see `CompositionTable.from_corpus`."""
    singles = single_symbols(vocabulary_size)
    if size(len(singles), len(singles) + 1) > max_bytes:
        raise ValueError(
            f"`max_bytes` must suffice for the {len(singles)} single symbols. Received: max_bytes={max_bytes:,} bytes, "
            f"while they take {size(len(singles), len(singles) + 1):,}. Pass a larger max_bytes."
        )
    lanes = max(len(text) // 1000, 1)
    stacked = np.ascontiguousarray(text[: len(text) // lanes * lanes].reshape(lanes, -1).T)
    room = (max_bytes - size(len(singles), len(singles) + 1)) // (size(1, 1) - size(0, 0)) + 1
    words = _candidates(text, vocabulary_size, max_length, 6 * room)
    while True:
        trie = build(words, vocabulary_size)
        taken = size(len(trie.words), len(trie.depth))
        if taken <= max_bytes or not len(text):
            return list(trie.words)
        walked = walk(best_words(trie, stacked, "optimal"), trie.length)
        uses = np.bincount(walked[walked >= 0], minlength=len(trie.words))
        worth = uses * (_steps_without(trie) - 1) / (size(1, 0) + _own_nodes(trie) * size(0, 1) - size(0, 0))
        words = _filled(trie, worth, singles, max(max_bytes, int(0.75 * taken)), size)


def _steps_without(trie: Trie) -> Array:
    """(words,): the minimum number of other words into which each word can be cut; 1 for a symbol."""
    steps = np.ones(len(trie.words), np.int64)
    for m in range(2, int(trie.length.max()) + 1):
        of_length = np.flatnonzero(trie.length == m)
        if len(of_length):
            text = np.array([trie.words[number] for number in of_length]).T
            found = matches(trie, text, m)
            found[m - 1, 0] = -1
            costs = np.full((m + 1, len(of_length)), IMPOSSIBLE)
            costs[m] = 0
            for t in range(m - 1, -1, -1):
                costs[t] = 1 + np.where(found[: m - t, t] >= 0, costs[t + 1 :], IMPOSSIBLE).min(axis=0)
            steps[of_length] = costs[0]
    return steps


def _own_nodes(trie: Trie) -> Array:
    """(words,): number of prefixes that a word shares with no other."""
    alone = np.flatnonzero(trie.last - trie.first == 1)
    return np.bincount(trie.first[alone], minlength=len(trie.words))


def _filled(trie: Trie, worth: Array, singles: list[Word], max_bytes: int, size: Any) -> list[Word]:
    """The single symbols and, best first, every further word that still fits."""
    words, prefixes = list(singles), {(), *singles}
    for number in np.argsort(-worth, kind="stable"):
        word = trie.words[number]
        if len(word) > 1:
            new = {word[:j] for j in range(2, len(word) + 1)} - prefixes
            if size(len(words) + 1, len(prefixes) + len(new)) <= max_bytes:
                words.append(word)
                prefixes |= new
    return words
