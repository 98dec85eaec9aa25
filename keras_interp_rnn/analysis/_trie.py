"""Words as one trie: which of them stand at each place of a text, how to cut the text into them, which to choose.

No states and no maps: nothing here depends on the network, but for the bytes that a word takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Word = tuple[int, ...]

LONGEST = 63
"""Symbols of the longest word: a tie between segmentations is broken in six bits."""

_BLOCK = 2**20  # places of a text that are matched with the table at a time
_NEVER = 2**30  # costs of an impossible segmentation


class Words(NamedTuple):
    """A trie over sorted words, its nodes in the order of a walk that takes a node before its children.

    Sorted so, the words below a node are neighbours.
    """

    words: tuple[Word, ...]
    children: Array  # (nodes + 1, K) int32; row `nodes` stands for no node
    word: Array  # (nodes + 1,) int32, the word that ends in a node, or -1
    first: Array  # (nodes,) int32, words below a node: first, ..., last - 1
    last: Array
    depth: Array  # (nodes,) int32, symbols read
    length: Array  # (words,) int32

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self[1:])


def build(words: Iterable[Word], vocabulary_size: int) -> Words:
    """The trie of all single symbols and some words."""
    ordered = tuple(sorted({*_singles(vocabulary_size), *words}))
    ending, first, last, depth = [-1], [0], [len(ordered)], [0]
    edges: list[tuple[int, int]] = []  # parent and symbol of each node but the root
    path: list[int] = [0]
    previous: Word = ()
    for number, word in enumerate(ordered):
        shared = len(os.path.commonprefix([previous, word]))
        path = path[: shared + 1]
        for symbol in word[shared:]:
            edges.append((path[-1], symbol))
            path.append(len(edges))
            ending.append(-1)
            first.append(number)
            last.append(number)
            depth.append(len(path) - 1)
        ending[path[-1]] = number
        for node in path[1:]:
            last[node] = number + 1
        previous = word
    nodes = len(depth)
    children = np.full((nodes + 1, vocabulary_size), nodes, np.int32)
    parents, symbols = np.array(edges, np.int64).reshape(-1, 2).T
    children[parents, symbols] = np.arange(1, nodes)
    arrays = (np.array(a, np.int32) for a in ([*ending, -1], first, last, depth, [len(word) for word in ordered]))
    return Words(ordered, children, *arrays)


def matches(index: Words, text: Array, starts: int) -> Array:
    """(longest, starts, lanes): the word of 1, 2, ... symbols at each of the first places of text, or -1.

    Args:
        text: (starts + longest - 1 or fewer at the end, lanes).
    """
    symbols, longest, lanes = index.children.shape[1], int(index.length.max()), text.shape[1]
    children, flat = index.children.reshape(-1), text.reshape(-1)
    # 16 bits where they do: the array is large.
    found = np.full((longest, starts * lanes), -1, np.int16 if len(index.words) < 2**15 else np.int32)
    ending = index.word.astype(found.dtype)
    alive = np.arange(starts * lanes)
    node = np.zeros(len(alive), np.int32)
    for m in range(longest):
        # Places are in the order of time: those too near the end are the last.
        room = int(np.searchsorted(alive, (len(text) - m) * lanes))
        alive = alive[:room]
        node = children.take(node[:room] * symbols + flat.take(alive + m * lanes))
        going = np.flatnonzero(node < len(index.depth))
        if len(going) < len(node):
            alive, node = alive.take(going), node.take(going)
        found[m, alive] = ending.take(node)
    return found.reshape(longest, starts, lanes)


def best_words(index: Words, text: Array, method: str) -> Array:
    """(time, lanes): with which word to go on from each place of text (time, lanes).

    By dynamic programming from the end: the fewest words from place t are 1 + the fewest from t + m, over all words
    of the table that stand at t, m their lengths. The six lowest bits of a cost prefer, of equals, the longest.
    """
    time, lanes = text.shape
    longest = int(index.length.max())
    best = np.empty((time, lanes), np.int32)
    tie = (LONGEST + 1 + LONGEST - np.arange(1, longest + 1, dtype=np.int32))[:, None]
    block = max(_BLOCK // max(lanes, 1), 1)
    ahead = np.full((longest, lanes), _NEVER, np.int32)  # costs from the places after the block
    ahead[0] = 0
    after, missing = np.empty((longest, lanes), np.int32), np.empty((longest, lanes), bool)
    for begin in range((time - 1) // block * block, -1, -block):
        starts = min(block, time - begin)
        found = matches(index, text[begin : begin + starts + longest - 1], starts)
        if method == "greedy":
            length = longest - 1 - (found[::-1] >= 0).argmax(axis=0)
        else:
            costs = np.concatenate([np.empty((starts, lanes), np.int32), ahead])
            length = np.empty((starts, lanes), np.int32)
            for t in range(starts - 1, -1, -1):
                np.add(costs[t + 1 : t + 1 + longest], tie, out=after)
                np.less(found[:, t], 0, out=missing)
                np.copyto(after, _NEVER, where=missing)
                cheapest = after.min(axis=0)
                costs[t], length[t] = cheapest & ~LONGEST, LONGEST - 1 - (cheapest & LONGEST)
            # Only differences matter; kept small, they fit 32 bits in texts of any length.
            ahead = costs[:longest] - costs[:longest].min(axis=0)
        places = np.arange(starts * lanes)
        places += length.reshape(-1).astype(np.int64) * len(places)
        best[begin : begin + starts] = found.reshape(-1).take(places).reshape(starts, lanes)
    return best


def walk(best: Array, length: Array) -> Array:
    """(steps, lanes), the words from the first place on, then -1; best (time, lanes)."""
    time, lanes = best.shape
    place, active, rows = np.zeros(lanes, np.int64), np.arange(lanes), []
    while time and len(active):
        row = np.full(lanes, -1, np.int32)
        row[active] = best[place[active], active]
        place[active] += length[row[active]]
        active = active[place[active] < time]
        rows.append(row)
    return np.array(rows, np.int32).reshape(len(rows), lanes)


def _singles(vocabulary_size: int) -> list[Word]:
    return [(symbol,) for symbol in range(vocabulary_size)]


def _candidates(text: NDArray[np.int64], vocabulary_size: int, longest: int, most: int) -> list[Word]:
    """The n-grams, n = 2, ..., longest, that would save most steps if each were alone: count times (n - 1).

    Only what begins with a common n-gram can be one, so each length goes on from the `most` commonest of the last.
    """
    grams, current = _singles(vocabulary_size), text
    saved: list[tuple[int, Word]] = []
    for n in range(2, longest + 1):
        follows = text[n - 1 :]
        current = np.where(current[: len(follows)] < 0, -1, current[: len(follows)] * vocabulary_size + follows)
        codes, places, counts = np.unique(current, return_inverse=True, return_counts=True)
        counts[codes < 0] = 0
        kept = np.flatnonzero(counts > 1)
        if len(kept) > most:
            kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:most]])
        if not len(kept):
            break
        number = np.full(len(codes), -1)
        number[kept] = np.arange(len(kept))
        split = (divmod(code, vocabulary_size) for code in codes[kept].tolist())
        grams = [(*grams[prefix], symbol) for prefix, symbol in split]
        saved += zip((counts[kept] * (n - 1)).tolist(), grams, strict=True)
        current = number[places]
    saved.sort(reverse=True)
    return [word for _, word in saved[:most]]


def chosen(text: NDArray[np.int64], vocabulary_size: int, longest: int, budget: int, size: Any) -> list[Word]:
    """Words that save most steps on the text for their bytes: see `CompositionTable.from_corpus`."""
    singles = _singles(vocabulary_size)
    if size(len(singles), len(singles) + 1) > budget:
        raise ValueError(
            f"A table holds at least the {len(singles)} single symbols. Received: budget={budget:,} bytes, where they "
            f"take {size(len(singles), len(singles) + 1):,}. Pass a larger budget."
        )
    lanes = max(len(text) // 1000, 1)
    stacked = np.ascontiguousarray(text[: len(text) // lanes * lanes].reshape(lanes, -1).T)
    room = (budget - size(len(singles), len(singles) + 1)) // (size(1, 1) - size(0, 0)) + 1
    words = _candidates(text, vocabulary_size, longest, 6 * room)
    while True:
        index = build(words, vocabulary_size)
        taken = size(len(index.words), len(index.depth))
        if taken <= budget or not len(text):
            return list(index.words)
        walked = walk(best_words(index, stacked, "optimal"), index.length)
        uses = np.bincount(walked[walked >= 0], minlength=len(index.words))
        worth = uses * (_steps_without(index) - 1) / (size(1, 0) + _own_nodes(index) * size(0, 1) - size(0, 0))
        words = _filled(index, worth, singles, max(budget, int(0.75 * taken)), size)


def _steps_without(index: Words) -> Array:
    """(words,): the fewest words of the table that make up each word without the word itself; 1 for a symbol."""
    most = np.ones(len(index.words), np.int64)
    for m in range(2, int(index.length.max()) + 1):
        of_length = np.flatnonzero(index.length == m)
        if len(of_length):
            text = np.array([index.words[number] for number in of_length]).T
            found = matches(index, text, m)
            found[m - 1, 0] = -1
            costs = np.full((m + 1, len(of_length)), _NEVER)
            costs[m] = 0
            for t in range(m - 1, -1, -1):
                costs[t] = 1 + np.where(found[: m - t, t] >= 0, costs[t + 1 :], _NEVER).min(axis=0)
            most[of_length] = costs[0]
    return most


def _own_nodes(index: Words) -> Array:
    """(words,): prefixes that a word shares with no other."""
    alone = np.flatnonzero(index.last - index.first == 1)
    return np.bincount(index.first[alone], minlength=len(index.words))


def _filled(index: Words, worth: Array, singles: list[Word], budget: int, size: Any) -> list[Word]:
    """The single symbols and, best first, every word that still fits."""
    words, prefixes = list(singles), {(), *singles}
    for number in np.argsort(-worth, kind="stable"):
        word = index.words[number]
        if len(word) > 1:
            new = {word[:j] for j in range(2, len(word) + 1)} - prefixes
            if size(len(words) + 1, len(prefixes) + len(new)) <= budget:
                words.append(word)
                prefixes |= new
    return words
