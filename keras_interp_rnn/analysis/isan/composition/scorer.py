r"""Scores every symbol within the words read: the logits after j symbols are h (A_j R) + (b_j R + c).

The products A_j R belong to the prefixes of words, the nodes of the trie; words that begin alike share them.
"""

from __future__ import annotations

import numpy as np

from keras_interp_rnn.analysis.isan.composition.reader import PIECE, WordsRead, by_word
from keras_interp_rnn.analysis.isan.composition.segmentation import Array, Trie

SCORED = 2**12
"""Words that are scored at a time: their states fit the second-level cache."""


def score(part: WordsRead, trie: Trie, readouts: Array, text: Array, bits: Array) -> None:
    """Writes the bits of all symbols that follow a symbol of the words read.

    Args:
        readouts: (nodes, n + 1, outputs), for each prefix A_j R and, in the last row, b_j R + c.
        text: (lanes, time). bits: (lanes, time - 1), written to.
    """
    number, outputs = len(trie.words), readouts.shape[2]
    order = by_word(part.words, number)
    begin_of_word = part.lanes * text.shape[1] + part.places
    ones, flat_text, flat_bits = np.ones(outputs, readouts.dtype), text.reshape(-1), bits.reshape(-1)
    rows_of_piece = max(PIECE // readouts[0].size, 1)
    largest = np.log(np.finfo(bits.dtype).max / outputs)
    for start in range(0, len(order), SCORED):
        chunk = order[start : start + SCORED]
        before = part.before.take(chunk, axis=0)
        ends = np.searchsorted(part.words[chunk], np.arange(number + 1))
        begins, sizes = ends[trie.first], ends[trie.last] - ends[trie.first]
        sizes[0] = 0  # the root: nothing read yet
        nodes = np.flatnonzero(sizes)
        begins, sizes = begins[nodes], sizes[nodes]
        rows = np.concatenate([[0], sizes.cumsum()])
        logits = np.empty((rows[-1], outputs), before.dtype)
        for node, begin, size, row in zip(*(a.tolist() for a in (nodes, begins, sizes, rows[:-1])), strict=True):
            for piece in range(0, size, rows_of_piece):
                stop = min(piece + rows_of_piece, size)
                states = before[begin + piece : begin + stop]
                np.matmul(states, readouts[node], out=logits[row + piece : row + stop])
        every = np.arange(rows[-1])
        owner = chunk.take(every + np.repeat(begins - rows[:-1], sizes))
        place = begin_of_word.take(owner)
        place += np.repeat(trie.depth[nodes], sizes)
        every *= outputs
        every += flat_text.take(place)
        # -log2 p = log2 sum exp(logits - right logit). The sum is at least 1, so only overflow can happen.
        logits -= logits.reshape(-1).take(every)[:, None]
        if logits.max() > largest:
            top = logits.max(axis=1)
            cost = np.log2(np.exp(logits - top[:, None]) @ ones) + top / np.log(2)
        else:
            cost = np.log2(np.exp(logits, out=logits) @ ones)
        place -= part.lanes.take(owner) + 1
        flat_bits[place] = cost
