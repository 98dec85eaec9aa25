"""A trie of words: finds the words at each place of a text, and cuts a text into as few words as possible.

There are no states and no maps: nothing here depends on the network.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import AnyArray

Array = AnyArray
Word = tuple[int, ...]

MAX_LENGTH = 63
"""Symbols of the longest possible word: a tie between segmentations is broken in six bits."""

BLOCK = 2**20
"""Places of a text that are matched with the table at a time."""
IMPOSSIBLE = 2**30
"""Cost of an impossible segmentation."""


class Trie(NamedTuple):
    """A trie of sorted words, its nodes in depth-first order, a node before its children: words below a node adjoin."""

    words: tuple[Word, ...]
    children: Array  # (nodes + 1, K) int32; row `nodes` is for no node
    word: Array  # (nodes + 1,) int32, the word that ends in a node, or -1
    first: Array  # (nodes,) int32, words below a node: first, ..., last - 1
    last: Array
    depth: Array  # (nodes,) int32, symbols read
    length: Array  # (words,) int32

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self[1:])


def build(words: Iterable[Word], vocabulary_size: int) -> Trie:
    """The trie of all single symbols and some words."""
    ordered = tuple(sorted({*single_symbols(vocabulary_size), *words}))
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
    return Trie(ordered, children, *arrays)


def matches(trie: Trie, text: Array, starts: int) -> Array:
    """(longest, starts, lanes): the word of 1, 2, ... symbols that begins at each of the first places of text, or -1.

    Args:
        text: (starts + longest - 1 or fewer at the end, lanes).
    """
    symbols, longest, lanes = trie.children.shape[1], int(trie.length.max()), text.shape[1]
    children, flat = trie.children.reshape(-1), text.reshape(-1)
    # 16 bits if they suffice: the array is large.
    found = np.full((longest, starts * lanes), -1, np.int16 if len(trie.words) < 2**15 else np.int32)
    ending = trie.word.astype(found.dtype)
    alive = np.arange(starts * lanes)
    node = np.zeros(len(alive), np.int32)
    for m in range(longest):
        # Places are in the order of time, so the last ones are too near the end.
        room = int(np.searchsorted(alive, (len(text) - m) * lanes))
        alive = alive[:room]
        node = children.take(node[:room] * symbols + flat.take(alive + m * lanes))
        going = np.flatnonzero(node < len(trie.depth))
        if len(going) < len(node):
            alive, node = alive.take(going), node.take(going)
        found[m, alive] = ending.take(node)
    return found.reshape(longest, starts, lanes)


def best_words(trie: Trie, text: Array, method: str) -> Array:
    """(time, lanes): the word that the segmentation takes at each place of text (time, lanes).

    By dynamic programming from the end: the minimum number of words from place t is 1 + the minimum from t + m, over
    all words of the table at place t, m their lengths. Ties go to the longest word, by the six lowest bits of a cost.
    """
    time, lanes = text.shape
    longest = int(trie.length.max())
    best = np.empty((time, lanes), np.int32)
    tie = (MAX_LENGTH + 1 + MAX_LENGTH - np.arange(1, longest + 1, dtype=np.int32))[:, None]
    block = max(BLOCK // max(lanes, 1), 1)
    ahead = np.full((longest, lanes), IMPOSSIBLE, np.int32)  # costs from the places after the block
    ahead[0] = 0
    after, missing = np.empty((longest, lanes), np.int32), np.empty((longest, lanes), bool)
    for begin in range((time - 1) // block * block, -1, -block):
        starts = min(block, time - begin)
        words = matches(trie, text[begin : begin + starts + longest - 1], starts)
        if method == "greedy":
            length = longest - 1 - (words[::-1] >= 0).argmax(axis=0)
        else:
            costs = np.concatenate([np.empty((starts, lanes), np.int32), ahead])
            length = np.empty((starts, lanes), np.int32)
            for t in range(starts - 1, -1, -1):
                np.add(costs[t + 1 : t + 1 + longest], tie, out=after)
                np.less(words[:, t], 0, out=missing)
                np.copyto(after, IMPOSSIBLE, where=missing)
                cheapest = after.min(axis=0)
                costs[t], length[t] = cheapest & ~MAX_LENGTH, MAX_LENGTH - 1 - (cheapest & MAX_LENGTH)
            # Only differences matter; kept small, they fit 32 bits in texts of any length.
            ahead = costs[:longest] - costs[:longest].min(axis=0)
        places = np.arange(starts * lanes)
        places += length.reshape(-1).astype(np.int64) * len(places)
        best[begin : begin + starts] = words.reshape(-1).take(places).reshape(starts, lanes)
    return best


def walk(best: Array, length: Array) -> Array:
    """(steps, lanes), the words of each lane in order, then -1; best (time, lanes)."""
    time, lanes = best.shape
    place, active, rows = np.zeros(lanes, np.int64), np.arange(lanes), []
    while time and len(active):
        row = np.full(lanes, -1, np.int32)
        row[active] = best[place[active], active]
        place[active] += length[row[active]]
        active = active[place[active] < time]
        rows.append(row)
    return np.array(rows, np.int32).reshape(len(rows), lanes)


def single_symbols(vocabulary_size: int) -> list[Word]:
    """All words of one symbol."""
    return [(symbol,) for symbol in range(vocabulary_size)]
